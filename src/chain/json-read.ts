/**
 * Structures from parsed JSON in the reference's form (docs/chain.md#structures). Unknown members are ignored, absent
 * options are null, large integers are bigints. A misfit throws `malformed_transaction` with its place.
 */

import { PUBLIC_KEY_LENGTH, SIGNATURE_LENGTH } from '../crypto/ed25519.js';
import type { Place } from './json-fields.js';
import * as json from './json-fields.js';
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

const ROOT = json.rootPlace('');

export function parseOutPoint(value: unknown, place: Place = ROOT): OutPoint {
  const object = json.readObject(value, place);
  return { tHash: json.readText(object.t_hash, place, 't_hash'), n: json.readI32(object.n, place, 'n') };
}

/** Reads `{"Token": n}` or `{"Item": {...}}`; `drs_tx_hash` is an old name of `genesis_hash`. */
export function parseAsset(value: unknown, place: Place = ROOT): Asset {
  const object = json.readObject(value, place);
  const { Token: token, Item: item } = object;
  if (token !== undefined && item !== undefined) return json.fail(place, null, 'must hold Token or Item, not both');
  if (token !== undefined) return { kind: 'token', amount: json.readU64(token, place, 'Token') };
  if (item === undefined) return json.fail(place, null, 'must hold Token or Item');
  const inside = json.at(place, 'Item');
  const members = json.readObject(item, inside);
  const genesisHash = members.genesis_hash ?? members.drs_tx_hash;
  return {
    kind: 'item',
    amount: json.readU64(members.amount, inside, 'amount'),
    genesisHash: json.readOptionalText(genesisHash, inside, 'genesis_hash'),
    metadata: json.readOptionalText(members.metadata, inside, 'metadata'),
  };
}

export function parseTxOut(value: unknown, place: Place = ROOT): TxOut {
  const object = json.readObject(value, place);
  return {
    value: parseAsset(object.value, json.at(place, 'value')),
    locktime: json.readU64(object.locktime, place, 'locktime'),
    scriptPublicKey: json.readOptionalText(object.script_public_key, place, 'script_public_key'),
  };
}

/** Reads a stack entry. Signatures and keys may be arrays of bytes, as serde writes them, or hex, as clients do. */
export function parseStackEntry(value: unknown, place: Place = ROOT): StackEntry {
  const object = json.readObject(value, place);
  const kinds = Object.keys(object);
  const [kind] = kinds;
  if (kind === undefined || kinds.length !== 1) return json.fail(place, null, 'must have exactly one member');
  const payload = object[kind];
  switch (kind) {
    case 'Op': {
      const name = json.readText(payload, place, kind);
      return { kind: 'op', op: opcodeIndex(name) ?? json.fail(place, kind, 'is not the name of an opcode') };
    }
    case 'Signature':
      return { kind: 'signature', bytes: json.readBytes(payload, place, kind, SIGNATURE_LENGTH, 'Invalid signature') };
    case 'PubKey':
      return { kind: 'pubkey', bytes: json.readBytes(payload, place, kind, PUBLIC_KEY_LENGTH, 'Invalid public_key') };
    case 'Num':
      return { kind: 'num', value: json.readU64(payload, place, kind) };
    case 'Bytes':
      return { kind: 'bytes', text: json.readText(payload, place, kind) };
    default:
      return json.fail(place, null, 'must be one of Op, Signature, PubKey, Num, Bytes');
  }
}

export function parseScript(value: unknown, place: Place = ROOT): Script {
  const { stack } = json.readObject(value, place);
  return json.readArray(stack, json.at(place, 'stack'), parseStackEntry);
}

function parseTxIn(value: unknown, place: Place = ROOT): TxIn {
  const object = json.readObject(value, place);
  const previousOut = object.previous_out;
  return {
    previousOut: isAbsent(previousOut) ? null : parseOutPoint(previousOut, json.at(place, 'previous_out')),
    script: parseScript(object.script_signature, json.at(place, 'script_signature')),
  };
}

export function parseExpectation(value: unknown, place: Place = ROOT): DruidExpectation {
  const object = json.readObject(value, place);
  return {
    from: json.readText(object.from, place, 'from'),
    to: json.readText(object.to, place, 'to'),
    asset: parseAsset(object.asset, json.at(place, 'asset')),
  };
}

export function parseDruidInfo(value: unknown, place: Place = ROOT): DruidInfo {
  const object = json.readObject(value, place);
  const expectations = object.expectations;
  const inside = json.at(place, 'expectations');
  return {
    druid: json.readText(object.druid, place, 'druid'),
    participants: json.readU64(object.participants, place, 'participants'),
    // The published contract shows a single object where every client sends an array.
    expectations: json.isObject(expectations)
      ? [parseExpectation(expectations, inside)]
      : json.readArray(expectations, inside, parseExpectation),
    genesisHash: json.readOptionalText(object.genesis_hash, place, 'genesis_hash'),
  };
}

/** A transaction in the form of `transactionJson`; any shape, create and coinbase included. */
export function parseTransaction(value: unknown, place: Place = ROOT): Transaction {
  const object = json.readObject(value, place);
  const druidInfo = object.druid_info;
  return {
    inputs: json.readArray(object.inputs, json.at(place, 'inputs'), parseTxIn),
    outputs: json.readArray(object.outputs, json.at(place, 'outputs'), parseTxOut),
    version: json.readU64(object.version, place, 'version'),
    fees: json.readArray(object.fees ?? [], json.at(place, 'fees'), parseTxOut),
    druidInfo: isAbsent(druidInfo) ? null : parseDruidInfo(druidInfo, json.at(place, 'druid_info')),
  };
}

/** A header in the form of `headerJson`: the members that it lacks tell its layout. */
export function parseHeader(value: unknown, place: Place = ROOT): BlockHeader {
  const object = json.readObject(value, place);
  const layout = object.difficulty !== undefined ? undefined : object.timestamp === undefined ? 'oldest' : 'prime';
  const [nonce, miningTxHash] = readPair(object.nonce_and_mining_tx_hash, json.at(place, 'nonce_and_mining_tx_hash'));
  const [merkleRoot, txsHash] = readPair(object.txs_merkle_root_and_hash, json.at(place, 'txs_merkle_root_and_hash'));
  return {
    ...(layout && { layout }),
    version: json.readU32(object.version, place, 'version'),
    bits: json.readU64(object.bits, place, 'bits'),
    nonce: json.readBytes(nonce, json.at(place, 'nonce_and_mining_tx_hash'), 0),
    miningTxHash: json.readText(miningTxHash, json.at(place, 'nonce_and_mining_tx_hash'), 1),
    bNum: json.readU64(object.b_num, place, 'b_num'),
    timestamp: layout === 'oldest' ? 0n : json.readI64(object.timestamp, place, 'timestamp'),
    difficulty: layout === undefined ? json.readBytes(object.difficulty, place, 'difficulty') : new Uint8Array(0),
    seedValue: json.readBytes(object.seed_value, place, 'seed_value'),
    previousHash: json.readOptionalText(object.previous_hash, place, 'previous_hash'),
    merkleRoot: json.readText(merkleRoot, json.at(place, 'txs_merkle_root_and_hash'), 0),
    txsHash: json.readText(txsHash, json.at(place, 'txs_merkle_root_and_hash'), 1),
  };
}

export function parseBlock(value: unknown, place: Place = ROOT): Block {
  const object = json.readObject(value, place);
  return {
    header: parseHeader(object.header, json.at(place, 'header')),
    transactions: json.readArray(object.transactions, json.at(place, 'transactions'), (hash, { up, key }) =>
      json.readText(hash, up ?? place, key),
    ),
  };
}

function readPair(value: unknown, place: Place): readonly [unknown, unknown] {
  if (!Array.isArray(value) || value.length !== 2) return json.fail(place, null, 'must be an array of two');
  return [value[0], value[1]];
}

function isAbsent(value: unknown): value is null | undefined {
  return value === undefined || value === null;
}
