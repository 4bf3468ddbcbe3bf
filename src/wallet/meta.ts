/** The counters of the wallet: one small record that is written together with the records that they count. */

import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import type { BincodeReader } from '../chain/bincode.js';
import { decodeRecord } from '../db/decode-record.js';
import type { Kv } from '../db/kv.js';
import { fromUtf8, utf8 } from '../lib/bytes.js';
import { META_KEY } from './layout.js';
import type { WriteBuffer } from './write-buffer.js';

const Count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const MetaRecord = Type.Object({
  /** Height of the last block that the wallet has taken in; -1 before the first. */
  block: Type.Integer({ minimum: -1, maximum: Number.MAX_SAFE_INTEGER }),
  blockHash: Type.Optional(Type.String()),
  /** True when a producer has signed that block; records of earlier versions do not know. */
  certified: Type.Optional(Type.Boolean()),
  arrivals: Count,
  spent: Count,
  payments: Count,
  /** Number of movements in the history; absent in a folder of an earlier version, which has none yet. */
  movements: Type.Optional(Count),
  rewardAddress: Type.Union([Type.String(), Type.Null()]),
  /** Unix seconds when the words were made, together with this store; absent for a wallet of other words, or with seeds. */
  bornAt: Type.Optional(Count),
  /** True once the seeds of the configuration were loaded. */
  seeded: Type.Boolean(),
});

export type Meta = Static<typeof MetaRecord>;

/** Gives the number of a batch of coins (a block, a refresh, a payment), which is taken when the first coin of it arrives. */
export type Arrival = () => number;

export class MetaStore {
  readonly #writes: WriteBuffer;
  #current: Readonly<Meta>;

  private constructor(current: Meta, writes: WriteBuffer) {
    this.#current = current;
    this.#writes = writes;
  }

  /** Throws `wallet_unreadable` when the record is damaged. */
  static async open(kv: Kv, writes: WriteBuffer): Promise<MetaStore> {
    return new MetaStore(await readMeta(kv), writes);
  }

  get current(): Readonly<Meta> {
    return this.#current;
  }

  beginArrival(): Arrival {
    let number: number | undefined;
    return () => {
      if (number === undefined) {
        number = this.#current.arrivals + 1;
        this.update({ arrivals: number });
      }
      return number;
    };
  }

  update(change: { readonly [K in keyof Meta]?: Meta[K] | undefined }): void {
    this.#current = { ...this.#current, ...change } as Meta;
    this.#writes.put(META_KEY, utf8(JSON.stringify(this.#current)));
  }
}

export async function readMeta(kv: Kv): Promise<Meta> {
  const bytes = await kv.get(META_KEY);
  if (bytes === undefined) return { block: -1, arrivals: 0, spent: 0, payments: 0, rewardAddress: null, seeded: false };
  return decodeRecord('record of counters', bytes, readCounters, 'wallet_unreadable');
}

function readCounters(reader: BincodeReader): Meta {
  const record: unknown = JSON.parse(fromUtf8(reader.rest()));
  if (!Value.Check(MetaRecord, record)) throw new RangeError('not as the schema asks');
  return record;
}
