/**
 * What any node on Node.js has to do for a post, and no more: HTTP, JSON, a signature for each transaction, one append with a sync for all that
 * came during the last one, and an answer of the same size. There are no rules and no state. `DIR` has its file. `DIR api` does this behind the
 * API of the node: its framework, its checks of a request, its transactions with their bytes and hashes, its answer. `DIR rules OUTPUTS` checks
 * them by the rules, too, and takes them into the pool of a state, without anything between: no bounds, turns, threads, seals or records.
 */

import { closeSync, fdatasync, openSync, writeSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { keyPairFromSeed, sign, verifySignature } from '../src/crypto/ed25519.js';
import type { MempoolService } from '../src/mempool/service.js';
import { compiled, obey } from './contest.js';

const [dir = '', form, outputs = '0'] = process.argv.slice(2);
const file = openSync(join(dir, `bare-${form}`), 'w');
const seed = new Uint8Array(32);
const { publicKey } = keyPairFromSeed(seed);
const message = new Uint8Array(64);
const signature = sign(seed, message);

interface Waiting {
  readonly bytes: Uint8Array;
  readonly written: () => void;
}
let waiting: Waiting[] = [];
let isSyncing = false;

/** Calls `written` when the bytes are synced. */
function append(bytes: Uint8Array, written: () => void): void {
  waiting.push({ bytes, written });
  if (!isSyncing) writeGroup();
}

function writeGroup(): void {
  const group = waiting;
  waiting = [];
  isSyncing = group.length > 0;
  if (!isSyncing) return;
  writeSync(file, Buffer.concat(group.map(({ bytes }) => bytes)));
  fdatasync(file, (error) => {
    if (error) throw error;
    for (const { written } of group) written();
    writeGroup();
  });
}

function verify(count: number): void {
  for (let i = 0; i < count; i++)
    if (!verifySignature(publicKey, message, signature)) throw new Error('a signature is refused');
}

const answersAlone = async () => {
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      const body = Buffer.concat(pieces);
      const { transactions } = JSON.parse(body.toString()) as { readonly transactions: readonly unknown[] };
      verify(transactions.length);
      append(body, () =>
        response.writeHead(201, { 'content-type': 'application/json', 'content-length': body.length }).end(body),
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close: async () => void server.close() };
};

const answersByApi = async () => {
  const { encodeTransaction } = await compiled<typeof import('../src/chain/codec.js')>('chain/codec.js');
  const { transactionHashOfBytes } = await compiled<typeof import('../src/chain/hash.js')>('chain/hash.js');
  const { mempoolApi } = await import('./mempool-api.js');
  const submit: MempoolService['submit'] = async (transactions) => {
    const pieces = transactions.map((transaction) => encodeTransaction(transaction));
    const answer = transactions.map((transaction, i) => {
      return { hash: transactionHashOfBytes(pieces[i] ?? new Uint8Array()), transaction };
    });
    verify(transactions.length);
    await new Promise<void>((resolve) => append(Buffer.concat(pieces), resolve));
    return answer;
  };
  return mempoolApi(submit);
};

const answersByRules = async () => {
  const { encodeTransaction } = await compiled<typeof import('../src/chain/codec.js')>('chain/codec.js');
  const { transactionHashOfBytes } = await compiled<typeof import('../src/chain/hash.js')>('chain/hash.js');
  const { planValidation, runCheck } =
    await compiled<typeof import('../src/chain/validation.js')>('chain/validation.js');
  const { mempoolApi } = await import('./mempool-api.js');
  const { stateWithoutRecords } = await import('./bench-state.js');
  const { coins, take } = stateWithoutRecords(Number(outputs));
  const submit: MempoolService['submit'] = async (transactions) => {
    const candidates = transactions.map((tx) => {
      const bytes = encodeTransaction(tx);
      return { hash: transactionHashOfBytes(bytes), bytes, tx };
    });
    for (const { tx } of candidates) {
      const { checks, fault } = planValidation(tx, 0n, (outPoint) => coins.find(outPoint));
      if (fault !== null || !checks.every(runCheck)) throw new Error('a payment is refused');
    }
    await new Promise<void>((resolve) => append(Buffer.concat(candidates.map(({ bytes }) => bytes)), resolve));
    take(candidates);
    return candidates.map(({ hash, tx }) => ({ hash, transaction: tx }));
  };
  return mempoolApi(submit);
};

const answers = form === 'api' ? answersByApi : form === 'rules' ? answersByRules : answersAlone;
const { url, close } = await answers();
obey(url, async () => {
  await close();
  closeSync(file);
});
