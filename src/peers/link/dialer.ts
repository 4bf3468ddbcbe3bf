/**
 * Dialing: one attempt at a time for each address, shared by everybody who wants that link, and the loops that keep the
 * configured peers linked, with exponential backoff and jitter so that a restarted node is not dialed by all at once.
 */

import type { Clock, Timer } from '../../lib/clock.js';
import { errorMessage, TesseraError } from '../../lib/errors.js';
import type { Logger } from '../../lib/logger.js';
import type { Random } from '../../lib/random.js';
import type { Link } from '../network.js';
import type { PeerLimits } from './limits.js';

export interface DialerOptions {
  readonly limits: PeerLimits;
  /** Opens a link to an address: connection and handshake. */
  openLink(address: string, signal: AbortSignal): Promise<Link>;
  isUp(link: Link): boolean;
}

export interface Dialer {
  /** Joins the attempt that runs for this address or starts one; it is given up when nobody waits for it any more. */
  dial(
    address: string,
    options: { readonly timeoutMs: number; readonly signal?: AbortSignal | undefined },
  ): Promise<Link>;
  /** Keeps a link to this address until `stop`. */
  keep(address: string): void;
  /** Tells the loops that a link is gone. */
  linkDown(link: Link): void;
  /** Ends the loops and every attempt. */
  stop(): void;
}

interface Attempt {
  readonly link: Promise<Link>;
  readonly abort: AbortController;
  waiting: number;
}

interface KeptPeer {
  link: Link | undefined;
  timer: Timer | undefined;
  failures: number;
  /** `clock.monotonic()` when the link came up. */
  since: number;
}

export function createDialer(
  options: DialerOptions,
  modules: { readonly clock: Clock; readonly random: Random; readonly logger: Logger },
): Dialer {
  const { limits } = options;
  const { clock, random, logger } = modules;
  const attempts = new Map<string, Attempt>();
  const kept = new Map<string, KeptPeer>();
  let stopped = false;

  const join = (address: string): Attempt => {
    const running = attempts.get(address);
    if (running) return running;
    const abort = new AbortController();
    const link = options.openLink(address, abort.signal).finally(() => {
      if (attempts.get(address)?.abort === abort) attempts.delete(address);
    });
    // Those who wait see the failure; when nobody does any more it is nobody's.
    link.catch(() => undefined);
    const attempt: Attempt = { link, abort, waiting: 0 };
    attempts.set(address, attempt);
    return attempt;
  };

  const leave = (address: string, attempt: Attempt): void => {
    attempt.waiting--;
    if (attempt.waiting > 0 || attempts.get(address) !== attempt) return;
    attempts.delete(address);
    attempt.abort.abort();
  };

  const dial: Dialer['dial'] = async (address, { timeoutMs, signal }) => {
    if (stopped) throw new TesseraError('shutting_down', 'the node is stopping');
    if (signal?.aborted) throw new TesseraError('aborted', `dialing ${address} was given up`);
    const attempt = join(address);
    attempt.waiting++;
    let giveUp: (error: TesseraError) => void = () => undefined;
    const givenUp = new Promise<never>((_resolve, reject) => {
      giveUp = reject;
    });
    const timer = clock.after(timeoutMs, () =>
      giveUp(new TesseraError('peer_unreachable', `${address} was not reached within ${timeoutMs} ms`)),
    );
    const abort = (): void => giveUp(new TesseraError('aborted', `dialing ${address} was given up`));
    signal?.addEventListener('abort', abort, { once: true });
    try {
      return await Promise.race([attempt.link, givenUp]);
    } finally {
      timer.cancel();
      signal?.removeEventListener('abort', abort);
      leave(address, attempt);
    }
  };

  /** Half of the delay is fixed, half is random. */
  const backoffMs = (failures: number): number => {
    const full = Math.min(limits.backoffMaxMs, limits.backoffMinMs * 2 ** Math.min(failures, 30));
    const [byte = 0] = random.bytes(1);
    return Math.round(full / 2 + (full / 2) * (byte / 255));
  };

  const retry = (address: string, peer: KeptPeer): void => {
    if (stopped) return;
    const delayMs = backoffMs(peer.failures);
    peer.failures++;
    peer.timer = clock.after(delayMs, () => void attemptKept(address, peer));
  };

  const attemptKept = async (address: string, peer: KeptPeer): Promise<void> => {
    peer.timer = undefined;
    try {
      peer.link = await dial(address, { timeoutMs: limits.dialTimeoutMs + limits.handshakeTimeoutMs });
      peer.since = clock.monotonic();
      // It may be down again already, and then nobody will say so a second time.
      if (!options.isUp(peer.link)) linkDown(peer.link);
    } catch (error) {
      if (stopped) return;
      // The first failure is news; that it goes on is not.
      const level = peer.failures === 0 ? 'warn' : 'debug';
      logger[level](
        { peer: address, failures: peer.failures + 1 },
        `no link to a configured peer: ${errorMessage(error)}`,
      );
      retry(address, peer);
    }
  };

  const linkDown = (link: Link): void => {
    for (const [address, peer] of kept) {
      if (peer.link !== link) continue;
      peer.link = undefined;
      if (clock.monotonic() - peer.since >= limits.stableAfterMs) peer.failures = 0;
      retry(address, peer);
    }
  };

  return {
    dial,
    linkDown,
    keep(address) {
      if (kept.has(address)) return;
      const peer: KeptPeer = { link: undefined, timer: undefined, failures: 0, since: 0 };
      kept.set(address, peer);
      void attemptKept(address, peer);
    },
    stop() {
      stopped = true;
      for (const peer of kept.values()) peer.timer?.cancel();
      kept.clear();
      for (const attempt of attempts.values()) attempt.abort.abort();
      attempts.clear();
    },
  };
}
