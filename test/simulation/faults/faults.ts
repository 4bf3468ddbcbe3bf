/** Makes the faults of a story happen to its world, and end. */

import type { Stage } from '../play.js';
import { textOf } from '../story.js';
import type { Fault } from '../themes.js';
import { damageState, diskFault, failWallet, indexFault, loseDisk, olderCopy, olderWallet } from './disks.js';
import { etcdFault } from './etcd.js';
import type { Hand, Undo } from './hand.js';
import { atImage, atWrite, blackOut, clockFault, upgrade } from './machines.js';
import { weatherFault } from './network.js';

/** Milliseconds after which a supervisor starts again what has ended. */
const SUPERVISOR_MS = 1_000;

export class Faults {
  readonly #stage: Stage;
  readonly #faults: readonly Fault[];
  readonly #hand: Hand;
  readonly #running = new Set<Undo>();

  constructor(stage: Stage, faults: readonly Fault[]) {
    this.#stage = stage;
    this.#faults = faults;
    this.#hand = { stage, process: stage.world.process('fate'), isEtcdCopied: false };
  }

  schedule(): void {
    const { world } = this.#stage;
    for (const fault of this.#faults) {
      world.later(this.#hand.process, fault.at, () => {
        world.note(`-- ${textOf(fault)}`);
        const undo = this.#begin(fault);
        if (undo === undefined) return;
        const end = (): void => {
          if (this.#running.delete(end)) undo();
        };
        this.#running.add(end);
        world.later(this.#hand.process, fault.ms, end);
      });
    }
    const supervise = (): void => {
      for (const machine of this.#stage.machines) {
        if (machine.process === undefined && !machine.isHeld) machine.start();
      }
      world.later(this.#hand.process, SUPERVISOR_MS, supervise);
    };
    world.later(this.#hand.process, SUPERVISOR_MS, supervise);
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
        return blackOut(this.#hand);
      case 'lose disk':
      case 'lose disk alone':
        return loseDisk(this.#hand, fault);
      case 'older copy':
        return olderCopy(this.#hand, machine);
      case 'older copy alone':
        return olderCopy(this.#hand, mempools[fault.where % mempools.length] ?? machine, { isAlone: true });
      case 'kill at an image':
      case 'lose power at an image':
        return atImage(this.#hand, fault);
      case 'damage state':
        return damageState(this.#hand, fault);
      case 'kill at a write':
      case 'lose power at a write':
      case 'blackout at a write':
        return atWrite(this.#hand, fault, machine);
      case 'stop':
        machine.stop();
        return machine.hold();
      case 'upgrade':
        upgrade(this.#hand, fault);
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
        return clockFault(this.#hand, fault, machine);
      case 'full disk':
      case 'failing disk':
      case 'slow disk':
      case 'flip':
        return diskFault(this.#hand, fault, machine);
      case 'older wallet':
        return olderWallet(this.#hand, fault);
      case 'fail wallet':
        return failWallet(this.#hand, fault);
      case 'flip index':
      case 'lose index':
        return indexFault(this.#hand, fault);
      case 'break': {
        const all = [...wires.wires];
        for (const wire of all) if (this.#hand.process.luck.chance(fault.much)) wire.end('the connection was reset');
        return undefined;
      }
      case 'cut':
      case 'cut one way':
      case 'isolate':
      case 'delay':
      case 'loss':
        return weatherFault(this.#hand, fault, machine);
      default:
        return etcdFault(this.#hand, fault);
    }
  }
}
