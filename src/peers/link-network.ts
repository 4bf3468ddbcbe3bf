/** The links of one node: listens and dials, and makes a link for each peer that was let in. */

import { type KeyPair, PUBLIC_KEY_LENGTH } from '../crypto/ed25519.js';
import { isHex, toHex } from '../lib/bytes.js';
import { TesseraError } from '../lib/errors.js';
import { FewLines } from '../lib/few-lines.js';
import { isLoopback } from '../lib/ip-address.js';
import { NODE_ROLES, type NodeRole } from '../lib/roles.js';
import { Failure } from '../lib/service.js';
import { type Signal, SignalSource } from '../lib/signal.js';
import type { HasClock, HasLogger, HasMetrics, HasRandom } from '../observability/modules.js';
import { formatAddress, type HostAndPort, parseAddress } from './address.js';
import { Dialer } from './link/dialer.js';
import { encodeMessage, type NetworkRules } from './link/frames.js';
import type { Identity, PeerIdentity } from './link/handshake.js';
import { LINK_BOUNDS, type LinkBounds, type LinkSettings, type PeerLimits } from './link/limits.js';
import { PeerLink } from './link/link.js';
import { LinkMetrics } from './link/link-metrics.js';
import { LinkOpener, type Opening } from './link/link-opener.js';
import { type Admission, LinkRegister } from './link/link-register.js';
import { StrangerBudget } from './link/stranger-budget.js';
import type { MessageBody, MessageType } from './messages.js';
import type { Link, MessageHandler, PeerNetwork } from './network.js';
import type { Connection, Listener, Transport } from './transport/transport.js';

const MAX_NETWORK_NAME_LENGTH = 64;
const MIN_SECRET_LENGTH = 16;

export interface PeerNetworkOptions {
  /** Name of the network; nodes of other networks are refused. */
  readonly network: string;
  readonly role: NodeRole;
  /** Key of the node, as of `loadOrCreateNodeKey`. */
  readonly nodeKey: KeyPair;
  /** Address where links are accepted; port 0 takes a free one. */
  readonly listen: HostAndPort;
  /** `host:port` that peers are told to dial, where it differs from `listen`. */
  readonly advertise?: string;
  readonly peers: readonly string[];
  /** The operator's `network.secret`, at least 16 characters; without it no link is `trusted`. */
  readonly secret?: string;
  readonly rules: NetworkRules;
  /** Version of the program, which other nodes show to people. */
  readonly version?: string;
  /** Node keys (hex) that may link in a role; a role that is not named is open to all. */
  readonly allowedKeys?: Partial<Readonly<Record<NodeRole, readonly string[]>>>;
  readonly limits: LinkSettings & Partial<LinkBounds>;
}

/** Checks the options. Throws `invalid_config`, `invalid_socket_address`. */
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

export interface PeerNetworkModules extends HasClock, HasLogger, HasMetrics, HasRandom {
  readonly transport: Transport;
}

const STOPPING = 'the node is stopping';

export class LinkNetwork implements PeerNetwork {
  readonly nodeKey: string;
  readonly linkUp: Signal<Link>;
  readonly linkDown: Signal<{ readonly link: Link; readonly reason: string }>;
  readonly #options: PeerNetworkOptions;
  readonly #modules: PeerNetworkModules;
  readonly #limits: PeerLimits;
  readonly #metrics: LinkMetrics;
  readonly #lines: FewLines;
  readonly #failure = new Failure();
  readonly failed = this.#failure.promise;
  readonly #up;
  readonly #downSignal;
  readonly #handlers = new Map<MessageType, MessageHandler<MessageType>>();
  readonly #register: LinkRegister;
  readonly #strangers: StrangerBudget;
  readonly #opener: LinkOpener;
  readonly #dialer: Dialer;
  #nextLinkId = 1;
  #address: string;
  #listener: Listener | undefined;
  #state: 'new' | 'started' | 'stopped' = 'new';
  readonly #stopScrapes: () => void;

  /** Makes the network. Throws `invalid_config` or `invalid_socket_address` when an option is wrong. */
  constructor(options: PeerNetworkOptions, modules: PeerNetworkModules) {
    checkOptions(options);
    const { clock, logger } = modules;
    this.#options = options;
    this.#modules = modules;
    this.#limits = { ...LINK_BOUNDS, ...options.limits };
    this.#metrics = new LinkMetrics(modules.metrics);
    this.#lines = new FewLines(logger, clock);
    this.nodeKey = toHex(options.nodeKey.publicKey);
    this.#address = options.advertise ?? formatAddress(options.listen);
    this.#up = new SignalSource<Link>(logger);
    this.#downSignal = new SignalSource<{ readonly link: Link; readonly reason: string }>(logger);
    this.linkUp = this.#up;
    this.linkDown = this.#downSignal;
    const { evicted } = this.#metrics;
    this.#strangers = new StrangerBudget(this.#limits, clock, evicted.bytes);
    const { role: ownRole, allowedKeys = {} } = options;
    const places = { ...this.#limits, onEvicted: evicted.link };
    this.#register = new LinkRegister({ ownRole, nodeKey: this.nodeKey, allowedKeys, places }, clock);
    this.#opener = new LinkOpener(
      {
        limits: this.#limits,
        identity: () => this.#identity(),
        bringUp: (opening, peer, admission) => this.#bringUp(opening, peer, admission),
        onEvicted: evicted.handshake,
      },
      { ...modules, register: this.#register, lines: this.#lines },
    );
    this.#stopScrapes = modules.metrics.beforeScrape(() => this.#show());
    this.#dialer = new Dialer(
      {
        limits: this.#limits,
        openLink: (to, signal) => this.#openLink(to, signal),
        isUp: (link) => this.#register.links.has(link),
      },
      modules,
    );
  }

  get address(): string {
    return this.#address;
  }

  get links(): ReadonlySet<Link> {
    return this.#register.links;
  }

  /** Bytes that wait to be sent to strangers and that no other link keeps in memory too. */
  get queuedBytes(): number {
    return this.#strangers.queuedBytes;
  }

  async start(): Promise<void> {
    if (this.#state !== 'new') throw new TesseraError('internal_error', 'a network is started once');
    this.#state = 'started';
    const { listen, advertise, peers, role } = this.#options;
    this.#listener = await this.#modules.transport.listen(listen, (connection) => this.#accept(connection));
    this.#address = advertise ?? formatAddress(this.#listener.address);
    this.#modules.logger.info({ address: this.#address, nodeKey: this.nodeKey, role }, 'listening for peers');
    for (const peer of peers) this.#dialer.keep(peer);
  }

  async stop(): Promise<void> {
    this.#state = 'stopped';
    this.#stopScrapes();
    this.#dialer.stop();
    this.#opener.cancelAll(STOPPING);
    for (const link of [...this.links]) link.close(STOPPING);
    await this.#opener.closed();
    await this.#listener?.close();
    this.#listener = undefined;
  }

  handle<T extends MessageType>(type: T, handler: MessageHandler<T>): void {
    if (this.#handlers.has(type)) throw new TesseraError('internal_error', `${type} has a handler already`);
    // The handler is looked up by the message's type, so it never gets a message of another type.
    this.#handlers.set(type, handler as unknown as MessageHandler<MessageType>);
  }

  async dial(to: string, options: { readonly timeoutMs: number; readonly signal?: AbortSignal }): Promise<Link> {
    parseAddress(to);
    return this.#register.byAddress(to) ?? (await this.#dialer.dial(to, options));
  }

  broadcast<T extends MessageType>(
    links: Iterable<Link>,
    type: T,
    body: MessageBody<T>,
    attachment: Uint8Array = new Uint8Array(0),
  ): Link[] {
    const frame = encodeMessage(type, body, attachment);
    return [...links].filter((link) => !(link instanceof PeerLink && link.sendShared(frame, type)));
  }

  #accept(connection: Connection): void {
    if (this.#state === 'started') this.#opener.accept(connection);
    else connection.close();
  }

  async #openLink(to: string, signal: AbortSignal): Promise<Link> {
    try {
      return await this.#opener.dial(to, signal);
    } catch (error) {
      if (this.#state === 'started') this.#metrics.dialFailed();
      throw error;
    }
  }

  #bringUp({ connection, side, reachedAt }: Opening, peer: PeerIdentity, admission: Admission): Link {
    const { clock } = this.#modules;
    const { stranger } = admission;
    const logger = this.#lines.about({ trusted: stranger === undefined });
    this.#register.byKey(peer.nodeKey)?.close('a newer link between the same nodes took its place');
    const id = `${peer.role}-${this.#nextLinkId++}`;
    const facts = { link: id, peer: peer.address, remote: connection.remote, role: peer.role, nodeKey: peer.nodeKey };
    const link: PeerLink = new PeerLink(
      {
        id,
        ownRole: this.#options.role,
        peer,
        // On this machine, all strangers have the same address.
        sender: stranger === undefined || isLoopback(stranger.host) ? peer.nodeKey : stranger.group,
        standing: peer.trusted ? 'trusted' : stranger === undefined ? 'chosen' : 'stranger',
        // A peer that dialed this node has chosen it.
        ownStanding: peer.trusted ? 'trusted' : side === 'listener' ? 'chosen' : 'stranger',
        connection,
        handlers: this.#handlers,
        // Other nodes may dial this node before its services are up.
        isStarting: () => this.#state === 'new',
        limits: this.#limits,
        strangers: stranger === undefined ? undefined : this.#strangers,
        onUseful() {
          if (stranger !== undefined) stranger.usefulAt = clock.monotonic();
        },
        onDown: (reason) => {
          this.#register.remove(link);
          this.#register.release(admission);
          logger.info(facts, `link down: ${reason}`);
          this.#downSignal.emit({ link, reason });
          this.#dialer.linkDown(link);
        },
      },
      { clock, logger, metrics: this.#metrics },
    );
    if (stranger !== undefined) stranger.close = (reason) => link.close(reason);
    this.#register.add(link, reachedAt);
    logger.info({ ...facts, trusted: peer.trusted }, 'link up');
    this.#up.emit(link);
    link.open();
    return link;
  }

  #identity(): Identity {
    const { network, role, nodeKey, secret, rules, version } = this.#options;
    return { network, role, address: this.#address, nodeKey, secret, rules, version };
  }

  #show(): void {
    const { metrics } = this.#modules;
    const links = [...this.links];
    for (const role of NODE_ROLES)
      metrics.gauge('tessera_peers_links', role).set(links.filter((link) => link.role === role).length);
    metrics.gauge('tessera_peers_handshakes').set(this.#opener.size);
    metrics.gauge('tessera_peers_queued_bytes').set(this.queuedBytes);
  }
}
