/** Faults of disks: they are lost, older, full, slow, they fail, and their bits turn over. */

import { damageRecords } from '../../support/damaged-state.js';
import type { Fault } from '../themes.js';
import { flipIn } from '../world/files.js';
import type { Machine } from '../world/node.js';
import type { Hand, Undo } from './hand.js';
import { farFromEtcd } from './network.js';

/** So much of the time of a fault is a damaged node away. */
const AWAY_OF_DAMAGED = 0.5;
/** Milliseconds of a message between etcd and a damaged node that has come back: others make a block before its word is there. */
const FAR_OF_DAMAGED_MS = 900;
/** Below this it is as near as the others, and leads for a moment while the third node is suspended, which outvotes it later. */
const NEAR_BELOW = 0.2;
/** Longer than a lease lasts. */
const SUSPENDED_MS = 9_000;
const LOOK_MS = 50;
const WAYS_TO_FAIL = ['full', 'unwritable', 'unreadable'] as const;

/** A mempool node comes back with an empty disk. What it had is in the journal, at the other nodes, and in storage. */
export function loseDisk(hand: Hand, { kind, where }: Fault): Undo | undefined {
  const { mempools, world } = hand.stage;
  const machine = mempools[where % mempools.length];
  const others = mempools.filter((one) => one !== machine);
  // What waits for a block is nowhere else than in the states of mempool nodes: one of them has to be left.
  if (machine === undefined || !others.some(({ isReady }) => isReady)) return undefined;
  world.note(`${machine.name} loses its disk`);
  machine.loseDisk();
  if (kind === 'lose disk') return machine.hold();
  // It starts at once, and nobody gives it a state.
  const ends = others.map((one) => {
    one.stop();
    return one.hold();
  });
  return () => {
    for (const end of ends) end();
  };
}

/** At the end of the fault the disk is as it was at its beginning. What it had since is in the journal, or at another node of its role. */
export function olderCopy(hand: Hand, machine: Machine, { isAlone = false } = {}): Undo | undefined {
  const { mempools, storages, world } = hand.stage;
  const others = [mempools, storages].find((all) => all.includes(machine))?.filter((one) => one !== machine) ?? [];
  if (!isAlone && others.length === 0) return undefined;
  const putBack = machine.copyDisk();
  return () => {
    const next = (one: Machine): number => one.services?.storage?.nextHeight ?? 0;
    if (!isAlone && !others.some((one) => one.isReady && next(one) >= next(machine))) return;
    world.note(`${machine.name} gets an older copy of its disk`);
    // Its peers are told, and it has its links at once.
    if (isAlone) machine.kill();
    putBack();
  };
}

/** A mempool node comes back with a state that is not that of the others, one of which is away then: its word is in the journal alone. */
export function damageState(hand: Hand, { where, much, ms }: Fault): Undo | undefined {
  const { mempools, diverging, people, world } = hand.stage;
  const machine = mempools[where % mempools.length];
  if (machine === undefined || diverging.size > 0 || !mempools.every(({ isReady }) => isReady)) return undefined;
  diverging.add(machine.name);
  machine.kill();
  const free = machine.hold();
  // In an output that nobody spends: it decides nothing.
  const addresses = new Set(people.map(({ address }) => address));
  const damaging = machine
    .changeDatabase('mempool', hand.process, (kv) =>
      damageRecords(kv, ({ scriptPublicKey }) => !addresses.has(scriptPublicKey ?? '')),
    )
    .then((isDone) => {
      if (isDone) world.note(`${machine.name} has a damaged state`);
      else diverging.delete(machine.name);
    });
  const others = mempools.filter((one) => one !== machine);
  const ends: Undo[] = [];
  let isOver = false;
  const comeBack = (): void => {
    damaging.finally(free);
    const look = (): void => {
      if (machine.services === undefined) world.later(hand.process, LOOK_MS, look);
      else if (!isOver && much >= NEAR_BELOW) ends.push(farFromEtcd(hand, machine, FAR_OF_DAMAGED_MS));
    };
    look();
    const away = others.find((one) => one.leads === much < 0.3);
    if (isOver || away === undefined || others.length < 2) return;
    away.kill();
    ends.push(away.hold());
    const third = others.find((one) => one !== away)?.process;
    if (third === undefined || much >= NEAR_BELOW) return;
    world.suspend(third);
    const goOn = (): void => world.resume(third);
    ends.push(goOn);
    world.later(hand.process, SUSPENDED_MS, goOn);
  };
  const waitForOthers = (): void => {
    // Of two nodes the one that spoke first is believed, so it must not lead.
    if (others.every(({ isReady }) => isReady) && others.some(({ leads }) => leads)) comeBack();
    else world.later(hand.process, LOOK_MS, waitForOthers);
  };
  world.later(hand.process, ms * AWAY_OF_DAMAGED, waitForOthers);
  return () => {
    isOver = true;
    for (const end of ends) end();
  };
}

export function diskFault(hand: Hand, { kind, much, other }: Fault, machine: Machine): Undo | undefined {
  const { disk } = machine;
  const { damaged, diskTrouble, storages, world } = hand.stage;
  switch (kind) {
    case 'full disk':
      diskTrouble.add(machine.name);
      disk.isFull = true;
      return () => {
        disk.isFull = false;
      };
    case 'failing disk':
      diskTrouble.add(machine.name);
      disk.failing = much * 0.5;
      return () => {
        disk.failing = 0;
      };
    case 'slow disk':
      disk.slowness = 1 + much * 200;
      return () => {
        disk.slowness = 1;
      };
    default: {
      // Only where somebody else has the same, and one at a time.
      const victims = storages.length > 1 ? storages : [];
      const victim = victims[other % Math.max(1, victims.length)];
      if (victim === undefined || damaged.size > 0) return undefined;
      const key = much < 0.5 ? victim.disk.flip('archive') : undefined;
      const path = key === undefined ? flipIn(victim.folder, '', victim.disk.luck) : undefined;
      if (key === undefined && path === undefined) return undefined;
      const place =
        path ??
        Buffer.from(key ?? [])
          .toString('latin1')
          .slice(0, 40);
      world.note(`a bit turns over at ${victim.name}: ${place}`);
      damaged.set(victim.name, 'archive');
      return undefined;
    }
  }
}

/** A storage node makes a damaged index again by itself, and one that is gone. */
export function indexFault(hand: Hand, { kind, where }: Fault): Undo | undefined {
  const { storages, world } = hand.stage;
  const machine = storages[where % storages.length];
  if (machine === undefined) return undefined;
  world.note(`${machine.name}: ${kind}`);
  if (kind === 'flip index') {
    machine.disk.flip('index');
    return undefined;
  }
  machine.kill();
  machine.disk.remove('index');
  return machine.hold();
}

/** At the end of the fault a node with a wallet has its disk as it was at the beginning: only the chain knows of later payments. */
export function olderWallet({ stage }: Hand, { where }: Fault): Undo | undefined {
  const { world, customers, wallets } = stage;
  const machine = wallets[where % wallets.length];
  // A wallet that is not there yet gets its words later.
  if (machine?.services?.wallet === undefined) return undefined;
  const [from, putBack] = [world.now, machine.copyDisk()];
  return () => {
    world.note(`${machine.name} gets an older copy of its wallet`);
    putBack();
    customers?.gotOlder(machine, { from, to: world.now });
  };
}

/** The disk of a wallet is full, cannot be written, or cannot be read. */
export function failWallet({ stage }: Hand, { where, other, much }: Fault): Undo | undefined {
  const { diskTrouble, wallets, world } = stage;
  const machine = wallets[where % wallets.length];
  if (machine === undefined) return undefined;
  diskTrouble.add(machine.name);
  const { disk } = machine;
  const way = WAYS_TO_FAIL[other % WAYS_TO_FAIL.length];
  world.note(`the disk of ${machine.name}: ${way}`);
  if (way === 'full') disk.isFull = true;
  else if (way === 'unwritable') disk.failing = much;
  else disk.unreadable = much * 0.5;
  return () => Object.assign(disk, { isFull: false, failing: 0, unreadable: 0 });
}
