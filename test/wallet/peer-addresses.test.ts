/** What strangers that ask for addresses do to a wallet: little, over restarts too. */

import { afterAll, describe, expect, it } from 'vitest';
import { systemRandom } from '../../src/lib/random.js';
import { AddressSearch } from '../../src/wallet/keys/address-search.js';
import { DerivedKeys } from '../../src/wallet/keys/derived-keys.js';
import { LOOKAHEAD } from '../../src/wallet/keys/lookahead.js';
import { newWords } from '../../src/wallet/keys/words.js';
import { withWrite } from '../support/kv.js';
import {
  newWallet,
  nextBlock,
  openWallet,
  paymentFromOutside,
  removeFolders,
  temporaryFolder,
  tokens,
} from '../support/wallet-fixtures.js';

afterAll(removeFolders);

describe('addresses for peers (decision V15)', () => {
  it('are so few that words still find what is paid behind them, whoever asks', async () => {
    const words = newWords(systemRandom, 12);
    const { wallet, close } = await newWallet({ words });
    for (let i = 0; i < 500; i++) await wallet.peerAddresses.addressFor(`stranger ${i}`);
    const mine = await wallet.newAddress();
    const search = new AddressSearch(await DerivedKeys.of(words), LOOKAHEAD);
    expect(search.note(mine)).toBe(true);
    expect(wallet.keys.addresses.size).toBeLessThan(LOOKAHEAD);
    await close();
  });

  it('stay the same for a peer over restarts, until they are paid', async () => {
    const folder = await temporaryFolder();
    const told = new Set<string>();
    let open = await openWallet(folder);
    for (let i = 0; i < 3; i++) {
      const { peerAddresses } = open.wallet;
      const [a, b] = await Promise.all([peerAddresses.addressFor('one peer'), peerAddresses.addressFor('one peer')]);
      told.add(a).add(b);
      await open.close();
      open = await openWallet(folder);
    }
    const [address = ''] = told;
    expect([told.size, [...open.wallet.keys.addresses.keys()]]).toEqual([1, [address]]);
    await open.wallet.chain.apply(nextBlock(open.wallet, [paymentFromOutside([tokens(address, 1n)])]));
    const next = await open.wallet.peerAddresses.addressFor('one peer');
    expect(next).not.toBe(address);
    await open.close();
    open = await openWallet(folder);
    expect(await open.wallet.peerAddresses.addressFor('one peer')).toBe(next);
    await open.close();
  });

  it('are told to nobody while the disk does not take them', async () => {
    let isFull = false;
    const { wallet, close } = await newWallet({
      wrap: (kv) =>
        withWrite(kv, (batch, options) => (isFull ? Promise.reject(new Error('full')) : kv.write(batch, options))),
    });
    isFull = true;
    await expect(wallet.peerAddresses.addressFor('a peer')).rejects.toMatchObject({ code: 'wallet_write_failed' });
    expect([...wallet.keys.addresses.keys()]).toEqual([]);
    isFull = false;
    expect(wallet.keys.owns(await wallet.peerAddresses.addressFor('a peer'))).toBe(true);
    await close();
  });
});
