/**
 * Structures from parsed JSON in the reference's form (docs/chain.md#structures). Unknown members are ignored, absent
 * options are null, large integers are bigints. A misfit throws `malformed_transaction` with its place.
 */

import { PUBLIC_KEY_LENGTH, SIGNATURE_LENGTH } from '../crypto/ed25519.js';
import {
  at,
  fail,
  isObject,
  type Place,
  readArray,
  readBytes,
  readI32,
  readI64,
  readObject,
  readOptionalText,
  readText,
  readU32,
  readU64,
  rootPlace,
} from './json-fields.js';
import { opcodeIndex } from './script/opcodes.js';
import type {
  Asset,
  Block,
  BlockHeader,
  DruidExpectation,
  DruidInfo,
  OutPoint,
  Script,
  StackEntry,
  Transaction,
  TxIn,
  TxOut,
} from './types.js';

const ROOT = rootPlace('');

export function parseOutPoint(value: unknown, place: Place = ROOT): OutPoint {
  const object = readObject(value, place);
  return { tHash: readText(object.t_hash, place, 't_hash'), n: readI32(object.n, place, 'n') };
}

/** Reads `{"Token": n}` or `{"Item": {...}}`; `drs_tx_hash` is an old name of `genesis_hash`. */
export function parseAsset(value: unknown, place: Place = ROOT): Asset {
  const object = readObject(value, place);
  const { Token: token, Item: item } = object;
  if (token !== undefined && item !== undefined) return fail(place, null, 'must hold Token or Item, not both');
  if (token !== undefined) return { kind: 'token', amount: readU64(token, place, 'Token') };
  if (item === undefined) return fail(place, null, 'must hold Token or Item');
  const inside = at(place, 'Item');
  const members = readObject(item, inside);
  const genesisHash = members.genesis_hash ?? members.drs_tx_hash;
  return {
    kind: 'item',
    amount: readU64(members.amount, inside, 'amount'),
    genesisHash: readOptionalText(genesisHash, inside, 'genesis_hash'),
    metadata: readOptionalText(members.metadata, inside, 'metadata'),
  };
}

export function parseTxOut(value: unknown, place: Place = ROOT): TxOut {
  const object = readObject(value, place);
  return {
    value: parseAsset(object.value, at(place, 'value')),
    locktime: readU64(object.locktime, place, 'locktime'),
    scriptPublicKey: readOptionalText(object.script_public_key, place, 'script_public_key'),
  };
}

/** Reads a stack entry. Signatures and keys may be arrays of bytes, as serde writes them, or hex, as clients do. */
export function parseStackEntry(value: unknown, place: Place = ROOT): StackEntry {
  const object = readObject(value, place);
  const kinds = Object.keys(object);
  const [kind] = kinds;
  if (kind === undefined || kinds.length !== 1) return fail(place, null, 'must have exactly one member');
  const payload = object[kind];
  switch (kind) {
    case 'Op': {
      const name = readText(payload, place, kind);
      return { kind: 'op', op: opcodeIndex(name) ?? fail(place, kind, 'is not the name of an opcode') };
    }
    case 'Signature':
      return { kind: 'signature', bytes: readBytes(payload, place, kind, SIGNATURE_LENGTH, 'Invalid signature') };
    case 'PubKey':
      return { kind: 'pubkey', bytes: readBytes(payload, place, kind, PUBLIC_KEY_LENGTH, 'Invalid public_key') };
    case 'Num':
      return { kind: 'num', value: readU64(payload, place, kind) };
    case 'Bytes':
      return { kind: 'bytes', text: readText(payload, place, kind) };
    default:
      return fail(place, null, 'must be one of Op, Signature, PubKey, Num, Bytes');
  }
}

export function parseScript(value: unknown, place: Place = ROOT): Script {
  const { stack } = readObject(value, place);
  return readArray(stack, at(place, 'stack'), parseStackEntry);
}

function parseTxIn(value: unknown, place: Place = ROOT): TxIn {
  const object = readObject(value, place);
  const previousOut = object.previous_out;
  return {
    previousOut: isAbsent(previousOut) ? null : parseOutPoint(previousOut, at(place, 'previous_out')),
    script: parseScript(object.script_signature, at(place, 'script_signature')),
  };
}

export function parseExpectation(value: unknown, place: Place = ROOT): DruidExpectation {
  const object = readObject(value, place);
  return {
    from: readText(object.from, place, 'from'),
    to: readText(object.to, place, 'to'),
    asset: parseAsset(object.asset, at(place, 'asset')),
  };
}

export function parseDruidInfo(value: unknown, place: Place = ROOT): DruidInfo {
  const object = readObject(value, place);
  const expectations = object.expectations;
  const inside = at(place, 'expectations');
  return {
    druid: readText(object.druid, place, 'druid'),
    participants: readU64(object.participants, place, 'participants'),
    // The published contract shows a single object where every client sends an array.
    expectations: isObject(expectations)
      ? [parseExpectation(expectations, inside)]
      : readArray(expectations, inside, parseExpectation),
    genesisHash: readOptionalText(object.genesis_hash, place, 'genesis_hash'),
  };
}

/** A transaction in the form of `transactionJson`; any shape, create and coinbase included. */
export function parseTransaction(value: unknown, place: Place = ROOT): Transaction {
  const object = readObject(value, place);
  const druidInfo = object.druid_info;
  return {
    inputs: readArray(object.inputs, at(place, 'inputs'), parseTxIn),
    outputs: readArray(object.outputs, at(place, 'outputs'), parseTxOut),
    version: readU64(object.version, place, 'version'),
    fees: readArray(object.fees ?? [], at(place, 'fees'), parseTxOut),
    druidInfo: isAbsent(druidInfo) ? null : parseDruidInfo(druidInfo, at(place, 'druid_info')),
  };
}

/** A header in the form of `headerJson`: the members that it lacks tell its layout. */
export function parseHeader(value: unknown, place: Place = ROOT): BlockHeader {
  const object = readObject(value, place);
  const layout = object.difficulty !== undefined ? undefined : object.timestamp === undefined ? 'oldest' : 'prime';
  const [nonce, miningTxHash] = readPair(object.nonce_and_mining_tx_hash, at(place, 'nonce_and_mining_tx_hash'));
  const [merkleRoot, txsHash] = readPair(object.txs_merkle_root_and_hash, at(place, 'txs_merkle_root_and_hash'));
  return {
    ...(layout && { layout }),
    version: readU32(object.version, place, 'version'),
    bits: readU64(object.bits, place, 'bits'),
    nonce: readBytes(nonce, at(place, 'nonce_and_mining_tx_hash'), 0),
    miningTxHash: readText(miningTxHash, at(place, 'nonce_and_mining_tx_hash'), 1),
    bNum: readU64(object.b_num, place, 'b_num'),
    timestamp: layout === 'oldest' ? 0n : readI64(object.timestamp, place, 'timestamp'),
    difficulty: layout === undefined ? readBytes(object.difficulty, place, 'difficulty') : new Uint8Array(0),
    seedValue: readBytes(object.seed_value, place, 'seed_value'),
    previousHash: readOptionalText(object.previous_hash, place, 'previous_hash'),
    merkleRoot: readText(merkleRoot, at(place, 'txs_merkle_root_and_hash'), 0),
    txsHash: readText(txsHash, at(place, 'txs_merkle_root_and_hash'), 1),
  };
}

export function parseBlock(value: unknown, place: Place = ROOT): Block {
  const object = readObject(value, place);
  return {
    header: parseHeader(object.header, at(place, 'header')),
    transactions: readArray(object.transactions, at(place, 'transactions'), (hash, { up, key }) =>
      readText(hash, up ?? place, key),
    ),
  };
}

function readPair(value: unknown, place: Place): readonly [unknown, unknown] {
  if (!Array.isArray(value) || value.length !== 2) return fail(place, null, 'must be an array of two');
  return [value[0], value[1]];
}

function isAbsent(value: unknown): value is null | undefined {
  return value === undefined || value === null;
}
