/**
 * Authenticated encryption of small secrets: AES-256-GCM with a random nonce. A box is `version (1) ‖ nonce (12) ‖
 * ciphertext ‖ tag (16)`; the version and the caller's context are authenticated, so a box opens only in its context.
 */

import { createCipheriv, createDecipheriv } from 'node:crypto';
import { concatBytes, utf8 } from '../lib/bytes.js';
import type { Random } from '../lib/random.js';

const ALGORITHM = 'aes-256-gcm';
const VERSION = 1;
const VERSION_LENGTH = 1;
const NONCE_LENGTH = 12;
const TAG_LENGTH = 16;

export const BOX_KEY_LENGTH = 32;
/** Bytes that a box adds to its content. */
export const BOX_OVERHEAD = VERSION_LENGTH + NONCE_LENGTH + TAG_LENGTH;

/** Seals `content` under a 32-byte key for one `context`. Nonces are random: at most 2^32 boxes for a key. */
export function seal(key: Uint8Array, content: Uint8Array, context: string, random: Random): Uint8Array {
  const nonce = random.bytes(NONCE_LENGTH);
  const cipher = createCipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_LENGTH });
  cipher.setAAD(associatedData(context));
  const ciphertext = concatBytes(cipher.update(content), cipher.final());
  return concatBytes(Uint8Array.of(VERSION), nonce, ciphertext, cipher.getAuthTag());
}

/** The content of a box; undefined when key, context or any byte of the box differs from those at sealing. */
export function open(key: Uint8Array, box: Uint8Array, context: string): Buffer | undefined {
  if (box.length < BOX_OVERHEAD || box[0] !== VERSION) return undefined;
  const nonce = box.subarray(VERSION_LENGTH, VERSION_LENGTH + NONCE_LENGTH);
  const ciphertext = box.subarray(VERSION_LENGTH + NONCE_LENGTH, box.length - TAG_LENGTH);
  const decipher = createDecipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_LENGTH });
  decipher.setAAD(associatedData(context));
  decipher.setAuthTag(box.subarray(box.length - TAG_LENGTH));
  const content = decipher.update(ciphertext);
  try {
    decipher.final();
    return content;
  } catch {
    // Content that fails authentication must not be used.
    content.fill(0);
    return undefined;
  }
}

function associatedData(context: string): Uint8Array {
  return concatBytes(Uint8Array.of(VERSION), utf8(context));
}
