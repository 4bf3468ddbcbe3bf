/** Tips of the trusted storage nodes: asked on link up, reported after catching up, and shown in answers to deliveries. */

import { setMaxListeners } from 'node:events';
import type { Timer } from '../../lib/clock.js';
import { errorMessage } from '../../lib/errors.js';
import { SignalSource } from '../../lib/signal.js';
import type { HasClock, HasLogger } from '../../observability/modules.js';
import type { Link, Message, PeerNetwork } from '../../peers/network.js';
import { closedHash } from '../state/round.js';
import type { MempoolState } from '../state/state.js';

/** Milliseconds until a storage node that did not answer is asked again. */
const RETRY_MS = 2_000;

/** The last block that a storage node has. */
export interface StorageTip {
  readonly next: number;
  /** Hash of the last block; null when the node has none. */
  readonly hash: string | null;
  /** Why the node can take no block; undefined when it can. */
  readonly problem?: string | undefined;
}

/**
 * Relation of a storage node to this mempool. `even`: at the last stored block. `confirming`: it has a closed block
 * that this node has not noted as stored. `other-chain`: it has another block at a height that this node knows.
 */
export type Relation = 'even' | 'confirming' | 'ahead' | 'behind' | 'other-chain';

export function relationOf(
  { next, hash }: StorageTip,
  state: Pick<MempoolState, 'head' | 'rounds' | 'kept'>,
): Relation {
  const { head, rounds } = state;
  if (next === head.height + 1) return hash === head.hash ? 'even' : 'other-chain';
  if (next > head.height + 1) {
    const own = rounds.find(({ height, winner }) => winner !== null && next === height + 1);
    return own !== undefined && closedHash(own) === hash ? 'confirming' : 'ahead';
  }
  const known = next === 0 ? null : state.kept.hashAt(next - 1);
  return known === undefined || known === hash ? 'behind' : 'other-chain';
}

export interface StorageTipsModules extends HasClock, HasLogger {
  readonly network: PeerNetwork;
}

export class StorageTips {
  readonly changed = new SignalSource<void>();
  readonly #modules: StorageTipsModules;
  readonly #tips = new Map<Link, StorageTip>();
  readonly #retries = new Map<Link, Timer>();
  readonly #stopping = new AbortController();
  readonly #listeners: (() => void)[] = [];

  constructor(modules: StorageTipsModules) {
    this.#modules = modules;
    // Every request under way listens to this signal.
    setMaxListeners(0, this.#stopping.signal);
  }

  start(): void {
    this.#modules.network.handle('chain.tip', (link, { body }) => {
      this.note(link, body);
      return undefined;
    });
    this.#listeners.push(
      this.#modules.network.linkUp.on((link) => this.ask(link)),
      this.#modules.network.linkDown.on(({ link }) => this.#forget(link)),
    );
    this.askAll();
  }

  stop(): void {
    this.#stopping.abort();
    for (const timer of this.#retries.values()) timer.cancel();
    for (const remove of this.#listeners.splice(0)) remove();
  }

  get all(): ReadonlyMap<Link, StorageTip> {
    return this.#tips;
  }

  /** True while a linked storage node has not yet said how far it is. */
  get isAsking(): boolean {
    return [...this.#modules.network.links].some((link) => isTrustedStorage(link) && !this.#tips.has(link));
  }

  /** Why no storage node can take a block; null when one can, or none is linked. */
  get problem(): string | null {
    const said = [...this.#tips].map(([{ address }, { problem }]) => problem && `${address}: ${problem}`);
    return said.length === 0 || said.includes(undefined) ? null : `no block can be kept: ${said.join('; ')}`;
  }

  note(link: Link, { next, hash, problem }: StorageTip): void {
    if (!isTrustedStorage(link) || !this.#modules.network.links.has(link)) return;
    this.#tips.set(link, { next, hash, problem });
    this.changed.emit();
  }

  askAll(): void {
    for (const link of this.#modules.network.links) this.ask(link);
  }

  /** Forgets all tips, which may be old, and asks for them again. */
  askAnew(): void {
    this.#tips.clear();
    this.askAll();
    this.changed.emit();
  }

  /** Tells whether any storage node answers within `timeoutMs`. */
  answers(timeoutMs: number, tell: (isHeard: boolean) => void): void {
    const asked = [...this.#modules.network.links].filter(isTrustedStorage).map(async (link) => {
      const answer = await link.request('chain.tip.get', {}, { timeoutMs, signal: this.#stopping.signal });
      if (answer.type === 'chain.tip') this.note(link, (answer as Message<'chain.tip'>).body);
    });
    Promise.any(asked).then(
      () => tell(true),
      () => tell(false),
    );
  }

  ask(link: Link): void {
    if (!isTrustedStorage(link) || this.#stopping.signal.aborted) return;
    link
      .request('chain.tip.get', {}, { signal: this.#stopping.signal })
      .then((answer) => {
        if (answer.type === 'chain.tip') this.note(link, (answer as Message<'chain.tip'>).body);
        else this.#askAgain(link, `it answered ${answer.type}`);
      })
      .catch((error: unknown) => this.#askAgain(link, errorMessage(error)));
  }

  #askAgain(link: Link, reason: string): void {
    if (this.#stopping.signal.aborted || !this.#modules.network.links.has(link)) return;
    this.#modules.logger.warn({ storage: link.address, reason }, 'a storage node does not say how far it is');
    this.#retries.get(link)?.cancel();
    this.#retries.set(
      link,
      this.#modules.clock.after(RETRY_MS, () => this.ask(link)),
    );
  }

  #forget(link: Link): void {
    this.#retries.get(link)?.cancel();
    this.#retries.delete(link);
    if (this.#tips.delete(link)) this.changed.emit();
  }
}

function isTrustedStorage({ role, trusted }: Link): boolean {
  return role === 'storage' && trusted;
}
