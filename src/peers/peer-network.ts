/**
 * The links of one node: accepts and dials, leads each connection through its handshake, and keeps the register of links
 * that are up. Behind `PeerNetwork` of `network.ts`.
 */

import { type KeyPair, PUBLIC_KEY_LENGTH } from '../crypto/ed25519.js';
import { isHex, toHex } from '../lib/bytes.js';
import type { Clock } from '../lib/clock.js';
import { createDeferred } from '../lib/deferred.js';
import { TesseraError } from '../lib/errors.js';
import type { Logger } from '../lib/logger.js';
import type { Random } from '../lib/random.js';
import type { NodeRole } from '../lib/roles.js';
import { createSignal } from '../lib/signal.js';
import { formatAddress, type HostAndPort, parseAddress } from './address.js';
import { createDialer } from './link/dialer.js';
import { type Identity, type PeerIdentity, runHandshake, type Side } from './link/handshake.js';
import { DEFAULT_PEER_LIMITS, type PeerLimits } from './link/limits.js';
import { createLink, type PeerObserver } from './link/link.js';
import { type Admission, createLinkRegister } from './link/link-register.js';
import type { MessageType } from './messages.js';
import type { Link, MessageHandler, PeerNetwork } from './network.js';
import type { Connection, Listener, Transport } from './transport/transport.js';

export interface PeerNetworkOptions {
  /** Name of the network; nodes of another one are refused. */
  readonly network: string;
  readonly role: NodeRole;
  /** See `loadOrCreateNodeKey`. */
  readonly nodeKey: KeyPair;
  /** Where links are accepted; port 0 takes a free one. */
  readonly listen: HostAndPort;
  /** `host:port` that peers are told to dial, where it is not the one listened on. */
  readonly advertise?: string;
  /** Addresses to keep a link to. */
  readonly peers: readonly string[];
  /** The operator's `network.secret`, at least 16 characters; without it no link is `trusted`. */
  readonly secret?: string;
  /** Node keys (hex) that may link in a role; a role that is not named is open to all. */
  readonly allowedKeys?: Partial<Readonly<Record<NodeRole, readonly string[]>>>;
  readonly limits?: Partial<PeerLimits>;
}

export interface PeerNetworkModules {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly observer?: PeerObserver | undefined;
}

const MAX_NETWORK_NAME_LENGTH = 64;
const MIN_SECRET_LENGTH = 16;
const STOPPING = 'the node is stopping';

/** The links of one node. Throws `invalid_config` or `invalid_socket_address` when an option is wrong. */
export function createPeerNetwork(options: PeerNetworkOptions, modules: PeerNetworkModules): PeerNetwork {
  checkOptions(options);
  const { transport, clock, random, logger, observer } = modules;
  const limits: PeerLimits = { ...DEFAULT_PEER_LIMITS, ...options.limits };
  const nodeKey = toHex(options.nodeKey.publicKey);
  const listenerFailed = (error: unknown): void => logger.error({ err: error }, 'a listener of link events broke');
  const linkUp = createSignal<Link>(listenerFailed);
  const linkDown = createSignal<{ readonly link: Link; readonly reason: string }>(listenerFailed);
  const handlers = new Map<MessageType, MessageHandler<MessageType>>();
  const register = createLinkRegister({
    ownRole: options.role,
    nodeKey,
    maxLinks: limits.maxLinks,
    allowedKeys: options.allowedKeys ?? {},
  });
  /** Every connection of this network until it is really closed. */
  const closing = new Map<Connection, Promise<void>>();
  const handshakes = new Set<Handshake>();
  let nextLinkId = 1;
  let address = options.advertise ?? formatAddress(options.listen);
  let listener: Listener | undefined;
  let state: 'new' | 'started' | 'stopped' = 'new';

  const identity = (): Identity => ({
    network: options.network,
    role: options.role,
    address,
    nodeKey: options.nodeKey,
    secret: options.secret,
  });

  const track = (connection: Connection): void => {
    const end = createDeferred<void>();
    closing.set(connection, end.promise);
    connection.onClose(() => {
      closing.delete(connection);
      end.resolve();
    });
  };

  const bringUp = (connection: Connection, peer: PeerIdentity, admission: Admission, reachedAt?: string): Link => {
    register.byKey(peer.nodeKey)?.close('a newer link between the same nodes took its place');
    const id = `${peer.role}-${nextLinkId++}`;
    const facts = { link: id, peer: peer.address, remote: connection.remote, role: peer.role, nodeKey: peer.nodeKey };
    const onDown = (reason: string): void => {
      register.remove(link);
      admission.release();
      logger.info(facts, `link down: ${reason}`);
      linkDown.emit({ link, reason });
      dialer.linkDown(link);
    };
    const opened = createLink(
      { id, ownRole: options.role, peer, connection, handlers, limits, onDown },
      { clock, logger, observer },
    );
    const { link } = opened;
    register.add(link, reachedAt);
    logger.info({ ...facts, trusted: peer.trusted }, 'link up');
    linkUp.emit(link);
    opened.open();
    return link;
  };

  /** Leads a new connection through its handshake. `reachedAt` is the address dialed, undefined for an accepted one. */
  const shakeHands = (connection: Connection, side: Side, reachedAt?: string): Handshake => {
    const result = createDeferred<Link>();
    // Nobody waits for the links that others dial.
    result.promise.catch(() => undefined);
    let admission: Admission | undefined;
    const settle = (): void => {
      timer.cancel();
      handshakes.delete(handshake);
    };
    track(connection);
    let cancel: (reason: string) => void = () => undefined;
    const handshake: Handshake = { link: result.promise, cancel: (reason) => cancel(reason) };
    const timer = clock.after(limits.handshakeTimeoutMs, () =>
      cancel(`the handshake was not finished within ${limits.handshakeTimeoutMs} ms`),
    );
    handshakes.add(handshake);
    // The last step: frames may be waiting, and then it is over before this returns.
    cancel = runHandshake(
      connection,
      {
        identity: identity(),
        side,
        random,
        admit(peer) {
          const verdict = register.admit(peer, side);
          if ('reason' in verdict) return verdict;
          admission = verdict;
          return undefined;
        },
      },
      {
        done(peer) {
          settle();
          if (admission) result.resolve(bringUp(connection, peer, admission, reachedAt));
        },
        failed(error, peer, duplicate) {
          settle();
          admission?.release();
          const existing = duplicate && peer ? register.byKey(peer.nodeKey) : undefined;
          if (existing) {
            register.add(existing, reachedAt);
            result.resolve(existing);
            return;
          }
          logger.info({ remote: connection.remote }, `no link: ${error.message}`);
          result.reject(error);
        },
      },
    );
    return handshake;
  };

  const accept = (connection: Connection): void => {
    if (state !== 'started' || handshakes.size >= limits.maxHandshakes) connection.close();
    else shakeHands(connection, 'listener');
  };

  const openLink = async (to: string, signal: AbortSignal): Promise<Link> => {
    const connection = await transport.dial(to, signal);
    const handshake = shakeHands(connection, 'dialer', to);
    const abort = (): void => handshake.cancel('dialing was given up');
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    try {
      return await handshake.link;
    } finally {
      signal.removeEventListener('abort', abort);
    }
  };

  const countedOpenLink = (to: string, signal: AbortSignal): Promise<Link> =>
    openLink(to, signal).catch((error: unknown) => {
      if (state === 'started') observer?.dialFailed();
      throw error;
    });

  const dialer = createDialer(
    { limits, openLink: countedOpenLink, isUp: (link) => register.links.has(link) },
    { clock, random, logger },
  );

  return {
    get address() {
      return address;
    },
    nodeKey,
    links: register.links,
    linkUp,
    linkDown,
    handle(type, handler) {
      if (handlers.has(type)) throw new TesseraError('internal_error', `${type} has a handler already`);
      // A message of another type never reaches it: the table is asked with the type of the message.
      handlers.set(type, handler as unknown as MessageHandler<MessageType>);
    },
    async dial(to, { timeoutMs, signal }) {
      parseAddress(to);
      return register.byAddress(to) ?? (await dialer.dial(to, { timeoutMs, signal }));
    },
    async start() {
      if (state !== 'new') throw new TesseraError('internal_error', 'a network is started once');
      state = 'started';
      listener = await transport.listen(options.listen, accept);
      address = options.advertise ?? formatAddress(listener.address);
      logger.info({ address, nodeKey, role: options.role }, 'listening for peers');
      for (const peer of options.peers) dialer.keep(peer);
    },
    async stop() {
      state = 'stopped';
      dialer.stop();
      for (const handshake of [...handshakes]) handshake.cancel(STOPPING);
      for (const link of [...register.links]) link.close(STOPPING);
      await Promise.all(closing.values());
      await listener?.close();
      listener = undefined;
    },
  };
}

interface Handshake {
  readonly link: Promise<Link>;
  cancel(reason: string): void;
}

function checkOptions(options: PeerNetworkOptions): void {
  const wrong = (message: string) => new TesseraError('invalid_config', message);
  if (options.network.length < 1 || options.network.length > MAX_NETWORK_NAME_LENGTH) {
    throw wrong(`network.name must have 1 to ${MAX_NETWORK_NAME_LENGTH} characters`);
  }
  if (options.secret !== undefined && options.secret.length < MIN_SECRET_LENGTH) {
    throw wrong(`network.secret must have at least ${MIN_SECRET_LENGTH} characters: take 64 random hex digits`);
  }
  for (const key of Object.values(options.allowedKeys ?? {}).flat()) {
    if (!isHex(key, PUBLIC_KEY_LENGTH)) throw wrong(`"${key}" is not a node key: a node key is 64 hex digits`);
  }
  for (const peer of options.peers) parseAddress(peer);
  if (options.advertise !== undefined) parseAddress(options.advertise);
}
