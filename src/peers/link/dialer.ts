/** Dialing: one shared attempt for each address, and the loops that keep configured peers linked, with backoff. */

import type { Timer } from '../../lib/clock.js';
import { errorMessage, TesseraError } from '../../lib/errors.js';
import type { HasClock, HasLogger, HasRandom } from '../../observability/modules.js';
import type { Link } from '../network.js';
import type { PeerLimits } from './limits.js';

export interface DialerOptions {
  readonly limits: PeerLimits;
  openLink(address: string, signal: AbortSignal): Promise<Link>;
  isUp(link: Link): boolean;
}

export type DialerModules = HasClock & HasLogger & HasRandom;

export interface DialOptions {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

interface Attempt {
  readonly link: Promise<Link>;
  readonly abort: AbortController;
  waiting: number;
}

interface KeptPeer {
  readonly address: string;
  link: Link | undefined;
  timer: Timer | undefined;
  failures: number;
  since: number;
}

export class Dialer {
  readonly #options: DialerOptions;
  readonly #modules: DialerModules;
  readonly #attempts = new Map<string, Attempt>();
  readonly #kept = new Map<string, KeptPeer>();
  #stopped = false;

  constructor(options: DialerOptions, modules: DialerModules) {
    this.#options = options;
    this.#modules = modules;
  }

  /** Joins the running attempt for this address or starts one, which is aborted when its last caller leaves. */
  async dial(address: string, { timeoutMs, signal }: DialOptions): Promise<Link> {
    if (this.#stopped) throw new TesseraError('shutting_down', 'the node is stopping');
    if (signal?.aborted) throw givenUp(address);
    const attempt = this.#join(address);
    let fail: (error: TesseraError) => void = () => undefined;
    const failed = new Promise<never>((_resolve, reject) => {
      fail = reject;
    });
    const timer = this.#modules.clock.after(timeoutMs, () =>
      fail(new TesseraError('peer_unreachable', `${address} was not reached within ${timeoutMs} ms`)),
    );
    const abort = (): void => fail(givenUp(address));
    signal?.addEventListener('abort', abort, { once: true });
    try {
      return await Promise.race([attempt.link, failed]);
    } finally {
      timer.cancel();
      signal?.removeEventListener('abort', abort);
      this.#leave(address, attempt);
    }
  }

  /** Keeps a link to this address until `stop`. */
  keep(address: string): void {
    if (this.#kept.has(address)) return;
    const peer: KeptPeer = { address, link: undefined, timer: undefined, failures: 0, since: 0 };
    this.#kept.set(address, peer);
    void this.#attempt(peer);
  }

  /** Tells the loops that a link is gone. */
  linkDown(link: Link): void {
    for (const peer of this.#kept.values()) {
      if (peer.link !== link) continue;
      peer.link = undefined;
      if (this.#modules.clock.monotonic() - peer.since >= this.#options.limits.stableAfterMs) peer.failures = 0;
      this.#retry(peer);
    }
  }

  stop(): void {
    this.#stopped = true;
    for (const peer of this.#kept.values()) peer.timer?.cancel();
    this.#kept.clear();
    for (const attempt of this.#attempts.values()) attempt.abort.abort();
    this.#attempts.clear();
  }

  #join(address: string): Attempt {
    const running = this.#attempts.get(address);
    if (running) {
      running.waiting++;
      return running;
    }
    const abort = new AbortController();
    const link = this.#options.openLink(address, abort.signal).finally(() => {
      if (this.#attempts.get(address)?.abort === abort) this.#attempts.delete(address);
    });
    // Callers handle the failure; an attempt that all callers have left may fail unseen.
    link.catch(() => undefined);
    const attempt: Attempt = { link, abort, waiting: 1 };
    this.#attempts.set(address, attempt);
    return attempt;
  }

  #leave(address: string, attempt: Attempt): void {
    attempt.waiting--;
    if (attempt.waiting > 0 || this.#attempts.get(address) !== attempt) return;
    this.#attempts.delete(address);
    attempt.abort.abort();
  }

  async #attempt(peer: KeptPeer): Promise<void> {
    const { clock, logger } = this.#modules;
    peer.timer = undefined;
    try {
      // The time is doubled: once to connect, once for the handshake.
      peer.link = await this.dial(peer.address, { timeoutMs: 2 * this.#options.limits.dialTimeoutMs });
      peer.since = clock.monotonic();
      // The link may already be down again; `linkDown` was then called before `peer.link` was set.
      if (!this.#options.isUp(peer.link)) this.linkDown(peer.link);
    } catch (error) {
      if (this.#stopped) return;
      // The first failure is news; later ones are not.
      const level = peer.failures === 0 ? 'warn' : 'debug';
      const facts = { peer: peer.address, failures: peer.failures + 1 };
      logger[level](facts, `no link to a configured peer: ${errorMessage(error)}`);
      this.#retry(peer);
    }
  }

  #retry(peer: KeptPeer): void {
    if (this.#stopped) return;
    const delayMs = this.#backoffMs(peer.failures);
    peer.failures++;
    peer.timer = this.#modules.clock.after(delayMs, () => void this.#attempt(peer));
  }

  /** Milliseconds until the next attempt: one half is fixed, the other random. */
  #backoffMs(failures: number): number {
    const { backoffMinMs, reconnectMaxMs } = this.#options.limits;
    const full = Math.min(reconnectMaxMs, backoffMinMs * 2 ** Math.min(failures, 30));
    const [byte = 0] = this.#modules.random.bytes(1);
    return Math.round(full / 2 + (full / 2) * (byte / 255));
  }
}

function givenUp(address: string): TesseraError {
  return new TesseraError('aborted', `dialing ${address} was given up`);
}
