/** Trades: transactions that happen together, each stating what another must do (docs/chain.md#druid-sets). */

import { fault, type Verdict } from '../lib/fault.js';
import { assetJson } from './json.js';
import { txInsAddress } from './signable.js';
import type { Asset, DruidExpectation, Transaction } from './types.js';

export const PARTICIPANTS_DIFFER = fault(
  'transaction_rejected',
  'The transactions of the DRUID set declare different numbers of participants',
);
export const EXPECTATIONS_NOT_MET = fault('transaction_rejected', 'DRUID trade expectations not met');

/** Key of a claim, one for each (from, to, asset); JSON keeps the parts apart whatever they contain. */
function claimKey(from: string, to: string, asset: Asset): string {
  return JSON.stringify([from, to, assetJson(asset)]);
}

/** True when the transactions with this `druid` meet all of each other's expectations. */
export function expectationsAreMet(druid: string, transactions: Iterable<Transaction>): boolean {
  const expectations: DruidExpectation[] = [];
  const done = new Set<string>();
  for (const tx of transactions) {
    if (tx.druidInfo?.druid !== druid) continue;
    expectations.push(...tx.druidInfo.expectations);
    const from = txInsAddress(tx.inputs);
    for (const { scriptPublicKey, value } of tx.outputs) {
      if (scriptPublicKey !== null) done.add(claimKey(from, scriptPublicKey, value));
    }
  }
  return expectations.every(({ from, to, asset }) => done.has(claimKey(from, to, asset)));
}

/** Fault of a complete set: the number of participants, and the expectations (docs/chain.md#druid-sets). */
export function druidSetFault(druid: string, transactions: readonly Transaction[]): Verdict {
  const participants = BigInt(transactions.length);
  const agreed = transactions.every((tx) => tx.druidInfo?.participants === participants);
  if (!agreed) return PARTICIPANTS_DIFFER;
  return expectationsAreMet(druid, transactions) ? null : EXPECTATIONS_NOT_MET;
}
