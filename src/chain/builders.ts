/** Builds transactions as the reference's library does (docs/chain.md#builders): without look-ups, without an output for change. */

import { sign } from '../crypto/ed25519.js';
import { addressOf } from './address.js';
import { genesisHashOf, itemAsset, tokenAsset } from './assets.js';
import { COINBASE_MATURITY, NETWORK_VERSION } from './constants.js';
import { coinbaseScript, createAssetScript, pay2pkhScript } from './script/builders.js';
import { assetSignable, outputsPreimage, signableOf } from './signable.js';
import { outPointKey } from './transaction.js';
import type { AddressVersion, Asset, DruidInfo, GenesisHashSpec, OutPoint, Transaction, TxIn, TxOut } from './types.js';

/** The receiver of a payment or fee, and the amount. */
export interface Receiver {
  readonly address: string;
  readonly asset: Asset;
}

/** Key that spends an output which was paid to it. */
export interface SigningKey {
  readonly publicKey: Uint8Array;
  readonly seed: Uint8Array;
  /** The version of the address that the output was paid to; absent or null is the current one. */
  readonly addressVersion?: AddressVersion;
}

/** The key of each outpoint, by `outPointKey`. Inputs without a key keep their script. */
export type SigningKeys = ReadonlyMap<string, SigningKey>;

export interface Parts {
  readonly inputs: readonly TxIn[];
  readonly outputs: readonly TxOut[];
  readonly fee?: Receiver | null;
  readonly version?: bigint;
  readonly druidInfo?: DruidInfo | null;
}

/** An output with the locktime 0 unless another is given. */
export function txOut(asset: Asset, address: string | null, locktime = 0n): TxOut {
  return { value: asset, locktime, scriptPublicKey: address };
}

/** An input to be signed: its script is empty until a builder fills it. */
export function unsignedInput(previousOut: OutPoint): TxIn {
  return { previousOut, script: [] };
}

/** Assembles a transaction; a fee becomes its only fee output. */
export function assemble({ inputs, outputs, fee, version, druidInfo }: Parts): Transaction {
  const fees = fee === undefined || fee === null ? [] : [txOut(fee.asset, fee.address)];
  return { inputs, outputs, version: version ?? BigInt(NETWORK_VERSION), fees, druidInfo: druidInfo ?? null };
}

/** Signs every input whose key is given; other inputs stay as they are. */
export function signInputs(inputs: readonly TxIn[], outputs: readonly TxOut[], keys: SigningKeys): TxIn[] {
  const preimage = outputsPreimage(outputs);
  return inputs.map((input) => {
    const key = input.previousOut === null ? undefined : keys.get(outPointKey(input.previousOut));
    if (key === undefined) return input;
    const signable = signableOf(preimage, input.previousOut);
    const signature = sign(key.seed, signable);
    const script = pay2pkhScript(signable, signature, key.publicKey, key.addressVersion ?? null);
    return { previousOut: input.previousOut, script };
  });
}

/** A transaction as of `assemble`, with its inputs signed. */
export function assembleSigned(parts: Parts, keys: SigningKeys): Transaction {
  return assemble({ ...parts, inputs: signInputs(parts.inputs, parts.outputs, keys) });
}

/** The items that a transaction creates. */
export interface ItemSpec {
  readonly bNum: bigint;
  readonly amount: bigint;
  readonly spec: GenesisHashSpec;
  readonly metadata: string | null;
}

/** A create transaction with a signature, made elsewhere, over the signable of the item. */
export function createItemFromSignature(
  item: ItemSpec,
  proof: { readonly address: string; readonly publicKey: Uint8Array; readonly signature: Uint8Array },
): Transaction {
  const asset = itemAsset(item.amount, genesisHashOf(item.spec), item.metadata);
  const script = createAssetScript(item.bNum, assetSignable(asset), proof.signature, proof.publicKey);
  return assemble({ inputs: [{ previousOut: null, script }], outputs: [txOut(asset, proof.address)] });
}

/** A create transaction signed here; the items go to the key's current address. */
export function createItemTransaction(item: ItemSpec, key: SigningKey): Transaction {
  const signature = sign(key.seed, assetSignable(itemAsset(item.amount, null)));
  return createItemFromSignature(item, { address: addressOf(key.publicKey), publicKey: key.publicKey, signature });
}

/** The coinbase of a block. `maturity` is how many blocks the reward stays locked. */
export function coinbaseTransaction(
  bNum: bigint,
  reward: bigint,
  address: string,
  maturity = COINBASE_MATURITY,
): Transaction {
  return assemble({
    inputs: [{ previousOut: null, script: coinbaseScript(bNum) }],
    outputs: [txOut(tokenAsset(reward), address, bNum + maturity)],
  });
}
