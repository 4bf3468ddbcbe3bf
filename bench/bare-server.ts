/**
 * What any node on Node.js has to do for a post, and no more: HTTP, JSON, a signature for each transaction, one append with a sync for all that
 * came during the last one, and an answer of the same size. There is no rule, no state, and no framework. `DIR` has its file.
 */

import { closeSync, fdatasync, openSync, writeSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { keyPairFromSeed, sign, verifySignature } from '../src/crypto/ed25519.js';
import { obey } from './contest.js';

const [dir = ''] = process.argv.slice(2);
const file = openSync(join(dir, 'bare'), 'w');
const seed = new Uint8Array(32);
const { publicKey } = keyPairFromSeed(seed);
const message = new Uint8Array(64);
const signature = sign(seed, message);

interface Waiting {
  readonly body: Buffer;
  readonly response: ServerResponse;
}
let waiting: Waiting[] = [];
let isSyncing = false;

function append(): void {
  const group = waiting;
  waiting = [];
  isSyncing = group.length > 0;
  if (!isSyncing) return;
  writeSync(file, Buffer.concat(group.map(({ body }) => body)));
  fdatasync(file, (error) => {
    if (error) throw error;
    for (const { body, response } of group)
      response.writeHead(201, { 'content-type': 'application/json', 'content-length': body.length }).end(body);
    append();
  });
}

const server = createServer((request, response) => {
  const pieces: Buffer[] = [];
  request.on('data', (piece: Buffer) => pieces.push(piece));
  request.on('end', () => {
    const body = Buffer.concat(pieces);
    const { transactions } = JSON.parse(body.toString()) as { readonly transactions: readonly unknown[] };
    for (const _ of transactions)
      if (!verifySignature(publicKey, message, signature)) throw new Error('a signature is refused');
    waiting.push({ body, response });
    if (!isSyncing) append();
  });
});

server.listen(0, '127.0.0.1', () => {
  obey(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, async () => {
    server.close();
    closeSync(file);
  });
});
