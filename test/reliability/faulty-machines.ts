/** The disk and the clock of each node, which fail when a round says so. */

import { NODE_ROLES, type NodeRole } from '../../src/lib/roles.js';
import { FaultyClock } from '../support/faulty-clock/faulty-clock.js';
import { FaultyDisk } from '../support/faulty-disk/faulty-disk.js';
import type { Environment } from '../support/processes.js';

export interface Machine {
  readonly disk: FaultyDisk;
  readonly clock: FaultyClock;
}

/** One for each of the four nodes; a node goes by the name of its role. */
export class FaultyMachines {
  readonly #machines: ReadonlyMap<string, Machine>;

  private constructor(machines: ReadonlyMap<string, Machine>) {
    this.#machines = machines;
  }

  static async create(): Promise<FaultyMachines> {
    const machines = new Map<string, Machine>();
    for (const role of NODE_ROLES) {
      machines.set(role, { disk: await FaultyDisk.create(), clock: await FaultyClock.create() });
    }
    return new FaultyMachines(machines);
  }

  of(role: NodeRole): Machine {
    const machine = this.#machines.get(role);
    if (machine === undefined) throw new Error(`no machine for ${role}`);
    return machine;
  }

  /** Environment of the process of that name, whose folder loses at a power cut what was not synced. */
  environment(name: string, folder: string, seed: number): Environment {
    const machine = this.#machines.get(name);
    if (machine === undefined) return {};
    const [disk, clock] = [machine.disk.environment(folder), machine.clock.environment()];
    return {
      ...clock,
      ...disk,
      FAULTY_DISK_SEED: String(seed),
      LD_PRELOAD: [disk.LD_PRELOAD, clock.LD_PRELOAD].join(' '),
    };
  }

  /** All are sound again. */
  async mend(): Promise<void> {
    for (const { disk, clock } of this.#machines.values()) {
      await disk.set();
      await clock.set(0);
    }
  }

  async remove(): Promise<void> {
    for (const { disk, clock } of this.#machines.values()) {
      await disk.remove();
      await clock.remove();
    }
  }
}
