/**
 * Clients of the API with a grudge: keys that they guess, bodies larger than any may be, hundreds of lists of bad
 * signatures.
 */

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createConnection } from 'node:net';
import { tokenAsset } from '../../../src/chain/assets.js';
import { txOut } from '../../../src/chain/builders.js';
import { transactionToCreateJson } from '../../../src/chain/create-transaction.js';
import { stringifyExact } from '../../../src/lib/json.js';
import { createNetwork, type NodeProcess } from '../../support/processes.js';
import { type Arena, WATCHED, type Watch } from '../arena.js';
import { type Attack, mustBe } from '../attack.js';
import { devAccount, freshAddress, postText, spendOf } from '../submit.js';

const GUESSES = 200;
const GUESSES_AT_ONCE = 20;
const LARGE_BODIES = 40;
const LARGE_AT_ONCE = 10;
const LARGE_BYTES = 6 * 1024 * 1024;
const BAD_LISTS = 60;
const BAD_SIGNATURES = 1_000;
const CHUNK = Buffer.alloc(64 * 1024, ' ');

async function guess(node: NodeProcess, key: string): Promise<number> {
  const response = await fetch(`${node.apiUrl}/v1/wallet/keypairs`, { headers: { 'x-api-key': key } });
  await response.arrayBuffer();
  return response.status;
}

/** A wallet node of its own, as an operator would run it: with the API key that it made for itself. */
async function guessApiKeys({ mempool, scale }: Arena, watch: Watch): Promise<void> {
  const network = await createNetwork();
  try {
    const user = await network.add('user', 'user', {
      ...WATCHED,
      'api.auth': 'keys',
      'wallet.genesis_seed_index': 0,
      'peers.mempool': mempool.peerAddress,
    });
    await watch.alsoAt(user);
    const seen = new Set<number>();
    for (let i = 0; i < GUESSES * scale; i += GUESSES_AT_ONCE) {
      const keys = Array.from({ length: GUESSES_AT_ONCE }, () => randomBytes(16).toString('hex'));
      for (const status of await Promise.all(keys.map((key) => guess(user, key)))) seen.add(status);
    }
    mustBe(
      [...seen].every((status) => status === 401 || status === 429),
      `answers: ${[...seen].join(', ')}`,
    );
    mustBe(seen.has(429), `${GUESSES * scale} wrong keys were all looked at`);
    mustBe((await fetch(`${user.apiUrl}/v1/debug`)).status === 200, 'open routes are closed to one who guesses');
  } finally {
    await network.stopAll();
  }
}

/** Sends a body that is too large to its end, as a client does that does not look up meanwhile; gives what came back. */
async function postTooMuch({ apiUrl }: NodeProcess): Promise<string> {
  const { hostname, port } = new URL(apiUrl);
  const socket = createConnection({ host: hostname, port: Number(port) });
  let answer = '';
  socket.setEncoding('latin1');
  socket.on('data', (text: string) => {
    answer += text;
  });
  const closed = new Promise<void>((resolve) => {
    socket.on('error', () => undefined);
    socket.on('close', () => resolve());
  });
  socket.write(
    `POST /v1/transactions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${LARGE_BYTES}\r\nconnection: close\r\n\r\n`,
  );
  for (let sent = 0; sent < LARGE_BYTES && !socket.destroyed; sent += CHUNK.length) {
    if (!socket.write(CHUNK)) await Promise.race([once(socket, 'drain').catch(() => undefined), closed]);
  }
  await closed;
  return answer;
}

/** Each gets its 413, also those who send all of it first. */
async function postLargeBodies({ mempool, scale }: Arena): Promise<void> {
  for (let i = 0; i < LARGE_BODIES * scale; i += LARGE_AT_ONCE) {
    const answers = await Promise.all(Array.from({ length: LARGE_AT_ONCE }, () => postTooMuch(mempool)));
    for (const answer of answers)
      mustBe(/^HTTP\/1\.1 413 /.test(answer), `an answer is lost: "${answer.slice(0, 80)}"`);
  }
}

/**
 * Lists as long as they may be, all at once, in which the last signature is wrong: all before it are verified for nothing.
 */
async function postBadSignatures({ mempool, scale }: Arena): Promise<void> {
  const honest = spendOf(devAccount(3), [txOut(tokenAsset(1_000n), freshAddress())]);
  const one = stringifyExact(transactionToCreateJson(honest));
  const bodies = Array.from({ length: BAD_LISTS }, (_, i) => {
    // The version is under no signature, so each is another transaction; the last has another output than was signed.
    const list = Array.from({ length: BAD_SIGNATURES - 1 }, (_, n) =>
      one.replace(/"version":\d+/, `"version":${i * BAD_SIGNATURES + n + 10}`),
    );
    const forged = { ...honest, outputs: [txOut(tokenAsset(1n), freshAddress())] };
    return `{"transactions":[${[...list, stringifyExact(transactionToCreateJson(forged))].join()}]}`;
  });
  for (let round = 0; round < Math.ceil(scale / 4); round++) {
    const codes = await Promise.all(bodies.map((body) => postText(mempool, '/v1/transactions', body)));
    mustBe(
      codes.every((code) => ['invalid_signature', 'double_spend', 'overloaded', 'transaction_rejected'].includes(code)),
      `refusals: ${[...new Set(codes)].join(' ')}`,
    );
  }
}

export const guessedKeys: Attack = { name: '200 wrong API keys', byHand: true, run: guessApiKeys };
export const largeBodies: Attack = { name: 'bodies of 6 MiB, sent to their end', byHand: true, run: postLargeBodies };
export const badSignatures: Attack = {
  name: '60 lists of 1,000 payments, the last signature wrong',
  byHand: true,
  // What is alive is 30 MiB after a collection, and the peak is the same round after round.
  mayGrowBy: 320,
  run: postBadSignatures,
};
