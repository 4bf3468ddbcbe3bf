/**
 * The operator of a world whose etcd was restored from an older copy. When every mempool node that has applied more has said so, at two starts, they do
 * what the document says (docs/high-availability.md#disaster-recovery).
 */

import { DataDir } from '../../src/db/data-dir.js';
import { revisionOf, seqOf } from '../../src/journal/etcd/entries.js';
import { fromUtf8 } from '../../src/lib/bytes.js';
import { isTesseraError } from '../../src/lib/errors.js';
import { keys } from '../../src/mempool/state/layout.js';
import { decodeHead } from '../../src/mempool/state/records.js';
import { buildState } from '../../src/node/rebuild/build-state.js';
import type { Stage } from './play.js';
import { Disk } from './world/disk.js';
import type { EtcdCopy } from './world/etcd-agreed.js';
import { copyBelow, makeFolder, putBack, putOn } from './world/files.js';
import type { Machine } from './world/node.js';
import type { Process } from './world/world.js';

const LOST = /the journal in etcd \(cluster [0-9a-f]+, revision \d+\) has lost command \d+/;
/** What a node says that waits for a state which nobody has. */
const WAITS = /it makes none from storage: .*run tessera rebuild/;
const LOOK_MS = 200;
/** Milliseconds after which a node that has more than the journal must not be at work. */
const UNNAMED_MS = 20_000;
/** Starts at which a node says it. */
const STARTS = 2;
/** Where the copy of a storage node's folder is. */
const ARCHIVE = '/world/copy';

export class Operator {
  readonly #stage: () => Stage;
  #hand: Process | undefined;
  /** Nodes that have ended because the journal lacks what they have, and how often. */
  readonly #named = new Map<Machine, number>();
  /** What is to be done yet. */
  problem: string | null = null;
  /** From when on, in milliseconds, all must be kept again; undefined where nothing may be lost. */
  keptSince: number | undefined;

  constructor(stage: () => Stage) {
    this.#stage = stage;
  }

  /** True for an end that is right: there is less in the journal than the node has. */
  onEnded(machine: Machine, error: unknown): boolean {
    if (this.problem === null || !isTesseraError(error, 'data_corrupt') || !LOST.test(error.message)) return false;
    this.#named.set(machine, (this.#named.get(machine) ?? 0) + 1);
    return true;
  }

  /** Called in the moment in which etcd is what it was. `isKept`: it stays the journal, also where no node goes on with it. */
  restored(copy: EtcdCopy, isKept: boolean): void {
    const { world, mempools } = this.#stage();
    const end = endOf(copy);
    const ahead = mempools.filter((one) => seqOfState(one) > end);
    world.note(`etcd ends at revision ${revisionOf(end)}; ${ahead.map(({ name }) => name).join(', ')} have more`);
    this.problem = 'the operator waits for the nodes that have more than etcd';
    this.#hand = world.process('operator');
    const recover = async (): Promise<void> => {
      await this.#until(() => this.#areNamed(ahead));
      const ended = [...this.#named.keys()];
      if (ended.length === mempools.length && !isKept) await this.#newJournal();
      else await this.#restoredJournal(ended);
      this.problem = null;
    };
    world.later(this.#hand, 0, () => {
      recover().catch((error: unknown) => world.onUncaught(this.#hand as Process, error));
    });
    const limit = world.now + UNNAMED_MS;
    world.at(this.#hand, limit, () => {
      const silent = ahead.filter((one) => one.isReady && !this.#named.has(one));
      for (const { name } of silent)
        this.#stage().violations.push({ rule: 'lossIsNamed', detail: `${name} has more than etcd, and goes on` });
    });
  }

  #areNamed(ahead: readonly Machine[]): boolean {
    return ahead.every((one) => (this.#named.get(one) ?? 0) >= STARTS);
  }

  /**
   * The databases of the nodes that ended are put aside; they come to the journal as it is. Where no node has a state that it goes on from, and none can be made
   * of blocks, they say so: the databases come back, and a new journal begins.
   */
  async #restoredJournal(ended: readonly Machine[]): Promise<void> {
    const { world, machines, mempools } = this.#stage();
    this.keptSince = Number.POSITIVE_INFINITY;
    world.note(`the operator puts the databases of ${ended.map(({ name }) => name).join(', ')} aside`);
    const putBack = ended.map((machine) => machine.copyDisk());
    for (const machine of ended) {
      machine.kill();
      machine.disk.wipe();
    }
    this.problem = 'the nodes come to the restored journal';
    const isReady = (): boolean => machines.every((one) => one.isReady);
    const isStuck = (): boolean => mempools.every(({ problems }) => problems.some((one) => WAITS.test(one)));
    await this.#until(() => isReady() || isStuck());
    if (isReady()) {
      this.keptSince = world.now;
      return;
    }
    world.note('the operator puts the databases back');
    for (const run of putBack) run();
    // Nothing was accepted meanwhile.
    this.keptSince = undefined;
    await this.#newJournal();
  }

  /** All mempool nodes go to a new journal, with all that waits in their states. */
  async #newJournal(): Promise<void> {
    const { world, mempools, storages } = this.#stage();
    const next = (one: Machine): number => one.services?.storage?.nextHeight ?? 0;
    world.note('the operator has all mempool nodes begin a new journal');
    const [storage] = [...storages].sort((a, b) => next(b) - next(a));
    if (storage === undefined) return;
    const release = [...mempools, storage].map((one) => one.hold());
    for (const one of [...mempools, storage]) one.stop();
    await this.#until(() => [...mempools, storage].every((one) => one.process === undefined));
    const disk = new Disk(world, storage.disk.luck);
    disk.putBack(storage.disk.copy());
    putOn(ARCHIVE, disk);
    makeFolder(ARCHIVE);
    putBack(copyBelow(storage.folder), ARCHIVE);
    release.pop()?.();
    for (const mempool of mempools) {
      mempool.change({ 'journal.prefix': 'again' });
      await this.#rebuild(mempool);
    }
    for (const start of release) start();
  }

  /** `tessera rebuild --role mempool --archive`. */
  async #rebuild({ name, host, folder, disk, config, genesis }: Machine): Promise<void> {
    if (this.#hand !== undefined) this.#hand.host = host;
    // The program looks whether there is an old one.
    makeFolder(`${folder}/db/mempool`);
    const building = await DataDir.open(`${folder}/rebuild`, { role: 'mempool', networkName: config.network.name });
    const { signal } = new AbortController();
    const options = { config, genesis, archive: ARCHIVE, signal, onProgress: () => undefined };
    const { height, carried, problems } = await buildState(building, options).finally(() => building.close());
    disk.rename('rebuild/mempool', 'mempool');
    disk.remove('rebuild/journal');
    this.#stage().world.note(`${name} is rebuilt with the blocks up to ${height}, ${carried} carried: ${problems}`);
  }

  async #until(isSo: () => boolean): Promise<void> {
    const { world } = this.#stage();
    const hand = this.#hand;
    while (hand !== undefined && !isSo()) {
      await new Promise<void>((resolve) => void world.later(hand, LOOK_MS, resolve));
    }
  }
}

/** Number of the last entry. */
function endOf({ kept }: EtcdCopy): number {
  const head = [...kept.values()].find(({ key }) => fromUtf8(key).endsWith('/head'));
  return head === undefined ? 0 : seqOf(head.modRevision, Number(fromUtf8(head.value)) - 1);
}

/** Number of the last entry that a node has applied. */
function seqOfState({ services, disk }: Machine): number {
  const head = disk.valueOf('mempool', keys.head);
  return Math.max(services?.mempool?.figures().seq ?? 0, head === undefined ? 0 : decodeHead(head).seq);
}
