#!/usr/bin/env python3
"""A switch between network namespaces that delays, loses and cuts off IP packets, for scripts/test-netns.ts and test/cluster.

Each namespace gets a TUN device t0 whose other end is this program, so that what the kernel's own TCP sends is late, lost
and sent again as on a long line. `tc netem` would do the same, where the kernel has it; this needs /dev/net/tun alone, and
a partition is one word instead of a firewall.

  lossy-switch.py DELAY_MS LOSS SEED NAMESPACE=ADDRESS... [+NAMESPACE=ADDRESS...]

Packets between two namespaces without a plus are delayed and lost; those from or to one with a plus (the observer) are not.
A namespace is one of `ip netns`; or `@NAME`, which is made here, with its addresses, and is gone when this program is and what
runs in it; or `.NAME`, that of this program. On stdin: `partition` (each namespace alone), `cut FROM TO` (what one sends to the
other is lost), `heal`, `figures`. It says `ready` and the descriptors of the namespaces that it has made, by name, which
`nsenter --net=/proc/PID/fd/N` takes, and answers each line with one.
"""

import ctypes
import fcntl
import heapq
import json
import os
import random
import select
import socket
import struct
import subprocess
import sys
import time

CLONE_NEWNET = 0x40000000
OWN_NAMESPACE = "/proc/self/ns/net"
# Large packets, as few as possible.
MTU = 65000
TUNSETIFF = 0x400454CA
IFF_TUN = 0x0001
IFF_NO_PI = 0x1000
MAX_PACKET = 65536


libc = ctypes.CDLL(None, use_errno=True)


def must(result, what):
    if result != 0:
        raise OSError(ctypes.get_errno(), what)


def tun_here():
    """A TUN device in the namespace of this program; the descriptor works from anywhere."""
    tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH", b"t0", IFF_TUN | IFF_NO_PI))
    return tun


def open_tun(namespace):
    """The same in one of `ip netns`."""
    handle = os.open(f"/var/run/netns/{namespace}", os.O_RDONLY)
    must(libc.setns(handle, CLONE_NEWNET), f"setns {namespace}")
    os.close(handle)
    return tun_here()


def set_up(address):
    """A TUN device in the namespace of this program, with its address."""
    tun = tun_here()
    for words in ("link set lo up", f"addr add {address}/24 dev t0", f"link set t0 mtu {MTU} up"):
        subprocess.run(["ip", *words.split()], check=True)
    return tun


def make_namespace(address):
    """A namespace and its TUN device."""
    own = os.open(OWN_NAMESPACE, os.O_RDONLY)
    must(libc.unshare(CLONE_NEWNET), "unshare")
    tun = set_up(address)
    made = os.open(OWN_NAMESPACE, os.O_RDONLY)
    must(libc.setns(own, CLONE_NEWNET), "setns")
    os.close(own)
    return made, tun


def main():
    delay = float(sys.argv[1]) / 1000
    loss = float(sys.argv[2])
    chance = random.Random(int(sys.argv[3]))
    tuns, observers, places, made, cuts = {}, set(), {}, {}, set()
    for argument in sys.argv[4:]:
        namespace, address = argument.lstrip("+").split("=")
        packed = socket.inet_aton(address)
        name = namespace.lstrip("@.")
        places[name] = packed
        if namespace.startswith("@"):
            made[name], tuns[packed] = make_namespace(address)
        elif namespace.startswith("."):
            tuns[packed] = set_up(address)
        else:
            tuns[packed] = open_tun(namespace)
        if argument.startswith("+"):
            observers.add(packed)
    sources = {tun: packed for packed, tun in tuns.items()}
    figures = {"carried": 0, "lost": 0, "cut": 0}
    queue, order, partitioned = [], 0, False

    def deliver(tun, packet):
        try:
            os.write(tun, packet)
        except OSError:
            pass  # The device is down or its queue is full: a packet less, as on any line.

    def take(tun):
        nonlocal order
        for _ in range(256):
            try:
                packet = os.read(tun, MAX_PACKET)
            except BlockingIOError:
                return
            except OSError:
                return
            source, target = sources[tun], packet[16:20]
            if packet[0] >> 4 != 4 or target not in tuns:
                continue
            if (source, target) in cuts:
                figures["cut"] += 1
            elif source in observers or target in observers:
                deliver(tuns[target], packet)
            elif partitioned:
                figures["cut"] += 1
            elif chance.random() < loss:
                figures["lost"] += 1
            elif delay == 0:
                figures["carried"] += 1
                deliver(tuns[target], packet)
            else:
                figures["carried"] += 1
                order += 1
                heapq.heappush(queue, (time.monotonic() + delay, order, tuns[target], packet))

    print("ready", json.dumps(made), flush=True)
    while True:
        wait = max(0.0, queue[0][0] - time.monotonic()) if queue else None
        readable, _, _ = select.select([0, *sources], [], [], wait)
        while queue and queue[0][0] <= time.monotonic():
            _, _, tun, packet = heapq.heappop(queue)
            deliver(tun, packet)
        for descriptor in readable:
            if descriptor != 0:
                take(descriptor)
                continue
            line = sys.stdin.readline().strip()
            if line == "":
                return
            if line in ("partition", "heal"):
                partitioned = line == "partition"
                cuts.clear()
                if partitioned:
                    figures["cut"] += len(queue)
                    queue.clear()
            elif line.startswith("cut "):
                cuts.add(tuple(places[name] for name in line.split()[1:]))
            print(json.dumps(figures), flush=True)


main()
