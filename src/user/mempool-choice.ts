/**
 * Choice of the mempool node to follow. Only links that this node opened count, and only to a node that a producer vouches for. Where there
 * is another node, the followed one is asked every two seconds whether it takes transactions: cut off from its journal, it keeps its links.
 * The wallet does not come back by itself.
 */

import { setMaxListeners } from 'node:events';
import { nodeCertificateFault, type Producers } from '../chain/certificate.js';
import type { Timer } from '../lib/clock.js';
import { createDeferred } from '../lib/deferred.js';
import { errorMessage, TesseraError } from '../lib/errors.js';
import { assertSound } from '../lib/fault.js';
import { SignalSource } from '../lib/signal.js';
import type { HasClock, HasLogger } from '../observability/modules.js';
import type { MessageBody } from '../peers/messages.js';
import type { Link, PeerNetwork } from '../peers/network.js';
import { unexpected } from './evidence.js';

const REQUEST_TIMEOUT = 30_000;
/** Milliseconds for finding out which configured address a link belongs to. */
const IDENTIFY_TIMEOUT = 5_000;
/** Milliseconds between two questions to the followed node, and for an answer. */
const LOOK_MS = 2_000;
/** Milliseconds until a node with a problem is asked again, and the others with it. */
const SECOND_LOOK_MS = 1_000;

export interface MempoolChoiceOptions {
  readonly mempools: readonly string[];
  /** Keys that must vouch for a mempool node; undefined in a network that names no producers. */
  readonly producers?: Producers | undefined;
}

export interface MempoolChoiceModules extends HasClock, HasLogger {
  readonly network: PeerNetwork;
}

export class MempoolChoice {
  readonly changed: SignalSource<Link | undefined>;
  readonly #mempools: readonly string[];
  readonly #producers: Producers | undefined;
  readonly #modules: MempoolChoiceModules;
  readonly #stopping = new AbortController();
  readonly #unsubscribe: (() => void)[] = [];
  readonly #believed = new Set<Link>();
  #current: Link | undefined;
  #distrust: string | null = null;
  #nextLook: Timer | undefined;
  #looking: Promise<void> | undefined;
  #endPause = (): void => undefined;

  constructor({ mempools, producers }: MempoolChoiceOptions, modules: MempoolChoiceModules) {
    this.#mempools = mempools;
    this.#producers = producers;
    this.#modules = modules;
    this.changed = new SignalSource(modules.logger);
    // Every pending request listens to this signal.
    setMaxListeners(0, this.#stopping.signal);
  }

  start(): void {
    const { network } = this.#modules;
    this.#unsubscribe.push(network.linkUp.on((link) => void this.#believe(link)));
    this.#unsubscribe.push(network.linkDown.on(({ link }) => this.#onLinkDown(link)));
    for (const link of network.links) void this.#believe(link);
    this.#lookLater();
  }

  stop(): void {
    this.#stopping.abort();
    this.#nextLook?.cancel();
    this.#endPause();
    for (const remove of this.#unsubscribe.splice(0)) remove();
  }

  get current(): Link | undefined {
    return this.#current;
  }

  get problem(): string | null {
    return this.#current === undefined ? this.#distrust : null;
  }

  /** Asks the followed node again whether it takes transactions, at once: it has answered that it does not. */
  doubt(link: Link): void {
    if (link === this.#current) this.#look();
  }

  async #believe(link: Link): Promise<void> {
    if (link.role !== 'mempool') return;
    const { network, logger } = this.#modules;
    const options = { timeoutMs: IDENTIFY_TIMEOUT, signal: this.#stopping.signal };
    const isOurs = async (address: string): Promise<void> => {
      if ((await network.dial(address, options)) !== link) throw new TesseraError('peer_unreachable', 'another link');
    };
    try {
      await Promise.any(this.#mempools.map(isOurs));
    } catch {
      logger.warn({ link: link.id, peer: link.address }, 'this mempool node is not configured: its blocks are ignored');
      return;
    }
    if (!(await this.#isVouchedFor(link))) return;
    if (this.#stopping.signal.aborted || !network.links.has(link)) return;
    this.#believed.add(link);
    if (this.#current === undefined) this.#follow(link);
  }

  /** True when a producer vouches for the node. A link to another node at a configured address is closed. */
  async #isVouchedFor(link: Link): Promise<boolean> {
    if (this.#producers === undefined) return true;
    const { logger } = this.#modules;
    try {
      const { certificate } = await this.#ask(link, REQUEST_TIMEOUT);
      assertSound(nodeCertificateFault(this.#producers, link.nodeKey, certificate));
      return true;
    } catch (error) {
      if (this.#stopping.signal.aborted) return false;
      const reason = errorMessage(error);
      this.#distrust = `the mempool node ${link.address} is not trusted: ${reason}`;
      logger.warn({ link: link.id, peer: link.address }, this.#distrust);
      link.close(reason);
      return false;
    }
  }

  async #ask(link: Link, timeoutMs: number): Promise<MessageBody<'producer'>> {
    const answer = await link.request('producer.get', {}, { timeoutMs, signal: this.#stopping.signal });
    if (answer.type !== 'producer') throw unexpected(link, answer.type);
    return answer.body as MessageBody<'producer'>;
  }

  #follow(link: Link | undefined): void {
    this.#current = link;
    this.changed.emit(link);
  }

  #onLinkDown(link: Link): void {
    this.#believed.delete(link);
    if (link === this.#current) this.#follow([...this.#believed][0]);
  }

  #lookLater(): void {
    if (this.#stopping.signal.aborted || this.#mempools.length < 2) return;
    this.#nextLook = this.#modules.clock.after(LOOK_MS, () => this.#look());
  }

  #look(): void {
    if (this.#looking !== undefined || this.#stopping.signal.aborted) return;
    this.#nextLook?.cancel();
    this.#looking = this.#goOverIfNeeded().finally(() => {
      this.#looking = undefined;
      this.#lookLater();
    });
  }

  async #goOverIfNeeded(): Promise<void> {
    const link = this.#current;
    if (link === undefined || this.#believed.size < 2 || (await this.#problemOf(link)) === null) return;
    await this.#pause(SECOND_LOOK_MS);
    const others = [...this.#believed].filter((other) => other !== link);
    const [problem, ...problems] = await Promise.all([link, ...others].map((one) => this.#problemOf(one)));
    const next = others.find((other, i) => problems[i] === null && this.#believed.has(other));
    // The problem may be over by now; and when all nodes have it, there is none to change to.
    if (problem === null || next === undefined || link !== this.#current) return;
    this.#modules.logger.warn(
      { from: link.address, to: next.address, reason: problem },
      `the mempool node ${link.address} takes no transactions (${problem}): the wallet goes over to ${next.address}`,
    );
    this.#follow(next);
  }

  /** Why a node takes no transactions now; null when it does. */
  async #problemOf(link: Link): Promise<string | null> {
    try {
      return (await this.#ask(link, LOOK_MS)).unready ?? null;
    } catch (error) {
      return errorMessage(error);
    }
  }

  async #pause(ms: number): Promise<void> {
    const over = createDeferred<void>();
    const timer = this.#modules.clock.after(ms, over.resolve);
    this.#endPause = over.resolve;
    await over.promise;
    timer.cancel();
  }
}
