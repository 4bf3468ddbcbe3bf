/**
 * The accepted connections that are in their handshake. There is always room for one more: the oldest unfinished one goes,
 * from the same address when that has used up its share, else from the address that has most; one that has proven its key
 * goes last. Connections that showed a valid pass have places of their own, which strangers cannot take.
 */

import { inTheWay } from '../../lib/budget.js';

export interface PendingHandshake {
  /** See `addressGroup`. */
  readonly group: string;
  readonly hasPass: boolean;
  /** True when the peer has proven its key and only has to say that it is ready. */
  hasProven: boolean;
  cancel(reason: string): void;
}

export interface HandshakePoolOptions {
  readonly max: number;
  readonly maxPerGroup: number;
  /** Called when a handshake has to go. */
  onEvicted(): void;
}

const REASON = 'newer connections took the place of this unfinished handshake: try again';

export class HandshakePool {
  readonly #options: HandshakePoolOptions;
  /** Both in order of arrival. */
  readonly #strangers = new Set<PendingHandshake>();
  readonly #withPass = new Set<PendingHandshake>();

  constructor(options: HandshakePoolOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#strangers.size + this.#withPass.size;
  }

  add(handshake: PendingHandshake): void {
    if (handshake.hasPass) {
      if (this.#withPass.size >= this.#options.max) this.#evict([...this.#withPass][0]);
      this.#withPass.add(handshake);
      return;
    }
    this.#makeRoom(handshake.group);
    this.#strangers.add(handshake);
  }

  delete(handshake: PendingHandshake): void {
    this.#strangers.delete(handshake);
    this.#withPass.delete(handshake);
  }

  cancelAll(reason: string): void {
    for (const handshake of [...this.#strangers, ...this.#withPass]) handshake.cancel(reason);
  }

  #makeRoom(group: string): void {
    const { max: total, maxPerGroup: share } = this.#options;
    const some = inTheWay(this.#strangers, (one) => one.group, group, { total, share });
    // A stranger that has proven nothing goes first.
    this.#evict(some.find(({ hasProven }) => !hasProven) ?? some[0]);
  }

  #evict(handshake: PendingHandshake | undefined): void {
    if (handshake === undefined) return;
    this.delete(handshake);
    this.#options.onEvicted();
    handshake.cancel(REASON);
  }
}
