/** Makes the faults of a story happen to its world, and end. */

import { keys } from '../../src/mempool/state/layout.js';
import { damageRecords } from '../support/damaged-state.js';
import type { Stage } from './play.js';
import { type Fault, textOf } from './story.js';
import { flipIn } from './world/files.js';
import type { Machine } from './world/node.js';
import type { Weather } from './world/wires.js';
import type { Process } from './world/world.js';

/** Milliseconds after which a supervisor starts again what has ended. */
const SUPERVISOR_MS = 1_000;
/** Changes of a disk after which one of them may be the last. */
const MOST_CHANGES = 60;

/** So much of the time of a fault is a damaged node away. */
const AWAY_OF_DAMAGED = 0.5;
/** Milliseconds of a message between etcd and a damaged node that has come back: others make a block before its word is there. */
const FAR_OF_DAMAGED_MS = 900;
const LOOK_MS = 50;
/** Milliseconds between the clocks that are most wrong. */
const MOST_WRONG_MS = 240_000;

type Undo = () => void;

export class Faults {
  readonly #stage: Stage;
  readonly #faults: readonly Fault[];
  /** The world's own hand: it does what is done to others. */
  readonly #hand: Process;
  readonly #running = new Set<Undo>();
  /** An older copy of etcd is kept, once in a story. */
  #isCopied = false;

  constructor(stage: Stage, faults: readonly Fault[]) {
    this.#stage = stage;
    this.#faults = faults;
    this.#hand = stage.world.process('fate');
  }

  schedule(): void {
    const { world } = this.#stage;
    for (const fault of this.#faults) {
      world.later(this.#hand, fault.at, () => {
        world.note(`-- ${textOf(fault)}`);
        const undo = this.#begin(fault);
        if (undo === undefined) return;
        const end = (): void => {
          if (this.#running.delete(end)) undo();
        };
        this.#running.add(end);
        world.later(this.#hand, fault.ms, end);
      });
    }
    const supervise = (): void => {
      for (const machine of this.#stage.machines) {
        if (machine.process === undefined && !machine.isHeld) machine.start();
      }
      world.later(this.#hand, SUPERVISOR_MS, supervise);
    };
    world.later(this.#hand, SUPERVISOR_MS, supervise);
  }

  /** Everything that is still wrong ends. */
  heal(): void {
    for (const end of [...this.#running]) end();
    this.#stage.wires.clearUp();
    this.#stage.world.note('-- all is well from now on');
  }

  #begin(fault: Fault): Undo | undefined {
    const { world, machines, mempools, wires, http, diverging } = this.#stage;
    const machine = machines[fault.where % machines.length];
    if (machine === undefined) return undefined;
    switch (fault.kind) {
      case 'kill':
        // Of two nodes that differ, the one that spoke first wins.
        if (diverging.size > 0 && machine.role === 'mempool') return undefined;
        machine.kill();
        return machine.hold();
      case 'lose power':
        world.note(`${machine.name} loses ${machine.losePower()} batches`);
        return machine.hold();
      case 'blackout':
        return this.#blackOut();
      case 'lose disk':
      case 'lose disk alone':
        return this.#loseDisk(fault);
      case 'older copy':
        return this.#olderCopy(machine);
      case 'older copy alone':
        return this.#olderCopy(mempools[fault.where % mempools.length] ?? machine, { isAlone: true });
      case 'kill at an image':
      case 'lose power at an image':
        return this.#atImage(fault);
      case 'damage state':
        return this.#damageState(fault);
      case 'kill at a write':
      case 'lose power at a write':
      case 'blackout at a write':
        return this.#atWrite(fault, machine);
      case 'stop':
        machine.stop();
        return machine.hold();
      case 'upgrade':
        this.#upgrade(fault);
        return undefined;
      case 'suspend': {
        const { process } = machine;
        if (process === undefined) return undefined;
        world.suspend(process);
        return () => world.resume(process);
      }
      case 'lose answers':
        http.losing = fault.much * 0.5;
        return () => {
          http.losing = 0;
        };
      case 'wrong clock':
      case 'fast clock':
        return this.#clock(fault, machine);
      case 'full disk':
      case 'failing disk':
      case 'slow disk':
      case 'flip':
        return this.#disk(fault, machine);
      case 'flip index':
      case 'lose index':
        return this.#index(fault);
      case 'break': {
        const all = [...wires.wires];
        for (const wire of all) if (this.#hand.luck.chance(fault.much)) wire.end('the connection was reset');
        return undefined;
      }
      case 'cut':
      case 'cut one way':
      case 'isolate':
      case 'delay':
      case 'loss':
        return this.#weather(fault, machine);
      default:
        return this.#etcd(fault);
    }
  }

  #blackOut(): Undo {
    const ends = this.#stage.machines.map((one) => {
      one.losePower();
      return one.hold();
    });
    return () => {
      for (const end of ends) end();
    };
  }

  /** It happens between two changes of the disk, or in the middle of what belongs together. */
  #atWrite({ kind, other }: Fault, machine: Machine): undefined {
    const { world, machines } = this.#stage;
    machine.disk.atChange(other % MOST_CHANGES, () => {
      world.note(`${machine.name}: ${kind}`);
      if (kind === 'kill at a write') machine.kill();
      else if (kind === 'lose power at a write') machine.losePower();
      else for (const one of machines) one.losePower();
    });
  }

  /** A mempool node ends whenever its image gets a name, as long as the fault lasts. */
  #atImage({ kind, where }: Fault): Undo | undefined {
    const { world, mempools } = this.#stage;
    const machine = mempools[where % mempools.length];
    return machine?.disk.atWriteOf('mempool', keys.image, () => {
      world.note(`${machine.name}: ${kind}`);
      if (kind === 'kill at an image') machine.kill();
      else machine.losePower();
    });
  }

  /** A mempool node comes back with an empty disk. What it had is in the journal, at the other nodes, and in storage. */
  #loseDisk({ kind, where }: Fault): Undo | undefined {
    const { mempools, world } = this.#stage;
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
  #olderCopy(machine: Machine, { isAlone = false } = {}): Undo | undefined {
    const { mempools, storages, world } = this.#stage;
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
  #damageState({ where, much, ms }: Fault): Undo | undefined {
    const { mempools, diverging, people, world } = this.#stage;
    const machine = mempools[where % mempools.length];
    if (machine === undefined || diverging.size > 0 || !mempools.every(({ isReady }) => isReady)) return undefined;
    diverging.add(machine.name);
    machine.kill();
    const free = machine.hold();
    // In an output that nobody spends: it decides nothing.
    const addresses = new Set(people.map(({ address }) => address));
    const damaging = machine
      .changeDatabase('mempool', this.#hand, (kv) =>
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
        if (machine.services === undefined) world.later(this.#hand, LOOK_MS, look);
        else if (!isOver) ends.push(this.#farFromEtcd(machine, FAR_OF_DAMAGED_MS));
      };
      look();
      const away = others.find((one) => one.leads === much < 0.3);
      if (isOver || away === undefined || others.length < 2) return;
      away.kill();
      ends.push(away.hold());
    };
    const waitForOthers = (): void => {
      // Of two nodes the one that spoke first is believed, so it must not lead.
      if (others.every(({ isReady }) => isReady) && others.some(({ leads }) => leads)) comeBack();
      else world.later(this.#hand, LOOK_MS, waitForOthers);
    };
    world.later(this.#hand, ms * AWAY_OF_DAMAGED, waitForOthers);
    return () => {
      isOver = true;
      for (const end of ends) end();
    };
  }

  /** One machine after the other is stopped, and starts again. */
  #upgrade({ ms }: Fault): void {
    const { world, machines } = this.#stage;
    for (const [i, machine] of machines.entries()) {
      world.later(this.#hand, (i * ms) / machines.length, () => machine.stop());
    }
  }

  #clock({ kind, much }: Fault, machine: Machine): Undo {
    const { world } = this.#stage;
    if (kind === 'fast clock') {
      // The clock of a process goes on from where it is.
      const rate = 0.97 + much * 0.06;
      machine.rate = rate;
      return () => {
        machine.rate = 1;
      };
    }
    const offset = Math.round((much - 0.5) * MOST_WRONG_MS);
    const set = (by: number): void => {
      machine.offset += by;
      if (machine.process !== undefined) machine.process.offset += by;
    };
    world.note(`the calendar of ${machine.name} is moved by ${offset} ms`);
    set(offset);
    return () => set(-offset);
  }

  #disk({ kind, much, other }: Fault, machine: Machine): Undo | undefined {
    const { disk } = machine;
    const { damaged, diskTrouble, storages, world } = this.#stage;
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
  #index({ kind, where }: Fault): Undo | undefined {
    const { storages, world } = this.#stage;
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

  #weather({ kind, other, much }: Fault, machine: Machine): Undo | undefined {
    const { wires, machines, etcd } = this.#stage;
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
  #farFromEtcd(machine: Machine | undefined, ms: number): Undo {
    return this.#toEtcd(machine, { delay: ms }, { delay: 0 });
  }

  #cutFromEtcd(machine: Machine | undefined): Undo {
    return this.#toEtcd(machine, { isCut: true }, { isCut: false });
  }

  /** All ways between a machine and etcd are so, and then so. */
  #toEtcd(machine: Machine | undefined, meanwhile: Partial<Weather>, later: Partial<Weather>): Undo {
    const { etcd, wires } = this.#stage;
    const host = machine?.host ?? '';
    const pairs = (etcd?.members ?? []).flatMap((one) => [
      wires.weather(host, one.host),
      wires.weather(one.host, host),
    ]);
    for (const weather of pairs) Object.assign(weather, meanwhile);
    return () => {
      for (const weather of pairs) Object.assign(weather, later);
      wires.changed();
    };
  }

  /** At the end of the fault all members are as they were at its beginning. In some stories a mempool node has nothing that came since. */
  #restoreEtcd({ where, other, much }: Fault): Undo | undefined {
    const { etcd, mempools, operator } = this.#stage;
    if (etcd === undefined || this.#isCopied) return undefined;
    this.#isCopied = true;
    const copy = etcd.copy();
    const comeBack = much < 0.5 ? this.#cutFromEtcd(mempools[where % mempools.length]) : () => undefined;
    return () => {
      etcd.restore(copy, other % 2 === 0);
      operator.restored(copy);
      comeBack();
    };
  }

  #etcd(fault: Fault): Undo | undefined {
    const { kind, where, much } = fault;
    const { etcd, wires, mempools } = this.#stage;
    if (etcd === undefined) return undefined;
    const index = where % etcd.members.length;
    const member = etcd.members[index];
    if (member === undefined) return undefined;
    switch (kind) {
      case 'kill etcd':
        etcd.kill(index);
        return () => etcd.start(index);
      case 'lose answers of etcd':
        etcd.losing = much * 0.6;
        return () => {
          etcd.losing = 0;
        };
      case 'slow etcd':
        member.slowness = much * 2_000;
        return () => {
          member.slowness = 0;
        };
      case 'far from etcd':
        return this.#farFromEtcd(mempools[where % mempools.length], much * 2_000);
      case 'miss a compaction': {
        const machine = mempools[where % mempools.length];
        const comeBack = this.#cutFromEtcd(machine);
        etcd.endStreamsOf(machine?.host ?? '');
        return () => {
          etcd.compact(0);
          comeBack();
        };
      }
      case 'restore etcd':
        return this.#restoreEtcd(fault);
      case 'compact etcd':
        etcd.compact(Math.floor(much * 10));
        return undefined;
      case 'isolate etcd': {
        const others = etcd.members.filter((one) => one !== member);
        const set = (isCut: boolean): void => {
          for (const { host } of others) {
            wires.weather(member.host, host).isCut = isCut;
            wires.weather(host, member.host).isCut = isCut;
          }
          wires.changed();
        };
        set(true);
        return () => set(false);
      }
      default:
        return undefined;
    }
  }
}
