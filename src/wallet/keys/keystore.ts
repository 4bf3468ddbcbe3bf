/**
 * The wallet's master key: 32 random bytes, sealed under the passphrase in one small file. The file is replaced as a whole,
 * so after a crash exactly one passphrase opens the wallet; the keys, sealed under the master key, are not touched by a
 * change of passphrase. While the wallet is open the master key is in memory, and of the passphrase only a keyed hash, so
 * that the right one is recognized without another derivation.
 */

import { createHmac, timingSafeEqual } from 'node:crypto';
import { readdir, readFile, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import {
  DEFAULT_SCRYPT_COST,
  deriveKey,
  isScryptCost,
  passphraseBytes,
  SALT_LENGTH,
  type ScryptCost,
} from '../../crypto/scrypt.js';
import { BOX_KEY_LENGTH, open, seal } from '../../crypto/sealed-box.js';
import { sha3Hex } from '../../crypto/sha3.js';
import { NotSyncedError, writeFileDurable } from '../../db/write-file-durable.js';
import { fromHex, toHex, utf8 } from '../../lib/bytes.js';
import { errorMessage, TesseraError } from '../../lib/errors.js';
import { Mutex } from '../../lib/mutex.js';
import type { Random } from '../../lib/random.js';
import type { PassphraseLimiter } from './passphrase-limiter.js';

/** Its name in the data directory of a node. */
export const KEYSTORE_FILE = 'keystore.json';

/** Version of the file. */
const FILE_FORMAT = 1;
/** Only the owner may read it. */
const FILE_MODE = 0o600;
/** Bytes. The file has about 400. */
const MAX_FILE_LENGTH = 16 * 1024;

const Hex = Type.String({ pattern: '^([0-9a-f]{2})+$', maxLength: 1_024 });
const KeystoreFile = Type.Object({
  format: Type.Literal(FILE_FORMAT),
  kdf: Type.Object({
    name: Type.Literal('scrypt'),
    n: Type.Integer(),
    r: Type.Integer(),
    p: Type.Integer(),
    salt: Hex,
  }),
  master_key: Hex,
  /** Tells damage from a wrong passphrase. */
  checksum: Hex,
});
type KeystoreFile = Static<typeof KeystoreFile>;

export interface KeystoreOptions {
  /** Path of `keystore.json`. */
  readonly file: string;
  readonly passphrase: string;
  /** False when the store already has keys: a missing file is then `wallet_unreadable`. */
  readonly createIfMissing: boolean;
  /** A new wallet may have a blank passphrase: development networks only (decision V25). */
  readonly allowBlankPassphrase: boolean;
  /** What new seals cost. For tests; `DEFAULT_SCRYPT_COST` otherwise. */
  readonly scryptCost?: ScryptCost;
}

export interface KeystoreModules {
  readonly random: Random;
  readonly limiter: PassphraseLimiter;
  /** How a folder is synced; tests make it fail. */
  readonly syncFolder?: (folder: string) => Promise<void>;
}

/** Throws `blank_passphrase` when nothing but white space is there. */
function checkNotBlank(passphrase: string): void {
  if (passphrase.trim() === '') throw new TesseraError('blank_passphrase', 'choose a passphrase that is not blank');
}

export class Keystore {
  readonly #options: KeystoreOptions;
  readonly #modules: KeystoreModules;
  readonly #masterKey: Buffer;
  readonly #changes = new Mutex();
  readonly #verifierKey: Uint8Array;
  /** Keyed hash of the passphrase. */
  #verifier: Buffer;
  #closed = false;

  private constructor(options: KeystoreOptions, modules: KeystoreModules, masterKey: Buffer) {
    this.#options = options;
    this.#modules = modules;
    this.#masterKey = masterKey;
    this.#verifierKey = modules.random.bytes(BOX_KEY_LENGTH);
    this.#verifier = this.#verifierOf(options.passphrase);
  }

  /**
   * Opens the keystore, or makes it when there is none. Throws `wrong_passphrase`, `wallet_unreadable` when the file is
   * damaged or newer than this program, `blank_passphrase` for a new wallet without one.
   */
  static async open(options: KeystoreOptions, modules: KeystoreModules): Promise<Keystore> {
    const { file, passphrase, createIfMissing, allowBlankPassphrase } = options;
    await removeLeftovers(file);
    const known = await readKeystore(file);
    if (known) return new Keystore(options, modules, await unlock(known, passphrase));
    if (!createIfMissing) throw unreadable(file, 'it is missing, but the wallet store has keys');
    if (!allowBlankPassphrase) checkNotBlank(passphrase);
    const keystore = new Keystore(options, modules, Buffer.from(modules.random.bytes(BOX_KEY_LENGTH)));
    await keystore.#write(passphrase).catch((cause: unknown) => {
      throw writeFailed(`the keystore cannot be written: ${errorMessage(cause)}`, cause);
    });
    return keystore;
  }

  /** Throws `wrong_passphrase`; guessing is slowed. */
  async verify(passphrase: string): Promise<void> {
    this.#checkOpen();
    const isRight = await this.#modules.limiter.attempt(() =>
      timingSafeEqual(this.#verifierOf(passphrase), this.#verifier),
    );
    if (!isRight) throw wrongPassphrase();
  }

  /**
   * Seals the master key under another passphrase. When it resolves only the new one opens the wallet. Throws
   * `blank_passphrase`, `wrong_passphrase` (decision V26) or `wallet_write_failed`; nothing has changed then, unless the
   * message says that the change was made and may be lost.
   */
  async changePassphrase(oldPassphrase: string, newPassphrase: string): Promise<void> {
    checkNotBlank(newPassphrase);
    await this.#changes.run(async () => {
      await this.verify(oldPassphrase);
      this.#checkOpen();
      try {
        await this.#write(newPassphrase);
      } catch (cause) {
        if (!(cause instanceof NotSyncedError)) {
          throw writeFailed(`the passphrase was not changed: ${errorMessage(cause)}`, cause);
        }
        // The new file is in place: this wallet follows it.
        this.#verifier = this.#verifierOf(newPassphrase);
        throw writeFailed(
          `the passphrase was changed, but a power cut may bring back the old one: keep both (${errorMessage(cause)})`,
          cause,
        );
      }
      this.#verifier = this.#verifierOf(newPassphrase);
    });
  }

  /** Seals a secret of the wallet for one context. */
  seal(content: Uint8Array, context: string): Uint8Array {
    this.#checkOpen();
    return seal(this.#masterKey, content, context, this.#modules.random);
  }

  /** The content, which the caller must wipe; undefined when it does not belong to this wallet and context. */
  open(box: Uint8Array, context: string): Buffer | undefined {
    this.#checkOpen();
    return open(this.#masterKey, box, context);
  }

  /** Wipes the master key. */
  close(): void {
    this.#closed = true;
    this.#masterKey.fill(0);
    this.#verifier.fill(0);
  }

  #checkOpen(): void {
    if (this.#closed) throw new TesseraError('shutting_down', 'the wallet is closed');
  }

  #verifierOf(passphrase: string): Buffer {
    return createHmac('sha256', this.#verifierKey).update(passphraseBytes(passphrase)).digest();
  }

  async #write(passphrase: string): Promise<void> {
    const { random, syncFolder } = this.#modules;
    const cost = this.#options.scryptCost ?? DEFAULT_SCRYPT_COST;
    const file = await sealMasterKey(this.#masterKey, passphrase, cost, random);
    await writeFileDurable(this.#options.file, utf8(`${JSON.stringify(file, null, 2)}\n`), FILE_MODE, syncFolder);
  }
}

function writeFailed(message: string, cause: unknown): TesseraError {
  return new TesseraError('wallet_write_failed', message, { cause });
}

async function readKeystore(path: string): Promise<KeystoreFile | undefined> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return undefined;
    throw new TesseraError('wallet_unreadable', `the keystore cannot be read: ${errorMessage(cause)}`, { cause });
  }
  const file = parse(text);
  if (!Value.Check(KeystoreFile, file))
    throw unreadable(path, 'it is not a keystore of a version that this node knows');
  if (file.checksum !== checksumOf(file)) throw unreadable(path, 'its checksum does not match');
  if (!isScryptCost(file.kdf)) throw unreadable(path, 'its scrypt parameters are out of bounds');
  return file;
}

function parse(text: string): unknown {
  if (text.length > MAX_FILE_LENGTH) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function unlock(file: KeystoreFile, passphrase: string): Promise<Buffer> {
  const key = await deriveKey(passphrase, fromHex(file.kdf.salt), file.kdf);
  const masterKey = open(key, fromHex(file.master_key), contextOf(file));
  key.fill(0);
  if (masterKey?.length !== BOX_KEY_LENGTH) throw wrongPassphrase();
  return masterKey;
}

async function sealMasterKey(
  masterKey: Buffer,
  passphrase: string,
  { n, r, p }: ScryptCost,
  random: Random,
): Promise<KeystoreFile> {
  const salt = random.bytes(SALT_LENGTH);
  const kdf = { name: 'scrypt' as const, n, r, p, salt: toHex(salt) };
  const key = await deriveKey(passphrase, salt, kdf);
  const file = { format: FILE_FORMAT as typeof FILE_FORMAT, kdf, master_key: '', checksum: '' };
  const box = seal(key, masterKey, contextOf(file), random);
  key.fill(0);
  const sealed = { ...file, master_key: toHex(box) };
  return { ...sealed, checksum: checksumOf(sealed) };
}

/** Binds the parameters to the box: nobody can make them cheaper without the passphrase. */
function contextOf({ format, kdf }: KeystoreFile): string {
  return `tessera-master-key:${format}:${kdf.name}:${kdf.n}:${kdf.r}:${kdf.p}:${kdf.salt}`;
}

function checksumOf(file: KeystoreFile): string {
  return sha3Hex(`${contextOf(file)}:${file.master_key}`);
}

/** Files left behind by a process that was killed while writing; they hold a sealed key that nobody needs. */
async function removeLeftovers(path: string): Promise<void> {
  const folder = dirname(path);
  const names = await readdir(folder).catch(() => []);
  const leftovers = names.filter((name) => name.startsWith(`${basename(path)}.`) && name.endsWith('.tmp'));
  await Promise.all(leftovers.map((name) => rm(join(folder, name), { force: true })));
}

function wrongPassphrase(): TesseraError {
  return new TesseraError('wrong_passphrase', 'the wallet passphrase is wrong');
}

function unreadable(path: string, why: string): TesseraError {
  return new TesseraError('wallet_unreadable', `${path} cannot be used: ${why}; restore it from a backup`);
}
