/**
 * The wallet's master key, 32 random bytes sealed under the passphrase, and its words, sealed under the master key, in one file that is
 * replaced as a whole: after a crash exactly one passphrase opens it. While it is open, memory has the master key, and of the passphrase a
 * keyed hash, to recognize it without another derivation. A file of format 1 gets words when it is opened; a copy of it stays until the
 * passphrase changes.
 */

import { createHmac, timingSafeEqual } from 'node:crypto';
import { readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import {
  BLANK_SCRYPT_COST,
  DEFAULT_SCRYPT_COST,
  deriveKey,
  isScryptCost,
  passphraseBytes,
  SALT_LENGTH,
  type ScryptCost,
  ScryptParameters,
  scryptParameters,
} from '../../crypto/scrypt.js';
import { BOX_KEY_LENGTH, open, seal } from '../../crypto/sealed-box.js';
import { sha3Hex } from '../../crypto/sha3.js';
import { NotSyncedError, writeFileDurable } from '../../db/write-file-durable.js';
import { concatBytes, fromHex, fromUtf8, toHex, utf8 } from '../../lib/bytes.js';
import { errorMessage, TesseraError } from '../../lib/errors.js';
import { Mutex } from '../../lib/mutex.js';
import type { Random } from '../../lib/random.js';
import { readWhole } from '../../lib/read-bounded.js';
import type { HasClock, HasLogger, HasRandom } from '../../observability/modules.js';
import type { PassphraseCaller } from '../service.js';
import { copyName, removeCopies } from './keystore-copies.js';
import { PassphraseLimiter } from './passphrase-limiter.js';
import { isEntropy, isSameWords, newWords, type WalletWords } from './words.js';

export const KEYSTORE_FILE = 'keystore.json';

const FILE_FORMAT = 2;
const FORMAT_WITHOUT_WORDS = 1;
/** Digits of the checksum in the name of a copy: copies of two wallets never replace each other. */
const COPY_NAME_LENGTH = 8;
const WORDS_CONTEXT = 'tessera-wallet-words';
/** Number of words when the owner has not asked for more: 128 bits, as strong as the signatures. */
const DEFAULT_WORDS = 12;
/** Mode of the file: only its owner may read it. */
const FILE_MODE = 0o600;
/** The most bytes of the file, which has about 500. */
const MAX_FILE_LENGTH = 16 * 1024;

const Hex = Type.String({ pattern: '^([0-9a-f]{2})+$', maxLength: 1_024 });
const SealedKey = {
  kdf: ScryptParameters,
  master_key: Hex,
  /** Checksum that tells damage from a wrong passphrase. */
  checksum: Hex,
};
const KeystoreFile = Type.Union([
  Type.Object({ format: Type.Literal(FILE_FORMAT), ...SealedKey, words: Hex }),
  Type.Object({ format: Type.Literal(FORMAT_WITHOUT_WORDS), ...SealedKey }),
]);
type KeystoreFile = Static<typeof KeystoreFile>;

export interface KeystoreOptions {
  readonly file: string;
  readonly passphrase: string;
  /** True to make a missing keystore; false when the store already has keys: a missing file is then `wallet_unreadable`. */
  readonly createIfMissing: boolean;
  /** True when a new wallet may have a blank passphrase: development networks only (decision V25). */
  readonly allowBlankPassphrase: boolean;
  /** True when the file keeps its passphrase, and a change holds until the keystore is closed: development networks only. */
  readonly keepsPassphrase?: boolean;
  readonly words?: WalletWords | undefined;
  /** Cost of new seals, set by tests; `DEFAULT_SCRYPT_COST` otherwise. */
  readonly scryptCost?: ScryptCost;
}

export interface KeystoreModules extends HasClock, HasRandom, Partial<HasLogger> {
  /** Syncs a folder; tests make it fail. */
  readonly syncFolder?: (folder: string) => Promise<void>;
}

interface Secrets {
  readonly masterKey: Buffer;
  readonly words: Uint8Array;
}

function checkNotBlank(passphrase: string): void {
  if (passphrase.trim() === '') throw new TesseraError('blank_passphrase', 'choose a passphrase that is not blank');
}

export class Keystore {
  readonly #options: KeystoreOptions;
  readonly #modules: KeystoreModules;
  readonly #masterKey: Buffer;
  /** The words, sealed under the master key. */
  readonly #words: Uint8Array;
  readonly #changes = new Mutex();
  readonly #limiter: PassphraseLimiter;
  readonly #verifierKey: Uint8Array;
  #verifier: Buffer;
  #closed = false;

  private constructor(options: KeystoreOptions, modules: KeystoreModules, { masterKey, words }: Secrets) {
    this.#options = options;
    this.#modules = modules;
    this.#limiter = new PassphraseLimiter(modules.clock);
    this.#masterKey = masterKey;
    this.#words = words;
    this.#verifierKey = modules.random.bytes(BOX_KEY_LENGTH);
    this.#verifier = this.#verifierOf(options.passphrase);
  }

  /**
   * Opens or makes the keystore; an older format is replaced. Throws `wrong_passphrase`, `wallet_exists` for other words,
   * `wallet_unreadable` if damaged or too new, `blank_passphrase` for a new wallet without one.
   */
  static async open(options: KeystoreOptions, modules: KeystoreModules): Promise<Keystore> {
    const { file, passphrase, createIfMissing, allowBlankPassphrase } = options;
    await removeLeftovers(file);
    const known = await readKeystore(file);
    if (known) return Keystore.#openKnown(known, options, modules);
    if (!createIfMissing) throw unreadable(file, 'it is missing, but the wallet store has keys');
    if (!allowBlankPassphrase) checkNotBlank(passphrase);
    const masterKey = Buffer.from(modules.random.bytes(BOX_KEY_LENGTH));
    const words =
      options.words === undefined ? newSealedWords(masterKey, modules) : sealWords(options.words, masterKey, modules);
    return Keystore.#create({ masterKey, words }, options, modules);
  }

  /** Opens an existing keystore without changing it, even beside a running node. Throws as `open`, and `wallet_unreadable` without words. */
  static async read(
    options: Pick<KeystoreOptions, 'file' | 'passphrase'>,
    modules: KeystoreModules,
  ): Promise<Keystore> {
    const known = await readKeystore(options.file);
    if (known === undefined) throw new TesseraError('wallet_unreadable', `${options.file} is missing`);
    if (known.format !== FILE_FORMAT) {
      throw new TesseraError(
        'wallet_unreadable',
        `${options.file} is of an earlier version, without words: start the node once, which gives it some`,
      );
    }
    const masterKey = await unlock(known, options.passphrase);
    const full = { ...options, createIfMissing: false, allowBlankPassphrase: false };
    return new Keystore(full, modules, { masterKey, words: fromHex(known.words) });
  }

  static async #openKnown(known: KeystoreFile, options: KeystoreOptions, modules: KeystoreModules): Promise<Keystore> {
    const masterKey = await unlock(known, options.passphrase);
    if (known.format === FILE_FORMAT) {
      const keystore = new Keystore(options, modules, { masterKey, words: fromHex(known.words) });
      // Words that cannot be unsealed must show now, not on the day that they are needed.
      const words = keystore.words();
      const isWanted = options.words === undefined || isSameWords(options.words, words);
      words.entropy.fill(0);
      if (isWanted) return keystore;
      keystore.close();
    }
    if (options.words !== undefined) {
      throw new TesseraError(
        'wallet_exists',
        `${options.file} belongs to a wallet with other words: it was left as it is`,
      );
    }
    await keepCopy(options.file, known, modules);
    return Keystore.#create({ masterKey, words: newSealedWords(masterKey, modules) }, options, modules);
  }

  static async #create(secrets: Secrets, options: KeystoreOptions, modules: KeystoreModules): Promise<Keystore> {
    const keystore = new Keystore(options, modules, secrets);
    await keystore.#write(options.passphrase).catch((cause: unknown) => {
      throw writeFailed(`the keystore cannot be written: ${errorMessage(cause)}`, cause);
    });
    return keystore;
  }

  /** The words; the caller must wipe their entropy. Throws `wallet_unreadable` when the file has not the words of this wallet. */
  words(): WalletWords {
    const content = this.open(this.#words, WORDS_CONTEXT);
    const length = content?.[0] ?? 0;
    const entropy = Uint8Array.from(content?.subarray(1, 1 + length) ?? []);
    if (content === undefined || !isEntropy(entropy)) throw unreadable(this.#options.file, 'its words cannot be read');
    const extraWord = fromUtf8(content.subarray(1 + length));
    content.fill(0);
    return { entropy, extraWord };
  }

  /** Checks the passphrase. Throws `wrong_passphrase`; guessing is slowed, most of all for the caller. */
  async verify(passphrase: string, caller?: PassphraseCaller): Promise<void> {
    this.#checkOpen();
    if (!(await this.#limiter.attempt(() => this.#isRight(passphrase), caller))) throw wrongPassphrase();
  }

  /**
   * Seals the master key under another passphrase, and removes copies that the old one opened; remaining ones are logged. Throws
   * `blank_passphrase`, `wrong_passphrase` (decision V26) or `wallet_write_failed`; nothing has changed then, unless the message says
   * otherwise.
   */
  async changePassphrase(oldPassphrase: string, newPassphrase: string, caller?: PassphraseCaller): Promise<void> {
    checkNotBlank(newPassphrase);
    // Checked outside of the lock: a caller who must wait for guessing does not delay the changes of others.
    await this.verify(oldPassphrase, caller);
    await this.#changes.run(async () => {
      this.#checkOpen();
      if (!this.#isRight(oldPassphrase)) throw wrongPassphrase();
      if (this.#options.keepsPassphrase === true) {
        this.#verifier = this.#verifierOf(newPassphrase);
        return;
      }
      try {
        await this.#write(newPassphrase);
      } catch (cause) {
        if (!(cause instanceof NotSyncedError)) {
          throw writeFailed(`the passphrase was not changed: ${errorMessage(cause)}`, cause);
        }
        // The new file is in place, so the new passphrase holds.
        this.#verifier = this.#verifierOf(newPassphrase);
        throw writeFailed(
          `the passphrase was changed, but a power cut may bring back the old one: keep both (${errorMessage(cause)})`,
          cause,
        );
      }
      this.#verifier = this.#verifierOf(newPassphrase);
      const left = await removeCopies(this.#options.file, (copy) => this.#isOwnCopy(copy, oldPassphrase));
      if (left.length === 0) return;
      this.#modules.logger?.warn({ copies: left }, 'copies of the keystore still open with an earlier passphrase');
    });
  }

  seal(content: Uint8Array, context: string): Uint8Array {
    this.#checkOpen();
    return seal(this.#masterKey, content, context, this.#modules.random);
  }

  /** The content of a box, which the caller must wipe; undefined when the box is not of this wallet and context. */
  open(box: Uint8Array, context: string): Buffer | undefined {
    this.#checkOpen();
    return open(this.#masterKey, box, context);
  }

  /** Wipes the master key; passphrases that wait to be checked fail with `shutting_down`. */
  close(): void {
    this.#limiter.close();
    this.#closed = true;
    this.#masterKey.fill(0);
    this.#verifier.fill(0);
  }

  #checkOpen(): void {
    if (this.#closed) throw new TesseraError('shutting_down', 'the wallet is closed');
  }

  /** True when the passphrase opens the copy, and it has this master key. */
  async #isOwnCopy(copy: string, passphrase: string): Promise<boolean> {
    try {
      const file = await readKeystore(copy);
      const masterKey = file && (await unlock(file, passphrase));
      const isOwn = masterKey !== undefined && timingSafeEqual(masterKey, this.#masterKey);
      masterKey?.fill(0);
      return isOwn;
    } catch {
      return false;
    }
  }

  #isRight(passphrase: string): boolean {
    return timingSafeEqual(this.#verifierOf(passphrase), this.#verifier);
  }

  #verifierOf(passphrase: string): Buffer {
    return createHmac('sha256', this.#verifierKey).update(passphraseBytes(passphrase)).digest();
  }

  async #write(passphrase: string): Promise<void> {
    const { random, syncFolder } = this.#modules;
    const cost = passphrase === '' ? BLANK_SCRYPT_COST : (this.#options.scryptCost ?? DEFAULT_SCRYPT_COST);
    const file = await sealMasterKey({ masterKey: this.#masterKey, words: this.#words }, passphrase, cost, random);
    await writeFileDurable(this.#options.file, utf8(`${JSON.stringify(file, null, 2)}\n`), FILE_MODE, syncFolder);
  }
}

function writeFailed(message: string, cause: unknown): TesseraError {
  return new TesseraError('wallet_write_failed', message, { cause });
}

async function readKeystore(path: string): Promise<KeystoreFile | undefined> {
  let text: string;
  try {
    text = (await readWhole(path)).toString('utf8');
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
  { masterKey, words }: Secrets,
  passphrase: string,
  cost: ScryptCost,
  random: Random,
): Promise<KeystoreFile> {
  const salt = random.bytes(SALT_LENGTH);
  const kdf = scryptParameters(cost, salt);
  const key = await deriveKey(passphrase, salt, kdf);
  const file = { format: FILE_FORMAT as typeof FILE_FORMAT, kdf, master_key: '', words: toHex(words), checksum: '' };
  const box = seal(key, masterKey, contextOf(file), random);
  key.fill(0);
  const sealed = { ...file, master_key: toHex(box) };
  return { ...sealed, checksum: checksumOf(sealed) };
}

/** Text that is bound to the box: nobody can make the parameters cheaper without the passphrase. */
function contextOf({ format, kdf }: KeystoreFile): string {
  return `tessera-master-key:${format}:${kdf.name}:${kdf.n}:${kdf.r}:${kdf.p}:${kdf.salt}`;
}

function checksumOf(file: KeystoreFile): string {
  const words = file.format === FILE_FORMAT ? `:${file.words}` : '';
  return sha3Hex(`${contextOf(file)}:${file.master_key}${words}`);
}

/** Seals words: length of the entropy (1 byte), the entropy, the BIP39 passphrase. */
function sealWords(
  { entropy, extraWord }: WalletWords,
  masterKey: Uint8Array,
  { random }: Pick<KeystoreModules, 'random'>,
): Uint8Array {
  const content = concatBytes(Uint8Array.of(entropy.length), entropy, utf8(extraWord));
  const box = seal(masterKey, content, WORDS_CONTEXT, random);
  content.fill(0);
  return box;
}

/** New random words, sealed. */
function newSealedWords(masterKey: Uint8Array, { random }: Pick<KeystoreModules, 'random'>): Uint8Array {
  const words = newWords(random, DEFAULT_WORDS);
  const box = sealWords(words, masterKey, { random });
  words.entropy.fill(0);
  return box;
}

/** Copies the file of an earlier format beside the new one: an earlier version of the program opens it. */
async function keepCopy(file: string, known: KeystoreFile, { syncFolder }: KeystoreModules): Promise<void> {
  const name = copyName(file, known.format, known.checksum.slice(0, COPY_NAME_LENGTH));
  try {
    await writeFileDurable(join(dirname(file), name), await readWhole(file), FILE_MODE, syncFolder);
  } catch (cause) {
    throw writeFailed(`a copy of the keystore cannot be written: ${errorMessage(cause)}`, cause);
  }
}

/** Removes files of a process that was killed while writing; they hold a sealed key that nobody needs. */
async function removeLeftovers(path: string): Promise<void> {
  const folder = dirname(path);
  const names = await readdir(folder).catch(() => []);
  const beginnings = [`${basename(path)}.`, `${basename(path, '.json')}-format-`];
  const leftovers = names.filter((name) => beginnings.some((one) => name.startsWith(one)) && name.endsWith('.tmp'));
  await Promise.all(leftovers.map((name) => rm(join(folder, name), { force: true })));
}

function wrongPassphrase(): TesseraError {
  return new TesseraError('wrong_passphrase', 'the wallet passphrase is wrong');
}

function unreadable(path: string, why: string): TesseraError {
  return new TesseraError('wallet_unreadable', `${path} cannot be used: ${why}; restore it from a backup`);
}
