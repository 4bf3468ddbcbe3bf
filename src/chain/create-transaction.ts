/**
 * The JSON of transactions that clients submit and get back (docs/clients.md#submitted-transactions): the chain's own, except that a script may be
 * `Pay2PkH`, and spellings of existing clients. No creations, no coinbases. Errors are `malformed_transaction` with the place.
 */

import { PUBLIC_KEY_LENGTH, SIGNATURE_LENGTH } from '../crypto/ed25519.js';
import { isHex, toHex } from '../lib/bytes.js';
import { addressOf, addressVersionOf } from './address.js';
import { druidInfoView, outPointView, txOutView } from './json.js';
import {
  at,
  fail,
  isObject,
  kindOf,
  type Place,
  readArray,
  readBytes,
  readObject,
  readOptionalText,
  readU64,
  rootPlace,
} from './json-fields.js';
import { parseDruidInfo, parseOutPoint, parseStackEntry, parseTxOut } from './json-read.js';
import { pay2pkhParts, pay2pkhScript } from './script/builders.js';
import { opcodeName } from './script/opcodes.js';
import type { AddressVersion, DruidInfo, Script, StackEntry, Transaction, TxIn, TxOut } from './types.js';

const DECIMAL = /^\d{1,20}$/;

interface Pay2PkHView {
  signable_data: string;
  signature: string;
  public_key: string;
  address_version: AddressVersion;
}

/** A stack entry with keys, signatures as hex. */
type CreateEntryView =
  | { Op: string }
  | { Signature: string }
  | { PubKey: string }
  | { Num: bigint }
  | { Bytes: string };

/** The transaction of a submitted body; `where` names it in errors. Integers beyond 2^53 must be bigints. */
export function parseCreateTransaction(value: unknown, where = ''): Transaction {
  const place = rootPlace(where);
  const object = readObject(value, place);
  return {
    inputs: readArray(object.inputs, at(place, 'inputs'), parseCreateTxIn),
    outputs: readArray(object.outputs, at(place, 'outputs'), parseTxOut),
    version: readU64(object.version, place, 'version'),
    fees: parseFees(object.fees, at(place, 'fees')),
    druidInfo: parseCreateDruidInfo(object.druid_info, at(place, 'druid_info')),
  };
}

/** The body that would submit this transaction (decision V17): `Pay2PkH` for scripts of that shape whose address is its key's. */
export function transactionToCreateJson(tx: Transaction) {
  return {
    inputs: tx.inputs.map(createTxInView),
    outputs: tx.outputs.map(txOutView),
    version: tx.version,
    fees: tx.fees.length === 0 ? null : tx.fees.map(txOutView),
    druid_info: tx.druidInfo === null ? null : druidInfoView(tx.druidInfo),
  };
}

/** True for a transaction that `parseCreateTransaction` can give: inputs have outpoints, texts in scripts are hex, trades have a DRUID. */
export function isSubmittable({ inputs, druidInfo }: Transaction): boolean {
  const isHexScript = (script: Script) => script.every((entry) => entry.kind !== 'bytes' || isHex(entry.text));
  const areSpent = inputs.every(({ previousOut, script }) => previousOut !== null && isHexScript(script));
  return areSpent && druidInfo?.druid !== '';
}

function parseCreateTxIn(value: unknown, place: Place): TxIn {
  const object = readObject(value, place);
  const previousOut = object.previous_out;
  if (previousOut === undefined || previousOut === null) {
    return fail(place, 'previous_out', `Invalid previous_out: it is ${kindOf(previousOut)}`);
  }
  return {
    previousOut: parseOutPoint(previousOut, at(place, 'previous_out')),
    script: parseScriptSignature(object.script_signature, at(place, 'script_signature')),
  };
}

function parseScriptSignature(value: unknown, place: Place): Script {
  if (!isObject(value)) return fail(place, null, `Invalid script_signature: it is ${kindOf(value)}`);
  if (value.Pay2PkH !== undefined) return parsePay2PkH(value.Pay2PkH, at(place, 'Pay2PkH'));
  if (value.stack !== undefined) return readArray(value.stack, at(place, 'stack'), parseCreateEntry);
  return fail(place, null, 'Invalid script_signature: must hold Pay2PkH or stack');
}

function parsePay2PkH(value: unknown, place: Place): Script {
  const object = readObject(value, place);
  const data = readOptionalText(object.signable_data, place, 'signable_data') ?? '';
  const signature = readHex(object.signature, place, 'signature', SIGNATURE_LENGTH);
  const publicKey = readHex(object.public_key, place, 'public_key', PUBLIC_KEY_LENGTH);
  return pay2pkhScript(data, signature, publicKey, parseAddressVersion(object.address_version, place));
}

function readHex(value: unknown, place: Place, key: string, length: number): Uint8Array {
  const problem = `Invalid ${key}`;
  if (typeof value !== 'string') return fail(place, key, `${problem}: must be hex, not ${kindOf(value)}`);
  return readBytes(value, place, key, length, problem);
}

/** Reads a version. Null, absent, `"null"` and `""` are the current one; so is every number but 0 and 99999, also as decimal text. */
function parseAddressVersion(value: unknown, place: Place): AddressVersion {
  if (value === undefined || value === null || value === '' || value === 'null') return null;
  if (typeof value !== 'string') return addressVersionOf(readU64(value, place, 'address_version'));
  if (!DECIMAL.test(value)) return fail(place, 'address_version', 'must be null, a number or the digits of one');
  return addressVersionOf(Number(value));
}

/** Parses an entry as in the chain's own form; a `Bytes` text must be hex, and an array of bytes becomes hex. */
function parseCreateEntry(value: unknown, place: Place): StackEntry {
  if (isObject(value) && Array.isArray(value.Bytes)) {
    return { kind: 'bytes', text: toHex(readBytes(value.Bytes, place, 'Bytes')) };
  }
  const entry = parseStackEntry(value, place);
  if (entry.kind === 'bytes' && !isHex(entry.text)) {
    return fail(place, 'Bytes', 'must be an even number of hexadecimal digits, or an array of bytes');
  }
  return entry;
}

function parseFees(value: unknown, place: Place): TxOut[] {
  return value === undefined || value === null ? [] : readArray(value, place, parseTxOut);
}

/** Reads DRUID info. Some clients send empty members for none. Any other member makes it a trade, which needs a DRUID. */
function parseCreateDruidInfo(value: unknown, place: Place): DruidInfo | null {
  if (value === undefined || value === null || (isObject(value) && isEmpty(value))) return null;
  const info = parseDruidInfo(value, place);
  return info.druid === '' ? fail(place, 'druid', 'must not be empty while other members are set') : info;
}

/** True for null, zero, the empty text, and objects that hold nothing else. */
function isEmpty(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.values(value).every(isEmpty);
  return value === undefined || value === null || value === '' || value === 0;
}

function createTxInView({ previousOut, script }: TxIn) {
  return {
    previous_out: previousOut === null ? null : outPointView(previousOut),
    script_signature: scriptSignatureView(script),
  };
}

function scriptSignatureView(script: Script): { Pay2PkH: Pay2PkHView } | { stack: CreateEntryView[] } {
  const parts = pay2pkhParts(script);
  // With another address the short form would not lead back to the same script.
  if (parts === undefined || addressOf(parts.publicKey, parts.version) !== parts.address) {
    return { stack: script.map(createEntryView) };
  }
  return {
    Pay2PkH: {
      signable_data: parts.data,
      signature: toHex(parts.signature),
      public_key: toHex(parts.publicKey),
      address_version: parts.version,
    },
  };
}

function createEntryView(entry: StackEntry): CreateEntryView {
  switch (entry.kind) {
    case 'op':
      return { Op: String(opcodeName(entry.op)) };
    case 'signature':
      return { Signature: toHex(entry.bytes) };
    case 'pubkey':
      return { PubKey: toHex(entry.bytes) };
    case 'num':
      return { Num: entry.value };
    case 'bytes':
      return { Bytes: entry.text };
  }
}
