/** Strangers who follow no rule. */

import { tokenAsset } from '../../../src/chain/assets.js';
import { txOut } from '../../../src/chain/builders.js';
import { transactionToCreateJson } from '../../../src/chain/create-transaction.js';
import type { StackEntry, Transaction } from '../../../src/chain/types.js';
import type { Call } from '../world/http.js';
import type { Luck } from '../world/luck.js';
import { type Coin, type Person, personOf, signedBy } from './people.js';

interface Move {
  readonly call: Call;
  readonly what: string;
}

/** What a stranger sends to a mempool node; `coin`: one of the victim's, if it has any. */
export function moveOfStranger(luck: Luck, victim: Person, coin: Coin | undefined): Move | undefined {
  const thief = personOf('a thief');
  const move = luck.below(5);
  if (move === 0) {
    const text = luck.pick(['{', '[]', '{"transactions":[{}]}', '{"transactions":[null]}', 'null', '"\\ud800"']);
    return { call: { method: 'POST', url: '/v1/transactions', text }, what: 'nonsense' };
  }
  if (coin === undefined) return undefined;
  const coins = [coin];
  const all = [txOut(tokenAsset(coin.amount), thief.address)];
  const moves: Readonly<Record<number, () => Transaction>> = {
    // Somebody else's coin, by the own key.
    1: () => signedBy(thief, coins, all),
    // More than there is.
    2: () => signedBy(victim, coins, [txOut(tokenAsset(coin.amount + 1n), thief.address)]),
    // A coin that is not there.
    3: () => signedBy(thief, [{ ...coin, outPoint: { tHash: '000000x', n: 7 } }], all),
    // A signature with one wrong bit.
    4: () => {
      const tx = signedBy(victim, coins, all);
      return {
        ...tx,
        inputs: tx.inputs.map(({ previousOut, script }) => ({ previousOut, script: script.map(forged) })),
      };
    },
  };
  const tx = moves[move]?.();
  if (tx === undefined) return undefined;
  const body = { transactions: [transactionToCreateJson(tx)] };
  return { call: { method: 'POST', url: '/v1/transactions', body }, what: `move ${move}` };
}

function forged(entry: StackEntry): StackEntry {
  if (entry.kind !== 'signature') return entry;
  const bytes = Uint8Array.from(entry.bytes);
  bytes[0] = (bytes[0] ?? 0) ^ 1;
  return { ...entry, bytes };
}
