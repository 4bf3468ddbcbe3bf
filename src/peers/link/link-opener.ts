/** Leads each connection through its handshake, asks the register whether to let the peer in, and tracks the connection until it closes. */

import { createHmac, timingSafeEqual } from 'node:crypto';
import { fromHex, isHex, toHex } from '../../lib/bytes.js';
import { type Clock, unixSeconds } from '../../lib/clock.js';
import { createDeferred, type Deferred } from '../../lib/deferred.js';
import type { TesseraError } from '../../lib/errors.js';
import { isFault, type Verdict } from '../../lib/fault.js';
import type { FewLines } from '../../lib/few-lines.js';
import { addressGroup } from '../../lib/ip-address.js';
import type { Random } from '../../lib/random.js';
import type { HasClock, HasRandom } from '../../observability/modules.js';
import type { Link } from '../network.js';
import type { Connection, Transport } from '../transport/transport.js';
import { Handshake, type Identity, type PeerIdentity, type Side } from './handshake.js';
import type { PeerLimits } from './limits.js';
import type { Admission, LinkRegister } from './link-register.js';
import { HandshakePool, type PendingHandshake } from './stranger-places.js';

/** A connection that has no link yet. */
export interface Opening {
  readonly connection: Connection;
  readonly side: Side;
  /** The address dialed; undefined for an accepted connection. */
  readonly reachedAt: string | undefined;
}

export interface LinkOpenerOptions {
  readonly limits: PeerLimits;
  identity(): Identity;
  /** Makes the link of a peer that was let in. */
  bringUp(opening: Opening, peer: PeerIdentity, admission: Admission): Link;
  onEvicted(): void;
}

export interface LinkOpenerModules extends HasClock, HasRandom {
  readonly transport: Transport;
  readonly register: LinkRegister;
  readonly lines: FewLines;
}

interface HandshakeEvents {
  proven(): void;
  settled(): void;
}

interface Opened {
  readonly handshake: Handshake;
  readonly link: Promise<Link>;
}

export class LinkOpener {
  readonly #options: LinkOpenerOptions;
  readonly #modules: LinkOpenerModules;
  readonly #accepted: HandshakePool;
  /** The handshakes of connections that this node dialed. */
  readonly #dialed = new Set<Handshake>();
  readonly #connections = new Map<Connection, Promise<void>>();

  constructor(options: LinkOpenerOptions, modules: LinkOpenerModules) {
    this.#options = options;
    this.#modules = modules;
    const { maxHandshakes: max, maxHandshakesPerAddress: maxPerGroup } = options.limits;
    this.#accepted = new HandshakePool({ max, maxPerGroup, onEvicted: options.onEvicted });
  }

  /** Handshakes of accepted connections that are under way. */
  get size(): number {
    return this.#accepted.size;
  }

  accept(connection: Connection): void {
    const pending: PendingHandshake = {
      group: addressGroup(connection.remoteHost),
      hasPass: this.#hasPass(connection),
      hasProven: false,
      cancel: (reason) => handshake.cancel(reason),
    };
    this.#accepted.add(pending);
    const { handshake } = this.#open(
      { connection, side: 'listener', reachedAt: undefined },
      {
        proven: () => {
          pending.hasProven = true;
        },
        settled: () => this.#accepted.delete(pending),
      },
    );
    handshake.start();
  }

  /** Dials an address, and resolves with the link. Throws `peer_unreachable`. */
  async dial(to: string, signal: AbortSignal): Promise<Link> {
    const { network, secret } = this.#options.identity();
    const pass = secret === undefined ? undefined : createPass({ network, secret }, this.#modules);
    const connection = await this.#modules.transport.dial(to, signal, pass);
    const { handshake, link } = this.#open(
      { connection, side: 'dialer', reachedAt: to },
      { proven: () => undefined, settled: () => this.#dialed.delete(handshake) },
    );
    this.#dialed.add(handshake);
    const abort = (): void => handshake.cancel('dialing was given up');
    signal.addEventListener('abort', abort, { once: true });
    handshake.start();
    if (signal.aborted) abort();
    return await link.finally(() => signal.removeEventListener('abort', abort));
  }

  cancelAll(reason: string): void {
    this.#accepted.cancelAll(reason);
    for (const handshake of [...this.#dialed]) handshake.cancel(reason);
  }

  /** Resolves when every connection is closed, those of links included. */
  async closed(): Promise<void> {
    await Promise.all(this.#connections.values());
  }

  #hasPass({ pass }: Connection): boolean {
    const { network, secret } = this.#options.identity();
    if (pass === undefined || secret === undefined) return false;
    return isValidPass(pass, { network, secret }, this.#modules.clock);
  }

  #open(opening: Opening, events: HandshakeEvents): Opened {
    const { connection, side } = opening;
    const { clock, random, register } = this.#modules;
    const { dialTimeoutMs } = this.#options.limits;
    const result = createDeferred<Link>();
    // Nobody waits for links that other nodes dial.
    result.promise.catch(() => undefined);
    let admission: Admission | undefined;
    this.#track(connection);
    const admit = (peer: PeerIdentity): Verdict => {
      const verdict = register.admit(peer, side, connection.remoteHost);
      if (isFault(verdict)) return verdict;
      admission = verdict;
      events.proven();
      return null;
    };
    const settle = (): void => {
      timer.cancel();
      events.settled();
    };
    const handshake = new Handshake(
      connection,
      { identity: this.#options.identity(), side, random, admit },
      {
        done: (peer) => {
          settle();
          if (admission) result.resolve(this.#options.bringUp(opening, peer, admission));
        },
        failed: (error, peer, isDuplicate) => {
          settle();
          if (admission) register.release(admission);
          this.#failed(opening, error, isDuplicate ? peer : undefined, result);
        },
      },
    );
    const timer = clock.after(dialTimeoutMs, () =>
      handshake.cancel(`the handshake was not finished within ${dialTimeoutMs} ms`),
    );
    return { handshake, link: result.promise };
  }

  /** Ends a failed handshake. `duplicateOf`: the peer to which there is a link already, which is used instead. */
  #failed(
    { connection, side, reachedAt }: Opening,
    error: TesseraError,
    duplicateOf: PeerIdentity | undefined,
    result: Deferred<Link>,
  ): void {
    const { register, lines } = this.#modules;
    const existing = duplicateOf && register.byKey(duplicateOf.nodeKey);
    if (existing) {
      register.add(existing, reachedAt);
      result.resolve(existing);
      return;
    }
    // A peer that dialed this node has proven nothing.
    lines.about({ trusted: side === 'dialer' }).info({ remote: connection.remote }, `no link: ${error.message}`);
    result.reject(error);
  }

  #track(connection: Connection): void {
    const end = createDeferred<void>();
    this.#connections.set(connection, end.promise);
    connection.onClose(() => {
      this.#connections.delete(connection);
      end.resolve();
    });
  }
}

/** Seconds for which a pass is accepted, backward and, as clocks differ, forward. */
const FRESH_SECONDS = 300;
const NONCE_BYTES = 16;
const MAC_BYTES = 32;

export interface PassOptions {
  readonly network: string;
  readonly secret: string;
}

/** A new pass, `<unix seconds>.<nonce>.<mac>`, which proves knowledge of the network's secret before the handshake. */
export function createPass(options: PassOptions, { clock, random }: { clock: Clock; random: Random }): string {
  const said = `${unixSeconds(clock)}.${toHex(random.bytes(NONCE_BYTES))}`;
  return `${said}.${toHex(macOf(options, said))}`;
}

export function isValidPass(pass: string, options: PassOptions, clock: Clock): boolean {
  const [time = '', nonce = '', mac = '', ...rest] = pass.split('.');
  if (rest.length > 0 || !/^\d{1,12}$/.test(time) || !isHex(nonce, NONCE_BYTES) || !isHex(mac, MAC_BYTES)) return false;
  if (Math.abs(unixSeconds(clock) - Number(time)) > FRESH_SECONDS) return false;
  return timingSafeEqual(macOf(options, `${time}.${nonce}`), fromHex(mac));
}

function macOf({ network, secret }: PassOptions, said: string): Buffer {
  return createHmac('sha3-256', secret).update(`tessera/peer/pass\0${network}\0${said}`).digest();
}
