/** Faults of lines. */

import type { Fault } from '../themes.js';
import type { Machine } from '../world/node.js';
import type { Weather } from '../world/wires.js';
import type { Hand, Undo } from './hand.js';

export function weatherFault(hand: Hand, { kind, other, much }: Fault, machine: Machine): Undo | undefined {
  const { wires, machines, etcd } = hand.stage;
  const hosts = [...machines.map(({ host }) => host), ...(etcd?.members.map(({ host }) => host) ?? []), '10.0.3.1'];
  const one = machine.host;
  const others = hosts.filter((host) => host !== one);
  const two = others[other % others.length] ?? one;
  const pairs: (readonly [string, string])[] =
    kind === 'isolate'
      ? others.flatMap((host) => [
          [one, host],
          [host, one],
        ])
      : kind === 'cut one way'
        ? [[one, two]]
        : [
            [one, two],
            [two, one],
          ];
  for (const [from, to] of pairs) {
    const weather = wires.weather(from, to);
    if (kind === 'delay') weather.delay = 5 + much * 800;
    else if (kind === 'loss') weather.loss = 0.05 + much * 0.5;
    else weather.isCut = true;
  }
  return () => {
    for (const [from, to] of pairs) Object.assign(wires.weather(from, to), { isCut: false, delay: 0, loss: 0 });
    wires.changed();
  };
}

/** One mempool node alone: the others are as near as ever. */
export function farFromEtcd(hand: Hand, machine: Machine | undefined, ms: number): Undo {
  return toEtcd(hand, machine, { delay: ms }, { delay: 0 });
}

export function cutFromEtcd(hand: Hand, machine: Machine | undefined): Undo {
  return toEtcd(hand, machine, { isCut: true }, { isCut: false });
}

/** All ways between a machine and etcd are so, and then so. */
function toEtcd(hand: Hand, machine: Machine | undefined, meanwhile: Partial<Weather>, later: Partial<Weather>): Undo {
  const { etcd, wires } = hand.stage;
  const host = machine?.host ?? '';
  const pairs = (etcd?.members ?? []).flatMap((one) => [wires.weather(host, one.host), wires.weather(one.host, host)]);
  for (const weather of pairs) Object.assign(weather, meanwhile);
  return () => {
    for (const weather of pairs) Object.assign(weather, later);
    wires.changed();
  };
}
