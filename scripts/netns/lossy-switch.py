#!/usr/bin/env python3
"""A switch between network namespaces that delays and loses IP packets, for scripts/test-netns.ts.

Each namespace gets a TUN device t0 whose other end is this program, so that what the kernel's own TCP sends is late, lost
and sent again as on a long line. `tc netem` would do the same, where the kernel has it; this needs /dev/net/tun alone, and
a partition is one word instead of a firewall.

  lossy-switch.py DELAY_MS LOSS SEED NAMESPACE=ADDRESS... [+NAMESPACE=ADDRESS...]

Packets between two namespaces without a plus are delayed and lost; those from or to one with a plus (the observer) are not.
On stdin: `partition` (each namespace alone), `heal`, `figures`. It says `ready`, and answers each line with one.
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
import sys
import time

CLONE_NEWNET = 0x40000000
TUNSETIFF = 0x400454CA
IFF_TUN = 0x0001
IFF_NO_PI = 0x1000
MAX_PACKET = 65536


def open_tun(namespace):
    """A TUN device in the namespace; the descriptor works from anywhere."""
    libc = ctypes.CDLL(None, use_errno=True)
    handle = os.open(f"/var/run/netns/{namespace}", os.O_RDONLY)
    if libc.setns(handle, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), f"setns {namespace}")
    os.close(handle)
    tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH", b"t0", IFF_TUN | IFF_NO_PI))
    return tun


def main():
    delay = float(sys.argv[1]) / 1000
    loss = float(sys.argv[2])
    chance = random.Random(int(sys.argv[3]))
    tuns, observers = {}, set()
    for argument in sys.argv[4:]:
        namespace, address = argument.lstrip("+").split("=")
        packed = socket.inet_aton(address)
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
            if source in observers or target in observers:
                deliver(tuns[target], packet)
            elif partitioned:
                figures["cut"] += 1
            elif chance.random() < loss:
                figures["lost"] += 1
            else:
                figures["carried"] += 1
                order += 1
                heapq.heappush(queue, (time.monotonic() + delay, order, tuns[target], packet))

    print("ready", flush=True)
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
                if partitioned:
                    figures["cut"] += len(queue)
                    queue.clear()
            print(json.dumps(figures), flush=True)


main()
