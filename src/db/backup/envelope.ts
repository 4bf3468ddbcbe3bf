/** Form of files in a folder of backups: plain, or sealed under a passphrase. The name of a content follows from its bytes. */

import { createHash, createHmac } from 'node:crypto';
import { type Static, Type } from '@sinclair/typebox';
import {
  DEFAULT_SCRYPT_COST,
  deriveKey,
  isScryptCost,
  SALT_LENGTH,
  type ScryptCost,
  ScryptParameters,
  scryptParameters,
} from '../../crypto/scrypt.js';
import { BOX_KEY_LENGTH, BOX_OVERHEAD, open, seal } from '../../crypto/sealed-box.js';
import { concatBytes, fromHex, toHex, utf8 } from '../../lib/bytes.js';
import { TesseraError } from '../../lib/errors.js';
import type { Random } from '../../lib/random.js';

const HASH = 'sha256';

const Hex = Type.String({ pattern: '^([0-9a-f]{2})+$', maxLength: 1_024 });

/** Facts about the key of a folder of sealed backups. */
export const SealedKey = Type.Object({
  kdf: ScryptParameters,
  key: Hex,
});
export type SealedKey = Static<typeof SealedKey>;

export interface Envelope {
  /** 64 hex digits that follow from the content. */
  nameOf(content: Uint8Array): string;
  wrap(name: string, content: Uint8Array): Uint8Array;
  /** Unwrapped content; undefined when the bytes are damaged or belong to another folder. */
  unwrap(name: string, stored: Buffer): Buffer | undefined;
  /** Bytes that are stored beside the content. */
  readonly overhead: number;
}

export const plainEnvelope: Envelope = {
  nameOf: (content) => createHash(HASH).update(content).digest('hex'),
  wrap: (_, content) => content,
  unwrap: (name, stored) => (plainEnvelope.nameOf(stored) === name ? stored : undefined),
  overhead: 0,
};

/** Each content in a box of its own, under a name that tells nobody what is in it. */
class SealedEnvelope implements Envelope {
  readonly overhead = BOX_OVERHEAD;
  readonly #id: string;
  readonly #key: Uint8Array;
  readonly #nameKey: Uint8Array;
  readonly #random: Random;

  constructor(id: string, key: Uint8Array, random: Random) {
    this.#id = id;
    this.#key = key;
    this.#nameKey = createHash(HASH)
      .update(concatBytes(utf8('tessera backup names'), key))
      .digest();
    this.#random = random;
  }

  nameOf(content: Uint8Array): string {
    return createHmac(HASH, this.#nameKey).update(content).digest('hex');
  }

  wrap(name: string, content: Uint8Array): Uint8Array {
    return seal(this.#key, content, this.#context(name), this.#random);
  }

  unwrap(name: string, stored: Buffer): Buffer | undefined {
    return open(this.#key, stored, this.#context(name));
  }

  #context(name: string): string {
    return `tessera backup ${this.#id} file ${name}`;
  }
}

/** A new key for the folder `id`, sealed under the passphrase. */
export async function newEnvelope(
  id: string,
  passphrase: string,
  random: Random,
  cost: ScryptCost = DEFAULT_SCRYPT_COST,
): Promise<{ readonly envelope: Envelope; readonly sealed: SealedKey }> {
  const key = random.bytes(BOX_KEY_LENGTH);
  const salt = random.bytes(SALT_LENGTH);
  const box = seal(await deriveKey(passphrase, salt, cost), key, keyContext(id), random);
  const sealed = { kdf: scryptParameters(cost, salt), key: toHex(box) };
  return { envelope: new SealedEnvelope(id, key, random), sealed };
}

/** Throws `wrong_passphrase`. */
export async function openEnvelope(
  id: string,
  { kdf, key: box }: SealedKey,
  passphrase: string,
  random: Random,
): Promise<Envelope> {
  if (!isScryptCost(kdf)) throw new TesseraError('backup_invalid', 'the backup asks for too much to open its key');
  const key = open(await deriveKey(passphrase, fromHex(kdf.salt), kdf), fromHex(box), keyContext(id));
  if (key === undefined) {
    throw new TesseraError(
      'wrong_passphrase',
      'the passphrase does not open the backups, or backup.json is damaged: backups keep the passphrase with which their folder was begun, even after that of the wallet was changed. Give that one as --passphrase-file, or begin a new folder',
    );
  }
  return new SealedEnvelope(id, key, random);
}

function keyContext(id: string): string {
  return `tessera backup ${id} key`;
}
