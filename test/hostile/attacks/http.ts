/**
 * Clients of the API with all the time in the world: half requests, streams that nobody reads, connections that say nothing.
 */

import { createConnection, type Socket } from 'node:net';
import { call, type NodeProcess } from '../../support/processes.js';
import type { Arena } from '../arena.js';
import { type Attack, mustBe } from '../attack.js';
import { sleep } from '../node-watch.js';

const SLOW = 150;
const STREAMS = 200;
const IDLE = 1_000;
const MAX_IDLE = 10_000;
const HOLD_MS = 2_500;
const BYTE_EVERY_MS = 100;

function connectTo(address: string): Socket {
  const { hostname, port } = new URL(address.includes('//') ? address : `http://${address}`);
  const socket = createConnection({ host: hostname, port: Number(port) });
  socket.on('error', () => undefined);
  return socket;
}

/** Sends the text a byte at a time on each of the connections, and sees that others are served meanwhile. */
async function trickle(node: NodeProcess, count: number, begin: string, text: string): Promise<void> {
  const sockets = Array.from({ length: count }, () => connectTo(node.apiUrl));
  try {
    for (const socket of sockets) socket.write(begin);
    for (let at = 0; at * BYTE_EVERY_MS < HOLD_MS; at++) {
      for (const socket of sockets) socket.write(text[at % text.length] ?? 'x');
      await sleep(BYTE_EVERY_MS);
    }
    await call(`${node.apiUrl}/v1/supply`);
  } finally {
    for (const socket of sockets) socket.destroy();
  }
}

async function sendSlowHeaders({ mempool, scale }: Arena): Promise<void> {
  await trickle(mempool, SLOW * scale, 'GET /v1/supply HTTP/1.1\r\nhost: x\r\nx-header: ', 'abcdefgh');
}

async function sendSlowBodies({ mempool, scale }: Arena): Promise<void> {
  const head = 'POST /v1/transactions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n';
  await trickle(mempool, SLOW * scale, `${head}content-length: 2000000\r\n\r\n{"transactions":[`, ' ');
}

async function openSilentStreams({ mempool, storage, user }: Arena): Promise<void> {
  const sockets: Socket[] = [];
  try {
    for (const node of [mempool, storage, user]) {
      for (let i = 0; i < STREAMS; i++) {
        const socket = connectTo(node.apiUrl);
        socket.pause();
        socket.write('GET /v1/events HTTP/1.1\r\nhost: x\r\naccept: text/event-stream\r\n\r\n');
        sockets.push(socket);
      }
    }
    await sleep(HOLD_MS);
    for (const node of [mempool, storage, user]) await call(`${node.apiUrl}/v1/debug`);
  } finally {
    for (const socket of sockets) socket.destroy();
  }
}

/** As many as the descriptors of both ends allow; half of them at the port for links. */
async function holdIdle({ mempool, scale }: Arena): Promise<void> {
  const count = Math.min(MAX_IDLE, IDLE * scale);
  const sockets: Socket[] = [];
  try {
    for (let i = 0; i < count; i++) {
      sockets.push(connectTo(i % 2 === 0 ? mempool.apiUrl : mempool.peerAddress));
      if (i % 200 === 199) await sleep(20);
    }
    await sleep(HOLD_MS);
    const open = sockets.filter(({ destroyed, readyState }) => !destroyed && readyState === 'open').length;
    mustBe(open > count / 8, `only ${open} of ${count} connections stood: the attack did not take place`);
    await call(`${mempool.apiUrl}/v1/supply`);
  } finally {
    for (const socket of sockets) socket.destroy();
  }
}

export const slowHeaders: Attack = { name: 'headers a byte at a time', byHand: true, run: sendSlowHeaders };
export const slowBodies: Attack = { name: 'bodies a byte at a time', run: sendSlowBodies };
export const silentStreams: Attack = {
  name: '200 event streams at each of three nodes, never read',
  run: openSilentStreams,
};
export const idleConnections: Attack = {
  name: 'idle connections, 1,000 for each step of the scale',
  byHand: true,
  run: holdIdle,
};
