/** What a transaction has paid. The chain does not mark change, so one rule tells it from what is paid, for nodes and pages. */

/**
 * Raw units paid, of the amounts of tokens in the outputs in their order, without fees. Wallets put their change last, so the last of
 * several is left out: that is a guess, and wrong for a payment to several that leaves no change. What spends nothing has no
 * change.
 */
export function paidOf(spends: boolean, amounts: readonly bigint[]): bigint {
  const paid = spends && amounts.length > 1 ? amounts.slice(0, -1) : amounts;
  return paid.reduce((sum, amount) => sum + amount, 0n);
}
