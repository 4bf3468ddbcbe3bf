/** Vectors about validity (docs/chain.md#validation): whole transactions made with a key of our own, and single rules. */

import { addressOf, hasValidAddressLength } from '../../src/chain/address.js';
import { AssetSum, itemAsset, tokenAsset } from '../../src/chain/assets.js';
import {
  assemble,
  createItemTransaction,
  type SigningKey,
  signInputs,
  txOut,
  unsignedInput,
} from '../../src/chain/builders.js';
import { MAX_METADATA_BYTES } from '../../src/chain/constants.js';
import { parseTxOut } from '../../src/chain/json-read.js';
import { isCreate, outPointKey } from '../../src/chain/transaction.js';
import type { Asset, Transaction, TxIn, TxOut } from '../../src/chain/types.js';
import { outputsFault } from '../../src/chain/validation.js';
import { keyPairFromSeed, SEED_LENGTH } from '../../src/crypto/ed25519.js';
import type { Verdict } from '../../src/lib/fault.js';
import { createFault, transactionFault } from '../support/validate.js';
import { type Computed, isRecord } from './compare.js';
import {
  arrayOf,
  exact,
  has,
  hasStructure,
  type Inputs,
  integerOf,
  recordOf,
  structureOf,
  textOf,
  transactionOf,
  txInOf,
  UnknownShapeError,
} from './inputs.js';
import { parseAssetValues } from './reference-library.js';

/** The block number that the reference's generated cases use. */
const GENERATED_BLOCK = 100n;
const PREVIOUS_HASH = 'tx_hash';
const ADDRESS_CHARACTER = '0';

// The verdicts do not depend on the key; any will do.
const KEY: SigningKey = keyPairFromSeed(new Uint8Array(SEED_LENGTH).fill(1));
const OWN_ADDRESS = addressOf(KEY.publicKey);

function verdictMembers(verdict: () => Verdict): Computed {
  const valid = () => verdict() === null;
  return { whole: valid, members: { valid, is_valid: valid, result: valid, message: () => verdict()?.message ?? '' } };
}

/** `genesis_hash` null stands for tokens. */
function assetOf(value: unknown): Asset {
  if (!isRecord(value)) throw new UnknownShapeError('an amount must be an object');
  const amount = integerOf(value, 'amount');
  const { genesis_hash: genesisHash, metadata } = value;
  if (genesisHash === null || genesisHash === undefined) return tokenAsset(amount);
  return itemAsset(amount, textOf(value, 'genesis_hash'), typeof metadata === 'string' ? metadata : null);
}

/** Spends own outputs that hold `spent`, and pays `outputs`; signed, so that only the rules in question decide. */
function spend(spent: readonly TxOut[], outputs: readonly TxOut[], fees: readonly TxOut[], block: bigint): Verdict {
  const found = new Map(spent.map((output, n) => [outPointKey({ tHash: PREVIOUS_HASH, n }), output]));
  const inputs: TxIn[] = spent.map((_, n) => unsignedInput({ tHash: PREVIOUS_HASH, n }));
  const keys = new Map([...found.keys()].map((key) => [key, KEY]));
  const tx: Transaction = { ...assemble({ inputs: signInputs(inputs, outputs, keys), outputs }), fees };
  return transactionFault(tx, block, (outPoint) => found.get(outPointKey(outPoint)));
}

function generated(inputs: Inputs): Computed {
  const spent = arrayOf(inputs, 'inputs').map((value) => txOut(assetOf(value), OWN_ADDRESS));
  const outputs = arrayOf(inputs, 'outputs').map((value) => txOut(assetOf(value), OWN_ADDRESS));
  const fees = has(inputs, 'fees') ? arrayOf(inputs, 'fees').map((value) => txOut(assetOf(value), OWN_ADDRESS)) : [];
  return verdictMembers(() => spend(spent, outputs, fees, blockOf(inputs)));
}

function blockOf(inputs: Inputs): bigint {
  return has(inputs, 'current_block_number') ? integerOf(inputs, 'current_block_number') : GENERATED_BLOCK;
}

/** Several previous outputs, each with its locktime, spent one by one. */
function locktimeCases(inputs: Inputs): Computed {
  const verdicts = () =>
    arrayOf(inputs, 'cases').map((value) => {
      if (!isRecord(value)) throw new UnknownShapeError('a case must be an object');
      const asset = tokenAsset(has(value, 'amount') ? integerOf(value, 'amount') : 1n);
      const spent = [txOut(asset, OWN_ADDRESS, integerOf(value, 'locktime'))];
      return spend(spent, [txOut(asset, OWN_ADDRESS)], [], blockOf(inputs));
    });
  return {
    members: {
      valid: () => verdicts().map((verdict) => verdict === null),
      message: () => verdicts().map((verdict) => verdict?.message ?? ''),
    },
  };
}

/** A transaction as it stands, against the outputs in `utxo`. */
function literal(tx: Transaction, inputs: Inputs): Computed {
  const found = new Map<string, TxOut>();
  for (const value of Array.isArray(inputs.utxo) ? inputs.utxo : []) {
    if (!isRecord(value)) throw new UnknownShapeError('an entry of utxo must be an object');
    const outPoint = recordOf(value, 'out_point');
    const key = outPointKey({ tHash: textOf(outPoint, 't_hash'), n: Number(integerOf(outPoint, 'n')) });
    found.set(key, parseTxOut(exact(value.tx_out ?? value.output)));
  }
  return verdictMembers(() =>
    isCreate(tx)
      ? createFault(tx)
      : transactionFault(tx, blockOf(inputs), (outPoint) => found.get(outPointKey(outPoint))),
  );
}

function outputRule(inputs: Inputs): Computed {
  const outputs = arrayOf(inputs, 'outputs').map((value) => parseTxOut(exact(value)));
  const fees = has(inputs, 'fees') ? arrayOf(inputs, 'fees').map((value) => parseTxOut(exact(value))) : [];
  const { tokens, items } = parseAssetValues(exact(inputs.tx_ins_spent));
  const spent = new AssetSum();
  spent.add(tokenAsset(tokens));
  for (const [genesisHash, amount] of items) spent.add(itemAsset(amount, genesisHash));
  return verdictMembers(() => outputsFault(outputs, fees, spent));
}

/** An item creation whose metadata has so many bytes. */
function metadataRule(inputs: Inputs): Computed {
  const metadata = '\0'.repeat(Number(integerOf(inputs, 'metadata_bytes')));
  const tx = createItemTransaction({ bNum: 0n, amount: 1n, spec: 'Create', metadata }, KEY);
  const computed = verdictMembers(() => createFault(tx));
  return { ...computed, members: { ...computed.members, MAX_METADATA_BYTES: () => MAX_METADATA_BYTES } };
}

function addressRule(inputs: Inputs): Computed {
  const address = has(inputs, 'address')
    ? textOf(inputs, 'address')
    : ADDRESS_CHARACTER.repeat(Number(integerOf(inputs, 'address_byte_length')));
  const valid = () => hasValidAddressLength(address);
  return { whole: valid, members: { valid, is_valid: valid, result: valid } };
}

export function validationVector(inputs: Inputs): Computed {
  if (has(inputs, 'address_byte_length') || (has(inputs, 'address') && !has(inputs, 'outputs')))
    return addressRule(inputs);
  if (has(inputs, 'metadata_bytes')) return metadataRule(inputs);
  if (has(inputs, 'cases')) return locktimeCases(inputs);
  if (hasStructure(inputs, 'transaction')) return literal(transactionOf(structureOf(inputs, 'transaction')), inputs);
  if (!has(inputs, 'outputs')) throw new UnknownShapeError('nothing to validate');
  if (has(inputs, 'tx_ins_spent')) return outputRule(inputs);
  const [first] = [...arrayOf(inputs, 'inputs'), ...arrayOf(inputs, 'outputs')];
  if (isRecord(first) && has(first, 'amount')) return generated(inputs);
  const outputs = arrayOf(inputs, 'outputs').map((value) => parseTxOut(exact(value)));
  const fees = has(inputs, 'fees') ? arrayOf(inputs, 'fees').map((value) => parseTxOut(exact(value))) : [];
  return literal({ ...assemble({ inputs: arrayOf(inputs, 'inputs').map(txInOf), outputs }), fees }, inputs);
}
