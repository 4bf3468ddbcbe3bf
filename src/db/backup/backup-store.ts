/**
 * A folder of backups of one data folder (`README.md` in this folder). Contents are kept once, under names that follow from
 * them; a backup is a list of files with such names. Nothing is ever written over: what a backup needs stays as it was made
 * until the last backup that needs it is removed.
 *
 *   backup.json       format, role, network, and the sealed key, if the backups are encrypted
 *   files/<2>/<62>    contents, under the digits of their names
 *   backups/<time>    one backup each: the name of the content that lists it
 *   lock/, lock.pid   who writes into the folder
 */

import { createHash, createHmac } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import {
  DEFAULT_SCRYPT_COST,
  deriveKey,
  isScryptCost,
  SALT_LENGTH,
  type ScryptCost,
  ScryptParameters,
  scryptParameters,
} from '../../crypto/scrypt.js';
import { BOX_KEY_LENGTH, BOX_OVERHEAD, open as openBox, seal } from '../../crypto/sealed-box.js';
import { concatBytes, fromHex, toHex, utf8 } from '../../lib/bytes.js';
import { errorMessage, isTesseraError, TesseraError } from '../../lib/errors.js';
import type { Random } from '../../lib/random.js';
import { readWhole } from '../../lib/read-bounded.js';
import { ifMissing } from '../../lib/system-error.js';
import { lockFolder } from '../folder-lock.js';
import { makeFolder, syncFolder, writeFileDurable } from '../write-file-durable.js';
import { BACKUP_FORMAT, CONTENT_NAME, decodeListing, type Listing } from './listing.js';

const HASH = 'sha256';

const Hex = Type.String({ pattern: '^([0-9a-f]{2})+$', maxLength: 1_024 });

/** Parameters and sealed form of the key of a folder of sealed backups. */
const SealedKey = Type.Object({
  kdf: ScryptParameters,
  key: Hex,
});
export type SealedKey = Static<typeof SealedKey>;

export interface Envelope {
  /** The name of a content: 64 hex digits that follow from it. */
  nameOf(content: Uint8Array): string;
  wrap(name: string, content: Uint8Array): Uint8Array;
  /** Unwrapped content; undefined when the bytes are damaged or belong to another folder. */
  unwrap(name: string, stored: Buffer): Buffer | undefined;
  /** Bytes that wrapping adds to a content. */
  readonly overhead: number;
}

const plainEnvelope: Envelope = {
  nameOf: (content) => createHash(HASH).update(content).digest('hex'),
  wrap: (_, content) => content,
  unwrap: (name, stored) => (plainEnvelope.nameOf(stored) === name ? stored : undefined),
  overhead: 0,
};

/** Envelope of sealed backups: each content in a box of its own, under a name that reveals nothing of the content. */
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
    return openBox(this.#key, stored, this.#context(name));
  }

  #context(name: string): string {
    return `tessera backup ${this.#id} file ${name}`;
  }
}

/** Makes an envelope with a new key for the folder `id`, sealed under the passphrase. */
async function newEnvelope(
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

/** Opens the envelope of a folder with the passphrase. Throws `wrong_passphrase`. */
async function openEnvelope(
  id: string,
  { kdf, key: box }: SealedKey,
  passphrase: string,
  random: Random,
): Promise<Envelope> {
  if (!isScryptCost(kdf)) throw new TesseraError('backup_invalid', 'the backup asks for too much to open its key');
  const key = openBox(await deriveKey(passphrase, fromHex(kdf.salt), kdf), fromHex(box), keyContext(id));
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

const HEADER_FILE = 'backup.json';
const CONTENTS = 'files';
const BACKUPS = 'backups';
const TEMPORARY = /\.tmp$/;
const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;
const ID_LENGTH = 16;
/** Name of a backup: its time, as in `20261122T013748123Z`. */
const BACKUP_NAME = /^\d{8}T\d{9}Z$/;

const Header = Type.Object({
  format: Type.Integer({ minimum: 1 }),
  id: Type.String({ pattern: '^[0-9a-f]{32}$' }),
  role: Type.String(),
  network: Type.String(),
  sealed: Type.Union([SealedKey, Type.Null()]),
});
type Header = Static<typeof Header>;

export interface BackupStoreOptions {
  readonly role: string;
  readonly networkName: string;
  /** Gives the passphrase; called when the folder's backups are sealed, or are to be sealed from now on. */
  readonly passphrase: (what: { readonly isNew: boolean }) => Promise<string>;
  /** True if a new folder keeps its backups sealed. */
  readonly isSealed: boolean;
  /** Cost of a new seal; tests only. */
  readonly scryptCost?: ScryptCost;
}

interface BackupStoreModules {
  readonly random: Random;
}

export class BackupStore {
  readonly path: string;
  readonly #envelope: Envelope;
  readonly #unlock: () => Promise<void>;
  readonly #folders = new Set<string>();
  /** Folders with new entries, which are synced before a backup counts. */
  readonly #unsynced = new Set<string>();

  private constructor(path: string, envelope: Envelope, unlock: () => Promise<void>) {
    this.path = path;
    this.#envelope = envelope;
    this.#unlock = unlock;
  }

  /** Opens or makes the folder. Throws `backup_invalid` for another node's, `wrong_passphrase`, `data_dir_locked`. */
  static async openToWrite(
    path: string,
    options: BackupStoreOptions,
    modules: BackupStoreModules,
  ): Promise<BackupStore> {
    await refuseOthers(path);
    await makeFolder(path);
    const unlock = await lockFolder(path).catch((error: unknown) => {
      if (!isTesseraError(error, 'data_dir_locked')) throw error;
      throw new TesseraError(
        'data_dir_locked',
        `process ${error.details.pid} writes a backup into ${path}: wait for it`,
      );
    });
    try {
      const header = (await readHeader(path)) ?? undefined;
      const envelope =
        header === undefined
          ? await createHeader(path, options, modules)
          : await envelopeOf(header, path, options, modules);
      await removeTemporary(path);
      return new BackupStore(path, envelope, unlock);
    } catch (error) {
      await unlock();
      throw error;
    }
  }

  /** Opens the folder to read it; it may be on a disk that takes no writes. Throws as `openToWrite`. */
  static async openToRead(
    path: string,
    options: Omit<BackupStoreOptions, 'isSealed'>,
    modules: BackupStoreModules,
  ): Promise<BackupStore> {
    const header = await readHeader(path);
    if (header === undefined) throw invalid(`${path} holds no backups: ${HEADER_FILE} is not there`);
    return new BackupStore(path, await envelopeOf(header, path, options, modules), async () => undefined);
  }

  /** Keeps the content, unless it is kept already. Returns its name. */
  async put(content: Uint8Array): Promise<{ readonly name: string; readonly isNew: boolean }> {
    const name = this.#envelope.nameOf(content);
    if (await this.has(name, content.length)) return { name, isNew: false };
    const file = this.#file(name);
    const folder = join(this.path, CONTENTS, name.slice(0, 2));
    await this.#makeFolder(folder);
    const temporary = `${file}.tmp`;
    const handle = await open(temporary, 'w', FILE_MODE);
    try {
      await handle.writeFile(this.#envelope.wrap(name, content));
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, file);
    this.#unsynced.add(folder);
    return { name, isNew: true };
  }

  /** Tells whether a content of that name and length is kept. */
  async has(name: string, bytes: number): Promise<boolean> {
    const stats = await stat(this.#file(name)).catch(ifMissing);
    return stats !== undefined && stats.size === bytes + this.#envelope.overhead;
  }

  /** The content of that name. Throws `data_corrupt` or `data_lost`. */
  async read(name: string): Promise<Buffer> {
    const stored = await readWhole(this.#file(name)).catch(ifMissing);
    const place = `the file ${this.#file(name)} of the backup`;
    if (stored === undefined) throw new TesseraError('data_lost', `${place} is missing: use another backup`);
    const content = this.#envelope.unwrap(name, stored);
    if (content === undefined) throw new TesseraError('data_corrupt', `${place} is damaged: use another backup`);
    return content;
  }

  async names(): Promise<readonly string[]> {
    const names = (await readdir(join(this.path, BACKUPS)).catch(ifMissing)) ?? [];
    return names.filter((name) => BACKUP_NAME.test(name)).sort();
  }

  /** The listing of a backup. Throws `backup_invalid`, `data_corrupt`, `data_lost`. */
  async listing(backup: string): Promise<Listing> {
    return decodeListing(await this.read(await this.#listingName(backup)), `the backup ${backup}`);
  }

  /** Adds a backup: from now on it exists, even after a power loss. */
  async add(backup: string, listing: Uint8Array): Promise<void> {
    const { name } = await this.put(listing);
    for (const folder of this.#unsynced) await syncFolder(folder);
    this.#unsynced.clear();
    await syncFolder(join(this.path, CONTENTS));
    const folder = join(this.path, BACKUPS);
    await mkdir(folder, { recursive: true, mode: FOLDER_MODE });
    await syncFolder(this.path);
    await writeFileDurable(join(folder, backup), utf8(pointerTo(name)), FILE_MODE);
  }

  /** Removes all backups but the newest `count`; their contents go with `removeUnused`. Returns their names. */
  async keepNewest(count: number): Promise<readonly string[]> {
    const old = (await this.names()).slice(0, -count);
    for (const name of old) await rm(join(this.path, BACKUPS, name));
    if (old.length > 0) await syncFolder(join(this.path, BACKUPS));
    return old;
  }

  /** Removes contents that no backup needs. Throws, before anything is removed, when a backup cannot be read. */
  async removeUnused(): Promise<void> {
    const used = new Set<string>();
    for (const backup of await this.names()) {
      const listing = await this.#listingName(backup);
      used.add(listing);
      for (const { content } of decodeListing(await this.read(listing), `the backup ${backup}`).files)
        used.add(content);
    }
    for (const name of await this.#contents()) if (!used.has(name)) await rm(this.#file(name));
  }

  close(): Promise<void> {
    return this.#unlock();
  }

  async #listingName(backup: string): Promise<string> {
    const text = await readFile(join(this.path, BACKUPS, backup), 'latin1').catch(ifMissing);
    if (text === undefined) throw invalid(`${this.path} has no backup ${backup}`);
    const name = text.slice(0, -1);
    if (new RegExp(CONTENT_NAME).test(name) && text === pointerTo(name)) return name;
    throw invalid(`the backup ${backup} in ${this.path} is damaged: use another one`);
  }

  async #contents(): Promise<string[]> {
    const folders = (await readdir(join(this.path, CONTENTS)).catch(ifMissing)) ?? [];
    const names: string[] = [];
    for (const folder of folders.filter((name) => /^[0-9a-f]{2}$/.test(name))) {
      for (const rest of await readdir(join(this.path, CONTENTS, folder))) {
        if (new RegExp(CONTENT_NAME).test(folder + rest)) names.push(folder + rest);
      }
    }
    return names;
  }

  #file(name: string): string {
    return join(this.path, CONTENTS, name.slice(0, 2), name.slice(2));
  }

  async #makeFolder(folder: string): Promise<void> {
    if (this.#folders.has(folder)) return;
    await mkdir(folder, { recursive: true, mode: FOLDER_MODE });
    this.#folders.add(folder);
  }
}

/** Contents of the file of a backup, which points to its listing. */
function pointerTo(listing: string): string {
  return `${listing}\n`;
}

/** Throws `backup_invalid` when the folder holds anything but backups: files of others are never touched. */
async function refuseOthers(path: string): Promise<void> {
  const entries = (await readdir(path).catch(ifMissing)) ?? [];
  const others = entries.filter((name) => name !== 'lock' && name !== 'lock.pid' && name !== 'lost+found');
  if (others.length === 0 || others.includes(HEADER_FILE) || others.every((name) => TEMPORARY.test(name))) return;
  throw invalid(`${path} holds other things than backups: name a new folder`);
}

async function removeTemporary(path: string): Promise<void> {
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  for (const entry of entries) {
    if (entry.isFile() && TEMPORARY.test(entry.name)) await rm(join(entry.parentPath, entry.name), { force: true });
  }
}

async function readHeader(path: string): Promise<Header | undefined> {
  const text = await readFile(join(path, HEADER_FILE), 'utf8').catch(ifMissing);
  if (text === undefined) return undefined;
  let header: unknown;
  try {
    header = JSON.parse(text);
  } catch (cause) {
    throw invalid(`${join(path, HEADER_FILE)} is damaged: ${errorMessage(cause)}`);
  }
  if (!Value.Check(Header, header)) throw invalid(`${join(path, HEADER_FILE)} is damaged`);
  if (header.format > BACKUP_FORMAT) {
    throw invalid(`${path} has format ${header.format}, and this program knows formats up to ${BACKUP_FORMAT}`);
  }
  return header;
}

async function createHeader(
  path: string,
  { role, networkName, isSealed, passphrase, scryptCost }: BackupStoreOptions,
  { random }: BackupStoreModules,
): Promise<Envelope> {
  const id = toHex(random.bytes(ID_LENGTH));
  const { envelope, sealed } = isSealed
    ? await newEnvelope(id, await passphrase({ isNew: true }), random, scryptCost)
    : { envelope: plainEnvelope, sealed: null };
  const header: Header = { format: BACKUP_FORMAT, id, role, network: networkName, sealed };
  await writeFileDurable(join(path, HEADER_FILE), utf8(`${JSON.stringify(header, null, 2)}\n`), FILE_MODE);
  return envelope;
}

async function envelopeOf(
  header: Header,
  path: string,
  { role, networkName, passphrase }: Omit<BackupStoreOptions, 'isSealed'>,
  { random }: BackupStoreModules,
): Promise<Envelope> {
  if (header.role !== role) throw invalid(`${path} holds backups of a ${header.role} node, not of a ${role} node`);
  if (header.network !== networkName) {
    throw invalid(`${path} holds backups of the network "${header.network}", not of "${networkName}"`);
  }
  if (header.sealed === null) return plainEnvelope;
  return openEnvelope(header.id, header.sealed, await passphrase({ isNew: false }), random);
}

function invalid(message: string): TesseraError {
  return new TesseraError('backup_invalid', message);
}
