/**
 * What strangers do to a node over real sockets, with nothing secret: half-open handshakes, idle links, answers that are
 * never read, requests that cost more than they weigh, frames that never end. The operator's own nodes must get through, and
 * what is held for strangers stays bounded.
 */

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { createDeferred } from '../../src/lib/deferred.js';
import { TesseraError } from '../../src/lib/errors.js';
import { createPass } from '../../src/peers/link/link-opener.js';
import type { LinkNetwork } from '../../src/peers/link-network.js';
import type { Link } from '../../src/peers/network.js';
import {
  type Bed,
  createBed,
  createRawPeer,
  createSeededRandom,
  dialRaw,
  nextOf,
  type RawPeer,
  rawIdentity,
  rawMessage,
  SECRET,
  shakeHandsRaw,
} from '../support/peers.js';
import { collectingLogger } from '../support/silent-logger.js';

const MIB = 1024 * 1024;

const manyNames = (): [string, number][] => Array.from({ length: 10_000 }, (_, i) => [`name ${i}`, i]);

describe('strangers at a mempool node', () => {
  let bed: Bed;
  const sockets = new Set<WebSocket>();

  beforeEach(() => {
    bed = createBed('websocket');
  });
  afterEach(async () => {
    for (const socket of sockets) socket.terminate();
    sockets.clear();
    await bed.stop();
  });

  const startMempool = (limits = {}): Promise<LinkNetwork> =>
    bed.start('mempool', { role: 'mempool', secret: SECRET, limits });

  /** A connection that says nothing, and is made anew as soon as it is closed. Resolves when it is open. */
  const holdOpen = (address: string): Promise<void> => {
    const opened = createDeferred<void>();
    const again = (): void => {
      const socket = new WebSocket(`ws://${address}/`);
      sockets.add(socket);
      socket.on('open', () => opened.resolve());
      socket.on('error', () => undefined);
      socket.on('close', () => {
        if (!sockets.delete(socket)) return;
        again();
      });
    };
    again();
    return opened.promise;
  };

  /** Links of strangers that finish their handshake and then do what `then` says. */
  const strangerLinks = async (node: LinkNetwork, count: number): Promise<{ peer: RawPeer; link: Link }[]> => {
    const links: { peer: RawPeer; link: Link }[] = [];
    for (let i = 0; i < count; i++) {
      const up = nextOf(node.linkUp);
      const peer = await dialRaw(bed, node.address);
      await shakeHandsRaw(peer, rawIdentity(`stranger ${i}`));
      links.push({ peer, link: await up });
    }
    return links;
  };

  it('do not keep a node of the operator out with half-open handshakes that they refill, or another stranger', async () => {
    const node = await startMempool();
    await Promise.all(Array.from({ length: 200 }, () => holdOpen(node.address)));
    const storage = await bed.start('storage', { role: 'storage', secret: SECRET });
    const link = await storage.dial(node.address, { timeoutMs: 5_000 });
    expect(link.trusted).toBe(true);
    const user = await bed.start('user', { role: 'user' });
    await expect(user.dial(node.address, { timeoutMs: 5_000 })).resolves.toMatchObject({ nodeKey: node.nodeKey });
  });

  it('do not keep a newcomer out with idle links, and the operator never', async () => {
    const node = await startMempool({ maxLinks: 16 });
    await strangerLinks(node, 16);
    const storage = await bed.start('storage', { role: 'storage', secret: SECRET });
    expect((await storage.dial(node.address, { timeoutMs: 5_000 })).trusted).toBe(true);
    await bed.clock.advance(10_000);
    const user = await bed.start('user', { role: 'user' });
    const up = nextOf(node.linkUp);
    await user.dial(node.address, { timeoutMs: 5_000 });
    expect((await up).nodeKey).toBe(user.nodeKey);
    expect(node.links.size).toBe(17);
  });

  it('that take part keep their link when idle ones fill the rest', async () => {
    const node = await startMempool({ maxLinks: 8, tenureMs: 10 });
    node.handle('utxos.get', () => ({ type: 'utxos', body: { block_num: 0, hash: null } }));
    const user = await bed.start('user', { role: 'user' });
    const mine = await user.dial(node.address, { timeoutMs: 5_000 });
    for (let i = 0; i < 32; i++) {
      await bed.clock.advance(20);
      await mine.request('utxos.get', { addresses: [] });
      const peer = await dialRaw(bed, node.address);
      await shakeHandsRaw(peer, rawIdentity(`idle ${i}`)).catch(() => undefined);
    }
    await expect(mine.request('utxos.get', { addresses: [] })).resolves.toMatchObject({ type: 'utxos' });
  });

  it('that never read do not fill the memory', async () => {
    const node = await startMempool();
    node.handle('utxos.get', () => ({
      type: 'utxos',
      body: { block_num: 0, hash: null },
      attachment: new Uint8Array(8 * MIB),
    }));
    const peers = await strangerLinks(node, 16);
    for (const { peer } of peers) peer.connection.pause();
    for (let round = 0; round < 16; round++) {
      for (const { peer } of peers) {
        peer.connection.send(rawMessage({ t: 'utxos.get', id: round + 1, b: { addresses: [] } }));
      }
    }
    const good = await bed.start('good', { role: 'user', secret: SECRET });
    const link = await good.dial(node.address, { timeoutMs: 5_000 });
    for (let i = 0; i < 64; i++) await link.request('utxos.get', { addresses: [] });
    expect(node.queuedBytes).toBeLessThan(128 * MIB);
  });

  it('that read slowly are cut off', async () => {
    const node = await startMempool();
    node.handle('utxos.get', () => ({
      type: 'utxos',
      body: { block_num: 0, hash: null },
      attachment: new Uint8Array(32 * MIB),
    }));
    const [stranger] = await strangerLinks(node, 1);
    stranger?.peer.connection.pause();
    stranger?.peer.connection.send(rawMessage({ t: 'utxos.get', id: 1, b: { addresses: [] } }));
    const down = nextOf(node.linkDown);
    while (node.queuedBytes === 0) await new Promise((resolve) => setImmediate(resolve));
    for (let i = 0; i < 8 && node.links.size > 0; i++) {
      stranger?.peer.connection.send('{"k":"ping"}');
      await bed.clock.advance(5_000);
    }
    expect((await down).reason).toMatch(/reads? too slowly/);
  });

  it('that send frames without end do not fill the memory', async () => {
    const node = await startMempool();
    node.handle('transactions.submit', () => undefined);
    const [first] = await strangerLinks(node, 1);
    const down = nextOf(node.linkDown);
    first?.peer.connection.send(new Uint8Array(32 * MIB));
    expect((await down).reason).toMatch(/more than/);
  });

  it('that ask for much are slowed down, and others are served meanwhile', async () => {
    const node = await startMempool();
    let strange = 0;
    node.handle('statuses.get', (link) => {
      if (!link.trusted) strange += 1;
      return { type: 'statuses', body: { statuses: [] } };
    });
    const peers = await strangerLinks(node, 16);
    const hashes = Array.from({ length: 1_000 }, (_, i) => `g${String(i).padStart(62, '0')}`);
    const question = JSON.stringify({ t: 'statuses.get', b: { hashes } });
    for (let round = 0; round < 64; round++) {
      for (const { peer } of peers) {
        peer.connection.send(rawMessage(question.replace('{', `{"id":${round + 1},`)));
      }
    }
    const good = await bed.start('good', { role: 'user', secret: SECRET });
    const link = await good.dial(node.address, { timeoutMs: 5_000 });
    for (let i = 0; i < 100; i++) await link.request('statuses.get', { hashes: ['g1'] });
    // The clock stands still: no more than what may come at once.
    expect(strange).toBeLessThan(200);
    // Nothing is lost: it is answered in its time.
    for (let i = 0; strange < 16 * 64; i++) {
      expect(i).toBeLessThan(1_000);
      await bed.clock.advance(1_000);
      await link.request('statuses.get', { hashes: ['g1'] });
    }
  });

  it('pay for what an envelope costs to read, whatever the message in it costs', async () => {
    const node = await startMempool();
    let strange = 0;
    node.handle('statuses.get', (link) => {
      if (!link.trusted) strange += 1;
      return { type: 'statuses', body: { statuses: [] } };
    });
    const peers = await strangerLinks(node, 16);
    const padding = 'x'.repeat(200_000);
    for (let round = 0; round < 32; round++) {
      for (const { peer } of peers) {
        peer.connection.send(rawMessage({ t: 'statuses.get', id: round + 1, b: { hashes: [], padding } }));
      }
    }
    const good = await bed.start('good', { role: 'user', secret: SECRET });
    const link = await good.dial(node.address, { timeoutMs: 5_000 });
    for (let i = 0; i < 100; i++) await link.request('statuses.get', { hashes: ['g1'] });
    // The clock stands still: no more than what may come at once, of 512.
    expect(strange).toBeLessThan(300);
  });

  it('lose their link over answers that nobody has asked for', async () => {
    const node = await startMempool();
    const peer = await dialRaw(bed, node.address);
    await shakeHandsRaw(peer, rawIdentity('stranger', { role: 'storage', secret: SECRET }));
    // It asks a storage node that is linked how far it is, say: this one answers what was not asked.
    peer.connection.send(rawMessage({ t: 'chain.tip', re: 7, b: { next: 0, hash: null } }));
    expect(await peer.farewell).toMatch(/chain.tip answers no request/);
  });

  it.each([
    ['nested deep', `${'['.repeat(50_000)}${']'.repeat(50_000)}`, /nested deeper than/],
    ['of many different names', JSON.stringify(Object.fromEntries(manyNames())), /different member names/],
  ])('lose their link over a message that is %s', async (_what, value, reason) => {
    const node = await startMempool();
    node.handle('mining.join', () => ({ type: 'mining.joined', body: {} }));
    const peer = await dialRaw(bed, node.address);
    await shakeHandsRaw(peer, rawIdentity('stranger', { role: 'miner' }));
    peer.connection.send(rawMessage(`{"t":"mining.join","id":1,"b":{"more":${value}}}`));
    expect(await peer.farewell).toMatch(reason);
  });

  it('write a few lines a minute in the log, without a stack, and hide no line about others', async () => {
    const { lines, logger } = collectingLogger();
    const node = await bed.start('mempool', { role: 'mempool', secret: SECRET }, { logger });
    node.handle('utxos.get', () => {
      throw new TesseraError('invalid_request', 'not today');
    });
    const meet = async (count: number): Promise<void> => {
      for (const { peer } of await strangerLinks(node, count)) {
        const down = nextOf(node.linkDown);
        for (let id = 1; id < 5; id++) {
          peer.connection.send(rawMessage({ t: 'utxos.get', id, b: { addresses: [] } }));
          await peer.next();
        }
        peer.connection.close();
        await down;
        (await dialRaw(bed, node.address)).connection.send('not a handshake');
      }
    };
    await meet(20);
    expect(lines.length).toBeGreaterThan(10);
    expect(lines.length).toBeLessThan(50);
    const storage = await bed.start('storage', { role: 'storage', secret: SECRET });
    const up = nextOf(node.linkUp, ({ trusted }) => trusted);
    await storage.dial(node.address, { timeoutMs: 5_000 });
    await up;
    expect(lines.at(-1)).toMatchObject({ message: 'link up', trusted: true });
    await bed.clock.advance(60_000);
    await meet(1);
    expect(lines).toContainEqual({ leftOut: expect.any(Number), message: 'lines about strangers were left out' });
    expect(lines.filter((line) => 'err' in line)).toEqual([]);
  });

  it('that know the secret of nobody cannot use up the places of those who do', async () => {
    const node = await startMempool({ maxHandshakes: 4 });
    const dial = async (pass?: string): Promise<RawPeer> =>
      createRawPeer(await bed.transport().dial(node.address, new AbortController().signal, pass));
    const pass = { network: 'test', secret: SECRET };
    const own = await dial(createPass(pass, { clock: bed.clock, random: createSeededRandom('pass') }));
    const raw = await dial(
      createPass({ ...pass, secret: 'of nobody' }, { clock: bed.clock, random: createSeededRandom('x') }),
    );
    await raw.next();
    const others = await Promise.all(Array.from({ length: 8 }, () => dial()));
    expect(await raw.farewell).toMatch(/newer/);
    expect(others.length).toBe(8);
    const up = nextOf(node.linkUp);
    await shakeHandsRaw(own, rawIdentity('own', { secret: SECRET }));
    expect((await up).trusted).toBe(true);
  });
});
