import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { addressOf } from '../../src/chain/address.js';
import { encodeTransaction } from '../../src/chain/codec.js';
import { druidSetFault } from '../../src/chain/druid.js';
import { transactionHash } from '../../src/chain/hash.js';
import { pay2pkhParts } from '../../src/chain/script/builders.js';
import { txInsAddress } from '../../src/chain/signable.js';
import type { Asset, DruidExpectation, OutPoint, Transaction, TxOut } from '../../src/chain/types.js';
import { keyPairFromSeed, parseSecretKey } from '../../src/crypto/ed25519.js';
import { fromHex, toHex } from '../../src/lib/bytes.js';
import {
  type AddressKeys,
  buildItemCreation,
  buildPaymentInTurns,
  type PaymentPlan,
  type SpentCoin,
} from '../../src/wallet/payments/payment-builder.js';
import { transactionFault } from '../support/validate.js';

interface AssetJson {
  readonly Token?: number;
  readonly Item?: { readonly amount: number; readonly genesis_hash: string; readonly metadata: string | null };
}
interface OutPointJson {
  readonly t_hash: string;
  readonly n: number;
}
type Holdings = Record<string, readonly { readonly out_point: OutPointJson; readonly value: AssetJson }[]>;
interface Expectation {
  readonly from: string;
  readonly to: string;
  readonly asset: AssetJson;
}

const file = new URL('../fixtures/chain-vectors.json', import.meta.url);
const { vectors } = JSON.parse(await readFile(file, 'utf8')) as { vectors: { id: string }[] };

function vector<I, E>(id: string): { readonly inputs: I; readonly expected: E } {
  const found = vectors.find((entry) => entry.id === id);
  if (found === undefined) throw new Error(`no vector ${id}`);
  return found as unknown as { inputs: I; expected: E };
}

const key = (secretHex: string) => {
  const { seed, publicKey } = parseSecretKey(fromHex(secretHex));
  return { seed, publicKey };
};

function assetOf({ Token, Item }: AssetJson): Asset {
  if (Item === undefined) return { kind: 'token', amount: BigInt(Token ?? 0) };
  return { kind: 'item', amount: BigInt(Item.amount), genesisHash: Item.genesis_hash, metadata: Item.metadata };
}
const outPointOf = ({ t_hash, n }: OutPointJson): OutPoint => ({ tHash: t_hash, n });

/** Inputs as the vectors show them. */
function inputsOf({ inputs }: Transaction): unknown[] {
  return inputs.map(({ previousOut, script }) => {
    const parts = pay2pkhParts(script);
    return {
      previous_out: previousOut && { t_hash: previousOut.tHash, n: previousOut.n },
      script_signature: {
        Pay2PkH: {
          signable_data: parts?.data,
          signature: toHex(parts?.signature ?? new Uint8Array(0)),
          public_key: toHex(parts?.publicKey ?? new Uint8Array(0)),
          address_version: parts?.version,
        },
      },
    };
  });
}

describe('payments against the vectors', () => {
  it('builds the payment of payment-go with its signature', async () => {
    const { inputs, expected } = vector<
      {
        fetchBalanceResponse: { address_list: Holdings };
        paymentAddress: string;
        paymentAsset: AssetJson;
        excessAddress: string;
        senderAddress: string;
        senderSecretKey: string;
      },
      { createTx: { inputs: unknown[]; outputs: { value: AssetJson; script_public_key: string }[] } }
    >('payment-go');
    const address = inputs.senderAddress;
    const [entry] = inputs.fetchBalanceResponse.address_list[address] ?? [];
    if (entry === undefined) throw new Error('the vector has no funds');
    const built = await buildPaymentInTurns(
      {
        inputs: [{ outPoint: outPointOf(entry.out_point), address }],
        to: inputs.paymentAddress,
        asset: assetOf(inputs.paymentAsset),
        locktime: 0n,
        change: { amount: 2_000n, address: inputs.excessAddress },
      },
      new Map([[address, key(inputs.senderSecretKey)]]),
      async () => undefined,
    );
    expect(inputsOf(built)).toEqual(expected.createTx.inputs);
    expect(built.outputs.map(({ value, scriptPublicKey }) => [value.amount, scriptPublicKey])).toEqual(
      expected.createTx.outputs.map((output) => [assetOf(output.value).amount, output.script_public_key]),
    );
  });

  it('creates the item of d-tx-item-default byte for byte', () => {
    const { inputs, expected } = vector<{ transaction_json: string }, { bincode_hex: string; tx_hash: string }>(
      'd-tx-item-default',
    );
    expect(inputs.transaction_json).toContain('{"Num":5}');
    const zero = keyPairFromSeed(new Uint8Array(32));
    const item = { spec: 'Default' as const, amount: 1_000n, metadata: '{"name":"x"}' };
    const built = buildItemCreation(item, 5n, zero);
    expect(toHex(encodeTransaction(built))).toBe(expected.bincode_hex);
    expect(transactionHash(built)).toBe(expected.tx_hash);
  });
});

/** The half as trades make it: a payment that states what it expects. */
async function buildTradeHalf(
  plan: PaymentPlan,
  druid: string,
  expectations: readonly DruidExpectation[],
  keys: AddressKeys,
): Promise<Transaction> {
  const payment = await buildPaymentInTurns(plan, keys, async () => undefined);
  return { ...payment, druidInfo: { druid, participants: 2n, expectations, genesisHash: null } };
}

describe('two-way trades (docs/chain.md#druid-sets)', () => {
  it('builds the half of twoway-half, and the name of its party', async () => {
    const { inputs, expected } = vector<
      {
        druid: string;
        fetchBalanceResponse: { address_list: Holdings };
        senderExpectation: Expectation;
        receiverExpectation: Expectation;
        excessAddress: string;
        secret_keys_by_address: Record<string, string>;
      },
      { druid_info: { druid: string }; inputs: unknown[] }
    >('twoway-half');
    const coins: SpentCoin[] = [];
    for (const [address, entries] of Object.entries(inputs.fetchBalanceResponse.address_list)) {
      for (const { out_point, value } of entries) {
        if (value.Token !== undefined) coins.push({ outPoint: outPointOf(out_point), address });
      }
    }
    const keys = new Map(
      Object.entries(inputs.secret_keys_by_address).map(([address, secret]) => [address, key(secret)]),
    );
    const { from, to, asset } = inputs.senderExpectation;
    const half = await buildTradeHalf(
      {
        inputs: coins,
        to: inputs.receiverExpectation.to,
        asset: assetOf(inputs.receiverExpectation.asset),
        locktime: 0n,
        change: { amount: 10n, address: inputs.excessAddress },
      },
      inputs.druid,
      [{ from, to, asset: assetOf(asset) }],
      keys,
    );
    expect(inputsOf(half)).toEqual(expected.inputs);
    expect(half.druidInfo).toMatchObject({ druid: expected.druid_info.druid, participants: 2n, genesisHash: null });
    expect(txInsAddress(half.inputs)).toBe(vector<unknown, string>('twoway-txins-address').expected);
  });

  it('makes two halves that meet and that the rules accept', async () => {
    const alice = keyPairFromSeed(new Uint8Array(32).fill(1));
    const bob = keyPairFromSeed(new Uint8Array(32).fill(2));
    const [aliceAddress, bobAddress] = [addressOf(alice.publicKey), addressOf(bob.publicKey)];
    const token = (amount: bigint): Asset => ({ kind: 'token', amount });
    const item = (amount: bigint): Asset => ({ kind: 'item', amount, genesisHash: 'ghat', metadata: null });
    const utxos = new Map<string, TxOut>([
      ['tokens', { value: token(11n), locktime: 0n, scriptPublicKey: aliceAddress }],
      ['items', { value: item(5n), locktime: 0n, scriptPublicKey: bobAddress }],
    ]);
    const half = (
      tHash: string,
      owner: string,
      to: string,
      asset: Asset,
      change: bigint,
      expected: readonly DruidExpectation[] = [],
    ) =>
      buildTradeHalf(
        {
          inputs: [{ outPoint: { tHash, n: 0 }, address: owner }],
          to,
          asset,
          locktime: 0n,
          change: { amount: change, address: owner },
        },
        'DRUID0x1',
        expected,
        new Map([
          [aliceAddress, alice],
          [bobAddress, bob],
        ]),
      );
    // `from` names the inputs as signed, and expectations are not signed: each half is built, then told to the other.
    const fromAlice = txInsAddress((await half('tokens', aliceAddress, bobAddress, token(3n), 8n)).inputs);
    const fromBob = txInsAddress((await half('items', bobAddress, aliceAddress, item(1n), 4n)).inputs);
    const expectOf = (from: string, to: string, asset: Asset) => [{ from, to, asset }];
    const halves = [
      await half('tokens', aliceAddress, bobAddress, token(3n), 8n, expectOf(fromBob, aliceAddress, item(1n))),
      await half('items', bobAddress, aliceAddress, item(1n), 4n, expectOf(fromAlice, bobAddress, token(3n))),
    ];
    for (const transaction of halves) {
      expect(transactionFault(transaction, 1n, ({ tHash }) => utxos.get(tHash))).toBeNull();
    }
    expect(druidSetFault('DRUID0x1', halves)).toBeNull();
  });
});
