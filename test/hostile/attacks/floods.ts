/** Asks for much, sends much and reads nothing: what costs the node more than the sender. */

import type { Arena } from '../arena.js';
import { type Attack, mustBe } from '../attack.js';
import { sleep } from '../node-watch.js';
import { connect, messageFrame, openRawLink, type RawLink } from '../raw-link.js';

const MIB = 1024 * 1024;
const LINKS = 16;
const FLOOD_MS = 4_000;
const ENTRIES = 1_000;
const MAX_WAVES = 3;

async function withLinks(arena: Arena, count: number, attack: (links: readonly RawLink[]) => Promise<void>) {
  const links: RawLink[] = [];
  try {
    for (let i = 0; i < count; i++) links.push(await openRawLink(arena.mempool.peerAddress, 'user'));
    await attack(links);
  } finally {
    for (const { connection } of links) connection.cut('the attack is over');
  }
}

/** Questions with as many entries as fit, as fast as they leave, by links that do or do not read the answers. */
async function ask(arena: Arena, reads: boolean): Promise<void> {
  const hashes = Array.from({ length: ENTRIES }, (_, i) => `g${String(i).padStart(31, '0')}`);
  const addresses = Array.from({ length: ENTRIES }, (_, i) => String(i).padStart(64, '0'));
  await withLinks(arena, LINKS * arena.scale, async (links) => {
    const end = performance.now() + FLOOD_MS;
    for (let id = 1; performance.now() < end; id++) {
      const frames = [
        messageFrame({ t: 'statuses.get', id: 2 * id, b: { hashes } }),
        messageFrame({ t: 'utxos.get', id: 2 * id + 1, b: { addresses } }),
      ];
      for (const { connection } of links) {
        if (!reads) connection.pause();
        // What is queued here is this process's own memory.
        if (connection.bufferedAmount < MIB) for (const frame of frames) connection.send(frame);
      }
      await sleep(5);
    }
  });
}

/** Frames whose end never comes, again and again: what is queued here at once is this process's own memory. */
async function sendWithoutEnd(arena: Arena): Promise<void> {
  for (let wave = 0; wave < Math.min(arena.scale, MAX_WAVES); wave++) await sendWaveWithoutEnd(arena);
}

async function sendWaveWithoutEnd(arena: Arena): Promise<void> {
  await withLinks(arena, 4 * LINKS, async (links) => {
    for (const { connection } of links) connection.send(new Uint8Array(16 * MIB));
    await sleep(2_000);
    const ended = await Promise.all(links.map((link) => Promise.race([link.ended, sleep(10_000).then(() => '')])));
    mustBe(
      ended.every((reason) => reason !== ''),
      'a frame larger than anything that this role may send was taken',
    );
  });
}

/** The first bytes of a link that nobody could have meant. */
async function sendNonsense(arena: Arena): Promise<void> {
  const nonsense: (string | Uint8Array)[] = [
    '',
    '{',
    'null',
    '{"k":"ready"}',
    '{"k":"__proto__"}',
    new Uint8Array(70_000),
  ];
  for (let i = 0; i < 50 * arena.scale; i++) {
    const connection = await connect(arena.mempool.peerAddress);
    connection.send(nonsense[i % nonsense.length] ?? '');
    await new Promise<void>((resolve) => {
      connection.onClose(() => resolve());
      connection.onMessage(() => undefined);
      // A handshake that says nothing more is ended by the node's own clock; the next one need not wait for it.
      if (nonsense[i % nonsense.length] === '') connection.cut('next');
    });
  }
}

/** Sends again what another link has sent, and the node's own records back to it. */
async function replay(arena: Arena): Promise<void> {
  const { connection: first, sent } = await openRawLink(arena.mempool.peerAddress, 'user');
  const again = await connect(arena.mempool.peerAddress);
  const reason = new Promise<string>((resolve) => {
    again.onMessage((frame) => {
      if (typeof frame === 'string' && frame.includes('"bye"')) resolve(frame);
    });
    again.onClose(resolve);
  });
  for (const text of sent) again.send(text);
  mustBe((await reason).includes('does not prove'), 'a handshake that was sent again was taken');
  first.cut('the attack is over');

  const mirror = await connect(arena.mempool.peerAddress);
  const refused = new Promise<string>((resolve) => {
    mirror.onClose(resolve);
    mirror.onMessage((frame) => {
      if (typeof frame === 'string' && frame.includes('"bye"')) resolve(frame);
      else mirror.send(frame);
    });
  });
  mustBe((await refused).includes('same node key'), 'a handshake that was reflected was taken');
}

export const expensiveQuestions: Attack = {
  name: 'questions of 1,000 entries on 16 links',
  run: (arena) => ask(arena, true),
};
export const answersNobodyReads: Attack = { name: 'the same, and nobody reads', run: (arena) => ask(arena, false) };
export const framesWithoutEnd: Attack = {
  name: 'frames larger than the role may send',
  byHand: true,
  run: sendWithoutEnd,
};
export const nonsenseFirst: Attack = { name: 'nonsense in place of a handshake', run: sendNonsense };
export const replayedHandshakes: Attack = { name: 'replayed and reflected handshakes', run: replay };
