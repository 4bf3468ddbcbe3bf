/**
 * The file of `tessera tx` (docs/cli.md#signing-without-a-node): what is spent, with address and value, what is paid, signatures so far,
 * and the transactions that made the inputs. Their hashes are in the names of the outputs, so they prove the values without a node. A
 * signature covers neither values nor fees: the rest of an input that holds more goes to whoever adds a fee.
 */

import { addressOf, addressVersionOf, BURN_ADDRESS, isPayableAddress } from '../../chain/address.js';
import { withFixedHash } from '../../chain/assets.js';
import { assemble } from '../../chain/builders.js';
import { decodeTransaction, encodeTransaction } from '../../chain/codec.js';
import { U64_MAX } from '../../chain/constants.js';
import { transactionHash } from '../../chain/hash.js';
import { assetView, outPointView, txOutView } from '../../chain/json.js';
import {
  at,
  fail,
  type Place,
  readArray,
  readBytes,
  readObject,
  readText,
  rootPlace,
} from '../../chain/json-fields.js';
import { parseAsset, parseOutPoint, parseTxOut } from '../../chain/json-read.js';
import { pay2pkhScript } from '../../chain/script/builders.js';
import { outputsPreimage, signableOf } from '../../chain/signable.js';
import { outPointKey } from '../../chain/transaction.js';
import type { AddressVersion, Asset, OutPoint, Transaction, TxIn, TxOut } from '../../chain/types.js';
import { PUBLIC_KEY_LENGTH, SIGNATURE_LENGTH, verifySignature } from '../../crypto/ed25519.js';
import { parseHex, toHex } from '../../lib/bytes.js';
import { errorMessage, TesseraError } from '../../lib/errors.js';
import { assertSound, fault, type Verdict } from '../../lib/fault.js';
import { parseJsonFile, prettyExact, stringifyExact } from '../../lib/json.js';
import { printable, printableJson } from '../../lib/printable.js';
import { nameOfAsset, unspentFault } from '../../wallet/coins/unspent.js';
import { type CliContext, UsageError } from '../command.js';
import { readNamedOrInput, STANDARD } from '../named-file.js';
import { showAmount } from '../wallet/amounts.js';
import { isInteractive } from '../wallet/prompt.js';

const KIND = 'tessera-transaction';
const FORMAT = 2;
const FORMAT_WITHOUT_PROOFS = 1;
/** Maximum number of inputs: more than a transaction of the largest size has. */
const MAX_INPUTS = 2_000;

export interface InputSignature {
  readonly publicKey: Uint8Array;
  readonly signature: Uint8Array;
  readonly addressVersion: AddressVersion;
}

export interface DraftInput {
  readonly outPoint: OutPoint;
  /** Address that the output was paid to. */
  readonly address: string;
  readonly value: Asset;
  readonly signature: InputSignature | null;
}

export interface Draft {
  readonly inputs: readonly DraftInput[];
  readonly outputs: readonly TxOut[];
  /** Transactions that made the inputs, by hash, as far as the file has them. */
  readonly previous: ReadonlyMap<string, Transaction>;
}

export function draftText(draft: Draft, isOneLine: boolean): string {
  const view = {
    kind: KIND,
    format: FORMAT,
    inputs: draft.inputs.map(inputView),
    outputs: draft.outputs.map(txOutView),
    previous_transactions: [...draft.previous.values()].map((transaction) => toHex(encodeTransaction(transaction))),
  };
  return `${printableJson(isOneLine ? stringifyExact(view) : prettyExact(view))}\n`;
}

function inputView({ outPoint, address, value, signature }: DraftInput) {
  return {
    previous_out: outPointView(outPoint),
    address,
    value: assetView(value),
    signature: signature && {
      public_key: toHex(signature.publicKey),
      signature: toHex(signature.signature),
      address_version: signature.addressVersion,
    },
  };
}

/** The transaction in the file, or on standard input for `-`. Throws as `parseDraft`. */
export async function readDraft(file: string, context: CliContext): Promise<Draft> {
  return parseDraft(await readInput(file, context), nameOf(file));
}

/** Reads and checks the text of a file. Throws `malformed_transaction` that begins with its name. */
export function parseDraft(text: string, name: string): Draft {
  try {
    const object = readObject(parseJsonFile(text), rootPlace(''));
    if (object.kind !== KIND) throw malformed(`it is not a file of tessera tx: its kind is not ${KIND}`);
    if (object.format !== FORMAT && object.format !== FORMAT_WITHOUT_PROOFS) {
      throw malformed(`its format is not ${FORMAT}: another version of tessera wrote it`);
    }
    const inputs = readArray(object.inputs, rootPlace('inputs'), parseInput);
    const draft = {
      inputs,
      outputs: readArray(object.outputs, rootPlace('outputs'), parseTxOut),
      previous: object.format === FORMAT ? parsePrevious(object.previous_transactions, inputs) : new Map(),
    };
    assertSound(draftFault(draft));
    return draft;
  } catch (cause) {
    throw new TesseraError('malformed_transaction', `${name}: ${errorMessage(cause)}`, { cause });
  }
}

function parsePrevious(value: unknown, inputs: readonly DraftInput[]): Map<string, Transaction> {
  const wanted = new Set(inputs.map(({ outPoint }) => outPoint.tHash));
  const all = readArray(value, rootPlace('previous_transactions'), (text, place): [string, Transaction] => {
    const bytes = typeof text === 'string' ? parseHex(text) : undefined;
    if (bytes === undefined) return fail(place, null, 'is no transaction in hex');
    const transaction = decodeTransaction(bytes);
    return [transactionHash(transaction), transaction];
  });
  return new Map(all.filter(([hash]) => wanted.has(hash)));
}

function parseInput(value: unknown, place: Place): DraftInput {
  const object = readObject(value, place);
  const { signature } = object;
  return {
    outPoint: parseOutPoint(object.previous_out, at(place, 'previous_out')),
    address: readText(object.address, place, 'address'),
    value: parseAsset(object.value, at(place, 'value')),
    signature: signature === null || signature === undefined ? null : parseSignature(signature, at(place, 'signature')),
  };
}

function parseSignature(value: unknown, place: Place): InputSignature {
  const object = readObject(value, place);
  const { address_version: version } = object;
  if (version !== null && version !== 0 && version !== 99_999)
    throw malformed('address_version must be null, 0 or 99999');
  return {
    publicKey: readBytes(object.public_key, place, 'public_key', PUBLIC_KEY_LENGTH),
    signature: readBytes(object.signature, place, 'signature', SIGNATURE_LENGTH),
    addressVersion: addressVersionOf(version),
  };
}

/** Fault of a draft that no node would admit, or nobody can have meant. */
export function draftFault({ inputs, outputs, previous }: Draft): Verdict {
  if (inputs.length === 0 || outputs.length === 0) return broken('it needs an input and an output');
  if (inputs.length > MAX_INPUTS) return broken(`it has ${inputs.length} inputs; at most ${MAX_INPUTS} fit`);
  const seen = new Set<string>();
  for (const { outPoint, address, value } of inputs) {
    const name = outPointName(outPoint);
    if (seen.has(name)) return broken(`two inputs spend ${name}`);
    seen.add(name);
    if (!isPayableAddress(address)) return broken(`the address of ${name} is not valid: "${address}"`);
    if (value.amount === 0n) return broken(`${name} holds nothing`);
  }
  for (const input of inputs) {
    const maker = previous.get(input.outPoint.tHash);
    const found = maker === undefined ? null : unspentFault(input, maker);
    if (found !== null) return found;
  }
  for (const [i, { value, scriptPublicKey }] of outputs.entries()) {
    if (scriptPublicKey === null || !isPayableAddress(scriptPublicKey)) {
      return broken(`the address of output ${i} is not valid: "${scriptPublicKey}"`);
    }
    if (value.amount === 0n) return broken(`output ${i} holds nothing`);
    if (value.kind === 'item' && (value.genesisHash === null || value.metadata !== null)) {
      return broken(`the items of output ${i} must have a genesis hash, and no metadata`);
    }
  }
  return sumsFault({ inputs, outputs });
}

/** Fault of the sums: outputs must hold what the inputs hold, the rest of a payment being paid back as change. */
function sumsFault(draft: Pick<Draft, 'inputs' | 'outputs'>): Verdict {
  const sums = sumsOf(draft);
  for (const [asset, { spent, paid }] of sums) {
    if (spent > U64_MAX || paid > U64_MAX) return broken(`the sum of ${asset} is beyond 2^64`);
    if (spent === paid) continue;
    return broken(
      `its inputs hold ${spent} ${asset}, and its outputs ${paid}: ${
        spent > paid ? `${spent - paid} would be lost` : `${paid - spent} are missing`
      }`,
    );
  }
  return null;
}

interface Sums {
  readonly spent: bigint;
  readonly paid: bigint;
}

/** Sums of inputs and outputs by asset: `raw units`, or `items of …`. */
function sumsOf({ inputs, outputs }: Pick<Draft, 'inputs' | 'outputs'>): ReadonlyMap<string, Sums> {
  const sums = new Map<string, Sums>();
  const add = (value: Asset, spent: bigint, paid: bigint): void => {
    const name = nameOfAsset(value);
    const before = sums.get(name) ?? { spent: 0n, paid: 0n };
    sums.set(name, { spent: before.spent + spent, paid: before.paid + paid });
  };
  for (const { outPoint, value } of inputs) add(withFixedHash(value, outPoint), value.amount, 0n);
  for (const { value } of outputs) add(value, 0n, value.amount);
  return sums;
}

export function signatureFault({ inputs, outputs }: Draft): Verdict {
  const preimage = outputsPreimage(outputs);
  for (const { outPoint, address, signature } of inputs) {
    if (signature === null) continue;
    const name = outPointName(outPoint);
    if (addressOf(signature.publicKey, signature.addressVersion) !== address) {
      return fault('invalid_signature', `${name} was signed with a key that does not belong to ${address}`);
    }
    const message = new TextEncoder().encode(signableOf(preimage, outPoint));
    if (!verifySignature(signature.publicKey, message, signature.signature)) {
      return fault('invalid_signature', `the signature of ${name} is wrong: the file was changed after it was signed`);
    }
  }
  return null;
}

export function unsigned({ inputs }: Draft): readonly DraftInput[] {
  return inputs.filter(({ signature }) => signature === null);
}

/** The transaction, as nodes take it. Inputs that are not signed have an empty script. */
export function transactionOf({ inputs, outputs }: Draft): Transaction {
  const preimage = outputsPreimage(outputs);
  const scripted = inputs.map(({ outPoint, signature }): TxIn => {
    if (signature === null) return { previousOut: outPoint, script: [] };
    const { publicKey, addressVersion } = signature;
    const signable = signableOf(preimage, outPoint);
    return { previousOut: outPoint, script: pay2pkhScript(signable, signature.signature, publicKey, addressVersion) };
  });
  return assemble({ inputs: scripted, outputs });
}

/** Name of an output, `<n>-<t_hash>`, as in wallets. */
export function outPointName(outPoint: OutPoint): string {
  return outPointKey(outPoint);
}

function broken(message: string): Verdict {
  return fault('malformed_transaction', message);
}

function malformed(message: string): TesseraError {
  return new TesseraError('malformed_transaction', message);
}

export const STDIN = STANDARD;

/** The text of the file, or of standard input for `-`. A terminal is no file. */
export async function readInput(file: string, context: CliContext): Promise<string> {
  if (file === STDIN && isInteractive(context)) {
    throw new UsageError('name a FILE, or give the transaction on standard input');
  }
  return readNamedOrInput(file, context.stdin);
}

export function nameOf(file: string): string {
  return file === STDIN ? 'the standard input' : file;
}

interface Known {
  /** Addresses of the reader. Payments to others may not be called change: anybody can add an input of their own. */
  readonly own?: ReadonlySet<string>;
  readonly unproven?: readonly DraftInput[];
}

/** The summary of a draft: lines with a line end each. Without `own` nothing is called change. */
export function summaryOf(draft: Draft, { own, unproven = [] }: Known = {}): string {
  const { inputs, outputs } = draft;
  const sources = new Set(inputs.map(({ address }) => address));
  const open = unsigned(draft).length;
  const state = open === 0 ? transactionHash(transactionOf(draft)) : `${open} of ${inputs.length} inputs to be signed`;
  const lines = [
    `transaction  ${state}`,
    ...inputs.map((input) => {
      const { outPoint, address, value } = input;
      const whose = own === undefined || own.has(address) ? '' : ': NOT YOURS, its key was not given';
      const mark = unproven.includes(input) ? ': NOT PROVEN, it may hold more' : '';
      return `  spends     ${shownAmount(value)} of ${address} (${outPointName(outPoint)})${whose}${mark}`;
    }),
    ...outputs.map(({ value, scriptPublicKey, locktime }) => {
      const to = scriptPublicKey ?? '';
      const later = locktime === 0n ? '' : `, spendable from block ${locktime} on`;
      if (to === BURN_ADDRESS) return `  burns      ${shownAmount(value)}: nobody can spend it ever again`;
      const isSource = own === undefined && sources.has(to) ? ', where an input comes from' : '';
      return `  ${own?.has(to) ? 'returns' : 'pays   '}    ${shownAmount(value)} to ${to}${isSource}${later}`;
    }),
    '  fee        none',
  ];
  return lines.map((line) => `${printable(line)}\n`).join('');
}

function shownAmount(value: Asset): string {
  return value.kind === 'token'
    ? showAmount(value.amount)
    : `${value.amount} items of ${value.genesisHash ?? 'their own'}`;
}
