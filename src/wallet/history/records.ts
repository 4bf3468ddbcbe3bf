/** What the wallet answers about its past: own payments, pages of movements, labels. */

import type { Transaction } from '../../chain/types.js';
import type { Labels } from '../labels.js';
import type { Outgoing } from '../payments/outgoing.js';
import type { Label, MovementPage, MovementQuery, OwnPayment } from '../service.js';
import type { WriteBuffer } from '../write-buffer.js';
import type { History } from './history.js';
import { readPage } from './movement-pages.js';
import { showPayment } from './own-payments.js';

export interface RecordsModules {
  readonly history: History;
  readonly labels: Labels;
  readonly outgoing: Outgoing;
  readonly writes: WriteBuffer;
  /** True for an address of the wallet. */
  readonly owns: (address: string) => boolean;
}

export class Records {
  readonly #modules: RecordsModules;

  constructor(modules: RecordsModules) {
    this.#modules = modules;
  }

  /**
   * Own transactions by hash, oldest first. Without halves of trades that are in no block: whoever has one can make a payment
   * of it, for its DRUID is not signed.
   */
  async outgoing(limit?: number): Promise<readonly (readonly [hash: string, transaction: Transaction])[]> {
    const list = await this.#modules.outgoing.history(limit);
    const shown = list.filter(({ kind, state }) => kind !== 'trade' || state === 'confirmed');
    return shown.map(({ hash, transaction }) => [hash, transaction] as const);
  }

  /** See `WalletService`. */
  async payments(limit?: number): Promise<readonly OwnPayment[]> {
    const { history, labels, outgoing, owns } = this.#modules;
    const list = await outgoing.history(limit);
    const movements = await history.byHash(list.map(({ hash }) => hash));
    return list.map((entry) => {
      const { hash } = entry;
      return showPayment(entry, { movement: movements.get(hash), owns, label: labels.get('transaction', hash) });
    });
  }

  movements(query: MovementQuery): Promise<MovementPage> {
    const { history, labels, outgoing } = this.#modules;
    return readPage(query, {
      history,
      stateOf: (hash) => outgoing.get(hash)?.state,
      labelOf: (hash) => labels.get('transaction', hash),
    });
  }

  labels(): readonly Label[] {
    return this.#modules.labels.all();
  }

  async setLabels(list: readonly Label[]): Promise<void> {
    const { labels, writes } = this.#modules;
    writes.checkRoom();
    writes.onFailure(labels.set(list));
    await writes.flush();
  }
}
