/** The certificates of producers (docs/chain.md#certificates): signatures that accompany blocks and are no part of their bytes. */

import { type KeyPair, SIGNATURE_LENGTH, sign, verifySignature } from '../crypto/ed25519.js';
import { sha3Hex } from '../crypto/sha3.js';
import { fromHex, isHex, toHex } from '../lib/bytes.js';
import { fault, type Verdict } from '../lib/fault.js';

/** A signature by a producer key; key and signature in hex. */
export interface Certificate {
  readonly key: string;
  readonly signature: string;
}

/** Producers that may make blocks, and their chain. */
export interface Producers {
  /** Name of the chain, as of `chainName`. */
  readonly chain: string;
  /** Public keys in hex. */
  readonly keys: readonly string[];
}

/** The place of a block in the chain. */
export interface BlockPlace {
  readonly height: number;
  readonly hash: string;
}

const BLOCK_CONTEXT = 'tessera/block/1';
const NODE_CONTEXT = 'tessera/node/1';

/** The chain that certificates are bound to: the name of its network, and the facts of its genesis file. */
export function chainName(network: string, genesisFacts: string): string {
  return sha3Hex(JSON.stringify([network, genesisFacts]));
}

/** The certificate of a block by this key pair; the same at every call. */
export function certifyBlock({ seed, publicKey }: KeyPair, chain: string, place: BlockPlace): Certificate {
  return { key: toHex(publicKey), signature: toHex(sign(seed, blockText(chain, place))) };
}

/** The certificate of a node key (hex), whose node then speaks for the producer. */
export function certifyNode({ seed, publicKey }: KeyPair, chain: string, nodeKey: string): Certificate {
  return { key: toHex(publicKey), signature: toHex(sign(seed, nodeText(chain, nodeKey))) };
}

/** Fault of a block's certificate; null when a producer has signed the block. */
export function blockCertificateFault(
  producers: Producers,
  place: BlockPlace,
  certificate: Certificate | undefined,
): Verdict {
  return certificateFault(producers, `block ${place.height}`, blockText(producers.chain, place), certificate);
}

/** Fault of a node's certificate; null when a producer vouches for the node key (hex). */
export function nodeCertificateFault(
  producers: Producers,
  nodeKey: string,
  certificate: Certificate | undefined,
): Verdict {
  return certificateFault(producers, `node ${nodeKey}`, nodeText(producers.chain, nodeKey), certificate);
}

/** True when the certificate is by one of the producers. A certificate by another key proves nothing, but is not an error. */
export function isNamed({ keys }: Producers, certificate: Certificate | undefined): certificate is Certificate {
  return certificate !== undefined && keys.includes(certificate.key);
}

function certificateFault(
  producers: Producers,
  what: string,
  text: string,
  certificate: Certificate | undefined,
): Verdict {
  if (certificate === undefined) return fault('protocol_violation', `no producer has signed for ${what}`);
  const { key, signature } = certificate;
  if (!isNamed(producers, certificate)) {
    return fault('protocol_violation', `${what} is signed for by ${key}, which is no producer of this network`);
  }
  if (isHex(signature, SIGNATURE_LENGTH) && verifySignature(fromHex(key), text, fromHex(signature))) return null;
  return fault('protocol_violation', `the certificate of producer ${key} is not one for ${what}`);
}

/** The text that a certificate signs, one part per line: no part contains a line end, so the text is unambiguous. */
function blockText(chain: string, { height, hash }: BlockPlace): string {
  return `${BLOCK_CONTEXT}\n${chain}\n${height}\n${hash}`;
}

function nodeText(chain: string, nodeKey: string): string {
  return `${NODE_CONTEXT}\n${chain}\n${nodeKey}`;
}
