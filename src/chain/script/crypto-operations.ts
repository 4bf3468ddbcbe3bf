/** The opcodes that hash and verify (docs/chain.md#opcodes). `undefined` means that the script fails. */

import { verifySignature } from '../../crypto/ed25519.js';
import { sha3Hex } from '../../crypto/sha3.js';
import { addressOf } from '../address.js';
import { MAX_PUB_KEYS_PER_MULTISIG } from '../constants.js';
import type { AddressVersion } from '../types.js';
import type { Machine } from './machine.js';

/** `OP_SHA3`: the hex text of the hash of a text, key or signature. */
export function hashTop(machine: Machine): boolean {
  const entry = machine.main.pop();
  if (entry === undefined || entry.kind === 'num' || entry.kind === 'op') return false;
  return machine.pushText(sha3Hex(entry.kind === 'bytes' ? entry.text : entry.bytes));
}

/** `OP_HASH256` and its two siblings: the address of a public key. */
export function pushAddress(version: AddressVersion): (machine: Machine) => boolean {
  return (machine) => {
    const publicKey = machine.popPublicKey();
    return publicKey === undefined ? false : machine.pushText(addressOf(publicKey, version));
  };
}

/** `OP_CHECKSIG`: message, signature, key -> whether it verifies over the UTF-8 bytes of the message. */
export function checkSignature(machine: Machine): boolean | undefined {
  const publicKey = machine.popPublicKey();
  const signature = machine.popSignature();
  const message = machine.popText();
  if (publicKey === undefined || signature === undefined || message === undefined) return undefined;
  return verifySignature(publicKey, message, signature);
}

/**
 * `OP_CHECKMULTISIG`: message, signatures, m, keys, n -> whether each signature verifies under a key of its own. All keys
 * and signatures that lie together are taken, so one too many makes the count wrong.
 */
export function checkMultiSignature(machine: Machine): boolean | undefined {
  const n = machine.popNum();
  if (n === undefined || n > MAX_PUB_KEYS_PER_MULTISIG) return undefined;
  const publicKeys = machine.popAll('pubkey');
  if (BigInt(publicKeys.length) !== n) return undefined;
  const m = machine.popNum();
  if (m === undefined || m > n) return undefined;
  const signatures = machine.popAll('signature');
  if (BigInt(signatures.length) !== m) return undefined;
  const message = machine.popText();
  if (message === undefined) return undefined;
  return signatures.every((signature) => {
    const index = publicKeys.findIndex((publicKey) => verifySignature(publicKey, message, signature));
    if (index === -1) return false;
    publicKeys.splice(index, 1);
    return true;
  });
}
