/** The record of a derived key: the fingerprint of its words, its account and its index. */

import { BincodeWriter } from '../../chain/bincode.js';
import { decodeRecord, readChoice } from '../../db/decode-record.js';
import { ACCOUNTS, type KeyPlace } from './derived-keys.js';

export function encodePlace({ account, index }: KeyPlace, fingerprint: string): Uint8Array {
  const to = new BincodeWriter();
  to.string(fingerprint);
  to.u8(ACCOUNTS.indexOf(account));
  to.u64(BigInt(index));
  return to.toBytes();
}

/** Undefined when other words gave the key. Throws `wallet_unreadable`. */
export function decodePlace(record: Uint8Array, fingerprint: string): KeyPlace | undefined {
  const read = decodeRecord(
    'place of a key',
    record,
    (from) => ({ by: from.string(), account: readChoice(from, ACCOUNTS), index: from.number64() }),
    'wallet_unreadable',
  );
  return read.by === fingerprint ? { account: read.account, index: read.index } : undefined;
}
