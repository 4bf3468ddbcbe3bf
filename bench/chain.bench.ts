/**
 * The chain's share of admission: reading, hashing and planning a payment of one input and two outputs; and certificates.
 */

import { addressOf } from '../src/chain/address.js';
import { tokenAsset } from '../src/chain/assets.js';
import { assembleSigned, txOut, unsignedInput } from '../src/chain/builders.js';
import { blockCertificateFault, certifyBlock, chainName } from '../src/chain/certificate.js';
import { decodeTransaction, encodeTransaction } from '../src/chain/codec.js';
import { parseCreateTransaction, transactionToCreateJson } from '../src/chain/create-transaction.js';
import { transactionHash } from '../src/chain/hash.js';
import { transactionJson } from '../src/chain/json.js';
import { outPointKey } from '../src/chain/transaction.js';
import type { Transaction, TxOut } from '../src/chain/types.js';
import { planValidation, runCheck, type ScriptCheck } from '../src/chain/validation.js';
import { keyPairFromSeed } from '../src/crypto/ed25519.js';
import { toHex } from '../src/lib/bytes.js';
import { stringifyExact } from '../src/lib/json.js';
import { printRow, printSection, ratePerSecond } from './report.js';

/** Different transactions, so that no cache is asked for the same one twice in a row. */
const COUNT = 1_000;
const MICROSECONDS = 1_000_000;

function payments(): { transactions: Transaction[]; utxo: Map<string, TxOut> } {
  const utxo = new Map<string, TxOut>();
  const transactions = Array.from({ length: COUNT }, (_, i) => {
    const seed = new Uint8Array(32);
    new DataView(seed.buffer).setUint32(0, i + 1);
    const key = keyPairFromSeed(seed);
    const address = addressOf(key.publicKey);
    const outPoint = { tHash: `g${String(i).padStart(31, '0')}`, n: 0 };
    const name = outPointKey(outPoint);
    utxo.set(name, txOut(tokenAsset(5_000_000n), address));
    const outputs = [txOut(tokenAsset(3_000_000n), address), txOut(tokenAsset(2_000_000n), address)];
    return assembleSigned({ inputs: [unsignedInput(outPoint)], outputs }, new Map([[name, key]]));
  });
  return { transactions, utxo };
}

/** Calls `run` with one item after the other, round and round. */
function over<T>(items: readonly T[], run: (item: T) => unknown): () => void {
  let next = 0;
  return () => {
    const item = items[next];
    next = (next + 1) % items.length;
    if (item !== undefined) run(item);
  };
}

export async function chainBench(): Promise<void> {
  const { transactions, utxo } = payments();
  const bodies = transactions.map((tx): unknown => JSON.parse(stringifyExact(transactionToCreateJson(tx))));
  const encoded = transactions.map(encodeTransaction);
  const plan = (tx: Transaction) => planValidation(tx, 0n, (outPoint) => utxo.get(outPointKey(outPoint)));
  const checks = transactions.flatMap((tx): readonly ScriptCheck[] => plan(tx).checks);
  const steps: readonly (readonly [name: string, run: () => void])[] = [
    ['read a submitted body', over(bodies, (body) => parseCreateTransaction(body))],
    ['encode', over(transactions, encodeTransaction)],
    ['encode and hash', over(transactions, transactionHash)],
    ['decode', over(encoded, decodeTransaction)],
    ['write as JSON', over(transactions, transactionJson)],
    ['plan validation', over(transactions, plan)],
    ['run the signature check', over(checks, runCheck)],
  ];
  const producer = keyPairFromSeed(new Uint8Array(32).fill(7));
  const producers = { chain: chainName('bench', ''), keys: [toHex(producer.publicKey)] };
  const places = transactions.map((tx, height) => ({ height, hash: `b${transactionHash(tx)}` }));
  const certified = places.map((place) => ({ place, certificate: certifyBlock(producer, producers.chain, place) }));
  const ofBlocks: typeof steps = [
    ['sign a block', over(places, (place) => certifyBlock(producer, producers.chain, place))],
    [
      'verify the certificate of a block',
      over(certified, (one) => blockCertificateFault(producers, one.place, one.certificate)),
    ],
  ];
  printSection(`chain: one input, two outputs, ${encoded[0]?.length ?? 0} bytes`);
  for (const [name, run] of steps) printRow({ name, value: MICROSECONDS / ratePerSecond(run), unit: 'us' });
  printSection('chain: certificates');
  for (const [name, run] of ofBlocks) printRow({ name, value: MICROSECONDS / ratePerSecond(run), unit: 'us' });
}
