/** Vectors about what signatures cover (docs/chain.md#signables), with the signatures where a key is given. */

import { outPointJson } from '../../src/chain/json.js';
import { parseAsset, parseOutPoint } from '../../src/chain/json-read.js';
import { assetSignable, outputsPreimage, signableOf } from '../../src/chain/signable.js';
import { sign, verifySignature } from '../../src/crypto/ed25519.js';
import type { Computed } from './compare.js';
import { exact, has, hexOf, type Inputs, keyOf, outputsOf, UnknownShapeError, versionOf } from './inputs.js';
import { legacyOutPointSignable } from './reference-library.js';

interface Signable {
  readonly hash: string;
  readonly preimage: () => string;
}

function signableOfInputs(inputs: Inputs): Signable {
  if (has(inputs, 'asset')) {
    const asset = parseAsset(exact(inputs.asset));
    const kind = asset.kind === 'token' ? 'Token' : 'Item';
    return { hash: assetSignable(asset), preimage: () => `${kind}:${asset.amount}` };
  }
  if (has(inputs, 'outputs') || has(inputs, 'outputs_json')) {
    const point = inputs.previous_out ?? inputs.out_point ?? null;
    const previousOut = point === null ? null : parseOutPoint(point);
    const preimage = outputsPreimage(outputsOf(inputs));
    return { hash: signableOf(preimage, previousOut), preimage: () => preimage + outPointJson(previousOut) };
  }
  const point = inputs.out_point ?? inputs.previous_out ?? (has(inputs, 't_hash', 'n') ? inputs : undefined);
  if (point === undefined) throw new UnknownShapeError('neither asset, outputs nor outpoint');
  const outPoint = parseOutPoint(point);
  return { hash: legacyOutPointSignable(outPoint), preimage: () => `${outPoint.n}-${outPoint.tHash}` };
}

/** The signature made with the key of the inputs, or the given one if it verifies. */
function signatureOf(inputs: Inputs, hash: string): Uint8Array {
  const pair = keyOf(inputs);
  if (pair !== undefined) return sign(pair.seed, hash);
  if (!has(inputs, 'signature_hex', 'public_key_hex')) throw new UnknownShapeError('no key to sign with');
  const signature = hexOf(inputs, 'signature_hex');
  if (!verifySignature(hexOf(inputs, 'public_key_hex'), hash, signature))
    throw new Error('the signature does not verify');
  return signature;
}

export function signableVector(inputs: Inputs): Computed {
  const { hash, preimage } = signableOfInputs(inputs);
  const value = () => hash;
  const signature = () => signatureOf(inputs, hash);
  const publicKey = () => keyOf(inputs)?.publicKey ?? hexOf(inputs, 'public_key_hex');
  return {
    whole: value,
    members: {
      signable_data: value,
      signable_hash: value,
      hash: value,
      preimage,
      signable_preimage: preimage,
      signature,
      signature_hex: signature,
      public_key: publicKey,
      public_key_hex: publicKey,
      address_version: () => versionOf(inputs),
    },
  };
}
