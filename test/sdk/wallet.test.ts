/** The wallet library: the golden vectors, and whatever it signs the rules of the chain accept (docs/chain.md#validation). */

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { encodeTransactions } from '../../src/chain/decode-in-pieces.js';
import { parseExpectation } from '../../src/chain/json-read.js';
import { fromHex, toHex } from '../../src/lib/bytes.js';
import { parseExactJson, stringifyExact } from '../../src/lib/json.js';
import { buildSpending } from '../../src/sdk/payments.js';
import {
  addressOf,
  BURN_ADDRESS,
  balanceOf,
  buildPayment,
  exportSecretKey,
  formatAmount,
  generateMnemonic,
  HdKeys,
  isAddress,
  isMnemonic,
  keyPairOf,
  NoAnswer,
  parseAmount,
  parseTransaction,
  RAW_UNITS,
  randomKeyPair,
  signItemCreation,
  submitTransactions,
  TesseraError,
  toCreateTransaction,
  transactionFault,
  transactionHash,
  UnknownOutcome,
  type UnspentOutput,
  unspentOutputs,
} from '../../src/sdk/wallet.js';
import { fc, test } from '../support/property.js';

interface Vector {
  readonly id: string;
  readonly category: string;
  // Each category has members of its own.
  readonly inputs: Readonly<Record<string, never>>;
  readonly expected: never;
}
const file = new URL('../fixtures/chain-vectors.json', import.meta.url);
const { vectors } = parseExactJson(readFileSync(file, 'utf8')) as unknown as { vectors: readonly Vector[] };
const ofCategory = (category: string, has: string) =>
  vectors
    .filter((one) => one.category === category && one.inputs[has] !== undefined)
    .map((one) => [one.id, one] as const);

/** As the exact parser of the client gives it. */
const exact = (value: unknown): unknown => parseExactJson(stringifyExact(value));

describe('golden vectors (docs/chain.md#vectors)', () => {
  it.each(ofCategory('address', 'public_key_hex').filter(([id]) => !id.startsWith('addr-jsold')))(
    'address %s',
    (_, { inputs, expected }) => {
      expect(addressOf(fromHex(inputs.public_key_hex ?? ''), inputs.address_version)).toBe(expected);
    },
  );

  it.each([...ofCategory('key', 'secret_key_hex'), ...ofCategory('key', 'secret_key_pkcs8_hex')])(
    'key %s',
    (_, { inputs, expected: { seed_hex, public_key_hex, address, address_default } }) => {
      const pair = keyPairOf(inputs.secret_key_hex ?? inputs.secret_key_pkcs8_hex ?? '');
      expect([toHex(pair.seed), toHex(pair.publicKey)]).toEqual([seed_hex, public_key_hex]);
      expect(addressOf(pair.publicKey)).toBe(address ?? address_default);
      expect(keyPairOf(exportSecretKey(pair))).toEqual(pair);
    },
  );

  it.each(ofCategory('item_payload', 'secret_key_hex'))('creation of items %s', (_, { inputs, expected }) => {
    const { secret_key_hex: secret, amount, metadata } = inputs;
    const request = signItemCreation(
      { amount: BigInt(amount ?? 0), metadata, genesisHash: 'Default' },
      keyPairOf(secret ?? ''),
    );
    // Other clients also send a member `version`, which no node reads.
    expect({ ...(exact(request) as object), version: null }).toEqual({ version: null, ...(expected as object) });
  });

  it.each(ofCategory('payment', 'paymentAsset'))('payment %s', (_, { inputs, expected }) => {
    const { fetchBalanceResponse, paymentAddress, paymentAsset, excessAddress, senderSecretKey } = inputs;
    const { Token: amount } = paymentAsset as unknown as { Token: number };
    const { transaction } = buildPayment({
      unspent: unspentOutputs({ balance: fetchBalanceResponse } as never),
      keys: [keyPairOf(senderSecretKey ?? '')],
      to: paymentAddress ?? '',
      amount: BigInt(amount),
      changeAddress: excessAddress,
      version: 2n,
    });
    const { fees: _fees, ...body } = exact(toCreateTransaction(transaction)) as Record<string, unknown>;
    expect(body).toEqual((expected as { createTx: unknown }).createTx);
  });

  it.each(ofCategory('twoway', 'senderExpectation'))('half of a trade %s', (_, { inputs, expected }) => {
    const pays = parseExpectation(inputs.receiverExpectation);
    const gets = parseExpectation(inputs.senderExpectation);
    const half = buildSpending(
      {
        // All that it holds of tokens, in the order of the listing, as the client that made the vector takes them.
        inputs: unspentOutputs({ balance: inputs.fetchBalanceResponse } as never).filter(
          ({ value }) => value.kind === 'token',
        ),
        unspent: [],
        keys: Object.values<string>(inputs.secret_keys_by_address ?? {}).map(keyPairOf),
        ...{ to: pays.to, amount: pays.asset.amount, changeAddress: inputs.excessAddress, version: 2n },
      },
      { druid: inputs.druid ?? '', participants: 2n, expectations: [gets], genesisHash: null },
    );
    const body = exact(toCreateTransaction(half.transaction)) as Record<string, unknown>;
    const { inputs: ofVector, outputs } = expected as { inputs: unknown; outputs: unknown };
    expect([body.inputs, body.outputs]).toEqual([ofVector, outputs]);
  });
});

const ABOUT = `${'abandon '.repeat(11)}about`;

describe('keys', () => {
  it('of words are those of a node’s wallet (docs/wallet.md#the-words-and-their-keys)', async () => {
    const keys = await HdKeys.fromMnemonic(ABOUT);
    expect(keys.address('receive', 0)).toBe('e80399e07f804e49aef4ef5fad3f3d520b4e25fbc30aa628f01b841e11dc5f21');
    expect(addressOf(keys.keyPair('receive', 0).publicKey)).toBe(keys.address('receive', 0));
    expect((await HdKeys.fromMnemonic(ABOUT, { passphrase: 'extra' })).address('receive', 0)).not.toBe(
      keys.address('receive', 0),
    );
  });

  it('of new words are new', () => {
    const [one, other] = [generateMnemonic(), generateMnemonic(24)];
    expect([one, other].map((words) => words.split(' ').length)).toEqual([12, 24]);
    expect([one, other].every(isMnemonic)).toBe(true);
    expect(randomKeyPair().seed).not.toEqual(randomKeyPair().seed);
  });

  it('are refused without telling anything of them', async () => {
    expect(isMnemonic(ABOUT.replace('about', 'zoo'))).toBe(false);
    await expect(HdKeys.fromMnemonic(ABOUT.replace('about', 'abuot'))).rejects.toThrow(
      'word 12 is not in the list of BIP39',
    );
    for (const wrong of ['no hex', 'ab'.repeat(31), 'ab'.repeat(64)]) {
      const error = await Promise.resolve(wrong)
        .then(keyPairOf)
        .catch((cause: unknown) => cause);
      expect(error).toMatchObject({ code: 'malformed_key_pair' });
      expect(String(error)).not.toContain('abab');
    }
  });
});

describe('amounts', () => {
  it('are exact, or said not to be', () => {
    expect([parseAmount('1.5'), parseAmount('0.125'), parseAmount('5000000000')]).toEqual([
      108_108_000n,
      9_009_000n,
      5_000_000_000n * RAW_UNITS,
    ]);
    expect([1n, 9_009_000n, RAW_UNITS, 0n, -108_108_000n].map(formatAmount)).toEqual([
      '0.00000001…',
      '0.125',
      '1',
      '0',
      '-1.5',
    ]);
    for (const wrong of ['', '1,5', '-1', '0.00000001', '1e3', ' 1']) {
      expect(() => parseAmount(wrong), wrong).toThrow(expect.objectContaining({ code: 'invalid_request' }));
    }
  });

  test.prop([fc.bigInt({ min: 0n, max: 2n ** 63n })])('in other texts are other amounts', (raw) => {
    expect(formatAmount(raw)).not.toBe(formatAmount(raw + 1n));
    const text = formatAmount(raw);
    if (!text.endsWith('…')) expect(parseAmount(text)).toBe(raw);
  });
});

const KEYS = [1, 2, 3].map((byte) => keyPairOf(new Uint8Array(32).fill(byte)));
const ADDRESSES = KEYS.flatMap(({ publicKey }) =>
  [null, 0 as const, 99_999 as const].map((v) => addressOf(publicKey, v)),
);
const ITEM = `g${'3'.repeat(31)}`;
const NOBODY = 'ef'.repeat(32);

/** Outputs of tokens and items at every kind of address. */
const funds: fc.Arbitrary<UnspentOutput[]> = fc
  .array(
    fc.record({
      amount: fc.bigInt({ min: 1n, max: 2n ** 55n }),
      address: fc.constantFrom(...ADDRESSES),
      isItem: fc.boolean(),
    }),
    { minLength: 1, maxLength: 12 },
  )
  .map((list) =>
    list.map(({ amount, address, isItem }, n) => ({
      outPoint: { tHash: `g${'4'.repeat(31)}`, n },
      address,
      value: isItem ? { kind: 'item', amount, genesisHash: ITEM, metadata: null } : { kind: 'token', amount },
    })),
  );

describe('payments', () => {
  test.prop([funds, fc.boolean(), fc.bigInt({ min: 1n, max: 2n ** 56n })])(
    'are accepted by the rules, spend what they need, and lose nothing',
    (unspent, ofItems, amount) => {
      const item = ofItems ? ITEM : undefined;
      const held = balanceOf(unspent, item);
      const build = () => buildPayment({ unspent, keys: KEYS, to: NOBODY, amount, item });
      if (held < amount) {
        expect(build).toThrow(expect.objectContaining({ code: 'insufficient_funds' }));
        return;
      }
      const { transaction, hash, spent, change } = build();
      expect(transactionFault(transaction, unspent)).toBeNull();
      const paid = transaction.outputs.reduce((sum, { value }) => sum + value.amount, 0n);
      expect(paid).toBe(balanceOf(spent, item));
      expect(transaction.outputs[0]).toMatchObject({ scriptPublicKey: NOBODY, value: { amount } });
      expect(change?.value.amount ?? 0n).toBe(paid - amount);
      expect(hash).toBe(transactionHash(transaction));
      // The node reads the same transaction out of the request.
      expect(transactionHash(parseTransaction(exact(toCreateTransaction(transaction))))).toBe(hash);
    },
  );

  it('that were changed on the way are found', () => {
    const unspent: UnspentOutput[] = [
      {
        outPoint: { tHash: `g${'4'.repeat(31)}`, n: 0 },
        address: ADDRESSES[0] ?? '',
        value: { kind: 'token', amount: 9n },
      },
    ];
    const { transaction } = buildPayment({ unspent, keys: KEYS, to: NOBODY, amount: 5n });
    const [first, second] = transaction.outputs;
    if (first === undefined || second === undefined) throw new Error('no change');
    const robbed = { ...transaction, outputs: [{ ...first, scriptPublicKey: BURN_ADDRESS }, second] };
    const minting = { ...transaction, outputs: [first, { ...second, value: { kind: 'token' as const, amount: 5n } }] };
    for (const wrong of [robbed, minting]) expect(transactionFault(wrong, unspent)).not.toBeNull();
    expect(transactionFault(transaction, [])).toMatchObject({ code: 'unknown_input' });
  });

  it('nobody can have meant are refused', () => {
    const unspent: UnspentOutput[] = [
      { outPoint: { tHash: 'g4', n: 0 }, address: ADDRESSES[0] ?? '', value: { kind: 'token', amount: 9n } },
    ];
    const pay = { unspent, keys: KEYS, to: NOBODY, amount: 5n };
    expect(() => buildPayment({ ...pay, to: 'Bob' })).toThrow(expect.objectContaining({ code: 'payment_refused' }));
    expect(() => buildPayment({ ...pay, amount: 0n })).toThrow(expect.objectContaining({ code: 'payment_refused' }));
    expect(() => buildPayment({ ...pay, changeAddress: 'me' })).toThrow(
      expect.objectContaining({ code: 'payment_refused' }),
    );
    expect(() => buildPayment({ ...pay, keys: [] })).toThrow(expect.objectContaining({ code: 'insufficient_funds' }));
    expect(() => buildPayment({ ...pay, keys: [], inputs: unspent })).toThrow('there is no key for');
    expect(() => buildPayment({ ...pay, amount: 10n, inputs: unspent })).toThrow('the inputs hold 9');
    expect(() => signItemCreation({ amount: 1n, metadata: 'é'.repeat(401) }, randomKeyPair())).toThrow('802');
    expect([NOBODY, 'Bob'].map(isAddress)).toEqual([true, false]);
  });
});

describe('sending', () => {
  const { transaction, hash } = buildPayment({
    unspent: [{ outPoint: { tHash: 'g4', n: 0 }, address: ADDRESSES[0] ?? '', value: { kind: 'token', amount: 9n } }],
    ...{ keys: KEYS, to: NOBODY, amount: 5n },
  });
  const lost = new NoAnswer('http://node', new Error('socket hang up'));
  const refused = new TesseraError('double_spend', 'spent already');
  const unknown = new TesseraError('outcome_unknown', 'the journal has not confirmed this in time');

  /** A client whose first attempts and look-ups end so, and whose node then knows the transaction or not. */
  function sendTo(
    ends: readonly (TesseraError | null)[],
    status: 'Confirmed' | 'Rejected' | null,
    retryForMs = 30_000,
    lookUps: readonly TesseraError[] = [],
  ) {
    let attempts = 0;
    const createTransactions = async () => {
      const end = ends[Math.min(attempts++, ends.length - 1)];
      if (end) throw end;
      return { transactions: {} };
    };
    const failures = [...lookUps];
    const queryTransactionStatus = async () => {
      const failure = failures.shift();
      if (failure) throw failure;
      return status === null ? {} : { [hash]: { status, timestamp: 1n, additional_info: '' } };
    };
    return submitTransactions({ createTransactions, queryTransactionStatus }, [transaction], { retryForMs });
  }

  it('is done once, also when the answer is lost and a block has it already', async () => {
    expect(await sendTo([null], null)).toEqual([hash]);
    expect(await sendTo([lost, null], null)).toEqual([hash]);
    // The second attempt finds its inputs spent: by the first.
    expect(await sendTo([lost, refused], 'Confirmed')).toEqual([hash]);
    // The node has written it somewhere, and does not know whether that was kept.
    expect(await sendTo([unknown, refused], 'Confirmed')).toEqual([hash]);
    expect(await sendTo([unknown, null], null)).toEqual([hash]);
  });

  it('fails as the node says, and says when the outcome is not known', async () => {
    await expect(sendTo([refused], 'Confirmed')).rejects.toBe(refused);
    await expect(sendTo([lost, refused], 'Rejected')).rejects.toBe(refused);
    await expect(sendTo([lost], null, 0)).rejects.toBeInstanceOf(UnknownOutcome);
    await expect(sendTo([unknown], null, 0)).rejects.toBeInstanceOf(UnknownOutcome);
  });

  it('is in the encoding of the chain, and in JSON for a node of an earlier version', async () => {
    const sent: unknown[] = [];
    const createTransactions = async (body: unknown) => {
      sent.push(body);
      if (body instanceof Uint8Array && sent.length === 2) throw new TesseraError('unsupported_media_type', 'JSON');
      return { transactions: {} };
    };
    const client = { createTransactions, queryTransactionStatus: async () => ({}) };
    for (let i = 0; i < 2; i++) expect(await submitTransactions(client, [transaction])).toEqual([hash]);
    const bytes = encodeTransactions([transaction]);
    expect(sent).toEqual([bytes, bytes, { transactions: [toCreateTransaction(transaction)] }]);
  });

  it('does not take a refusal for the end while nobody says what became of the attempt before', async () => {
    const later = new NoAnswer('http://node', new Error('gone for a moment'));
    expect(await sendTo([lost, refused], 'Confirmed', 30_000, [later])).toEqual([hash]);

    // The node was killed while it had the first one, and is not there.
    const down = new NoAnswer('http://node', Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }));
    await expect(sendTo([lost, down], null, 600, [down, down])).rejects.toBeInstanceOf(UnknownOutcome);
    const closed = new TesseraError('missing_api_key', 'not for everybody');
    await expect(sendTo([lost, refused], null, 30_000, [closed])).rejects.toBeInstanceOf(UnknownOutcome);
  });
});
