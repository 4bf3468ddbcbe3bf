import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { PeerNetwork } from '../../src/peers/network.js';
import { settle } from '../support/manual-clock.js';
import { type Bed, createBed, keyOf, linkTwo, nextOf, type TransportKind } from '../support/peers.js';

const nodeKeyOf = (name: string): string => Buffer.from(keyOf(name).publicKey).toString('hex');
/** As many retries as make the longest delay. */
const MANY = 12;

describe('keeping a link to a configured peer', () => {
  let bed: Bed;

  beforeEach(() => {
    bed = createBed('memory');
  });
  afterEach(() => bed.stop());

  const MISSING = '127.0.0.1:7';

  /** The delays between the attempts to reach a peer that is not there. */
  const delays = async (count: number): Promise<number[]> => {
    await bed.start('a', { peers: [MISSING] });
    await settle();
    const seen: number[] = [];
    for (let i = 0; i < count; i++) {
      const [next = 0] = bed.clock.due;
      seen.push(next);
      await bed.clock.advance(next);
    }
    return seen;
  };

  it('waits twice as long after each failure, with jitter, and 30 seconds at most', async () => {
    const seen = await delays(MANY);
    seen.forEach((delay, i) => {
      const full = Math.min(30_000, 250 * 2 ** i);
      expect(delay).toBeGreaterThanOrEqual(full / 2);
      expect(delay).toBeLessThanOrEqual(full);
    });
    expect(new Set(seen.slice(-4)).size).toBeGreaterThan(1);
  });

  it('links when the peer comes up later', async () => {
    const a = await bed.start('a', { peers: ['127.0.0.1:4000'] });
    await settle();
    const up = nextOf(a.linkUp);
    const b = await bed.start('b', { listen: { host: '127.0.0.1', port: 4_000 } });
    await bed.clock.advance(1_000);
    expect((await up).nodeKey).toBe(b.nodeKey);
  });

  const lose = async (): Promise<void> => {
    for (const wire of bed.hub.wires) wire.cut();
    await settle();
  };
  const kept = async (): Promise<{ a: PeerNetwork; b: PeerNetwork }> => {
    const b = await bed.start('b');
    const a = await bed.start('a', { peers: [b.address] });
    await settle();
    expect(a.links.size).toBe(1);
    return { a, b };
  };

  it('links again when the link was lost', async () => {
    const { a, b } = await kept();
    await lose();
    expect(a.links.size).toBe(0);
    await bed.clock.advance(1_000);
    expect([a.links.size, b.links.size]).toEqual([1, 1]);
  });

  it('waits longer each time for a peer that does not stay', async () => {
    const { a } = await kept();
    for (let i = 0; i < 6; i++) {
      await lose();
      const [next = 0] = bed.clock.due;
      expect(next).toBeGreaterThanOrEqual((250 * 2 ** i) / 2);
      await bed.clock.advance(next);
      expect(a.links.size).toBe(1);
    }
  });

  it('starts with short waits again after a stable link', async () => {
    const { a } = await kept();
    for (let i = 0; i < 6; i++) {
      await lose();
      await bed.clock.advance(bed.clock.due[0] ?? 0);
    }
    expect(a.links.size).toBe(1);
    await bed.clock.advance(10_000);
    expect(a.links.size).toBe(1);
    await lose();
    expect(bed.clock.due[0]).toBeLessThanOrEqual(250);
  });

  it('leaves a peer alone that has dialed, and dials it when that link goes', async () => {
    const a = await bed.start('a', { listen: { host: '127.0.0.1', port: 4_001 }, peers: ['127.0.0.1:4002'] });
    const b = await bed.start('b', { listen: { host: '127.0.0.1', port: 4_002 }, peers: ['127.0.0.1:4001'] });
    await settle();
    await bed.clock.advance(2_000);
    expect([a.links.size, b.links.size]).toEqual([1, 1]);
    await lose();
    await bed.clock.advance(2_000);
    expect([a.links.size, b.links.size]).toEqual([1, 1]);
  });

  it('finds a dead link by its heartbeat and links anew', async () => {
    const { a, b } = await kept();
    const down = nextOf(a.linkDown);
    bed.hub.wires[0]?.filter(() => undefined);
    await bed.clock.advance(25_000);
    expect((await down).reason).toMatch(/nothing was heard in the time of 3 heartbeats/);
    await bed.clock.advance(30_000);
    expect([a.links.size, b.links.size]).toEqual([1, 1]);
  });

  it('takes a peer that lost its power and comes again, as soon as the connection from before is silent', async () => {
    // The node with the smaller key refuses a second connection.
    const [smaller = '', larger = ''] = ['a', 'b'].sort((x, y) => (nodeKeyOf(x) < nodeKeyOf(y) ? -1 : 1));
    const node = await bed.start(smaller);
    await bed.start(larger, { peers: [node.address] });
    await settle();
    bed.hub.wires[0]?.filter(() => undefined);
    const again = await bed.start(larger);
    await expect(again.dial(node.address, { timeoutMs: 5_000 })).rejects.toThrow('the two nodes have a link already');
    await bed.clock.advance(4_000);
    const link = await again.dial(node.address, { timeoutMs: 5_000 });
    expect([...node.links].map(({ isSilent }) => isSilent)).toEqual([false]);
    expect(again.links).toContain(link);
  });

  it('sends few pings on a link where nothing else is said, and none where much is', async () => {
    const { toB, b } = await linkTwo(bed);
    b.handle('payment.sent', () => undefined);
    let pings = 0;
    bed.hub.wires[0]?.filter((frame) => {
      if (frame === '{"k":"ping"}') pings++;
      return frame;
    });
    await bed.clock.advance(50_000);
    // Of both ends together, in ten heartbeats.
    expect(pings).toBeGreaterThan(9);
    expect(pings).toBeLessThanOrEqual(40);
    pings = 0;
    for (let i = 0; i < 50; i++) {
      toB.send('payment.sent', {});
      [...b.links][0]?.send('payment.sent', {});
      await bed.clock.advance(1_000);
    }
    expect(pings).toBe(0);
  });

  it('does not take a long transfer for a dead link', async () => {
    const { toB, b } = await linkTwo(bed);
    b.handle('payment.sent', () => undefined);
    const [wire] = bed.hub.wires;
    // Nothing comes back: the other end answers when it has it all.
    wire?.filter((frame, from) => (from === 'listener' ? undefined : frame));
    wire?.stall();
    // Each round a little leaves the queue, as with a large block on a slow line.
    for (let i = 0; i < 10; i++) {
      toB.send('payment.sent', {}, new Uint8Array(1_000));
      await bed.clock.advance(5_000);
      if (i % 2 === 1) {
        wire?.resume();
        await settle();
        wire?.stall();
      }
    }
    expect(b.links.size).toBe(1);
  });
});

describe('dialing one peer', () => {
  let bed: Bed;

  beforeEach(() => {
    bed = createBed('memory');
  });
  afterEach(() => bed.stop());

  it('makes one link of many calls at once', async () => {
    const a = await bed.start('a');
    const b = await bed.start('b');
    const links = await Promise.all(Array.from({ length: 5 }, () => a.dial(b.address, { timeoutMs: 5_000 })));
    expect(new Set(links).size).toBe(1);
    expect(bed.hub.wires.length).toBe(1);
  });

  it('gives up after its time (decision V15) and leaves no connection', async () => {
    const a = await bed.start('a');
    const silent = await bed.transport().listen({ host: '127.0.0.1', port: 0 }, () => undefined);
    const dialed = a.dial(`127.0.0.1:${silent.address.port}`, { timeoutMs: 1_000 });
    const failed = expect(dialed).rejects.toMatchObject({ code: 'peer_unreachable' });
    await settle();
    await bed.clock.advance(1_000);
    await failed;
    await settle();
    expect(bed.hub.openWires).toBe(0);
    expect(bed.clock.waiting).toBe(0);
  });

  it('is given up by its signal, while another call goes on', async () => {
    const a = await bed.start('a');
    const b = await bed.start('b');
    const abort = new AbortController();
    const given = a.dial(b.address, { timeoutMs: 5_000, signal: abort.signal });
    const other = a.dial(b.address, { timeoutMs: 5_000 });
    abort.abort();
    await expect(given).rejects.toMatchObject({ code: 'aborted' });
    await expect(other).resolves.toMatchObject({ nodeKey: b.nodeKey });
  });

  it.each(['nonsense', 'host:0', 'host:70000', '[::1:80', ''])('refuses the address "%s"', async (address) => {
    const a = await bed.start('a');
    await expect(a.dial(address, { timeoutMs: 1_000 })).rejects.toMatchObject({ code: 'invalid_socket_address' });
  });
});

describe.each<TransportKind>(['websocket', 'memory'])('stopping over %s', (kind) => {
  it('closes links, handshakes and attempts, and leaves no timer and no port', async () => {
    const bed = createBed(kind);
    const { a, b } = await linkTwo(bed);
    const c = await bed.start('c', { peers: ['127.0.0.1:1'] });
    await settle();
    const { address } = b;
    await bed.stop();
    expect([a.links.size, b.links.size, c.links.size]).toEqual([0, 0, 0]);
    expect(bed.clock.waiting).toBe(0);
    const [host = '', port] = address.split(':');
    const listener = await bed.transport().listen({ host, port: Number(port) }, () => undefined);
    await listener.close();
    await expect(a.dial(address, { timeoutMs: 1 })).rejects.toMatchObject({ code: 'shutting_down' });
  });

  it('tells its peers that it stops', async () => {
    const bed = createBed(kind);
    const { a, b } = await linkTwo(bed);
    const down = nextOf(a.linkDown);
    await b.stop();
    expect((await down).reason).toContain('the node is stopping');
    await bed.stop();
  });

  it('links again to a peer that was restarted', async () => {
    const bed = createBed(kind);
    const b = await bed.start('b');
    const a = await bed.start('a', { peers: [b.address] });
    if (a.links.size === 0) await nextOf(a.linkUp);
    const down = nextOf(a.linkDown);
    const [host = '', port] = b.address.split(':');
    await b.stop();
    await down;
    const again = await bed.start('b', { listen: { host, port: Number(port) } });
    const up = nextOf(a.linkUp);
    await bed.clock.advance(1_000);
    expect((await up).nodeKey).toBe(again.nodeKey);
    await bed.stop();
  });
});
