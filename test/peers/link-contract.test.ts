import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createDeferred } from '../../src/lib/deferred.js';
import { TesseraError } from '../../src/lib/errors.js';
import type { Logger } from '../../src/lib/logger.js';
import type { Message } from '../../src/peers/network.js';
import {
  type Bed,
  createBed,
  dialRaw,
  linkTwo,
  nextOf,
  rawIdentity,
  rawMessage,
  SECRET,
  shakeHandsRaw,
  type TransportKind,
} from '../support/peers.js';
import { fc } from '../support/property.js';

const ADDRESS = { type: 'address', body: { address: 'somewhere' } } as const;

describe.each<TransportKind>(['websocket', 'memory'])('links over %s (ARCHITECTURE.md#ports-links-trust)', (kind) => {
  let bed: Bed;

  beforeEach(() => {
    bed = createBed(kind);
  });
  afterEach(() => bed.stop());

  /** A node and a raw peer that has done its handshake with it. */
  const rawLink = async (identity = rawIdentity('raw'), options = {}) => {
    const b = await bed.start('b', options);
    b.handle('address.get', () => ADDRESS);
    const up = nextOf(b.linkUp);
    const down = nextOf(b.linkDown);
    const peer = await dialRaw(bed, b.address);
    await shakeHandsRaw(peer, identity);
    await up;
    return { b, peer, down };
  };

  it('carries a message with its attachment', async () => {
    const { b, toB } = await linkTwo(bed);
    const received = createDeferred<Message>();
    b.handle('payment.sent', (_link, message) => {
      received.resolve(message);
      return undefined;
    });
    expect(toB.send('payment.sent', {}, Uint8Array.of(1, 2, 3))).toBe(true);
    const message = await received.promise;
    expect(message.type).toBe('payment.sent');
    expect([...message.attachment]).toEqual([1, 2, 3]);
  });

  it('carries a thousand messages in order', async () => {
    const { b, toB } = await linkTwo(bed, { secret: SECRET }, { secret: SECRET });
    const seen: number[] = [];
    const done = createDeferred<void>();
    b.handle('payment.sent', (_link, { attachment }) => {
      seen.push(Buffer.from(attachment).readUInt32LE());
      if (seen.length === 1_000) done.resolve();
      return undefined;
    });
    for (let i = 0; i < 1_000; i++) {
      const number = Buffer.alloc(4 + (i % 7) * 1_000);
      number.writeUInt32LE(i);
      expect(toB.send('payment.sent', {}, number)).toBe(true);
    }
    await done.promise;
    expect(seen).toEqual(Array.from({ length: 1_000 }, (_, i) => i));
  });

  it('answers a request, and many at once each with its own answer', async () => {
    const { b, toB } = await linkTwo(bed, {}, { role: 'mempool' });
    b.handle('statuses.get', async (_link, { body }) => {
      if (body.hashes[0] === '0') await new Promise((resolve) => setImmediate(resolve));
      const statuses = body.hashes.map((hash) => ({ hash, status: 'Pending' as const, info: '' }));
      return { type: 'statuses', body: { statuses } };
    });
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) => toB.request('statuses.get', { hashes: [String(i)] })),
    );
    expect(answers.map(({ body }) => body)).toEqual(
      Array.from({ length: 50 }, (_, i) => ({ statuses: [{ hash: String(i), status: 'Pending', info: '' }] })),
    );
  });

  it('gives the caller the code and the sentence of an error that concerns the request', async () => {
    const { b, toB } = await linkTwo(bed, {}, { role: 'mempool' });
    b.handle('transactions.submit', () => {
      throw new TesseraError('double_spend', 'g01 spends what g02 spends');
    });
    await expect(toB.request('transactions.submit', {})).rejects.toMatchObject({
      code: 'double_spend',
      message: 'g01 spends what g02 spends',
    });
  });

  it('gives the caller the sentence of a peer as plain text', async () => {
    const { b, toB } = await linkTwo(bed, {}, { role: 'mempool' });
    b.handle('transactions.submit', () => {
      throw new TesseraError('transaction_rejected', 'no\u001b]0;title\u0007 way');
    });
    await expect(toB.request('transactions.submit', {})).rejects.toMatchObject({
      message: 'no\\u{1b}]0;title\\u{7} way',
    });
    b.handle('statuses.get', () => ({
      type: 'statuses',
      body: { statuses: [{ hash: 'g1', status: 'Rejected', info: 'a\u001bb' }] },
    }));
    const { body } = await toB.request('statuses.get', { hashes: ['g1'] });
    expect(body).toMatchObject({ statuses: [{ info: 'a\\u{1b}b' }] });
  });

  it('says nothing of what broke inside a handler, and logs it', async () => {
    const errors: object[] = [];
    const logger: Logger = { debug() {}, info() {}, warn() {}, error: (fields) => void errors.push(fields) };
    const b = await bed.start('b', {}, { logger });
    b.handle('address.get', () => {
      throw new Error('the passphrase is 1234');
    });
    const a = await bed.start('a');
    const link = await a.dial(b.address, { timeoutMs: 5_000 });
    const error: unknown = await link.request('address.get', {}).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'peer_unreachable', details: { peerCode: 'internal_error' } });
    expect(String(error)).not.toContain('1234');
    expect(errors).toEqual([expect.objectContaining({ err: new Error('the passphrase is 1234') })]);
  });

  it('takes no code from a peer that would speak of this node (rule P3)', async () => {
    const { b, toB } = await linkTwo(bed);
    b.handle('address.get', () => {
      throw new TesseraError('data_corrupt', 'a record of mine is damaged');
    });
    await expect(toB.request('address.get', {})).rejects.toMatchObject({ code: 'peer_unreachable' });
  });

  it('answers a request that has no answer', async () => {
    const { b, toB } = await linkTwo(bed);
    b.handle('payment.sent', () => undefined);
    await expect(toB.request('payment.sent', {})).rejects.toMatchObject({ code: 'invalid_request' });
  });

  it('gives up a request after its time, and takes a late answer for nothing', async () => {
    const { b, toB } = await linkTwo(bed);
    const asked = createDeferred<void>();
    const release = createDeferred<void>();
    let calls = 0;
    b.handle('address.get', async () => {
      if (calls++ > 0) return ADDRESS;
      asked.resolve();
      await release.promise;
      return ADDRESS;
    });
    const answer = toB.request('address.get', {}, { timeoutMs: 1_000 });
    const failed = expect(answer).rejects.toMatchObject({ code: 'peer_unreachable' });
    await asked.promise;
    await bed.clock.advance(1_000);
    await failed;
    release.resolve();
    await expect(toB.request('address.get', {})).resolves.toMatchObject(ADDRESS);
  });

  it('gives up a request when its signal says so', async () => {
    const { b, toB } = await linkTwo(bed);
    b.handle('address.get', () => new Promise(() => undefined));
    const abort = new AbortController();
    const answer = toB.request('address.get', {}, { signal: abort.signal });
    abort.abort();
    await expect(answer).rejects.toMatchObject({ code: 'aborted' });
    await expect(toB.request('address.get', {}, { signal: abort.signal })).rejects.toMatchObject({ code: 'aborted' });
  });

  it('fails what is under way when the peer is gone', async () => {
    const { b, toB } = await linkTwo(bed);
    const asked = createDeferred<void>();
    b.handle('address.get', () => {
      asked.resolve();
      return new Promise(() => undefined);
    });
    const answer = toB.request('address.get', {});
    const failed = expect(answer).rejects.toMatchObject({ code: 'peer_unreachable' });
    await asked.promise;
    await b.stop();
    await failed;
    await expect(toB.request('address.get', {})).rejects.toMatchObject({ code: 'peer_unreachable' });
    expect(toB.send('payment.sent', {})).toBe(false);
  });

  it('tells both ends why a link was closed', async () => {
    const { a, b, toB } = await linkTwo(bed);
    const ends = Promise.all([nextOf(a.linkDown), nextOf(b.linkDown)]);
    toB.close('the payment is done');
    const [atA, atB] = await ends;
    expect(atA).toEqual({ link: toB, reason: 'the payment is done' });
    expect(atB.reason).toContain('the payment is done');
    expect([a.links.size, b.links.size]).toEqual([0, 0]);
  });

  it('bounds the requests that wait', async () => {
    const { b, toB } = await linkTwo(bed, { limits: { maxPendingRequests: 2 } });
    b.handle('address.get', () => new Promise(() => undefined));
    const waiting = [toB.request('address.get', {}), toB.request('address.get', {})];
    await expect(toB.request('address.get', {})).rejects.toMatchObject({ code: 'overloaded' });
    toB.close('done');
    await Promise.allSettled(waiting);
  });

  it('has room again for each request that is over, however it ended', async () => {
    const { b, toB } = await linkTwo(bed, { limits: { maxPendingRequests: 1 } });
    let calls = 0;
    b.handle('address.get', () => (calls++ < 2 ? new Promise<undefined>(() => undefined) : ADDRESS));
    const late = expect(toB.request('address.get', {}, { timeoutMs: 1_000 })).rejects.toThrow(/1000 ms/);
    await bed.clock.advance(1_000);
    await late;
    const abort = new AbortController();
    const given = expect(toB.request('address.get', {}, { signal: abort.signal })).rejects.toThrow(/given up/);
    abort.abort();
    await given;
    await toB.request('address.get', {});
    await expect(toB.request('address.get', {})).resolves.toMatchObject(ADDRESS);
  });

  it('takes an answer that comes too late, once', async () => {
    const { a, b, toB } = await linkTwo(bed);
    const replies: ((reply: typeof ADDRESS) => void)[] = [];
    b.handle('address.get', () => new Promise((resolve) => replies.push(resolve)));
    const late = expect(toB.request('address.get', {}, { timeoutMs: 1_000 })).rejects.toThrow(/1000 ms/);
    await bed.clock.advance(1_000);
    await late;
    const next = toB.request('address.get', {});
    while (replies.length < 2) await new Promise((resolve) => setImmediate(resolve));
    for (const reply of replies) reply(ADDRESS);
    await expect(next).resolves.toMatchObject(ADDRESS);
    expect(a.links.has(toB)).toBe(true);
  });

  it('answers overloaded when its handlers are busy', async () => {
    const { b, toB } = await linkTwo(bed, {}, { limits: { maxRunningHandlers: 1 } });
    b.handle('address.get', () => new Promise(() => undefined));
    const first = toB.request('address.get', {});
    await expect(toB.request('address.get', {})).rejects.toMatchObject({ code: 'overloaded' });
    toB.close('done');
    await expect(first).rejects.toMatchObject({ code: 'peer_unreachable' });
  });

  it('sends nothing when the queue is full (back-pressure)', async () => {
    const { b, toB } = await linkTwo(bed, { limits: { maxQueuedBytes: 1_000 } });
    b.handle('payment.sent', () => undefined);
    expect(toB.send('payment.sent', {}, new Uint8Array(2_000))).toBe(false);
    await expect(toB.request('payment.sent', {}, { attachment: new Uint8Array(2_000) })).rejects.toMatchObject({
      code: 'overloaded',
    });
    expect(toB.send('payment.sent', {}, new Uint8Array(10))).toBe(true);
  });

  it('does not send what it must not', async () => {
    const { toB } = await linkTwo(bed, { role: 'user' }, { role: 'mempool' });
    expect(() => toB.send('block.mined', { block_num: 1, hash: 'b' })).toThrow(/user node may send/);
    expect(() => toB.send('utxos.get', { addresses: [''] })).toThrow(/addresses/);
    expect(() => toB.send('address.get', {})).toThrow(/a mempool node takes no address\.get/);
    expect(() => toB.send('statuses.get', { hashes: [] }, new Uint8Array(1))).toThrow(/0 are allowed/);
    expect(toB.send('utxos.get', { addresses: [] })).toBe(true);
  });

  it.each<[string, Uint8Array | string, RegExp]>([
    ['a type that does not exist', rawMessage({ t: 'no.such', b: {} }), /"no.such" is not a message/],
    ['a type from the prototype', rawMessage({ t: 'constructor', b: {} }), /is not a message/],
    [
      'a body against its schema',
      rawMessage({ t: 'donation.request', b: { address: 7 } }),
      /donation\.request: \/address/,
    ],
    ['a message from the wrong role', rawMessage({ t: 'mining.join', b: {} }), /a user node may send/],
    ['an attachment too large', rawMessage({ t: 'address.get', b: {} }, new Uint8Array(1)), /0 are allowed/],
    ['a message without a handler', rawMessage({ t: 'utxos.get', b: { addresses: [] } }), /takes no utxos\.get/],
    ['a message that is both', rawMessage({ t: 'address.get', id: 1, re: 1, b: {} }), /a request and an answer/],
    ['an id that is none', rawMessage({ t: 'address.get', id: 0, b: {} }), /\/id/],
    ['no JSON', rawMessage('{"t":'), /not JSON/],
    ['a length beyond the frame', Uint8Array.of(255, 0, 0, 0), /shorter than its envelope/],
    ['a length beyond the bound', Uint8Array.of(255, 255, 255, 255), /at most/],
    ['an empty frame', new Uint8Array(0), /shorter than its length/],
    ['a control record out of turn', '{"k":"ready"}', /after the handshake/],
  ])('closes with a reason on %s', async (_what, frame, reason) => {
    const { b, peer, down } = await rawLink();
    peer.connection.send(frame);
    expect(await peer.farewell).toMatch(reason);
    expect((await down).reason).toMatch(reason);
    expect(b.links.size).toBe(0);
  });

  it('closes on a message that is for another role', async () => {
    const { peer } = await rawLink();
    peer.connection.send(rawMessage({ t: 'transactions.submit', id: 1, b: {} }));
    expect(await peer.farewell).toMatch(/a user node takes no transactions\.submit/);
  });

  it('closes on a frame larger than the transport takes', async () => {
    await bed.stop();
    bed = createBed(kind, 100_000);
    const { b, peer, down } = await rawLink();
    peer.connection.send(new Uint8Array(100_001));
    expect((await down).reason).toMatch(/payload size/);
    expect(b.links.size).toBe(0);
  });

  it('closes when a handler says that the peer broke the protocol', async () => {
    const { a, b, toB } = await linkTwo(bed);
    const down = nextOf(a.linkDown);
    b.handle('payment.sent', () => {
      throw new TesseraError('protocol_violation', 'the attachment is no transaction');
    });
    toB.send('payment.sent', {});
    expect((await down).reason).toContain('the attachment is no transaction');
  });

  it('answers a ping', async () => {
    const { peer } = await rawLink();
    peer.connection.send('{"k":"ping"}');
    expect(await peer.next()).toBe('{"k":"pong"}');
  });

  it('says within a heartbeat that its peer is silent, and closes it after three', async () => {
    const { b, peer, down } = await rawLink();
    const [link] = b.links;
    await bed.clock.advance(3_000);
    expect(link?.isSilent).toBe(false);
    await bed.clock.advance(1_000);
    expect(link?.isSilent).toBe(true);
    peer.connection.send('{"k":"ping"}');
    expect(await peer.next()).toBe('{"k":"pong"}');
    expect(link?.isSilent).toBe(false);
    // The next look hears that ping; what comes after it is silence.
    await bed.clock.advance(1_000 + 14_000);
    expect([link?.isSilent, b.links.size]).toEqual([true, 1]);
    await bed.clock.advance(1_000);
    expect((await down).reason).toMatch(/nothing was heard in the time of 3 heartbeats/);
  });

  it('counts what it could have heard: a node that was held up itself takes no peer for silent', async () => {
    const { b } = await rawLink();
    await bed.clock.advance(1_000);
    // A minute without a turn of the event loop: one look comes late.
    bed.clock.passOver(60_000);
    await bed.clock.advance(0);
    expect([...b.links].map(({ isSilent }) => isSilent)).toEqual([false]);
  });

  it('keeps a link whose peer sends nothing but answers to pings', async () => {
    const { b, peer } = await rawLink();
    for (let i = 0; i < 10; i++) {
      await bed.clock.advance(5_000);
      // Our own ping after the answer: its answer shows that the other end has seen both.
      peer.connection.send('{"k":"pong"}');
      peer.connection.send('{"k":"ping"}');
      expect(await peer.next()).toBe('{"k":"pong"}');
    }
    expect(b.links.size).toBe(1);
  });

  it('never throws on random frames: it closes or ignores', async () => {
    const envelope = fc.record(
      {
        t: fc.oneof(fc.constantFrom('address', 'address.get', 'error', 'utxos', 'donation.request'), fc.string()),
        id: fc.oneof(fc.integer(), fc.constant(undefined)),
        re: fc.oneof(fc.integer(), fc.constant(undefined)),
        b: fc.oneof(fc.jsonValue(), fc.record({ address: fc.string() })),
      },
      { requiredKeys: ['t'] },
    );
    const frame = fc.oneof(
      fc.uint8Array({ maxLength: 64 }),
      fc.tuple(envelope, fc.uint8Array({ maxLength: 16 })).map(([json, rest]) => rawMessage(json, rest)),
      fc.json().map((json) => rawMessage(json)),
      fc.string(),
      fc.json(),
      fc
        .record({ k: fc.constantFrom('hello', 'proof', 'ready', 'ping', 'pong', 'bye'), reason: fc.string() })
        .map((control) => JSON.stringify(control)),
    );
    const errors: object[] = [];
    const logger: Logger = { debug() {}, info() {}, warn() {}, error: (fields) => void errors.push(fields) };
    const b = await bed.start('b', {}, { logger });
    b.handle('address.get', () => ADDRESS);
    let round = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(frame, { maxLength: 8 }), async (frames) => {
        const peer = await dialRaw(bed, b.address);
        const up = nextOf(b.linkUp);
        await shakeHandsRaw(peer, rawIdentity(`raw ${round++}`));
        const link = await up;
        for (const one of frames) peer.connection.send(one);
        peer.connection.close();
        await peer.farewell;
        if (b.links.has(link)) await nextOf(b.linkDown, (end) => end.link === link);
      }),
      { numRuns: 100 },
    );
    expect(errors).toEqual([]);
    const a = await bed.start('a');
    const link = await a.dial(b.address, { timeoutMs: 5_000 });
    await expect(link.request('address.get', {})).resolves.toMatchObject(ADDRESS);
  });
});
