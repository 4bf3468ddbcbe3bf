/**
 * Vectors about bytes and JSON of transactions, blocks and smaller structures, and their hashes (docs/chain.md#structures).
 */

import { withFixedHash } from '../../src/chain/assets.js';
import { BincodeWriter } from '../../src/chain/bincode.js';
import * as codec from '../../src/chain/codec.js';
import { BLOCK_HASH_LENGTH, BLOCK_PREFIX } from '../../src/chain/constants.js';
import { transactionToCreateJson } from '../../src/chain/create-transaction.js';
import { blockHash, headerHash, merkleRoot, transactionHash, txsHash } from '../../src/chain/hash.js';
import * as json from '../../src/chain/json.js';
import * as read from '../../src/chain/json-read.js';
import { interpret } from '../../src/chain/script/interpreter.js';
import { assetSignable, outputsPreimage, signableOf, txInsAddress, txInsPreimage } from '../../src/chain/signable.js';
import { isCoinbase, isCreate } from '../../src/chain/transaction.js';
import type { BlockHeader, StackEntry, Transaction } from '../../src/chain/types.js';
import { sign, verifySignature } from '../../src/crypto/ed25519.js';
import { concatBytes } from '../../src/lib/bytes.js';
import { parseExactJson, stringifyExact } from '../../src/lib/json.js';
import * as parts from '../support/codec-parts.js';
import { createFault } from '../support/validate.js';
import { type Computed, isRecord } from './compare.js';
import {
  arrayOf,
  exact,
  has,
  hasStructure,
  hexOf,
  type Inputs,
  requiredKeyOf,
  structureOf,
  textOf,
  transactionOf,
  txInOf,
  UnknownShapeError,
} from './inputs.js';
import { messageOf } from './keys.js';
import { type AssetValues, assetValuesJson, isP2sh, parseAssetValues } from './reference-library.js';

/** Bytes of the count in front of a list. */
const COUNT_BYTES = 8;
const BINCODE_MEMBERS = ['bincode_hex', 'txn_hex', 'tx_hex', 'transaction_hex', 'hex'] as const;

function anyTransaction(inputs: Inputs): Transaction {
  if (hasStructure(inputs, 'transaction')) return transactionOf(structureOf(inputs, 'transaction'));
  if (hasStructure(inputs, 'tx')) return transactionOf(structureOf(inputs, 'tx'));
  if (hasStructure(inputs, '')) return transactionOf(structureOf(inputs, ''));
  if (has(inputs, 'inputs', 'outputs', 'version')) return transactionOf(exact(inputs));
  for (const name of BINCODE_MEMBERS) if (has(inputs, name)) return codec.decodeTransaction(hexOf(inputs, name));
  throw new UnknownShapeError('no transaction');
}

/** The first signature in a script, which must verify over the first text by the first key. */
function embeddedSignature(script: readonly StackEntry[]): Uint8Array {
  const signature = script.find((entry) => entry.kind === 'signature');
  const publicKey = script.find((entry) => entry.kind === 'pubkey');
  const message = script.find((entry) => entry.kind === 'bytes');
  if (signature === undefined || publicKey === undefined || message === undefined)
    throw new UnknownShapeError('no signature');
  if (!verifySignature(publicKey.bytes, message.text, signature.bytes))
    throw new Error('the embedded signature does not verify');
  return signature.bytes;
}

/** Bytes, hash and everything that follows from a transaction; `wholeOf` says what a bare expected text is. */
function transactionMembers(tx: Transaction, inputs: Inputs): Record<string, () => unknown> {
  const bytes = () => codec.encodeTransaction(codec.decodeTransaction(codec.encodeTransaction(tx)));
  const hash = () => transactionHash(tx);
  const size = () => codec.encodeTransaction(tx).length;
  const firstInput = () => tx.inputs[0] ?? { previousOut: null, script: [] };
  const preimage = () => outputsPreimage(tx.outputs);
  return {
    bincode_hex: bytes,
    txn_hex: bytes,
    tx_hash: hash,
    hash,
    txn_hash_hex: hash,
    total_size: size,
    length: size,
    is_coinbase: () => isCoinbase(tx),
    is_create_tx: () => isCreate(tx),
    is_p2sh_tx: () => isP2sh(tx),
    create_script_valid: () => createFault(tx) === null,
    asset_hash: () => tx.outputs[0] && assetSignable(tx.outputs[0].value),
    signature_hex: () => (isRecord(inputs.signing) ? signed(inputs.signing) : embeddedSignature(firstInput().script)),
    effective_genesis_hash_when_spent: () => effectiveGenesisHash(tx),
    signable_preimage: () => preimage() + json.outPointJson(firstInput().previousOut),
    signable_hash: () => signableOf(preimage(), firstInput().previousOut),
    tx_ins_address: () => txInsAddress(tx.inputs),
    p2pkh_interpret: () => interpret(firstInput().script),
    interpret: () => interpret(firstInput().script),
    json: () => json.transactionJson(tx),
    transaction_json: () => json.transactionJson(tx),
    create_transaction: () => transactionToCreateJson(tx),
  };
}

function signed(signing: Inputs): Uint8Array {
  return sign(requiredKeyOf(signing).seed, messageOf(signing));
}

function effectiveGenesisHash(tx: Transaction): unknown {
  const [output] = tx.outputs;
  if (output === undefined) throw new UnknownShapeError('no output');
  const fixed = withFixedHash(output.value, { tHash: transactionHash(tx), n: 0 });
  return fixed.kind === 'item' ? fixed.genesisHash : null;
}

export function transactionVector(inputs: Inputs, expected: unknown): Computed {
  const tx = anyTransaction(inputs);
  const members = transactionMembers(tx, inputs);
  const isHash = typeof expected === 'string' && expected.startsWith('g');
  return { whole: () => (isHash ? members.tx_hash?.() : members.bincode_hex?.()), members };
}

export function transactionHashVector(inputs: Inputs): Computed {
  const tx = anyTransaction(inputs);
  return { whole: () => transactionHash(tx), members: transactionMembers(tx, inputs) };
}

/** The bytes that are hashed, of a header that has been stored and read again. */
function reencodedHeader(header: BlockHeader): Uint8Array {
  return codec.encodeHashedHeader(codec.decodeHeader(codec.encodeHeader(header)));
}

function blockBytes(header: BlockHeader, transactions: readonly string[]): Uint8Array {
  const writer = new BincodeWriter();
  codec.writeStrings(writer, transactions);
  return concatBytes(codec.encodeHashedHeader(header), writer.toBytes());
}

/** In the layout that the inputs name, else the one that the header's members tell. */
function headerFor(inputs: Inputs, value: unknown): BlockHeader {
  const { layout } = inputs;
  const header = read.parseHeader(value);
  if (layout === undefined || layout === null) return header;
  if (layout !== (header.layout ?? 'current')) throw new UnknownShapeError('layout must be that of the header');
  return header;
}

/** A block by its name or by its `header`, a header by its name or bare. */
function blockInput(inputs: Inputs): { isBlock: boolean; structure: unknown } {
  const name = ['block', 'header', ''].find((candidate) => hasStructure(inputs, candidate));
  if (name === undefined && !has(inputs, 'b_num')) throw new UnknownShapeError('neither header nor block');
  const structure = name === undefined ? exact(inputs) : structureOf(inputs, name);
  const isBlock = isRecord(structure) && structure.header !== undefined;
  if (isBlock || name !== 'header' || !has(inputs, 'transactions')) return { isBlock, structure };
  return { isBlock: true, structure: { header: structure, transactions: inputs.transactions } };
}

/** A block in the layout of its header. */
function blockOf(value: unknown) {
  const { header: headerValue, transactions } = isRecord(value) ? value : {};
  const header = read.parseHeader(headerValue);
  const hashes = arrayOf({ transactions }, 'transactions').map((hash, i) => textOf({ [i]: hash }, String(i)));
  return {
    bytes: () => blockBytes(header, hashes),
    text: () => `{"header":${json.headerJson(header)},"transactions":${JSON.stringify(hashes)}}`,
  };
}

/** A header or a block, in either layout. As a whole it is the block's hash, or what the length of the text tells. */
export function blockVector(inputs: Inputs, expected: unknown): Computed {
  const { isBlock, structure } = blockInput(inputs);
  const headerValue = isBlock && isRecord(structure) ? structure.header : structure;
  const header = headerFor(inputs, headerValue);
  const hashes = isBlock && isRecord(structure) ? arrayOf(structure, 'transactions').map(String) : [];
  const bytes = () => (isBlock ? blockBytes(header, hashes) : reencodedHeader(header));
  const headerText = () => json.headerJson(header);
  const hash = () => blockHash(header);
  const bare = () => {
    if (typeof expected !== 'string' || expected.length === BLOCK_HASH_LENGTH) return hash();
    return expected.length === BLOCK_HASH_LENGTH - 1 ? headerHash(header) : bytes();
  };
  return {
    whole: bare,
    members: {
      bincode_hex: bytes,
      length: () => bytes().length,
      hash,
      header_hash_hex: () => headerHash(header),
      header_hash: () => headerHash(header),
      block_hash: hash,
      prefix: () => BLOCK_PREFIX,
      merkle_root: () => merkleRoot(hashes),
      txs_hash: () => txsHash(hashes),
      is_null: () => header.bits === 0n,
      header_json: headerText,
      json: () => (isBlock ? `{"header":${headerText()},"transactions":${JSON.stringify(hashes)}}` : headerText()),
    },
  };
}

/** Root and list hash, as a pair or by name; a bare text is the root. */
export function merkleVector(inputs: Inputs, expected: unknown): Computed {
  const name = ['transactions', 'tx_hashes', 'hashes'].find((candidate) => has(inputs, candidate));
  if (name === undefined) throw new UnknownShapeError('no transactions');
  const hashes = arrayOf(inputs, name).map((hash) => {
    if (typeof hash !== 'string') throw new UnknownShapeError('a transaction hash must be a string');
    return hash;
  });
  const root = () => merkleRoot(hashes);
  const list = () => txsHash(hashes);
  const pair = () => [root(), list()];
  return {
    whole: typeof expected === 'string' ? root : pair,
    members: { merkle_root: root, root, txs_hash: list, hash: list, txs_merkle_root_and_hash: pair },
  };
}

/** How each small structure is told, read and written. */
const STRUCTURES: readonly { has: string; encode: (value: unknown) => Uint8Array; json: (value: unknown) => string }[] =
  [
    structure('t_hash', read.parseOutPoint, parts.encodeOutPoint, json.outPointJson),
    structure('inputs', transactionOf, codec.encodeTransaction, json.transactionJson),
    structure('previous_out', txInOf, parts.encodeTxIn, json.txInJson),
    structure('value', read.parseTxOut, codec.encodeTxOut, json.txOutJson),
    structure('druid', read.parseDruidInfo, parts.encodeDruidInfo, json.druidInfoJson),
    structure('from', read.parseExpectation, parts.encodeExpectation, json.expectationJson),
    structure('tokens', parseAssetValues, encodeAssetValues, assetValuesJson),
    structure('stack', read.parseScript, codec.encodeScript, json.scriptJson),
    { has: 'header', encode: (value) => blockOf(value).bytes(), json: (value) => blockOf(value).text() },
    structure('Token', read.parseAsset, parts.encodeAsset, json.assetJson),
    structure('Item', read.parseAsset, parts.encodeAsset, json.assetJson),
    ...['Op', 'Signature', 'PubKey', 'Num', 'Bytes'].map((kind) =>
      structure(kind, read.parseStackEntry, encodeEntry, (entry) => stringifyExact(json.entryView(entry))),
    ),
  ];

/** A script of one entry, without the count in front. */
function encodeEntry(entry: StackEntry): Uint8Array {
  return codec.encodeScript([entry]).subarray(COUNT_BYTES);
}

function structure<T>(
  name: string,
  parse: (value: unknown) => T,
  encode: (value: T) => Uint8Array,
  text: (value: T) => string,
) {
  return { has: name, encode: (value: unknown) => encode(parse(value)), json: (value: unknown) => text(parse(value)) };
}

function encodeAssetValues(values: AssetValues): Uint8Array {
  const writer = new BincodeWriter();
  writer.u64(values.tokens);
  writer.length64(values.items.size);
  for (const [genesisHash, amount] of values.items) {
    writer.string(genesisHash);
    writer.u64(amount);
  }
  return writer.toBytes();
}

function structureFor(value: unknown) {
  const found = isRecord(value) ? STRUCTURES.find(({ has: name }) => value[name] !== undefined) : undefined;
  // A block header has none of the names above; it is told by its number.
  if (found !== undefined) return found;
  if (!isRecord(value) || value.b_num === undefined) throw new UnknownShapeError('no known structure');
  const header = () => read.parseHeader(value);
  return {
    has: 'b_num',
    encode: () => codec.encodeHashedHeader(header()),
    json: () => json.headerJson(header()),
  };
}

/** The structure in `json` or `value`, in the one member that ends in `_json`, or the inputs themselves. */
function structureInput(inputs: Inputs): unknown {
  const names = Object.keys(inputs).filter((name) => name.endsWith('_json'));
  const name = has(inputs, 'json') ? 'json' : names.length === 1 ? names[0] : undefined;
  if (name === undefined) return exact(has(inputs, 'value') && !has(inputs, 'locktime') ? inputs.value : inputs);
  const value = inputs[name];
  return typeof value === 'string' ? parseExactJson(value) : exact(value);
}

export function structVector(inputs: Inputs): Computed {
  const value = structureInput(inputs);
  const kind = structureFor(value);
  const bytes = () => kind.encode(value);
  const length = () => bytes().length;
  const text = () => kind.json(value);
  return { whole: bytes, members: { bincode_hex: bytes, hex: bytes, length, total_size: length, json: text } };
}

/** Compact text, by the chain's own writer where the value is one of its structures, else by the exact writer. */
export function jsonVector(inputs: Inputs): Computed {
  if (!has(inputs, 'value') && !has(inputs, 'json') && !has(inputs, 'string') && !has(inputs, 'text'))
    throw new UnknownShapeError('no value');
  const raw = inputs.value ?? inputs.json ?? inputs.string ?? inputs.text;
  const value = exact(raw);
  const text = () =>
    isClientInput(value) || !isRecord(value) ? stringifyExact(value) : structureFor(value).json(value);
  return { whole: text, members: { json: text, text } };
}

/** The form in which clients submit an input; the chain never writes it with text that is not hex. */
function isClientInput(value: unknown): boolean {
  return isRecord(value) && isRecord(value.script_signature) && value.script_signature.Pay2PkH !== undefined;
}

function txInList(inputs: Inputs): readonly unknown[] {
  const name = ['inputs', 'inputs_json', 'tx_ins'].find((candidate) => has(inputs, candidate)) ?? 'inputs';
  const value = inputs[name];
  return arrayOf({ [name]: typeof value === 'string' ? parseExactJson(value) : value }, name);
}

export function txInsVector(inputs: Inputs): Computed {
  const isTransaction = hasStructure(inputs, 'transaction');
  const txIns = isTransaction ? anyTransaction(inputs).inputs : txInList(inputs).map(txInOf);
  const preimage = txInsPreimage(txIns);
  if (typeof inputs.preimage === 'string' && inputs.preimage !== preimage) {
    throw new Error(`preimage is ${preimage}, not ${inputs.preimage}`);
  }
  const address = () => txInsAddress(txIns);
  return { whole: address, members: { address, tx_ins_address: address, from: address, preimage: () => preimage } };
}
