/**
 * The image of the unspent outputs: a file from which a start has the table in a fraction of the time that the records take
 * (docs/adr/0050-an-image-of-the-outputs.md). A new one is written beside the running node when enough has changed since the last
 * one. What changed since then is in the database, so a start reads the image and those records. The records stay what counts: a
 * table that does not give the digest that was written with them is thrown away, and they are read.
 */

import { mkdir, readdir, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { decodeTxOut } from '../../chain/codec.js';
import type { Kv, KvBatch } from '../../db/kv.js';
import { syncFolder } from '../../db/write-file-durable.js';
import { UtxoTable } from '../../ledger/utxo/utxo-table.js';
import { toHex } from '../../lib/bytes.js';
import { errorMessage, isTesseraError, TesseraError } from '../../lib/errors.js';
import { failpoint } from '../../lib/failpoints.js';
import { pause } from '../../lib/pause.js';
import type { Pieces } from '../../lib/pieces.js';
import { Failure } from '../../lib/service.js';
import { type SetDigest, setDigestText } from '../../lib/set-digest.js';
import { TimeSlices } from '../../lib/time-slices.js';
import type { HasClock, HasLogger, HasRandom } from '../../observability/modules.js';
import type { Applier } from '../state/applier.js';
import { keys, outPointOfKey, ranges } from '../state/layout.js';
import type { MempoolState } from '../state/state.js';
import type { StateStore } from '../state/state-store.js';
import { ChangedOutputs, noteChanged } from './changed-outputs.js';
import { decodeImageName, encodeImageName, type ImageName, ImageWriter, readImage } from './image-file.js';

/** A new image is due when more outputs have changed than this share of all, and than this share of `minOutputs`. */
const DUE_SHARE = 1 / 16;
const DUE_SHARE_OF_MIN = 1 / 5;
/** A new image is given up after so many times the changes that make one due. */
const GIVE_UP = 8;
const DELETED_AT_ONCE = 2_000;
/** Bytes of an output in an image, roughly, and how many times the size of an image must be free on the disk. */
const IMAGE_BYTES = 68;
const ROOM = 4;
const ID_BYTES = 16;
const FOLDER_MODE = 0o700;
const FILE = /^([0-9a-f]{32})\.utxos$/;

export interface OutputImageOptions {
  /** Folder that holds nothing but the image; made when it is missing. */
  readonly folder: string;
  /** Number of outputs from which an image is worth its file. */
  readonly minOutputs: number;
  /** Number of changes that make an image due, set by tests. */
  readonly dueChanges?: number;
}

interface OutputImageModules extends HasClock, HasLogger, HasRandom {
  readonly kv: Kv;
}

/** Parts that exist once the state is loaded. */
interface ImagedState {
  readonly state: Pick<MempoolState, 'seq' | 'utxos'>;
  readonly store: StateStore;
  readonly applier: Pick<Applier, 'applied' | 'betweenCommands'>;
}

export class OutputImage {
  readonly #options: OutputImageOptions;
  readonly #modules: OutputImageModules;
  readonly #slices: TimeSlices;
  readonly #stopping = new AbortController();
  readonly #failure = new Failure();
  /** Rejects with `data_corrupt` when the records do not match the state that was read from the image. */
  readonly failed = this.#failure.promise;
  #stopListening: (() => void) | undefined;
  #checking: Promise<void> | undefined;
  #name: ImageName | undefined;
  /** True while the batches of commands say which outputs they change. */
  #isNoting = false;
  /** Outputs that were noted since the image in force, or since the first one was begun. */
  #changes = 0;
  /** Number of changes at which the next attempt is made. */
  #due = 0;
  #writing: Promise<void> | undefined;

  private constructor(options: OutputImageOptions, modules: OutputImageModules, name: ImageName | undefined) {
    this.#options = options;
    this.#modules = modules;
    this.#slices = new TimeSlices(modules.clock);
    this.#name = name;
    this.#isNoting = name !== undefined;
  }

  /** Looks which image is in force, and removes the files of others. */
  static async open(options: OutputImageOptions, modules: OutputImageModules): Promise<OutputImage> {
    const { kv, logger } = modules;
    const record = await kv.get(keys.image);
    const image = new OutputImage(options, modules, record && decodeImageName(record));
    // A file that cannot be removed is in nobody's way.
    await image.#removeOthers().catch((error: unknown) => logger.warn({ err: error }, 'an old image stays'));
    return image;
  }

  /** The table by the image in force; undefined where there is none that can be used. */
  async read(hashKey: Uint8Array, onProgress: (outputs: number) => void): Promise<UtxoTable | undefined> {
    const name = this.#name;
    if (name === undefined) return undefined;
    const { kv, logger } = this.#modules;
    const table = new UtxoTable(hashKey);
    // The database reads while the image is taken in.
    const reading = ChangedOutputs.read(kv, name.seq);
    reading.catch(() => undefined);
    try {
      await readImage(this.#pathOf(name.id), name, table, onProgress);
    } catch (error) {
      if (isTesseraError(error, 'shutting_down')) throw error;
      await reading;
      await this.refuse(errorMessage(error));
      return undefined;
    }
    const changed = await reading;
    await changed.take(table);
    this.#changes = changed.size;
    this.#due = this.#dueChanges(table.size);
    logger.info({ outputs: name.outputs, changed: this.#changes }, 'the unspent outputs were read from their image');
    return table;
  }

  /** Gives up the image, which is not of this state. */
  async refuse(why: string): Promise<void> {
    const { kv, logger } = this.#modules;
    logger.warn({ why }, `the image of the unspent outputs cannot be used (${why}): their records are read`);
    await kv.write(kv.batch().del(keys.image), { sync: true }).catch((error: unknown) => {
      // The next start finds the same wrong image and reads the records again.
      logger.warn({ err: error }, 'the image could not be given up now');
    });
    this.#forget();
    await this.#removeOthers().catch(() => undefined);
  }

  /** Makes images from now on: the state is loaded and stands at the head of the journal. */
  start(loaded: ImagedState): void {
    if (this.#name !== undefined) this.#checking = this.#check(loaded);
    this.#stopListening = loaded.applier.applied.on(() => this.#beginIfDue(loaded));
    this.#beginIfDue(loaded);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#stopListening?.();
    await this.#writing;
    await this.#checking;
  }

  /** Adds the outputs that a batch changes to it, before it is written. It has the changes of the commands up to `seq` only. */
  *note(batch: KvBatch, seq: number): Pieces<void> {
    if (!this.#isNoting) return;
    const changes = yield* noteChanged(batch, seq);
    // The sum is added here, after the pieces: an image may be finished between two of them.
    this.#changes += changes;
  }

  async settled(): Promise<void> {
    await this.#writing;
  }

  /** Resolves when the records were read once, after a start without them. */
  async checked(): Promise<void> {
    await this.#checking;
  }

  /** Begins an image when one is due. What commands change from now on is noted, so it may take its time. */
  #beginIfDue(loaded: ImagedState): void {
    if (this.#writing !== undefined || this.#stopping.signal.aborted) return;
    const { state, store } = loaded;
    const isDue = this.#isNoting ? this.#changes >= this.#due : state.utxos.size >= this.#options.minOutputs;
    if (!isDue || store.problem !== null) return;
    this.#isNoting = true;
    this.#writing = this.#make(state.seq, loaded).finally(() => {
      this.#writing = undefined;
    });
  }

  /** Checks the records against the state: so far only the image has said what is unspent. */
  async #check({ state, store, applier }: ImagedState): Promise<void> {
    const { kv, logger } = this.#modules;
    const modules = { kv, store, utxos: state.utxos, logger, betweenCommands: applier.betweenCommands };
    try {
      await checkRecords(modules, this.#stopping.signal);
    } catch (error) {
      // The next start reads the records, and reports the damage too.
      this.#stopping.abort();
      await this.#writing;
      await this.refuse(errorMessage(error)).catch(() => undefined);
      this.#failure.report(error);
    }
  }

  #dueChanges(outputs: number): number {
    const { minOutputs, dueChanges = minOutputs * DUE_SHARE_OF_MIN } = this.#options;
    return Math.max(dueChanges, outputs * DUE_SHARE);
  }

  async #make(seq: number, { store, applier, state: { utxos } }: ImagedState): Promise<void> {
    const { logger, random } = this.#modules;
    const before = this.#changes;
    const begun = { id: toHex(random.bytes(ID_BYTES)), seq };
    try {
      const name = { ...begun, ...(await this.#write(begun, utxos)) };
      // A command that is applied in part may be in the image only in part, and in no record yet.
      const isOnDisk = await applier.betweenCommands(() => this.#put(store, name));
      if (!isOnDisk) await store.drained();
      failpoint('image.named', 'utxos');
      this.#name = name;
      this.#changes -= before;
      this.#due = this.#dueChanges(utxos.size);
      logger.info({ outputs: name.outputs, command: seq }, 'the unspent outputs have a new image');
      await this.#deleteChanged(store, seq);
      failpoint('image.noted.deleted', 'utxos');
    } catch (error) {
      if (this.#stopping.signal.aborted) return;
      logger.warn({ err: error }, `no image of the unspent outputs could be made: ${errorMessage(error)}`);
      await this.#onFailure(store, utxos.size).catch(() => undefined);
    } finally {
      await this.#removeOthers().catch(() => undefined);
    }
  }

  /** Writes the file, in slices of a few milliseconds. */
  async #write(
    begun: Pick<ImageName, 'id' | 'seq'>,
    utxos: UtxoTable,
  ): Promise<Pick<ImageName, 'outputs' | 'checksum'>> {
    await mkdir(this.#options.folder, { recursive: true, mode: FOLDER_MODE });
    await this.#checkRoom(utxos.size * IMAGE_BYTES);
    const writer = await ImageWriter.create(this.#pathOf(begun.id), begun, utxos);
    failpoint('image.begun', 'utxos');
    try {
      do {
        await this.#slices.turn();
        this.#stopping.signal.throwIfAborted();
      } while (await writer.next());
      failpoint('image.pieces.written', 'utxos');
      const facts = await writer.finish();
      failpoint('image.synced', 'utxos');
      await syncFolder(this.#options.folder);
      failpoint('image.folder.synced', 'utxos');
      return facts;
    } finally {
      await writer.close();
    }
  }

  /** Throws when the disk has too little room: an image must not fill it. */
  async #checkRoom(bytes: number): Promise<void> {
    const { bavail, bsize } = await statfs(this.#options.folder);
    if (bavail * bsize < ROOM * bytes) throw new Error('the disk has too little room for it');
  }

  /** Writes the name after everything before it. False when the disk refuses it for now: the last image stays in force. */
  #put(store: StateStore, name: ImageName): Promise<boolean> {
    return store.write(store.batch().put(keys.image, encodeImageName(name)), { sync: true });
  }

  /** Deletes the records of changes up to `seq`, which the image contains. */
  async #deleteChanged(store: StateStore, seq: number): Promise<void> {
    for (;;) {
      // Deletions that the disk has not made yet would be found again.
      await store.drained();
      const found = await store.list({ ...ranges.changedUpTo(seq), limit: DELETED_AT_ONCE });
      if (found.length === 0) return;
      const batch = store.batch();
      for (const [key] of found) batch.del(key);
      await store.write(batch, { sync: false });
    }
  }

  /** Keeps the last image in force, if there is one, but gives it up when too many changes were noted. */
  async #onFailure(store: StateStore, outputs: number): Promise<void> {
    this.#due = this.#changes + this.#dueChanges(outputs);
    if (this.#changes < GIVE_UP * this.#dueChanges(outputs)) return;
    await store.write(store.batch().del(keys.image), { sync: true });
    this.#forget();
    await this.#deleteChanged(store, Number.MAX_SAFE_INTEGER - 1);
  }

  #forget(): void {
    this.#name = undefined;
    this.#isNoting = false;
    this.#changes = 0;
  }

  /** Removes files of images that are not in force, also of one that was being written when the process ended. */
  async #removeOthers(): Promise<void> {
    const files = await readdir(this.#options.folder).catch(() => []);
    for (const file of files) {
      const [, id] = FILE.exec(file) ?? [];
      if (id === undefined || id === this.#name?.id) continue;
      await rm(join(this.#options.folder, file));
      failpoint('image.removed', 'utxos');
    }
  }

  #pathOf(id: string): string {
    return join(this.#options.folder, `${id}.utxos`);
  }
}

/** Records that are read in one go, in two milliseconds, and the pause after them. */
const PIECE = 500;
const PAUSE_MS = 15;

interface RecordsCheckModules extends HasLogger {
  readonly kv: Kv;
  readonly store: Pick<StateStore, 'problem' | 'refusals'>;
  readonly utxos: UtxoTable;
  /** Runs while no command is applied. */
  readonly betweenCommands: <T>(work: () => Promise<T>) => Promise<T>;
}

/** Throws `data_corrupt` when the records are not those of the state. Ends early when the disk refuses a write. */
async function checkRecords(modules: RecordsCheckModules, signal: AbortSignal): Promise<void> {
  const { kv, store, utxos, logger, betweenCommands } = modules;
  const { refusals } = store;
  const records = kv.entries(ranges.utxos)[Symbol.asyncIterator]();
  try {
    const { first, expected } = await betweenCommands(async () => {
      // The iterator reads a snapshot, taken at its first record.
      return { first: await records.next(), expected: utxos.digest };
    });
    if (store.problem !== null) return;
    const sum = new Digests(utxos);
    for (let record = first; !record.done; record = await records.next()) {
      const [key, value] = record.value;
      if (sum.add(key, value) % PIECE !== 0) continue;
      await pause(PAUSE_MS, signal);
      if (store.refusals !== refusals) return;
    }
    if (store.refusals !== refusals) return;
    if (setDigestText(sum.digest) !== setDigestText(expected)) throw damaged('they are not the outputs of the state');
    logger.info({ outputs: expected.count }, 'the records of the unspent outputs are those of the state');
  } catch (error) {
    if (signal.aborted) return;
    throw error instanceof RangeError ? damaged(errorMessage(error)) : error;
  } finally {
    await records.return?.();
  }
}

class Digests {
  readonly #utxos: UtxoTable;
  #piece: UtxoTable;
  #sum: SetDigest = { count: 0, low: 0, high: 0 };

  constructor(utxos: UtxoTable) {
    this.#utxos = utxos;
    this.#piece = utxos.another();
  }

  get digest(): SetDigest {
    const { count, low, high } = this.#sum;
    const { digest } = this.#piece;
    return { count: count + digest.count, low: (low + digest.low) >>> 0, high: (high + digest.high) >>> 0 };
  }

  add(key: Uint8Array, value: Uint8Array): number {
    this.#piece.insert(outPointOfKey(key), decodeTxOut(value));
    if (this.#piece.size === PIECE) {
      this.#sum = this.digest;
      this.#piece = this.#utxos.another();
    }
    return this.#sum.count + this.#piece.size;
  }
}

function damaged(why: string): TesseraError {
  return new TesseraError(
    'data_corrupt',
    `the mempool's database is damaged: the records of the unspent outputs cannot be trusted: ${why}; run tessera rebuild, or restore the data directory from a backup`,
  );
}
