/** Compares this node's clock with the operator's other nodes. A node with a wrong clock makes no block (decision B19). */

import { MAX_BLOCK_AHEAD_SECONDS } from '../../chain/constants.js';
import type { Timer } from '../../lib/clock.js';
import { isOperator } from '../../lib/roles.js';
import { SignalSource } from '../../lib/signal.js';
import type { HasClock, HasLogger, HasMetrics } from '../../observability/modules.js';
import type { Link, Message, PeerNetwork } from '../../peers/network.js';

const ASK_MS = 5_000;
const DEFAULT_MAX_SKEW_MS = 5_000;
const MS_PER_SECOND = 1_000;

export interface PeerClocksModules extends HasClock, HasLogger, HasMetrics {
  readonly network: Pick<PeerNetwork, 'links' | 'linkUp' | 'linkDown'>;
}

/** Bounds of the clock of another node, in Unix milliseconds less those of the monotonic clock here; a quick answer narrows them. */
interface Heard {
  readonly least: number;
  readonly most: number;
}

export class PeerClocks {
  readonly changed = new SignalSource<void>();
  readonly #maxSkew: number;
  readonly #modules: PeerClocksModules;
  /** Clock of each node by its link; undefined for a node of an earlier version, which does not say its time. */
  readonly #heard = new Map<Link, Heard | undefined>();
  readonly #asking = new Set<Link>();
  readonly #stopping = new AbortController();
  readonly #listeners: (() => void)[] = [];
  #timer: Timer | undefined;
  #mayCut = true;
  #isOff = false;

  /** `maxSkew`: milliseconds by which clocks may differ. */
  constructor(maxSkew = DEFAULT_MAX_SKEW_MS, modules: PeerClocksModules) {
    const { metrics } = modules;
    this.#modules = modules;
    this.#maxSkew = maxSkew;
    const gauge = metrics.gauge('tessera_mempool_clock_skew_seconds');
    this.#listeners.push(metrics.beforeScrape(() => gauge.set(Math.trunc(this.#skew) / MS_PER_SECOND)));
  }

  start(): void {
    this.#listeners.push(
      this.#modules.network.linkUp.on((link) => this.#ask(link)),
      this.#modules.network.linkDown.on(({ link }) => {
        this.#heard.delete(link);
        this.#tell();
      }),
    );
    this.#askAll();
    this.#askLater();
  }

  stop(): void {
    this.#stopping.abort();
    this.#timer?.cancel();
    for (const remove of this.#listeners.splice(0)) remove();
  }

  /** Why the time of this node may be in no block; null when it may. */
  get problem(): string | null {
    const skew = this.#skew;
    if (Math.abs(skew) <= this.#maxSkew) return null;
    const seconds = Math.round(Math.abs(skew) / MS_PER_SECOND);
    const where = skew > 0 ? 'ahead of' : 'behind';
    return `the clock of this node is ${seconds} s ${where} those of other nodes, and mining.max_clock_skew_ms is ${this.#maxSkew}: it makes no block until that is mended`;
  }

  /** True if a block may have the time of this node now. If it may not, the others are asked again: a clock may have been set. */
  mayCut(): boolean {
    this.#mayCut = this.#look();
    if (!this.#mayCut) this.#askAll();
    return this.#mayCut;
  }

  /** Milliseconds that this node is certainly ahead of most others, or of all storage nodes; negative when it is behind. */
  get #skew(): number {
    const own = this.#modules.clock.now() - this.#modules.clock.monotonic();
    const gaps: number[] = [];
    let ofStorage = Number.POSITIVE_INFINITY;
    for (const [{ role }, heard] of this.#heard) {
      if (heard === undefined) continue;
      const gap = Math.max(own - heard.most, Math.min(own - heard.least, 0));
      gaps.push(gap);
      if (role === 'storage') ofStorage = Math.min(ofStorage, gap);
    }
    if (Number.isFinite(ofStorage) && ofStorage > MAX_BLOCK_AHEAD_SECONDS * MS_PER_SECOND) return ofStorage;
    gaps.sort((a, b) => a - b);
    const [lower = 0, upper = 0] = [gaps[Math.floor((gaps.length - 1) / 2)], gaps[Math.floor(gaps.length / 2)]];
    return Math.max(lower, Math.min(upper, 0));
  }

  /** Logs when the clock goes wrong or is right again. True when all linked nodes have been heard, and the clock is not off. */
  #look(): boolean {
    const { problem } = this;
    const isOff = problem !== null;
    if (isOff !== this.#isOff) {
      if (isOff) this.#modules.logger.warn({}, problem);
      else this.#modules.logger.info({}, 'the clock of this node is that of the others again');
    }
    this.#isOff = isOff;
    return !isOff && [...this.#asking].every((link) => this.#heard.has(link));
  }

  #tell(): void {
    const before = this.#mayCut;
    this.#mayCut = this.#look();
    if (this.#mayCut !== before) this.changed.emit();
  }

  #askLater(): void {
    this.#timer = this.#modules.clock.after(ASK_MS, () => {
      this.#askAll();
      this.#askLater();
    });
  }

  #askAll(): void {
    for (const link of this.#modules.network.links) this.#ask(link);
  }

  #ask(link: Link): void {
    if (!link.trusted || !isOperator(link.role) || this.#asking.has(link)) return;
    this.#asking.add(link);
    void this.#hear(link);
  }

  async #hear(link: Link): Promise<void> {
    const asked = this.#modules.clock.monotonic();
    let heard = this.#heard.get(link);
    try {
      const answer = await link.request('chain.tip.get', {}, { signal: this.#stopping.signal });
      const { time } = answer.type === 'chain.tip' ? (answer as Message<'chain.tip'>).body : {};
      heard = time === undefined ? undefined : { least: time - this.#modules.clock.monotonic(), most: time - asked };
    } catch {
      // The last answer of this node is still valid.
    }
    this.#asking.delete(link);
    if (this.#modules.network.links.has(link)) this.#heard.set(link, heard);
    this.#tell();
  }
}
