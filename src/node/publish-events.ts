/** Publishes the signals of a node's services as events on its event stream. */

import { EventHub } from '../api/routes/events/event-hub.js';
import type { BalanceEvent, BlockEvent, PaymentEvent, TransactionEvent } from '../api/routes/events/operations.js';
import type { Clock } from '../lib/clock.js';
import type { CoinTotals } from '../wallet/coins/coin-index.js';
import type { Wallet } from '../wallet/wallet.js';
import type { RoleServices } from './roles/role.js';

/** The event stream of one node. */
export function eventsOf(services: RoleServices, clock: Clock): EventHub {
  const hub = new EventHub({ epoch: clock.now() });
  publishEvents(hub, services);
  return hub;
}

/** Publishes events from now on, as long as the node lives. `areBlocksTold`: another node reports the blocks. */
export function publishEvents(
  hub: EventHub,
  { mempool, storage, user, wallet }: RoleServices,
  { areBlocksTold = false }: { readonly areBlocksTold?: boolean } = {},
): void {
  const block = (event: BlockEvent): void => {
    if (!areBlocksTold) hub.publish('blocks', 'block', event);
  };
  const transaction = (event: TransactionEvent): void => hub.publish('transactions', 'transaction', event);

  mempool?.transactionsAdmitted.on((hashes) => {
    for (const hash of hashes) transaction({ hash, status: 'admitted', block_num: null, reason: null });
  });
  mempool?.transactionRejected.on(({ hash, rule }) => {
    transaction({ hash, status: 'rejected', block_num: null, reason: rule });
  });
  mempool?.blockConfirmed.on(({ height, hash, transactions }) => {
    block({ block_num: height, hash, transactions: transactions.length });
    for (const tx of transactions) transaction({ hash: tx, status: 'confirmed', block_num: height, reason: null });
  });
  storage?.blockStored.on(({ height, hash, transactions }) => block({ block_num: height, hash, transactions }));
  user?.blockMined.on(({ height, hash, transactions }) => block({ block_num: height, hash, transactions }));
  if (wallet !== undefined) publishWalletEvents(hub, wallet);
}

function publishWalletEvents(hub: EventHub, wallet: Wallet): void {
  let published = totalsText(wallet.coins.totals());
  wallet.settlement.settled.on(({ hash, kind, state, reason }) => {
    const status = state === 'confirmed' ? 'confirmed' : 'rejected';
    const event: PaymentEvent = { hash, kind, status, reason: status === 'rejected' ? reason : null };
    hub.publish('wallet', 'payment', event);
  });
  // The wallet reports every change; only changes of the totals are events.
  wallet.settlement.changed.on((totals) => {
    const text = totalsText(totals);
    if (text === published) return;
    published = text;
    const { running, available, locked } = totals;
    const event: BalanceEvent = { running, available, locked };
    hub.publish('wallet', 'balance', event);
  });
}

function totalsText({ running, available, locked }: CoinTotals): string {
  return `${running} ${available} ${locked}`;
}
