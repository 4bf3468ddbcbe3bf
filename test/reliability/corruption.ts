/**
 * Every file of every role's folder, damaged in every way that disks and people know. A case is healed (the folder answers
 * as before) or refused by a named error; an answer that is wrong or missing is a failure (rule P3).
 */

import { copyFile, cp, mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { PACKAGE_CONFIG_DIR } from '../../src/config/option-table.js';
import { isTesseraError } from '../../src/lib/errors.js';
import { NODE_ROLES, type NodeRole } from '../../src/lib/roles.js';
import type { Chance } from './chance.js';
import { CONFIG_FILE, startedAnswers } from './started-node.js';
import { type Answers, type ReadOptions, readFolder, sealProbe } from './stored-data.js';

/** Two ages of the folders of stopped or killed nodes. */
export interface Ages {
  readonly older: Readonly<Record<NodeRole, string>>;
  readonly newer: Readonly<Record<NodeRole, string>>;
}

export interface Case {
  readonly role: NodeRole;
  /** Below the folder of the role. */
  readonly file: string;
  readonly damage: string;
}

export interface Verdict extends Case {
  /** `healed`, or `refused: CODE`; undefined when the node would have served something wrong. */
  readonly ending: string | undefined;
  readonly wrong: string;
}

/** Codes by which a node says that it will not serve what it found. */
const REFUSALS: ReadonlySet<string> = new Set([
  'data_lost',
  'data_corrupt',
  'data_dir_invalid',
  'wallet_unreadable',
  'wrong_passphrase',
  'invalid_config',
]);
const KEYSTORE = 'keystore.json';
const API_KEY = { file: 'api-key', key: '5e'.repeat(32) };
const GENESIS = 'genesis-dev.json';
/** A damaged file of the key refuses the owner of the key; it must not open the node to others. */
const KEY_REFUSED = 'invalid_api_key';
/** Deleted, the node comes back as another one: docs/operations.md#the-data-folder says so. */
const NODE_KEY = 'node-key';
const DATABASES: Readonly<Record<NodeRole, readonly string[]>> = {
  storage: ['archive'],
  mempool: ['journal', 'mempool'],
  miner: ['wallet'],
  user: ['wallet'],
};

/** Damages the file at `path`; `older` is an older copy of it, which may be missing. False: there is nothing to damage. */
type Damage = (path: string, chance: Chance, older: string) => Promise<boolean>;

const change =
  (edit: (bytes: Buffer, chance: Chance) => Buffer): Damage =>
  async (path, chance) => {
    const bytes = await readFile(path);
    if (bytes.length === 0) return false;
    await writeFile(path, edit(bytes, chance));
    return true;
  };

const DAMAGES: Readonly<Record<string, Damage>> = {
  flip: change((bytes, chance) => {
    const at = chance.below(bytes.length);
    bytes[at] = (bytes[at] ?? 0) ^ (1 << chance.below(8));
    return bytes;
  }),
  'cut by some bytes': change((bytes, chance) => bytes.subarray(0, Math.max(0, bytes.length - 1 - chance.below(64)))),
  'cut anywhere': change((bytes, chance) => bytes.subarray(0, chance.below(bytes.length))),
  'zeroed from somewhere': change((bytes, chance) => bytes.fill(0, chance.below(bytes.length))),
  'zeroed sector': change((bytes, chance) => {
    const at = chance.below(bytes.length) & ~511;
    return bytes.fill(0, at, Math.min(bytes.length, at + 512));
  }),
  emptied: async (path) => {
    await truncate(path, 0);
    return true;
  },
  'grown by noise': change((bytes, chance) =>
    Buffer.concat([bytes, Buffer.from(Array.from({ length: 1 + chance.below(64) }, () => chance.below(256)))]),
  ),
  deleted: async (path) => {
    await rm(path);
    return true;
  },
  'swapped with an older copy': async (path, _, older) => {
    const bytes = await readFile(older).catch(() => undefined);
    if (bytes === undefined || bytes.equals(await readFile(path))) return false;
    await writeFile(path, bytes);
    return true;
  },
};

export class Corruption {
  readonly #ages: Ages;
  readonly #root: string;
  readonly #answers = new Map<NodeRole, Answers>();
  readonly #probes = new Map<NodeRole, Uint8Array>();
  readonly #files = new Map<NodeRole, readonly string[]>();
  #count = 0;

  private constructor(ages: Ages, root: string) {
    this.#ages = ages;
    this.#root = root;
  }

  /** Reads the undamaged folders. */
  static async prepare(ages: Ages): Promise<Corruption> {
    const corruption = new Corruption(ages, await mkdtemp(join(tmpdir(), 'tessera-corruption-')));
    for (const role of NODE_ROLES) await corruption.#prepare(role);
    return corruption;
  }

  async remove(): Promise<void> {
    await rm(this.#root, { recursive: true, force: true });
  }

  /** Every file and every damage once, in a random order. */
  cases(chance: Chance): Case[] {
    const all = NODE_ROLES.flatMap((role) =>
      (this.#files.get(role) ?? []).flatMap((file) =>
        Object.keys(DAMAGES).map((damage): Case => ({ role, file, damage })),
      ),
    );
    return chance.sample(all);
  }

  /** Undefined when there was nothing to damage. */
  async run(one: Case, chance: Chance): Promise<Verdict | undefined> {
    const { role, file, damage } = one;
    const copy = await this.#copy(this.#ages.newer[role]);
    try {
      const isDone = await DAMAGES[damage]?.(join(copy, file), chance, join(this.#ages.older[role], file));
      if (!isDone) return undefined;
      const answers = await this.#ask(role, copy, file === KEYSTORE);
      if (file === NODE_KEY && damage === 'deleted') answers.delete(NODE_KEY);
      const wrong = [...(this.#answers.get(role) ?? [])].filter(
        ([name, answer]) => answers.has(name) && answers.get(name) !== answer,
      );
      const text = wrong.map(([name, answer]) => `${name}: ${answer} became ${answers.get(name)}`).join('; ');
      return { ...one, ending: wrong.length === 0 ? 'healed' : undefined, wrong: text };
    } catch (error) {
      if (
        isTesseraError(error) &&
        (REFUSALS.has(error.code) || (file === API_KEY.file && error.code === KEY_REFUSED))
      ) {
        return { ...one, ending: `refused: ${error.code}`, wrong: '' };
      }
      return { ...one, ending: undefined, wrong: `ended without a name: ${String(error)}` };
    } finally {
      await rm(copy, { recursive: true, force: true });
    }
  }

  /** Of a node that is started there, and of the records that it leaves. */
  async #ask(role: NodeRole, folder: string, withKeystore: boolean): Promise<Map<string, string>> {
    const started = await startedAnswers(role, folder, API_KEY.key);
    return new Map([...started, ...(await readFolder(role, folder, this.#options(role, withKeystore)))]);
  }

  async #prepare(role: NodeRole): Promise<void> {
    const folder = this.#ages.newer[role];
    await copyFile(join(PACKAGE_CONFIG_DIR, 'dev.toml'), join(folder, CONFIG_FILE));
    await copyFile(join(PACKAGE_CONFIG_DIR, GENESIS), join(folder, GENESIS));
    await writeFile(join(folder, API_KEY.file), `${API_KEY.key}\n`, { mode: 0o600 });
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
    this.#files.set(role, files.map((file) => relative(folder, file)).sort());
    const copy = await this.#copy(folder);
    if (files.some((file) => file.endsWith(KEYSTORE))) this.#probes.set(role, await sealProbe(copy));
    this.#answers.set(role, await this.#ask(role, copy, true));
    await rm(copy, { recursive: true });
  }

  #options(role: NodeRole, withKeystore: boolean): ReadOptions {
    return { databases: DATABASES[role], sealed: withKeystore ? this.#probes.get(role) : undefined };
  }

  async #copy(folder: string): Promise<string> {
    const copy = join(this.#root, String(this.#count++));
    await cp(folder, copy, { recursive: true });
    return copy;
  }
}
