/**
 * What the tests of links share: seeded randomness, both transports, nodes that are stopped at the end, and a raw peer that
 * can break every rule.
 */

import { createHash } from 'node:crypto';
import { type KeyPair, keyPairFromSeed } from '../../src/crypto/ed25519.js';
import { createDeferred } from '../../src/lib/deferred.js';
import { silentLogger } from '../../src/lib/logger.js';
import type { Random } from '../../src/lib/random.js';
import type { Signal } from '../../src/lib/signal.js';
import { noMetrics } from '../../src/observability/metrics.js';
import { decodeControl, encodeControl, type Hello, type Proof } from '../../src/peers/link/frames.js';
import { createHello, createProof, type Identity } from '../../src/peers/link/handshake.js';
import type { LinkSettings, PeerLimits } from '../../src/peers/link/limits.js';
import { LinkNetwork, type PeerNetworkModules, type PeerNetworkOptions } from '../../src/peers/link-network.js';
import type { Link } from '../../src/peers/network.js';
import type { Connection, Frame, Transport } from '../../src/peers/transport/transport.js';
import { WebSocketTransport } from '../../src/peers/transport/websocket-transport.js';
import { SettlingClock } from './manual-clock.js';
import { createMemoryHub, type MemoryHub } from './memory-transport.js';

export const SECRET = 'a secret of this operator';

export function createSeededRandom(seed: string): Random {
  let counter = 0;
  return {
    bytes(length) {
      const parts: Buffer[] = [];
      for (let size = 0; size < length; size += 32) {
        parts.push(createHash('sha256').update(`${seed}/${counter++}`).digest());
      }
      return Buffer.concat(parts).subarray(0, length);
    },
  };
}

export function keyOf(name: string): KeyPair {
  return keyPairFromSeed(createHash('sha256').update(name).digest());
}

/** Resolves with the next value of the signal that fits. */
export function nextOf<T>(signal: Signal<T>, fits: (value: T) => boolean = () => true): Promise<T> {
  const result = createDeferred<T>();
  const off = signal.on((value) => {
    if (!fits(value)) return;
    off();
    result.resolve(value);
  });
  return result.promise;
}

/** Limits as in a node's configuration. */
export const SETTINGS: LinkSettings = {
  maxLinks: 256,
  maxLinksPerAddress: 64,
  dialTimeoutMs: 5_000,
  heartbeatMs: 5_000,
  reconnectMaxMs: 30_000,
};

export type BedOptions = Partial<Omit<PeerNetworkOptions, 'limits'>> & { readonly limits?: Partial<PeerLimits> };

export interface Bed {
  readonly clock: SettlingClock;
  readonly hub: MemoryHub;
  transport(): Transport;
  /** A node that is not started. Its key is that of `name`. */
  node(name: string, options?: BedOptions, modules?: Partial<PeerNetworkModules>): LinkNetwork;
  /** A started node. */
  start(name: string, options?: BedOptions, modules?: Partial<PeerNetworkModules>): Promise<LinkNetwork>;
  /** Stops every node. */
  stop(): Promise<void>;
}

export type TransportKind = 'websocket' | 'memory';

export function createBed(kind: TransportKind, maxFrameBytes?: number): Bed {
  const clock = new SettlingClock();
  const bounds = maxFrameBytes === undefined ? {} : { maxFrameBytes };
  const hub = createMemoryHub(bounds);
  const nodes: LinkNetwork[] = [];
  const transport = () => (kind === 'memory' ? hub.transport() : new WebSocketTransport(bounds));

  const node: Bed['node'] = (name, options = {}, modules = {}) => {
    const network = new LinkNetwork(
      {
        network: 'test',
        role: 'user',
        nodeKey: keyOf(name),
        listen: { host: '127.0.0.1', port: 0 },
        peers: [],
        rules: {},
        ...options,
        limits: { ...SETTINGS, ...options.limits },
      },
      {
        transport: transport(),
        clock,
        random: createSeededRandom(name),
        logger: silentLogger,
        metrics: noMetrics,
        ...modules,
      },
    );
    nodes.push(network);
    return network;
  };

  return {
    clock,
    hub,
    transport,
    node,
    async start(name, options, modules) {
      const network = node(name, options, modules);
      await network.start();
      return network;
    },
    async stop() {
      await Promise.all(nodes.map((network) => network.stop()));
    },
  };
}

/** Two started nodes and the link between them, seen from both ends. */
export async function linkTwo(
  bed: Bed,
  dialer: BedOptions = {},
  listener: BedOptions = {},
): Promise<{ a: LinkNetwork; b: LinkNetwork; toB: Link; toA: Link }> {
  const a = await bed.start('a', dialer);
  const b = await bed.start('b', listener);
  const accepted = nextOf(b.linkUp);
  const toB = await a.dial(b.address, { timeoutMs: 5_000 });
  return { a, b, toB, toA: await accepted };
}

/** A peer that speaks frames, not the protocol. */
export interface RawPeer {
  readonly connection: Connection;
  /** The next frame that is not a ping; rejects when the connection ends first. */
  next(): Promise<Frame>;
  /** Why the other end says that it closes, or '' when it only closed. */
  readonly farewell: Promise<string>;
}

export function createRawPeer(connection: Connection): RawPeer {
  const frames: Frame[] = [];
  const waiting: { resolve(frame: Frame): void; reject(error: unknown): void }[] = [];
  const farewell = createDeferred<string>();
  let reason = '';
  connection.onMessage((frame) => {
    if (typeof frame === 'string') {
      const control = decodeControl(frame);
      if (control.k === 'ping') return;
      if (control.k === 'bye') reason = control.reason;
    }
    const waiter = waiting.shift();
    if (waiter) waiter.resolve(frame);
    else frames.push(frame);
  });
  connection.onClose((closeReason) => {
    farewell.resolve(reason);
    for (const waiter of waiting) waiter.reject(new Error(`closed: ${reason || closeReason}`));
  });
  return {
    connection,
    farewell: farewell.promise,
    next() {
      const frame = frames.shift();
      if (frame !== undefined) return Promise.resolve(frame);
      const waiter = createDeferred<Frame>();
      waiting.push(waiter);
      return waiter.promise;
    },
  };
}

export async function dialRaw(bed: Bed, address: string): Promise<RawPeer> {
  return createRawPeer(await bed.transport().dial(address, new AbortController().signal));
}

export function rawIdentity(name: string, overrides: Partial<Identity> = {}): Identity {
  return {
    network: 'test',
    role: 'user',
    address: '127.0.0.1:9',
    nodeKey: keyOf(name),
    secret: undefined,
    rules: {},
    ...overrides,
  };
}

/**
 * Does a dialer's handshake by hand; `tamper` may change what is sent. Resolves when the listener has accepted, with what
 * was sent.
 */
export async function shakeHandsRaw(
  peer: RawPeer,
  identity: Identity,
  tamper: { hello?(hello: Hello): object; proof?(proof: Proof): object; ready?: false } = {},
): Promise<readonly string[]> {
  const hello = createHello(identity, createSeededRandom(`raw ${identity.address}`));
  const sent: string[] = [];
  const send = (record: object): void => {
    const text = JSON.stringify(record);
    sent.push(text);
    peer.connection.send(text);
  };
  send(tamper.hello?.(hello) ?? hello);
  const theirs = decodeControl(String(await peer.next()));
  if (theirs.k !== 'hello') throw new Error(`expected hello, got ${theirs.k}`);
  const proof = createProof(identity, 'dialer', { dialer: hello, listener: theirs });
  send(tamper.proof?.(proof) ?? proof);
  for (;;) {
    const control = decodeControl(String(await peer.next()));
    if (control.k === 'bye') throw new Error(control.reason);
    if (control.k === 'ready') break;
  }
  if (tamper.ready !== false) send(JSON.parse(encodeControl({ k: 'ready' })));
  return sent;
}

/** The bytes of a message frame, valid or not. */
export function rawMessage(envelope: unknown, attachment: Uint8Array = new Uint8Array(0)): Uint8Array {
  const json = Buffer.from(typeof envelope === 'string' ? envelope : JSON.stringify(envelope), 'utf8');
  const length = Buffer.alloc(4);
  length.writeUInt32LE(json.length);
  return Buffer.concat([length, json, attachment]);
}
