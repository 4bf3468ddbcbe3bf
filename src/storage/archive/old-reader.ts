/** Reading blocks that are in no segment yet: records of data formats 1 and 2. */

import type { Kv } from '../../db/kv.js';
import { blockAtKey, blockKey, heightKey, indexKey, NAMES_EACH, namesKey, transactionKey } from './layout.js';
import { type BlockRecord, damaged, readBlockNumber, readBlockRecord, readHash, readNames } from './records.js';

export interface NumberedTransaction {
  readonly height: number;
  readonly txNum: number;
}

/** Places with the same text have their hashes in one record. */
const recordOf = ({ height, txNum }: NumberedTransaction): string => `${height}/${Math.floor(txNum / NAMES_EACH)}`;

export class OldReader {
  readonly #kv: Kv;

  constructor(kv: Kv) {
    this.#kv = kv;
  }

  async block(hash: string): Promise<BlockRecord | undefined> {
    const found = await this.#kv.get(blockKey(hash));
    if (found === undefined) return undefined;
    const height = readBlockNumber(found);
    const record = height === undefined ? found : await this.#kv.get(blockAtKey(height));
    return readBlockRecord(hash, present(record, `block ${height}, ${hash},`));
  }

  /** Undefined when neither the block nor its hash is there. */
  async blockAt(height: number): Promise<BlockRecord | undefined> {
    const record = await this.#kv.get(blockAtKey(height));
    if (record !== undefined) return readBlockRecord(height, record);
    const hash = await this.hashAt(height);
    return hash === undefined ? undefined : present(await this.block(hash), `block ${hash}`);
  }

  async hashAt(height: number): Promise<string | undefined> {
    const record = await this.#kv.get(heightKey(height));
    return record && readHash(`block ${height}`, record);
  }

  /** Hashes of transactions in the order of the places; undefined where there is none. */
  async namesAt(places: readonly NumberedTransaction[]): Promise<(string | undefined)[]> {
    const firsts = new Map(places.map((place) => [recordOf(place), place]));
    const records = await this.#kv.getMany([...firsts.values()].map(({ height, txNum }) => namesKey(height, txNum)));
    const names = new Map<string, readonly string[]>();
    for (const [i, [name, { height }]] of [...firsts].entries()) {
      const record = records[i];
      if (record !== undefined) names.set(name, readNames(height, record));
    }
    const found = places.map((place) => names.get(recordOf(place))?.[place.txNum % NAMES_EACH]);
    return names.size === firsts.size ? found : this.#withOlderNames(places, found);
  }

  /** Fills in those of data format 1. */
  async #withOlderNames(
    places: readonly NumberedTransaction[],
    found: readonly (string | undefined)[],
  ): Promise<(string | undefined)[]> {
    const records = await this.#kv.getMany(places.map(({ height, txNum }) => indexKey(height, txNum)));
    return places.map(({ height, txNum }, i) => {
      const record = records[i];
      return found[i] ?? (record && readHash(`transaction ${txNum} of block ${height}`, record));
    });
  }

  /** Records of transactions in the order of the hashes. */
  transactions(hashes: readonly string[]): Promise<(Uint8Array | undefined)[]> {
    return this.#kv.getMany(hashes.map(transactionKey));
  }
}

/** The value; throws `data_corrupt` when it is undefined. */
export function present<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw damaged(`${what} is missing`);
  return value;
}
