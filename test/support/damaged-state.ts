/** Damage to the state of a stopped mempool node that no checksum shows. */

import { decodeTxOut, encodeTxOut } from '../../src/chain/codec.js';
import type { TxOut } from '../../src/chain/types.js';
import { DataDir } from '../../src/db/data-dir.js';
import type { Kv } from '../../src/db/kv.js';
import { HASH_KEY_BYTES } from '../../src/ledger/utxo/keyed-hash.js';
import { isTesseraError } from '../../src/lib/errors.js';
import { keys, ranges } from '../../src/mempool/state/layout.js';
import { loadMempoolState } from '../../src/mempool/state/load.js';
import { decodeHead, encodeHead } from '../../src/mempool/state/records.js';
import { rulesFor } from './mempool.js';

/** Damages the state in a folder (`damageRecords`), in the last unspent output: none that a test would spend at once. */
export async function damageState(folder: string, networkName: string): Promise<void> {
  const dataDir = await DataDir.open(folder, { role: 'mempool', networkName });
  await damageRecords(await dataDir.open('mempool'), () => true);
  await dataDir.close();
}

/**
 * Flips one bit in the amount of the last unspent output that is a `victim`; false when there is none. The checksum of the record, and the digest in
 * the head, are those of what it is now. An image is left out: it would have the right amount.
 */
export async function damageRecords(kv: Kv, victim: (output: TxOut) => boolean): Promise<boolean> {
  for await (const [key, record] of kv.entries({ ...ranges.utxos, reverse: true })) {
    const output = decodeTxOut(record);
    if (!victim(output)) continue;
    const value = { ...output.value, amount: output.value.amount ^ 1n };
    await kv.write(
      kv
        .batch()
        .put(key, encodeTxOut({ ...output, value }))
        .del(keys.image),
      { sync: true },
    );
    const head = decodeHead((await kv.get(keys.head)) ?? new Uint8Array());
    await kv.write(kv.batch().put(keys.head, encodeHead({ ...head, digest: await digestOf(kv) })), { sync: true });
    return true;
  }
  return false;
}

/** Of what the records give, whatever the head says; it does not depend on the rules. */
async function digestOf(kv: Kv): Promise<string> {
  try {
    const state = await loadMempoolState(kv, rulesFor([]), { hashKey: new Uint8Array(HASH_KEY_BYTES) });
    return state.digest();
  } catch (error) {
    if (isTesseraError(error) && typeof error.details.digest === 'string') return error.details.digest;
    throw error;
  }
}
