/**
 * Gives the state to another mempool node of the operator, part by part, as it was when the first part was asked for:
 * LevelDB keeps that view for an iterator. One node is served at a time, and little more than a part is in memory.
 */

import { createHash, type Hash } from 'node:crypto';
import type { Kv, KvEntry } from '../../db/kv.js';
import { toHex } from '../../lib/bytes.js';
import type { Timer } from '../../lib/clock.js';
import { TesseraError } from '../../lib/errors.js';
import { Mutex } from '../../lib/mutex.js';
import type { HasClock, HasLogger, HasRandom } from '../../observability/modules.js';
import { type MessageBody, SNAPSHOT_PART_BYTES } from '../../peers/messages.js';
import type { Link, PeerNetwork, Reply } from '../../peers/network.js';
import type { StateStore } from '../state/state-store.js';
import { isCopied, WHOLE, writeRecord } from './snapshot-records.js';

/** Milliseconds without a question after which the view is given up: as long as it exists, LevelDB frees little. */
const IDLE_MS = 60_000;
const ID_BYTES = 16;

export interface SnapshotServerModules extends HasClock, HasLogger, HasRandom {
  readonly kv: Kv;
  readonly store: Pick<StateStore, 'problem' | 'refusals' | 'flush'>;
  readonly network: Pick<PeerNetwork, 'handle'>;
}

export class SnapshotServer {
  readonly #modules: SnapshotServerModules;
  readonly #asking = new Mutex();
  #transfer: Transfer | undefined;
  #idle: Timer | undefined;

  constructor(modules: SnapshotServerModules) {
    this.#modules = modules;
  }

  start(): void {
    this.#modules.network.handle('snapshot.get', (link, { body }) => this.#asking.run(() => this.#give(link, body)));
  }

  async stop(): Promise<void> {
    this.#idle?.cancel();
    await this.#asking.run(() => this.#end());
  }

  async #give(link: Link, { transfer: id, part }: MessageBody<'snapshot.get'>): Promise<Reply> {
    const { store, clock } = this.#modules;
    if (store.problem !== null) {
      await this.#end();
      throw new TesseraError('overloaded', `${store.problem}; try again`);
    }
    const transfer = id === undefined ? await this.#begin(link) : this.#transfer;
    if (transfer === undefined || (id !== undefined && transfer.id !== id)) {
      throw new TesseraError('entry_not_found', 'that transfer has ended; begin another one');
    }
    const reply = await transfer.part(part);
    // The database is opened again when the disk has refused a write; a view that begins then is of another moment.
    if (store.refusals !== transfer.refusals) {
      await this.#end();
      throw new TesseraError(
        'overloaded',
        'the disk of this node has refused a write meanwhile; begin another transfer',
      );
    }
    this.#idle?.cancel();
    this.#idle = clock.after(IDLE_MS, () => {
      this.#asking.run(() => this.#end()).catch(() => undefined);
    });
    return reply;
  }

  async #begin(link: Link): Promise<Transfer> {
    const { kv, store, random, logger } = this.#modules;
    if (this.#transfer !== undefined && this.#transfer.nodeKey !== link.nodeKey && !this.#transfer.isDone) {
      throw new TesseraError('overloaded', 'another node is given the state now; try again');
    }
    await this.#end();
    await store.flush();
    this.#transfer = new Transfer(toHex(random.bytes(ID_BYTES)), link.nodeKey, store.refusals, kv);
    logger.info({ peer: link.address }, 'a mempool node takes the state of this one');
    return this.#transfer;
  }

  async #end(): Promise<void> {
    this.#idle?.cancel();
    const ended = this.#transfer;
    this.#transfer = undefined;
    await ended?.close();
  }
}

class Transfer {
  readonly id: string;
  readonly nodeKey: string;
  readonly refusals: number;
  readonly #entries: AsyncIterator<KvEntry>;
  readonly #hash: Hash = createHash('sha256');
  #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
  #isRead = false;
  #count = 0;
  #last: Reply<'snapshot.part'> | undefined;

  constructor(id: string, nodeKey: string, refusals: number, kv: Kv) {
    this.id = id;
    this.nodeKey = nodeKey;
    this.refusals = refusals;
    this.#entries = kv.entries(WHOLE)[Symbol.asyncIterator]();
  }

  get isDone(): boolean {
    return this.#last?.body.sha256 !== undefined;
  }

  async part(number: number): Promise<Reply> {
    if (this.#last !== undefined && number === this.#count - 1) return this.#last;
    if (number !== this.#count || this.isDone)
      throw new TesseraError('invalid_request', `part ${number} does not come after ${this.#count} parts`);
    const attachment = await this.#next();
    this.#hash.update(attachment);
    const isLast = this.#isRead && this.#waitingBytes === 0;
    this.#count++;
    const sha256 = isLast ? { sha256: this.#hash.digest('hex') } : {};
    this.#last = { type: 'snapshot.part', body: { transfer: this.id, part: number, ...sha256 }, attachment };
    return this.#last;
  }

  async close(): Promise<void> {
    await this.#entries.return?.();
  }

  async #next(): Promise<Uint8Array> {
    while (!this.#isRead && this.#waitingBytes < SNAPSHOT_PART_BYTES) {
      const { done, value } = await this.#entries.next();
      if (done) this.#isRead = true;
      else if (isCopied(value[0])) this.#push(writeRecord(value[0], value[1]));
    }
    const all = Buffer.concat(this.#waiting);
    const rest = all.subarray(SNAPSHOT_PART_BYTES);
    this.#waiting = [];
    this.#waitingBytes = 0;
    if (rest.length > 0) this.#push(rest);
    return all.subarray(0, SNAPSHOT_PART_BYTES);
  }

  #push(bytes: Uint8Array): void {
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
  }
}
