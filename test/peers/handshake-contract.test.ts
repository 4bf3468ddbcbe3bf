import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { toHex } from '../../src/lib/bytes.js';
import { createDeferred } from '../../src/lib/deferred.js';
import { PROTOCOL_VERSION, type Proof } from '../../src/peers/link/frames.js';
import { GUARD_BYTES } from '../../src/peers/transport/transport.js';
import { settle } from '../support/manual-clock.js';
import {
  type Bed,
  type BedOptions,
  createBed,
  dialRaw,
  keyOf,
  linkTwo,
  nextOf,
  rawIdentity,
  rawMessage,
  SECRET,
  shakeHandsRaw,
  type TransportKind,
} from '../support/peers.js';

describe.each<TransportKind>(['websocket', 'memory'])(
  'handshake over %s (ARCHITECTURE.md#ports-links-trust)',
  (kind) => {
    let bed: Bed;

    beforeEach(() => {
      bed = createBed(kind);
    });
    afterEach(() => bed.stop());

    /** The reason with which `b` refuses `a`; both ends must be without a link afterwards. */
    const refusal = async (a: BedOptions, b: BedOptions): Promise<string> => {
      const listener = await bed.start('b', b);
      const dialer = await bed.start('a', a);
      const error = await dialer.dial(listener.address, { timeoutMs: 5_000 }).then(
        () => undefined,
        (reason: unknown) => reason,
      );
      expect(error).toMatchObject({ code: 'peer_unreachable' });
      expect(dialer.links.size).toBe(0);
      expect(listener.links.size).toBe(0);
      return error instanceof Error ? error.message : '';
    };

    it('tells each end who the other one is', async () => {
      const { a, b, toA, toB } = await linkTwo(bed, { role: 'user' }, { role: 'mempool' });
      expect(toB).toMatchObject({ role: 'mempool', address: b.address, nodeKey: b.nodeKey, trusted: false });
      expect(toA).toMatchObject({ role: 'user', address: a.address, nodeKey: a.nodeKey, trusted: false });
      expect(b.nodeKey).toBe(toHex(keyOf('b').publicKey));
    });

    it('tells each end which version the other one runs, and links nodes of different ones', async () => {
      const { toA, toB } = await linkTwo(bed, { version: '0.1.0' }, { role: 'mempool', version: '1.0.0-rc.1+exp' });
      expect([toA.version, toB.version]).toEqual(['0.1.0', '1.0.0-rc.1+exp']);
    });

    it.each([{}, { version: '1.0.0 of a vendor' }, { version: '1'.repeat(33) }])(
      'links a node that does not say its version: %j',
      async (told) => {
        const { toA, toB } = await linkTwo(bed, told, { role: 'mempool', version: '0.1.0' });
        expect([toA.version, toB.version]).toEqual([undefined, '0.1.0']);
      },
    );

    it.each(['1'.repeat(33), '', 'a b', '<b>', 'é', '\u202e'])(
      'refuses a version that is none: %j',
      async (version) => {
        const b = await bed.start('b');
        const peer = await dialRaw(bed, b.address);
        const shaken = shakeHandsRaw(peer, rawIdentity('raw'), { hello: (hello) => ({ ...hello, version }) });
        await expect(shaken).rejects.toThrow(/hello: .*version/);
        expect(b.links.size).toBe(0);
      },
    );

    it('trusts a peer that proves the same network secret', async () => {
      const { toA, toB } = await linkTwo(bed, { role: 'mempool', secret: SECRET }, { role: 'storage', secret: SECRET });
      expect([toA.trusted, toB.trusted]).toEqual([true, true]);
    });

    it('does not trust a user with another secret, but links to it', async () => {
      const { toA, toB } = await linkTwo(bed, { secret: 'another operator' }, { role: 'mempool', secret: SECRET });
      expect([toA.trusted, toB.trusted]).toEqual([false, false]);
    });

    it('refuses storage with another secret at the mempool', async () => {
      const reason = await refusal(
        { role: 'storage', secret: 'another operator' },
        { role: 'mempool', secret: SECRET },
      );
      expect(reason).toMatch(/different values of network\.secret: set the same/);
    });

    it('refuses storage without a secret at the mempool', async () => {
      expect(await refusal({ role: 'storage' }, { role: 'mempool', secret: SECRET })).toMatch(/no network\.secret/);
    });

    it('refuses a mempool node without the secret at another: they have nothing to say to each other', async () => {
      expect(await refusal({ role: 'mempool' }, { role: 'mempool', secret: SECRET })).toMatch(/no network\.secret/);
    });

    it.each(['user', 'miner'] as const)(
      'links a %s node to storage without the secret: it may read blocks',
      async (role) => {
        const { b } = await linkTwo(bed, { role }, { role: 'storage', secret: SECRET });
        expect([...b.links].map(({ trusted }) => trusted)).toEqual([false]);
      },
    );

    it('refuses a node of another network', async () => {
      expect(await refusal({ network: 'main' }, {})).toMatch(/"main".*"test"|"test".*"main"/);
    });

    it('refuses a node with another rule of the network, and names the rule and both values', async () => {
      const reason = await refusal(
        { rules: { 'mining.block_interval_ms': '5000', 'mining.partition_size': '1' } },
        { rules: { 'mining.block_interval_ms': '30000', 'mining.partition_size': '1' } },
      );
      expect(reason).toMatch(/mining\.block_interval_ms is "(5000|30000)" on one and "(5000|30000)" on the other/);
      expect(reason).not.toContain('partition_size');
    });

    it('compares the rules that both nodes go by, and no others', async () => {
      const { b } = await linkTwo(
        bed,
        { rules: { 'network.genesis_file': 'same', 'mining.partition_size': '1' } },
        { rules: { 'network.genesis_file': 'same', 'mining.asert_activation_height': '3' } },
      );
      expect(b.links.size).toBe(1);
    });

    it('links nodes that have one producer key in common, and names the rule where they have none', async () => {
      const rule = (value: string) => ({ rules: { 'network.producer_keys': value } });
      const { b } = await linkTwo(bed, rule('aaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbb'), rule('bbbbbbbbbbbbbbbb'));
      expect(b.links.size).toBe(1);
      expect(await refusal(rule('aaaaaaaaaaaaaaaa'), rule('bbbbbbbbbbbbbbbb'))).toMatch(/network\.producer_keys is/);
    });

    it('links storage nodes without the secret: certificates prove what they tell each other', async () => {
      const { b } = await linkTwo(bed, { role: 'storage' }, { role: 'storage', secret: SECRET });
      expect([...b.links].map(({ trusted }) => trusted)).toEqual([false]);
    });

    it('binds the rules to the proof: nobody on the way can change them', async () => {
      const b = await bed.start('b');
      const peer = await dialRaw(bed, b.address);
      const shaken = shakeHandsRaw(peer, rawIdentity('raw'), {
        hello: (hello) => ({ ...hello, rules: { rule: '1' } }),
      });
      await expect(shaken).rejects.toThrow(/signature does not prove/);
    });

    it('shows what a stranger says as plain text', async () => {
      const lines: string[] = [];
      const note = (_fields: object, message: string): void => void lines.push(message);
      const b = await bed.start('b', {}, { logger: { debug: note, info: note, warn: note, error: note } });
      const peer = await dialRaw(bed, b.address);
      await peer.next();
      peer.connection.send(
        JSON.stringify({ k: 'bye', reason: 'red \u001b[31m\n2026 info all is well \u202e\u009b1m' }),
      );
      await peer.farewell;
      const refused = lines.find((line) => line.includes('red'));
      expect(refused).toContain('red \\u{1b}[31m\\u{a}2026 info all is well \\u{202e}\\u{9b}1m');
    });

    it('refuses itself', async () => {
      expect(await refusal({ nodeKey: keyOf('same') }, { nodeKey: keyOf('same') })).toMatch(/same node key/);
    });

    it('refuses a key that is not allowed for the role (mining.allowed_keys)', async () => {
      const allowedKeys = { miner: [toHex(keyOf('somebody').publicKey)] };
      const reason = await refusal({ role: 'miner' }, { role: 'mempool', allowedKeys });
      expect(reason).toContain(toHex(keyOf('a').publicKey));
    });

    it('lets an allowed key in, and other roles unasked', async () => {
      const allowedKeys = { miner: [toHex(keyOf('a').publicKey).toUpperCase()] };
      const { b } = await linkTwo(bed, { role: 'miner' }, { role: 'mempool', allowedKeys });
      const user = await bed.start('c');
      const accepted = nextOf(b.linkUp);
      await user.dial(b.address, { timeoutMs: 5_000 });
      expect((await accepted).nodeKey).toBe(user.nodeKey);
      expect(b.links.size).toBe(2);
    });

    it.each(['mempool', 'storage'] as const)(
      'refuses a strange %s node that dials a wallet or a miner',
      async (role) => {
        expect(await refusal({ role }, { role: 'miner' })).toMatch(/takes no links from a|network\.secret/);
      },
    );

    it("lets its own operator's mempool dial a miner", async () => {
      const { toB } = await linkTwo(bed, { role: 'mempool', secret: SECRET }, { role: 'miner', secret: SECRET });
      expect(toB.trusted).toBe(true);
    });

    it('refuses strangers when it has its links, and still takes its own operator', async () => {
      const limits = { maxLinks: 1 };
      const { b } = await linkTwo(bed, {}, { role: 'mempool', secret: SECRET, limits });
      const stranger = await bed.start('c');
      await expect(stranger.dial(b.address, { timeoutMs: 5_000 })).rejects.toThrow(/peers\.max_links/);
      const storage = await bed.start('d', { role: 'storage', secret: SECRET });
      expect((await storage.dial(b.address, { timeoutMs: 5_000 })).trusted).toBe(true);
    });

    it('has a place again when a link has gone', async () => {
      const { b, toB } = await linkTwo(bed, {}, { limits: { maxLinks: 1 } });
      const gone = nextOf(b.linkDown);
      toB.close('done');
      await gone;
      const next = await bed.start('c');
      await expect(next.dial(b.address, { timeoutMs: 5_000 })).resolves.toMatchObject({ nodeKey: b.nodeKey });
    });

    it('refuses another protocol version and names both', async () => {
      const b = await bed.start('b');
      const peer = await dialRaw(bed, b.address);
      peer.connection.send(JSON.stringify({ k: 'hello', protocol: 1, whatever: true }));
      expect(await peer.farewell).toContain(`protocol ${PROTOCOL_VERSION}, the other protocol 1: run the same release`);
    });

    it('refuses a tampered signature', async () => {
      const b = await bed.start('b');
      const peer = await dialRaw(bed, b.address);
      const shaken = shakeHandsRaw(peer, rawIdentity('raw'), {
        proof: (proof) => ({
          ...proof,
          signature: proof.signature.replace(/^../, (hex) => (hex === '00' ? '01' : '00')),
        }),
      });
      await expect(shaken).rejects.toThrow(/signature does not prove/);
      expect(b.links.size).toBe(0);
    });

    it('refuses a hello that was changed on its way', async () => {
      const b = await bed.start('b');
      const peer = await dialRaw(bed, b.address);
      const shaken = shakeHandsRaw(peer, rawIdentity('raw'), { hello: (hello) => ({ ...hello, role: 'mempool' }) });
      await expect(shaken).rejects.toThrow(/signature does not prove/);
    });

    it('refuses a hello to which a version was added on its way', async () => {
      const b = await bed.start('b');
      const peer = await dialRaw(bed, b.address);
      const shaken = shakeHandsRaw(peer, rawIdentity('raw'), { hello: (hello) => ({ ...hello, version: '9.9.9' }) });
      await expect(shaken).rejects.toThrow(/signature does not prove/);
    });

    it('does not trust a secret that is only named', async () => {
      const b = await bed.start('b', { role: 'mempool', secret: SECRET });
      const peer = await dialRaw(bed, b.address);
      const up = nextOf(b.linkUp);
      await shakeHandsRaw(peer, rawIdentity('raw', { secret: SECRET }), {
        proof: (proof) => ({ ...proof, mac: 'ab'.repeat(32) }),
      });
      expect((await up).trusted).toBe(false);
    });

    it('does not trust a secret proven for another connection', async () => {
      const b = await bed.start('b', { role: 'mempool', secret: SECRET });
      const proofs: Proof[] = [];
      const first = nextOf(b.linkUp);
      await shakeHandsRaw(await dialRaw(bed, b.address), rawIdentity('own', { secret: SECRET }), {
        proof: (proof) => {
          proofs.push(proof);
          return proof;
        },
      });
      expect((await first).trusted).toBe(true);
      const second = nextOf(b.linkUp);
      // A stranger who has seen it shows it on a connection of its own, under its own key.
      await shakeHandsRaw(await dialRaw(bed, b.address), rawIdentity('stranger'), {
        proof: (proof) => ({ ...proof, mac: proofs[0]?.mac }),
      });
      expect((await second).trusted).toBe(false);
    });

    it('refuses a handshake that is replayed', async () => {
      const b = await bed.start('b');
      const up = nextOf(b.linkUp);
      const recorded = await shakeHandsRaw(await dialRaw(bed, b.address), rawIdentity('raw', { secret: SECRET }));
      const link = await up;
      const replay = await dialRaw(bed, b.address);
      for (const text of recorded) replay.connection.send(text);
      expect(await replay.farewell).toMatch(/signature does not prove/);
      expect(b.links).toEqual(new Set([link]));
    });

    it('closes on a message before the handshake is done', async () => {
      const b = await bed.start('b');
      const peer = await dialRaw(bed, b.address);
      peer.connection.send(rawMessage({ t: 'address.get', id: 1, b: {} }));
      expect(await peer.farewell).toMatch(/before the handshake/);
    });

    it.each([
      ['no JSON', '{'],
      ['an unknown kind', '{"k":"constructor"}'],
      ['a hello with a wrong role', '{"k":"hello","protocol":1,"network":"test","role":"king"}'],
      ['a proof out of turn', JSON.stringify({ k: 'proof', signature: 'ab'.repeat(64) })],
      ['ready out of turn', '{"k":"ready"}'],
      ['a ping', '{"k":"ping"}'],
      ['a long text', ' '.repeat(20_000)],
    ])('closes with a reason on %s', async (_what, text) => {
      const b = await bed.start('b');
      const peer = await dialRaw(bed, b.address);
      peer.connection.send(text);
      expect(await peer.farewell).not.toBe('');
      expect(b.links.size).toBe(0);
    });

    it('gives a stranger no large buffers', async () => {
      const b = await bed.start('b');
      const peer = await dialRaw(bed, b.address);
      await peer.next();
      peer.connection.send(new Uint8Array(GUARD_BYTES * 8));
      await peer.farewell;
      expect(b.links.size).toBe(0);
    });

    it('takes a large message in the same breath as ready', async () => {
      const b = await bed.start('b');
      const received = createDeferred<number>();
      b.handle('payment.sent', (_link, { attachment }) => {
        received.resolve(attachment.length);
        return undefined;
      });
      const peer = await dialRaw(bed, b.address);
      await shakeHandsRaw(peer, rawIdentity('raw'), { ready: false });
      peer.connection.send('{"k":"ready"}');
      peer.connection.send(rawMessage({ t: 'payment.sent', b: {} }, new Uint8Array(7 * GUARD_BYTES)));
      expect(await Promise.race([received.promise, peer.farewell])).toBe(7 * GUARD_BYTES);
    });

    it('closes a handshake that takes longer than five seconds', async () => {
      const b = await bed.start('b');
      const peer = await dialRaw(bed, b.address);
      await peer.next();
      await bed.clock.advance(5_000);
      expect(await peer.farewell).toMatch(/not finished within 5000 ms/);
    });

    it('gives the place of the oldest unfinished handshake to a newcomer', async () => {
      const b = await bed.start('b', { limits: { maxHandshakes: 1 } });
      const first = await dialRaw(bed, b.address);
      await first.next();
      const second = await dialRaw(bed, b.address);
      expect(await first.farewell).toMatch(/newer connections/);
      const up = nextOf(b.linkUp);
      await shakeHandsRaw(second, rawIdentity('raw'));
      expect((await up).role).toBe('user');
    });

    it('keeps no place for a peer that was let in and never finished', async () => {
      const b = await bed.start('b', { limits: { maxLinks: 1 } });
      const peer = await dialRaw(bed, b.address);
      const up = nextOf(b.linkUp);
      await shakeHandsRaw(peer, rawIdentity('raw'), { ready: false });
      await bed.clock.advance(5_000);
      await peer.farewell;
      const a = await bed.start('a');
      await a.dial(b.address, { timeoutMs: 5_000 });
      expect((await up).nodeKey).toBe(a.nodeKey);
    });

    it('keeps one link when both ends dial at once', async () => {
      const a = await bed.start('a');
      const b = await bed.start('b');
      const [toB, toA] = await Promise.all([
        a.dial(b.address, { timeoutMs: 5_000 }).catch(() => undefined),
        b.dial(a.address, { timeoutMs: 5_000 }).catch(() => undefined),
      ]);
      await settle();
      expect([a.links.size, b.links.size]).toEqual([1, 1]);
      for (const link of [toA, toB]) if (link) expect(a.links.has(link) || b.links.has(link)).toBe(true);
    });

    it.each([
      ['a', 'b'],
      ['b', 'a'],
    ])('finds the open link when %s dials a peer that has dialed it', async (first, second) => {
      const dialer = await bed.start(first);
      const accepting = await bed.start(second);
      const accepted = nextOf(accepting.linkUp);
      await dialer.dial(accepting.address, { timeoutMs: 5_000 });
      await accepted;
      const back = await accepting.dial(dialer.address, { timeoutMs: 5_000 });
      await settle();
      expect(accepting.links).toEqual(new Set([back]));
      expect(dialer.links.size).toBe(1);
    });

    it('does not take the word of a peer for its address', async () => {
      const a = await bed.start('a');
      const b = await bed.start('b');
      const up = nextOf(a.linkUp);
      await shakeHandsRaw(await dialRaw(bed, a.address), rawIdentity('liar', { address: b.address }));
      expect((await up).address).toBe(b.address);
      const link = await a.dial(b.address, { timeoutMs: 5_000 });
      expect(link.nodeKey).toBe(b.nodeKey);
    });
  },
);
