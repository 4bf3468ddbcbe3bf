/** Takes all the places that strangers can take: half-open handshakes, idle links, sockets that say nothing. */

import { createConnection, type Socket } from 'node:net';
import type { Arena } from '../arena.js';
import { type Attack, mustBe } from '../attack.js';
import { sleep } from '../node-watch.js';
import { openRawLink, type RawLink } from '../raw-link.js';
import { createPeer, OPERATOR_SECRET } from '../stranger.js';

const HALF_OPEN = 200;
const IDLE_LINKS = 280;
const IDLE_SOCKETS = 600;
/** Milliseconds until a connection that was closed is opened again. */
const REFILL_MS = 20;
/** What a connection for a link begins with. */
const UPGRADE =
  'GET / HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n';
/** Milliseconds for a link: a machine under such a load is slow for everybody. */
const DIAL_MS = 30_000;
/** A stranger is asked to come again; an honest one does, for this many times. */
const PATIENCE = 20;

/** A node of the operator gets through at once, and an honest stranger within its patience. */
async function assertOpen({ mempool }: Arena, during: string): Promise<void> {
  const operator = await createPeer('storage', { secret: OPERATOR_SECRET });
  const user = await createPeer('user');
  const dial = { timeoutMs: DIAL_MS };
  try {
    const own = await operator.dial(mempool.peerAddress, dial).then(
      () => '',
      (error: unknown) => String(error),
    );
    mustBe(own === '', `${during}: a node of the operator is kept out: ${own}`);
    let last = '';
    for (let i = 0; i < PATIENCE; i++) {
      last = await user
        .dial(mempool.peerAddress, dial)
        .then((link) => link.request('utxos.get', { addresses: [] }))
        .then(
          () => '',
          (error: unknown) => String(error),
        );
      if (last === '') return;
      await sleep(500);
    }
    mustBe(false, `${during}: another stranger is kept out: ${last}`);
  } finally {
    await Promise.all([operator.stop(), user.stop()]);
  }
}

/** Connections for links whose handshake never begins; each that is closed is replaced at once. */
async function holdHandshakes(arena: Arena): Promise<void> {
  const sockets = new Set<Socket>();
  let isOver = false;
  const hold = (): void => {
    if (isOver) return;
    const socket = connectTo(arena.mempool.peerAddress);
    sockets.add(socket);
    socket.write(UPGRADE);
    socket.resume();
    socket.on('close', () => {
      sockets.delete(socket);
      setTimeout(hold, REFILL_MS);
    });
  };
  try {
    for (let i = 0; i < HALF_OPEN * arena.scale; i++) hold();
    await sleep(1_000);
    for (let i = 0; i < 3; i++) await assertOpen(arena, 'half-open handshakes, refilled');
  } finally {
    isOver = true;
    for (const socket of sockets) socket.destroy();
  }
}

function connectTo(address: string): Socket {
  const [host = '', port = ''] = address.split(':');
  const socket = createConnection({ host, port: Number(port) });
  socket.on('error', () => undefined);
  return socket;
}

async function holdLinks(arena: Arena): Promise<void> {
  const links: RawLink[] = [];
  try {
    for (let i = 0; i < IDLE_LINKS; i++) {
      const link = await openRawLink(arena.mempool.peerAddress, 'user').catch(() => undefined);
      if (link !== undefined) links.push(link);
    }
    mustBe(links.length >= 200, `only ${links.length} links could be opened: the attack did not take place`);
    await assertOpen(arena, 'idle links in every place');
  } finally {
    for (const { connection } of links) connection.cut('the attack is over');
  }
}

async function holdSockets(arena: Arena): Promise<void> {
  const sockets: Socket[] = [];
  try {
    for (let i = 0; i < IDLE_SOCKETS * arena.scale; i++) sockets.push(connectTo(arena.mempool.peerAddress));
    await sleep(500);
    await assertOpen(arena, 'sockets that say nothing');
  } finally {
    for (const socket of sockets) socket.destroy();
  }
}

export const halfOpenHandshakes: Attack = { name: 'half-open handshakes, refilled', run: holdHandshakes };
export const idleLinks: Attack = { name: 'idle links in every place', byHand: true, run: holdLinks };
export const idleSockets: Attack = { name: 'sockets that say nothing', run: holdSockets };
