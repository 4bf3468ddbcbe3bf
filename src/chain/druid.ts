/**
 * Trades: transactions that happen together or not at all, because each states what another must do (chain.md §6). Sets
 * are meant as sets: one output satisfies any number of equal expectations.
 */

import { assetJson } from './json.js';
import { txInsAddress } from './signable.js';
import type { Asset, DruidExpectation, Transaction } from './types.js';

/** One text per (from, to, asset); JSON keeps the parts apart whatever they hold. */
function claimKey(from: string, to: string, asset: Asset): string {
  return JSON.stringify([from, to, assetJson(asset)]);
}

/** True when the transactions under `druid` do all that those transactions expect of each other. */
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

/**
 * The verdict on a complete set: every member states as many participants as there are members, and the expectations are
 * met (chain.md §6, node rule).
 */
export function druidSetIsValid(druid: string, transactions: readonly Transaction[]): boolean {
  const participants = BigInt(transactions.length);
  const agreed = transactions.every((tx) => tx.druidInfo?.participants === participants);
  return agreed && expectationsAreMet(druid, transactions);
}
