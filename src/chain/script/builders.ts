/** The scripts that the network knows by name (docs/chain.md#known-scripts), and how to recognise them. */

import { toHex, utf8 } from '../../lib/bytes.js';
import { addressOf } from '../address.js';
import type { AddressVersion, Script, StackEntry } from '../types.js';
import { equalEntries } from './machine.js';
import { OP } from './opcodes.js';

const HASH_OP: ReadonlyMap<AddressVersion, number> = new Map<AddressVersion, number>([
  [null, OP.HASH256],
  [0, OP.HASH256_V0],
  [99_999, OP.HASH256_TEMP],
]);
const PAY2PKH_LENGTH = 8;
const CREATE_LENGTH = 7;

function op(index: number): StackEntry {
  return { kind: 'op', op: index };
}

function text(value: string): StackEntry {
  return { kind: 'bytes', text: value };
}

function num(value: bigint): StackEntry {
  return { kind: 'num', value };
}

function signatureEntry(bytes: Uint8Array): StackEntry {
  return { kind: 'signature', bytes };
}

function keyEntry(bytes: Uint8Array): StackEntry {
  return { kind: 'pubkey', bytes };
}

/**
 * The script that stands in place of a signature where somebody spends without the key, on chains of `tessera dev --impersonate`. Its first entry
 * names it in hex, as texts of submitted scripts are; it ends in OP_BURN, so it is false by the rules of every other chain.
 */
export const IMPERSONATION: Script = [text(toHex(utf8('impersonated on a development chain'))), op(OP.BURN)];

export function isImpersonation(script: Script): boolean {
  const [said] = IMPERSONATION;
  const [first, last] = script;
  return (
    script.length === 2 && first !== undefined && said !== undefined && equalEntries(first, said) && isOp(last, OP.BURN)
  );
}

/** The script of a coinbase: the number of its block. */
export function coinbaseScript(bNum: bigint): Script {
  return [num(bNum)];
}

/** The script of an item creation; `assetHash` is the signable of the asset. */
export function createAssetScript(
  bNum: bigint,
  assetHash: string,
  signature: Uint8Array,
  publicKey: Uint8Array,
): Script {
  const head = [op(OP.CREATE), num(bNum), op(OP.DROP), text(assetHash)];
  return [...head, signatureEntry(signature), keyEntry(publicKey), op(OP.CHECKSIG)];
}

/** The script that spends an output paid to the address of a key; `data` is the signable of the input. */
export function pay2pkhScript(
  data: string,
  signature: Uint8Array,
  publicKey: Uint8Array,
  version: AddressVersion = null,
): Script {
  const hash = op(HASH_OP.get(version) ?? OP.HASH256);
  const address = text(addressOf(publicKey, version));
  const proof = [text(data), signatureEntry(signature), keyEntry(publicKey)];
  return [...proof, op(OP.DUP), hash, address, op(OP.EQUALVERIFY), op(OP.CHECKSIG)];
}

/** The parts of a script with the shape of `pay2pkhScript`. Whether they belong together is not checked. */
export interface Pay2pkhParts {
  readonly data: string;
  readonly signature: Uint8Array;
  readonly publicKey: Uint8Array;
  readonly version: AddressVersion;
  /** The address that the script states. */
  readonly address: string;
}

/** The parts of a pay-to-public-key-hash script (docs/chain.md#spending), or undefined when the shape is another. */
export function pay2pkhParts(script: Script): Pay2pkhParts | undefined {
  if (script.length !== PAY2PKH_LENGTH) return undefined;
  const [data, signature, publicKey, dup, hash, address, equalVerify, checkSig] = script;
  if (data?.kind !== 'bytes' || signature?.kind !== 'signature' || publicKey?.kind !== 'pubkey') return undefined;
  if (address?.kind !== 'bytes' || hash?.kind !== 'op') return undefined;
  if (!isOp(dup, OP.DUP) || !isOp(equalVerify, OP.EQUALVERIFY) || !isOp(checkSig, OP.CHECKSIG)) return undefined;
  const version = versionOfHashOp(hash.op);
  if (version === undefined) return undefined;
  return { data: data.text, signature: signature.bytes, publicKey: publicKey.bytes, version, address: address.text };
}

/** The parts of a script with the shape of `createAssetScript`. */
export interface CreateParts {
  readonly bNum: bigint;
  readonly assetHash: string;
  readonly signature: Uint8Array;
  readonly publicKey: Uint8Array;
}

/** The parts of an item creation script (docs/chain.md#creations), or undefined when the shape is another. */
export function createParts(script: Script): CreateParts | undefined {
  if (script.length !== CREATE_LENGTH) return undefined;
  const [create, bNum, drop, data, signature, publicKey, checkSig] = script;
  if (bNum?.kind !== 'num' || data?.kind !== 'bytes') return undefined;
  if (signature?.kind !== 'signature' || publicKey?.kind !== 'pubkey') return undefined;
  if (!isOp(create, OP.CREATE) || !isOp(drop, OP.DROP) || !isOp(checkSig, OP.CHECKSIG)) return undefined;
  return { bNum: bNum.value, assetHash: data.text, signature: signature.bytes, publicKey: publicKey.bytes };
}

function isOp(entry: StackEntry | undefined, index: number): boolean {
  return entry?.kind === 'op' && entry.op === index;
}

function versionOfHashOp(index: number): AddressVersion | undefined {
  if (index === OP.HASH256) return null;
  if (index === OP.HASH256_V0) return 0;
  return index === OP.HASH256_TEMP ? 99_999 : undefined;
}
