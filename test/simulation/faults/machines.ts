/** Faults of machines and of their clocks. */

import { keys } from '../../../src/mempool/state/layout.js';
import type { Fault } from '../themes.js';
import type { Machine } from '../world/node.js';
import type { Hand, Undo } from './hand.js';

/** Changes of a disk after which one of them may be the last. */
const MOST_CHANGES = 60;
/** Milliseconds between the clocks that are most wrong. */
const MOST_WRONG_MS = 240_000;

export function blackOut(hand: Hand): Undo {
  const ends = hand.stage.machines.map((one) => {
    one.losePower();
    return one.hold();
  });
  return () => {
    for (const end of ends) end();
  };
}

/** It happens between two changes of the disk, or in the middle of what belongs together. */
export function atWrite(hand: Hand, { kind, other }: Fault, machine: Machine): undefined {
  const { world, machines } = hand.stage;
  machine.disk.atChange(other % MOST_CHANGES, () => {
    world.note(`${machine.name}: ${kind}`);
    if (kind === 'kill at a write') machine.kill();
    else if (kind === 'lose power at a write') machine.losePower();
    else for (const one of machines) one.losePower();
  });
}

/** A mempool node ends whenever its image gets a name, as long as the fault lasts. */
export function atImage(hand: Hand, { kind, where }: Fault): Undo | undefined {
  const { world, mempools } = hand.stage;
  const machine = mempools[where % mempools.length];
  return machine?.disk.atWriteOf('mempool', keys.image, () => {
    world.note(`${machine.name}: ${kind}`);
    if (kind === 'kill at an image') machine.kill();
    else machine.losePower();
  });
}

/** One machine after the other is stopped, and starts again. */
export function upgrade(hand: Hand, { ms }: Fault): void {
  const { world, machines } = hand.stage;
  for (const [i, machine] of machines.entries()) {
    world.later(hand.process, (i * ms) / machines.length, () => machine.stop());
  }
}

export function clockFault(hand: Hand, { kind, much }: Fault, machine: Machine): Undo {
  const { world } = hand.stage;
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
