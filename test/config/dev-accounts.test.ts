import { describe, expect, it } from 'vitest';
import { parseGenesis } from '../../src/chain/genesis.js';
import { DEV_AMOUNT, devAccounts, devGenesis } from '../../src/config/dev-accounts.js';
import { parseExactJson } from '../../src/lib/json.js';
import { DerivedKeys } from '../../src/wallet/keys/derived-keys.js';
import { parseWords } from '../../src/wallet/keys/words.js';

const WORDS = 'test test test test test test test test test test test junk';

describe('the accounts of a dev chain', () => {
  it('have the keys of a wallet with the same words', async () => {
    const keys = await DerivedKeys.of(parseWords(WORDS));
    const { accounts } = devAccounts({ mnemonic: WORDS, count: 3 });
    expect(accounts.map(({ address }) => address)).toEqual(
      [0, 1, 2].map((index) => keys.address({ account: 'receive', index })),
    );
  });

  it('are the published ones without words, also when there are more of them', () => {
    const ten = devAccounts().accounts.map(({ address }) => address);
    const twelve = devAccounts({ count: 12 }).accounts.map(({ address }) => address);
    expect(twelve.slice(0, 10)).toEqual(ten);
    expect(new Set(twelve).size).toBe(12);
  });

  it('own in block 0 what was asked for, and the wallets what they have always', () => {
    const accounts = devAccounts({ count: 2, balance: 7n });
    const genesis = parseGenesis(parseExactJson(Buffer.from(devGenesis(accounts))));
    expect(genesis.initialIssuance).toBe(14n + 2n * DEV_AMOUNT);
    expect(genesis.walletSeeds.map((seeds) => seeds[0]?.n)).toEqual([2, 12]);
    const outputs = [...genesis.transactions.values()].flatMap((tx) => tx.outputs);
    for (const owner of [...accounts.accounts, accounts.user, accounts.miner]) {
      for (const n of owner.outputs) {
        expect(outputs[n]).toMatchObject({ scriptPublicKey: owner.address, value: { amount: owner.outputAmount } });
      }
    }
  });
});
