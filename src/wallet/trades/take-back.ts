/** Takes back what a wallet gives in a trade that no block has: pays the inputs of the own half to the wallet itself. */

import { spentOutPoints } from '../../chain/transaction.js';
import type { Asset, Transaction } from '../../chain/types.js';
import { TOKENS } from '../coins/coin.js';
import type { KeyRing } from '../keys/key-ring.js';
import type { WalletParts } from '../modules.js';
import { assetOf, buildPaymentInTurns, type SpentCoin } from '../payments/payment-builder.js';
import type { Payments } from '../payments/payments.js';
import type { Settlement } from '../payments/settlement.js';
import { type Acceptance, type Confirmation, type Offer, signDocument, type TradeDocument } from './documents.js';
import { closed, type Trade } from './trade.js';

export interface TakeBackModules extends Pick<WalletParts, 'coins' | 'keys' | 'outgoing' | 'ownOutputs' | 'writes'> {
  readonly payments: Payments;
  readonly settlement: Settlement;
}

export interface TakeBack {
  readonly trade: Trade;
  readonly reason: string;
  /** Stages the trade with the coins that are kept for it from now on. */
  readonly put: (going: Pick<Trade, 'coins' | 'takeBack'>) => void;
}

/** Pays the half's inputs back: only a block can keep the other party from completing the trade. Throws `trade_closed` if one has decided. */
export async function takeBack({ trade, reason, put }: TakeBack, modules: TakeBackModules): Promise<void> {
  const { coins, keys, outgoing, ownOutputs, payments, settlement, writes } = modules;
  writes.checkRoom();
  const half = outgoing.get(trade.half ?? '');
  const spent = half === undefined ? [] : coins.aside.takenBy(half);
  const [first] = spent;
  if (half === undefined || first === undefined || spent.length < spentOutPoints(half.transaction).length) {
    throw closed(trade);
  }
  const amount = spent.reduce((sum, coin) => sum + coin.amount, 0n);
  const to = ownOutputs.next(first.assetId === TOKENS ? 'change' : 'items', amount);
  const back = await signPayment({ inputs: spent, to, asset: assetOf(first.assetId, amount) }, keys);
  if (outgoing.get(half.hash) !== half || coins.aside.takenBy(half).length < spent.length) {
    ownOutputs.giveBack(to);
    throw closed(trade);
  }
  settlement.withdraw(half, reason);
  const staged = payments.stage(back, { kind: 'merge', peer: null });
  const kept = [{ tHash: staged.made.hash, n: 0 }];
  coins.aside.keep(kept, trade.id);
  put({ coins: kept, takeBack: staged.made.hash });
  await payments.release(staged);
  await settlement.commit([half]);
}

/** A payment of all inputs, without change. */
interface WholePayment {
  readonly inputs: readonly SpentCoin[];
  readonly to: string;
  readonly asset: Asset;
}

/** Signs a payment, with the same signatures each time, so that the name of a half never changes. */
export function signPayment(payment: WholePayment, keys: KeyRing): Promise<Transaction> {
  const plan = { ...payment, locktime: 0n, change: null };
  return keys.withKeys(
    payment.inputs.map(({ address }) => address),
    (signing) => buildPaymentInTurns(plan, signing, async () => undefined),
  );
}

type Content<D extends TradeDocument> = Omit<D, 'kind' | 'format' | 'public_key' | 'signature'>;

export function signOffer(content: Content<Offer>, keys: KeyRing): Promise<Offer> {
  return keys.withKey(content.to, (key) =>
    signDocument<Offer>({ kind: 'tessera-trade-offer', format: 1, ...content }, key),
  );
}

export function signAcceptance(content: Content<Acceptance>, keys: KeyRing): Promise<Acceptance> {
  return keys.withKey(content.to, (key) =>
    signDocument<Acceptance>({ kind: 'tessera-trade-acceptance', format: 1, ...content }, key),
  );
}

/** Signs a confirmation. `to`: address where the maker is paid, with whose key the offer is signed too. */
export function signConfirmation(to: string, content: Content<Confirmation>, keys: KeyRing): Promise<Confirmation> {
  return keys.withKey(to, (key) =>
    signDocument<Confirmation>({ kind: 'tessera-trade-confirmation', format: 1, ...content }, key),
  );
}
