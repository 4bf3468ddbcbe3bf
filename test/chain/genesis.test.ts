import { describe, expect, it } from 'vitest';
import { addressOf } from '../../src/chain/address.js';
import { DEFAULT_GENESIS_AMOUNT } from '../../src/chain/constants.js';
import { issuanceTransactions, parseGenesis } from '../../src/chain/genesis.js';
import { isCoinbase } from '../../src/chain/transaction.js';

const PUBLIC_KEY = 'bf686a959447d6277513a9e7a534bab4bc3ee384afe5abbace6c31e2b2cc01ee';
const SEED = { public_key: PUBLIC_KEY, amount: DEFAULT_GENESIS_AMOUNT, locktime: 0 };
const FILE = {
  mempool_seed_utxo: {
    '000001': [SEED, { ...SEED, amount: 5, locktime: 9 }],
    '000000': [{ address: 'a'.repeat(64), amount: 7 }],
  },
  mempool_genesis_tx_in: 'Because men work',
  initial_issuances: [{ address: 'b'.repeat(64), amount: 72_072_000, block_height: 200 }],
  user_wallet_seeds: [
    [{ out_point: '0-000001', secret_key: '00'.repeat(85), public_key: PUBLIC_KEY, amount: 5, address_version: null }],
  ],
};

describe('the genesis file (docs/chain.md#genesis)', () => {
  const genesis = parseGenesis(FILE);

  it('makes one transaction of each key, under that key', () => {
    expect([...genesis.transactions.keys()]).toEqual(['000000', '000001']);
    const tx = genesis.transactions.get('000001');
    expect(tx).toMatchObject({ version: 6n, fees: [], druidInfo: null });
    expect(tx?.inputs).toEqual([{ previousOut: null, script: [{ kind: 'bytes', text: 'Because men work' }] }]);
    expect(tx?.outputs[1]).toEqual({
      value: { kind: 'token', amount: 5n },
      locktime: 9n,
      scriptPublicKey: addressOf(Buffer.from(PUBLIC_KEY, 'hex')),
    });
  });

  it('has no inputs when no input text is given', () => {
    const { transactions } = parseGenesis({ mempool_seed_utxo: { x: [SEED] } });
    expect(transactions.get('x')?.inputs).toEqual([]);
  });

  it('counts what is issued', () => {
    expect(genesis.initialIssuance).toBe(DEFAULT_GENESIS_AMOUNT + 12n);
  });

  it('issues later amounts at their block, spendable at once', () => {
    expect(issuanceTransactions(genesis, 199n)).toEqual([]);
    const [tx] = issuanceTransactions(genesis, 200n);
    expect(tx && isCoinbase(tx)).toBe(true);
    expect(tx?.outputs[0]).toMatchObject({ locktime: 200n, value: { amount: 72_072_000n } });
  });

  it('reads the keys of test wallets', () => {
    expect(genesis.walletSeeds[0]?.[0]).toMatchObject({ n: 0, tHash: '000001', amount: 5n, addressVersion: null });
  });

  it.each([
    [{}, 'mempool_seed_utxo: must be an object, not missing'],
    [{ mempool_seed_utxo: { x: [{ ...SEED, amount: -1 }] } }, 'mempool_seed_utxo.x[0].amount: must be an integer'],
    [{ mempool_seed_utxo: { x: [{ ...SEED, public_key: 'ab' }] } }, 'mempool_seed_utxo.x[0].public_key'],
    [{ mempool_seed_utxo: { x: [{ ...SEED, amount: 2n ** 60n }] } }, 'mempool_seed_utxo: issues more than'],
    [
      { ...FILE, initial_issuances: [{ address: 'a', amount: 1, block_height: 99 }] },
      'initial_issuances[0].block_height: must be at least 100',
    ],
    [{ ...FILE, user_wallet_seeds: [[{ out_point: 'x' }]] }, 'user_wallet_seeds[0][0].out_point: must have the form'],
  ])('says what is wrong with a file (case %#)', (file, message) => {
    expect(() => parseGenesis(file)).toThrow(
      expect.objectContaining({ code: 'invalid_config', message: expect.stringContaining(message) }),
    );
  });
});
