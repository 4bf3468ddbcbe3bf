/**
 * What the reference's library and its clients have and no node runs: arithmetic that saturates, texts for display, scripts
 * and builders for tests, the way back through sloth. Golden vectors and tests of the chain's rules use it.
 */

import { BURN_ADDRESS, p2shAddress } from '../../src/chain/address.js';
import { itemAsset, tokenAsset } from '../../src/chain/assets.js';
import { assembleSigned, type Parts, type Receiver, type SigningKeys, txOut } from '../../src/chain/builders.js';
import { DISPLAY_UNIT, P2SH_PREFIX, TOTAL_TOKENS, U64_MAX } from '../../src/chain/constants.js';
import { readObject, readU64, rootPlace } from '../../src/chain/json-fields.js';
import { OP } from '../../src/chain/script/opcodes.js';
import { outputsPreimage, signableOf } from '../../src/chain/signable.js';
import type {
  Asset,
  DruidExpectation,
  DruidInfo,
  OutPoint,
  Script,
  Transaction,
  TxIn,
  TxOut,
} from '../../src/chain/types.js';
import { modPow, type UnicornParameters } from '../../src/chain/unicorn.js';
import { sha3Bytes, sha3Hex } from '../../src/crypto/sha3.js';
import { compareUtf8, concatBytes, fromHex, readUtf8, toHex } from '../../src/lib/bytes.js';

/** Totals of assets; `items` maps genesis hash to amount, ascending by UTF-8 bytes. */
export interface AssetValues {
  readonly tokens: bigint;
  readonly items: ReadonlyMap<string, bigint>;
}

export function assetValuesJson({ tokens, items }: AssetValues): string {
  const amounts = [...items].map(([genesisHash, amount]) => `${JSON.stringify(genesisHash)}:${amount}`);
  return `{"tokens":${tokens},"items":{${amounts.join(',')}}}`;
}

/** Totals as `assetValuesJson` writes them; the entries are sorted. */
export function parseAssetValues(value: unknown): AssetValues {
  const object = readObject(value, rootPlace(''));
  const inside = rootPlace('items');
  const entries = Object.entries(readObject(object.items, inside))
    .map(([genesisHash, amount]): [string, bigint] => [genesisHash, readU64(amount, inside, genesisHash)])
    .sort(([a], [b]) => compareUtf8(a, b));
  return { tokens: readU64(object.tokens, rootPlace(''), 'tokens'), items: new Map(entries) };
}

/** The signable of one input of a transaction with these outputs. Fees, version and the rest are not covered. */
export function inputSignable(outputs: readonly TxOut[], previousOut: OutPoint | null): string {
  return signableOf(outputsPreimage(outputs), previousOut);
}

/** The length of a key, as bincode writes it before the bytes. */
const V0_KEY_PREFIX = fromHex('2000000000000000');

/** Sum of two u64, at most 2^64-1. */
export function saturatingAdd(a: bigint, b: bigint): bigint {
  return atMostU64(a + b);
}

/** Difference of two u64, at least 0. */
export function saturatingSub(a: bigint, b: bigint): bigint {
  return a < b ? 0n : a - b;
}

/** Product of two u64, at most 2^64-1. */
export function saturatingMul(a: bigint, b: bigint): bigint {
  return atMostU64(a * b);
}

/** Quotient of two u64; by zero it is 2^64-1. */
export function saturatingDiv(a: bigint, b: bigint): bigint {
  return b === 0n ? U64_MAX : a / b;
}

/** An amount in display tokens, exact, such as `1.5`; `Value out of bounds` from the whole supply on, as the reference. */
export function displayAmount(amount: bigint): string {
  if (amount >= TOTAL_TOKENS) return 'Value out of bounds';
  const value = Number(amount) / Number(DISPLAY_UNIT);
  const shortest = String(value);
  if (!shortest.includes('e')) return shortest;
  // Below 1e-6 JavaScript switches to exponents, which Rust never prints.
  const [digits = '', exponent = '0'] = shortest.split('e-');
  return `0.${'0'.repeat(Number(exponent) - 1)}${digits.replace('.', '')}`;
}

/** True when both are the same asset in every member. */
export function equalAssets(a: Asset, b: Asset): boolean {
  if (a.amount !== b.amount) return false;
  if (a.kind === 'token' || b.kind === 'token') return a.kind === b.kind;
  return a.genesisHash === b.genesisHash && a.metadata === b.metadata;
}

function atMostU64(n: bigint): bigint {
  return n > U64_MAX ? U64_MAX : n;
}

/** Version 1 of the JS clients: the hash behind a version 0 address cut at 48 digits. The chain refuses its length. */
export function clientVersion1Address(publicKey: Uint8Array): string {
  return toHex(sha3Bytes(concatBytes(V0_KEY_PREFIX, publicKey))).slice(0, 48);
}

/** The former signable, over the outpoint alone. No rule accepts it any more (docs/chain.md#signables). */
export function legacyOutPointSignable(outPoint: OutPoint): string {
  return sha3Hex(`${outPoint.n}-${outPoint.tHash}`);
}

/** The script of one member of a multi-signature. */
export function memberMultisigScript(data: string, publicKey: Uint8Array, signature: Uint8Array): Script {
  return [
    { kind: 'bytes', text: data },
    { kind: 'signature', bytes: signature },
    { kind: 'pubkey', bytes: publicKey },
    { kind: 'op', op: OP.CHECKSIG },
  ];
}

/** The script that proves m of n signatures. */
export function multisigValidationScript(
  m: bigint,
  n: bigint,
  data: string,
  signatures: readonly Uint8Array[],
  publicKeys: readonly Uint8Array[],
): Script {
  return [
    { kind: 'bytes', text: data },
    ...signatures.map((bytes) => ({ kind: 'signature' as const, bytes })),
    { kind: 'num', value: m },
    ...publicKeys.map((bytes) => ({ kind: 'pubkey' as const, bytes })),
    { kind: 'num', value: n },
    { kind: 'op', op: OP.CHECKMULTISIG },
  ];
}

/** An input that spends a script's output: the script itself is the proof. */
export function p2shRedeemInput(previousOut: OutPoint, script: Script): TxIn {
  return { previousOut, script };
}

/** Pays one receiver. */
export function paymentTransaction(
  parts: { inputs: readonly TxIn[]; receiver: Receiver; fee?: Receiver | null; locktime?: bigint },
  keys: SigningKeys,
): Transaction {
  const outputs = [txOut(parts.receiver.asset, parts.receiver.address, parts.locktime)];
  return assembleSigned({ inputs: parts.inputs, outputs, fee: parts.fee ?? null }, keys);
}

/** Pays to the address of a script. */
export function p2shTransaction(
  parts: { inputs: readonly TxIn[]; script: Script; asset: Asset; fee?: Receiver | null; locktime?: bigint },
  keys: SigningKeys,
): Transaction {
  const outputs = [txOut(parts.asset, p2shAddress(parts.script), parts.locktime)];
  return assembleSigned({ inputs: parts.inputs, outputs, fee: parts.fee ?? null }, keys);
}

/**
 * Pays to the address that nobody can spend from. `asset` is what is burnt; without one it is 0 tokens, as in the
 * reference, whose builder therefore burns nothing.
 */
export function burnTransaction(
  parts: { inputs: readonly TxIn[]; asset?: Asset; fee?: Receiver | null },
  keys: SigningKeys,
): Transaction {
  const outputs = [txOut(parts.asset ?? tokenAsset(0n), BURN_ADDRESS)];
  return assembleSigned({ inputs: parts.inputs, outputs, fee: parts.fee ?? null }, keys);
}

/** One half of a trade between two ("receipt-based"): two participants, no genesis hash. */
function tradeTransaction(
  parts: Parts & { readonly druid: string; readonly expectations: readonly DruidExpectation[] },
  keys: SigningKeys,
): Transaction {
  const druidInfo = { druid: parts.druid, participants: 2n, expectations: parts.expectations, genesisHash: null };
  return assembleSigned({ ...parts, druidInfo }, keys);
}

/** The half of a trade that pays `receiver`. */
export function tradeSendTransaction(
  parts: Parts & { readonly receiver: Receiver; readonly locktime?: bigint; readonly druidInfo: DruidInfo },
  keys: SigningKeys,
): Transaction {
  const outputs = [...parts.outputs, txOut(parts.receiver.asset, parts.receiver.address, parts.locktime)];
  const { druid, expectations } = parts.druidInfo;
  return tradeTransaction({ ...parts, outputs, druid, expectations }, keys);
}

/** The half of a trade that gives one item, of the genesis hash in `druidInfo`, to the sender of the payment. */
export function tradeReceiveTransaction(
  parts: Parts & { readonly senderAddress: string; readonly locktime?: bigint; readonly druidInfo: DruidInfo },
  keys: SigningKeys,
): Transaction {
  const item = itemAsset(1n, parts.druidInfo.genesisHash);
  const outputs = [...parts.outputs, txOut(item, parts.senderAddress, parts.locktime)];
  const { druid, expectations } = parts.druidInfo;
  return tradeTransaction({ ...parts, outputs, druid, expectations }, keys);
}

/** True when the only output goes to a script. */
export function isP2sh(tx: Transaction): boolean {
  return tx.outputs.length === 1 && tx.outputs[0]?.scriptPublicKey?.startsWith(P2SH_PREFIX) === true;
}

/**
 * True when `witness` is what sloth makes of the seed. A step loses the sign of its argument, so the way back ends at the
 * seed or at its negative, and both are right; the reference takes only the negative and so refuses half of all honest
 * witnesses. The first step back also tells the witness from its negative, which has the same square.
 */
export function isUnicornWitness(seed: bigint, witness: bigint, { modulus, iterations }: UnicornParameters): boolean {
  const start = seed % modulus;
  if (iterations === 0) return witness === start;
  if (witness < 0n || witness >= modulus || !isPrincipalRoot(witness, modulus)) return false;
  let square = (witness * witness) % modulus;
  for (let i = 1; i < iterations; i++) {
    const before = flip(square, modulus);
    square = (before * before) % modulus;
  }
  const first = flip(start, modulus);
  return square === first || square === modulus - first;
}

/** Seed and witness out of `seed_value`; undefined when the bytes are not of that form. */
export function parseSeedValue(seedValue: Uint8Array): { readonly seed: bigint; readonly witness: bigint } | undefined {
  const match = /^(\d+)-(\d+)$/.exec(readUtf8(seedValue, 0, seedValue.length) ?? '');
  return match?.[1] === undefined || match[2] === undefined
    ? undefined
    : { seed: BigInt(match[1]), witness: BigInt(match[2]) };
}

function isPrincipalRoot(witness: bigint, modulus: bigint): boolean {
  const square = (witness * witness) % modulus;
  const exponent = (modulus + 1n) >> 2n;
  return modPow(square, exponent, modulus) === witness || modPow(modulus - square, exponent, modulus) === witness;
}

/** Changes the lowest bit, and back again should that lead outside 1 to modulus - 1. */
function flip(value: bigint, modulus: bigint): bigint {
  const flipped = value ^ 1n;
  return flipped >= modulus || flipped === 0n ? value : flipped;
}
