/** Guards of wallets. */

import { type Guard, guard } from './guard.js';

export const OF_WALLETS: readonly Guard[] = [
  guard(
    'wallets',
    'a wallet is not synced before its payment is sent',
    'wallet/write-buffer.ts',
    'await this.#kv.write(batch, { sync: true });',
    'await this.#kv.write(batch, { sync: false });',
  ),
  // A wallet makes one payment after the other besides.
  guard(
    'wallets',
    'coins of a payment that is being made are given to another',
    'wallet/coins/coin-store.ts',
    "for (const coin of coins) this.#index.move(coin, 'reserved', null);",
    '',
    {
      file: 'wallet/coins/coin-store.ts',
      find: 'return coins.every((coin) => this.#isReserved(coin));',
      put: 'return coins.length > 0;',
    },
    {
      file: 'wallet/payments/payments.ts',
      find: 'return this.release(await this.#building.run(() => this.#buildPayment(order)));',
      put: 'return this.release(await this.#buildPayment(order));',
    },
  ),
  guard(
    'wallets',
    'a payment is made again for the same key',
    'wallet/idempotency-keys.ts',
    'let kept = await this.#find(id);',
    'let kept = id === "" ? await this.#find(id) : undefined;',
  ),
  guard(
    'wallets',
    'a payment that was queued is not sent after a restart',
    'wallet/payments/outgoing.ts',
    "if (entry.state === 'queued') outgoing.#queued.add(entry.hash);",
    '',
  ),
  guard(
    'copied',
    'an older copy of a wallet does not look for later keys',
    'wallet/keys/key-ring.ts',
    'if (place === undefined) return false;\n    for (const earlier',
    'if (place !== undefined || place === undefined) return false;\n    for (const earlier',
    {
      file: 'wallet/keys/key-ring.ts',
      find: 'return [...this.#addresses.keys(), ...this.#lookahead.addresses()];',
      put: 'return [...this.#addresses.keys()];',
    },
  ),
  guard(
    'barter',
    'half a trade of a wallet is a payment',
    'wallet/trades/trades.ts',
    'payments.stage({ ...unnamed, druidInfo }, {',
    'payments.stage({ ...unnamed }, {',
  ),
  guard(
    'barter',
    'half a trade that stays alone is not taken back',
    'wallet/trades/trade.ts',
    "if (hasEnded(trade) || trade.state === 'cancelling') return false;",
    "if (hasEnded(trade) || trade.state === 'cancelling' || trade.state === 'agreed') return false;",
  ),
  guard(
    'rewards',
    'what a wallet could not write is left out of its next write',
    'wallet/write-buffer.ts',
    'this.#staged = new Map([...records, ...this.#staged]);',
    '',
  ),
  guard(
    'rewards',
    'a payment stays in memory when it could not be written',
    'wallet/write-buffer.ts',
    'for (const undo of [...undos, ...this.#undos.splice(0)].reverse()) undo();',
    'this.#undos.length = 0;',
  ),
];
