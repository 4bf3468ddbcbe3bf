/** Addresses of payments that were rejected: a search by words finds what the wallet is paid after them. */

import { afterAll, describe, expect, it } from 'vitest';
import type { Transaction } from '../../src/chain/types.js';
import { systemRandom } from '../../src/lib/random.js';
import { openBackup } from '../../src/wallet/backup-file.js';
import { AddressSearch } from '../../src/wallet/keys/address-search.js';
import { DerivedKeys } from '../../src/wallet/keys/derived-keys.js';
import { LOOKAHEAD } from '../../src/wallet/keys/lookahead.js';
import { newWords } from '../../src/wallet/keys/words.js';
import type { Wallet } from '../../src/wallet/wallet.js';
import {
  fund,
  NOBODY,
  newWallet,
  nextBlock,
  openWallet,
  PASSPHRASE,
  paymentFromOutside,
  removeFolders,
  tokens,
} from '../support/wallet-fixtures.js';

afterAll(removeFolders);

const words = newWords(systemRandom, 12);

const pay = (wallet: Wallet, amount = 1n) => wallet.payments.pay({ address: NOBODY, amount, locktime: 0n });

function changeOf({ outputs }: Transaction) {
  const [, change] = outputs;
  if (!change?.scriptPublicKey) throw new Error('no change');
  return { address: change.scriptPublicKey, amount: change.value.amount };
}

/** What a search finds when the chain has paid these. */
async function foundBy(paid: readonly string[]) {
  const search = new AddressSearch(await DerivedKeys.of(words), LOOKAHEAD);
  while (paid.map((address) => search.note(address)).includes(true));
  return new Set(search.found.map(({ account, index }) => `${account} ${index}`));
}

describe('after payments that were rejected (docs/wallet.md#restoring-from-words)', () => {
  it('the change of the next one is found, however many spent the change of another', async () => {
    const { wallet, close } = await newWallet({ words });
    await fund(wallet, [1_000_000n]);
    const first = await pay(wallet);
    for (let i = 0; i < LOOKAHEAD + 5; i++) await pay(wallet);
    await wallet.settlement.markRejected(first.hash, 'abandoned');
    const { transaction } = await pay(wallet, 7n);
    await wallet.chain.apply(nextBlock(wallet, [transaction]));
    expect(wallet.coins.totals().running).toBe(999_993n);
    expect(await foundBy([changeOf(transaction).address])).toContain('change 0');
    await close();
  });

  it('it is found too when each was rejected before the next, and when the node starts in between', async () => {
    const open = await newWallet({ words });
    await fund(open.wallet, [1_000_000n]);
    let { wallet } = open;
    for (let i = 1; i <= LOOKAHEAD + 5; i++) {
      await wallet.settlement.markRejected((await pay(wallet, BigInt(i))).hash, 'refused');
    }
    await open.close();
    const again = await openWallet(open.folder);
    ({ wallet } = again);
    const { transaction } = await pay(wallet, 500n);
    expect((await foundBy([changeOf(transaction).address])).size).toBeGreaterThan(0);
    await again.close();
  });

  it('no address is given for the same amount twice: no two payments are the same, or pass for copies', async () => {
    const { wallet, close } = await newWallet({ words });
    await fund(wallet, [1_000n]);
    const made = new Set<string>();
    const given = new Set<string>();
    for (const amount of [1n, 2n, 1n, 1n, 2n, 3n, 1n, 3n, 2n, 1n, 1n]) {
      const { hash, transaction } = await pay(wallet, amount);
      const change = changeOf(transaction);
      made.add(hash);
      given.add(`${change.address} ${change.amount}`);
      await wallet.settlement.markRejected(hash, 'refused');
    }
    expect([made.size, given.size]).toEqual([11, 11]);
    await close();
  });

  it('an address is not given again while it is used, nor after a block has paid it', async () => {
    const open = await newWallet({ words });
    let { wallet } = open;
    await fund(wallet, [100n, 1_000n]);
    const { hash, transaction } = await pay(wallet, 30n);
    const { address } = changeOf(transaction);
    await wallet.settlement.markRejected(hash, 'refused');
    const second = await pay(wallet, 31n);
    expect(changeOf(second.transaction).address).toBe(address);
    const third = await pay(wallet, 32n);
    expect(changeOf(third.transaction).address).not.toBe(address);
    await open.close();
    const again = await openWallet(open.folder);
    ({ wallet } = again);
    expect(changeOf((await pay(wallet, 33n)).transaction).address).not.toBe(address);
    await wallet.chain.apply(nextBlock(wallet, [second.transaction]));
    // It is spent again, so that nothing is left there.
    await wallet.chain.apply(
      nextBlock(
        wallet,
        wallet.outgoing.inFlight().map((one) => one.transaction),
      ),
    );
    expect(changeOf((await pay(wallet, 34n)).transaction).address).not.toBe(address);
    await again.close();
  });

  it('items that are refused before they are made use up no address', async () => {
    const { wallet, close } = await newWallet({ words });
    const order = { spec: 'Default' as const, amount: 1n };
    for (let i = 0; i < LOOKAHEAD + 5; i++) {
      await expect(wallet.payments.createItem({ ...order, metadata: 'x'.repeat(801) })).rejects.toThrow(/metadata/);
    }
    const { transaction } = await wallet.payments.createItem({ ...order, metadata: null });
    expect(await foundBy([transaction.outputs[0]?.scriptPublicKey ?? ''])).toEqual(new Set(['items 0']));
    await close();
  });
});

it('a backup file says how many addresses were handed out, so that none has to be paid to be known again', async () => {
  const first = await newWallet({ words, networkName: 'a network' });
  let last = '';
  for (let i = 0; i < 30; i++) last = await first.wallet.newAddress();
  const content = await openBackup(await first.wallet.coverage.backup(PASSPHRASE), PASSPHRASE, 'a network');
  await first.close();
  expect(content.handedOut).toEqual([{ account: 'receive', index: 29 }]);
  const search = new AddressSearch(await DerivedKeys.of(content.words), 1, content.handedOut);
  const second = await newWallet({ words: content.words });
  await second.wallet.coverage.handOut(search.found);
  expect([...second.wallet.keys.addresses.keys()]).toContain(last);
  await second.wallet.chain.apply(nextBlock(second.wallet, [paymentFromOutside([tokens(last, 5n)])]));
  expect(second.wallet.coins.totals().running).toBe(5n);
  await second.close();
});
