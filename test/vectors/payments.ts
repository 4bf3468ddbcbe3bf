/**
 * Vectors with complete bodies as client libraries build them: a payment and one half of a trade between two. The choice
 * of inputs and the change are the clients' and nowhere else in this project, so they are built here.
 */

import { itemAsset, tokenAsset } from '../../src/chain/assets.js';
import { assembleSigned, type SigningKey, type SigningKeys, txOut, unsignedInput } from '../../src/chain/builders.js';
import { transactionToCreateJson } from '../../src/chain/create-transaction.js';
import { parseAsset, parseExpectation, parseOutPoint } from '../../src/chain/json-read.js';
import { txInsAddress } from '../../src/chain/signable.js';
import { outPointKey } from '../../src/chain/transaction.js';
import type { Asset, DruidExpectation, OutPoint, Transaction } from '../../src/chain/types.js';
import { parseSecretKey } from '../../src/crypto/ed25519.js';
import { sha3Hex } from '../../src/crypto/sha3.js';
import { fromHex } from '../../src/lib/bytes.js';
import { type Computed, isRecord } from './compare.js';
import { arrayOf, exact, has, type Inputs, integerOf, recordOf, textOf, UnknownShapeError } from './inputs.js';
import { equalAssets } from './reference-library.js';

/** The version that client libraries put into transactions. */
const CLIENT_VERSION = 2n;
const DRUID_PREFIX = 'DRUID0x';
const DRUID_DIGITS = 32;

interface Owned {
  readonly address: string;
  readonly outPoint: OutPoint;
  readonly value: Asset;
}

/** The outputs in a balance, in the order of addresses and of the list under each. */
function ownedOutputs(inputs: Inputs): Owned[] {
  const addresses = recordOf(recordOf(inputs, 'fetchBalanceResponse'), 'address_list');
  return Object.entries(addresses).flatMap(([address]) =>
    arrayOf(addresses, address).map((value) => {
      if (!isRecord(value)) throw new UnknownShapeError('an entry of the balance must be an object');
      return { address, outPoint: parseOutPoint(value.out_point), value: parseAsset(exact(value.value)) };
    }),
  );
}

function isSameKind(a: Asset, b: Asset): boolean {
  if (a.kind === 'token' || b.kind === 'token') return a.kind === b.kind;
  return a.genesisHash === b.genesisHash;
}

/** Outputs of the asset's kind, in order, until they suffice. */
function gather(owned: readonly Owned[], asset: Asset): { chosen: Owned[]; total: bigint } {
  const chosen: Owned[] = [];
  let total = 0n;
  for (const output of owned) {
    if (total >= asset.amount) break;
    if (!isSameKind(output.value, asset)) continue;
    chosen.push(output);
    total += output.value.amount;
  }
  if (total < asset.amount) throw new UnknownShapeError('the balance does not cover the payment');
  return { chosen, total };
}

function withAmount(asset: Asset, amount: bigint): Asset {
  return asset.kind === 'token' ? tokenAsset(amount) : itemAsset(amount, asset.genesisHash);
}

interface ClientPayment {
  readonly asset: Asset;
  readonly to: string;
  readonly inputs: Inputs;
  readonly keyOf: (address: string) => SigningKey;
  readonly druid?: { readonly druid: string; readonly expectation: DruidExpectation };
}

function clientPayment({ asset, to, inputs, keyOf, druid }: ClientPayment): {
  tx: Transaction;
  members: Computed['members'];
} {
  const { chosen, total } = gather(ownedOutputs(inputs), asset);
  const excess = total - asset.amount;
  const outputs = [txOut(withAmount(asset, asset.amount), to, integerOf(inputs, 'locktime'))];
  if (excess > 0n) outputs.push(txOut(withAmount(asset, excess), textOf(inputs, 'excessAddress')));
  const keys: SigningKeys = new Map(chosen.map(({ outPoint, address }) => [outPointKey(outPoint), keyOf(address)]));
  const druidInfo = druid && {
    druid: druid.druid,
    participants: 2n,
    expectations: [druid.expectation],
    genesisHash: null,
  };
  const parts = { inputs: chosen.map(({ outPoint }) => unsignedInput(outPoint)), outputs, version: CLIENT_VERSION };
  const tx = assembleSigned({ ...parts, druidInfo: druidInfo ?? null }, keys);
  return {
    tx,
    members: {
      excessAddressUsed: () => excess > 0n,
      usedAddresses: () => [...new Set(chosen.map(({ address }) => address))],
    },
  };
}

function signingKey(secret: string): SigningKey {
  return parseSecretKey(fromHex(secret));
}

/** As clients send it: without `fees`, and without `genesis_hash` in `druid_info`. */
function clientBody(tx: Transaction): Record<string, unknown> {
  const { fees: _, druid_info: druidInfo, ...body } = transactionToCreateJson(tx);
  if (druidInfo === null) return { ...body, druid_info: null };
  const { genesis_hash: __, ...clientDruidInfo } = druidInfo;
  return { ...body, druid_info: clientDruidInfo };
}

export function paymentVector(inputs: Inputs): Computed {
  if (!has(inputs, 'fetchBalanceResponse', 'paymentAsset')) throw new UnknownShapeError('no payment');
  const keyOf = () => signingKey(textOf(inputs, 'senderSecretKey'));
  const { tx, members } = clientPayment({
    asset: parseAsset(exact(inputs.paymentAsset)),
    to: textOf(inputs, 'paymentAddress'),
    inputs,
    keyOf,
  });
  const body = () => clientBody(tx);
  return { whole: body, members: { ...members, createTx: body } };
}

/** The half pays what the other side expects (`receiverExpectation`) and states what it expects itself. */
function tradeHalf(inputs: Inputs): Computed {
  const expectation = parseExpectation(exact(inputs.senderExpectation));
  const payment = parseExpectation(exact(inputs.receiverExpectation));
  const secrets = recordOf(inputs, 'secret_keys_by_address');
  const { tx, members } = clientPayment({
    asset: payment.asset,
    to: payment.to,
    inputs,
    keyOf: (address) => signingKey(textOf(secrets, address)),
    druid: { druid: textOf(inputs, 'druid'), expectation },
  });
  const body = clientBody(tx);
  const paid = tx.outputs[0]?.value;
  if (paid === undefined || !equalAssets(paid, payment.asset))
    throw new Error('the half does not pay what is expected');
  return {
    whole: () => body,
    members: {
      ...members,
      druid_info: () => body.druid_info,
      inputs: () => body.inputs,
      outputs: () => body.outputs,
      version: () => body.version,
      from: () => txInsAddress(tx.inputs),
      txins_address: () => txInsAddress(tx.inputs),
    },
  };
}

/** The texts that clients name trades by: a prefix and 32 hex digits of a hash. */
function druidFormat(expected: unknown): Computed {
  const druid = DRUID_PREFIX + sha3Hex('').slice(0, DRUID_DIGITS);
  const regex = isRecord(expected) && typeof expected.regex === 'string' ? expected.regex : '';
  return {
    members: {
      prefix: () => DRUID_PREFIX,
      length: () => druid.length,
      regex: () => (new RegExp(regex).test(druid) ? regex : `${druid} does not match`),
    },
  };
}

export function tradeVector(inputs: Inputs, expected: unknown): Computed {
  if (has(inputs, 'senderExpectation', 'receiverExpectation')) return tradeHalf(inputs);
  if (Object.keys(inputs).length > 0) throw new UnknownShapeError('no trade');
  return druidFormat(expected);
}
