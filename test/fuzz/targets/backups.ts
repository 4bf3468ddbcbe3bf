/**
 * A folder of backups, plain or sealed, that lay where others could write. An input is the kind of folder, one of its files
 * and what stands in it then; a listing may be planted, with its name and all that points to it right. It is refused with a
 * documented code, or what is restored is what was backed up; nothing is written beside the folder that it is restored into.
 */

import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { isScryptCost, type ScryptCost } from '../../../src/crypto/scrypt.js';
import { BackupStore } from '../../../src/db/backup/backup-store.js';
import { BACKUP_FORMAT, type BackedUpFile, encodeListing, type Listing } from '../../../src/db/backup/listing.js';
import { restoreBackup } from '../../../src/db/backup/restore-backup.js';
import { utf8 } from '../../../src/lib/bytes.js';
import { systemRandom } from '../../../src/lib/random.js';
import { Choices, changeValue, textOf } from '../choices.js';
import type { Dice } from '../dice.js';
import { documented, type FuzzTarget, mustBe } from '../target.js';

const OWNER = { role: 'mempool', networkName: 'fuzz' } as const;
const PASSPHRASE = 'of the fuzzer';
const COST = { n: 16, r: 1, p: 1 };
/** Above it a folder is not opened. */
const MAX_WORK_HERE = 2 ** 14;
const CODES = ['backup_invalid', 'wrong_passphrase', 'data_corrupt', 'data_lost', 'data_dir_invalid'];
const NAME = '20261122T013748123Z';
const MARKER = 'tessera.json';
/** What is backed up. */
const CONTENTS: ReadonlyMap<string, string> = new Map([
  [MARKER, '{"the":"marker"}'],
  ['node-key', 'a secret'],
  ['db/notes.seal', 'a seal'],
]);
/** In place of a file: the listing, planted. */
const PLANTED = 255;

const root = mkdtempSync(join(tmpdir(), 'tessera-fuzz-'));

interface Template {
  readonly isSealed: boolean;
  readonly folder: string;
  readonly listing: Listing;
  /** Relative paths, sorted, and what stands there. */
  readonly files: readonly (readonly [path: string, content: Buffer])[];
}

/** A folder with one backup. */
async function makeTemplate(isSealed: boolean): Promise<Template> {
  const folder = join(root, isSealed ? 'sealed' : 'plain');
  const options = { ...OWNER, isSealed, passphrase: async () => PASSPHRASE, scryptCost: COST };
  const store = await BackupStore.openToWrite(folder, options, { random: systemRandom });
  const files: BackedUpFile[] = [];
  for (const [path, text] of CONTENTS) {
    const { name: content } = await store.put(utf8(text));
    files.push({ path, bytes: text.length, content, changed: '0' });
  }
  const listing: Listing = {
    format: BACKUP_FORMAT,
    created: 0,
    program: '0',
    role: OWNER.role,
    network: OWNER.networkName,
    databases: [],
    files,
  };
  await store.add(NAME, encodeListing(listing));
  await store.close();
  return { isSealed, folder, listing, files: await filesOf(folder) };
}

async function filesOf(folder: string): Promise<[path: string, content: Buffer][]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((one) => one.isFile()).map((one) => join(one.parentPath, one.name));
  const relative = paths.map((path) => path.slice(folder.length + 1)).sort();
  return Promise.all(
    relative.map(async (path): Promise<[string, Buffer]> => [path, await readFile(join(folder, path))]),
  );
}

const TEMPLATES = [await makeTemplate(false), await makeTemplate(true)] as const;

function templateOf(number: number): Template {
  return TEMPLATES[number % 2 === 0 ? 0 : 1];
}

/** What the header asks for; 0 when it is none. */
function workOf(header: Uint8Array): number {
  try {
    const { sealed } = JSON.parse(Buffer.from(header).toString('utf8')) as { sealed: { kdf: ScryptCost } };
    const { n, r, p } = sealed.kdf;
    return isScryptCost({ n, r, p }) ? n * r * p : 0;
  } catch {
    return 0;
  }
}

/** Writes a file of the folder, and gives what takes the change back. */
async function spoil({ folder, files }: Template, number: number, content: Uint8Array): Promise<() => Promise<void>> {
  if (number === PLANTED) {
    const name = createHash('sha256').update(content).digest('hex');
    const path = join(folder, 'files', name.slice(0, 2), name.slice(2));
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, content);
    await writeFile(join(folder, 'backups', NAME), `${name}\n`);
    return async () => {
      await rm(path);
      for (const [one, before] of files) await writeFile(join(folder, one), before);
    };
  }
  const [path, before] = files[number % files.length] ?? ['', Buffer.alloc(0)];
  await writeFile(join(folder, path), content);
  return () => writeFile(join(folder, path), before);
}

async function restore({ folder, isSealed }: Template, isPlanted: boolean): Promise<string> {
  const out = join(root, 'out');
  await mkdir(out, { recursive: true });
  const restored = await documented(async () => {
    const store = await BackupStore.openToRead(
      folder,
      { ...OWNER, passphrase: async () => PASSPHRASE },
      {
        random: systemRandom,
      },
    );
    const options = { backup: NAME, dataDir: join(out, 'data'), signal: new AbortController().signal };
    return restoreBackup({ ...options, onProgress: () => undefined }, store);
  }, CODES);
  mustBe(
    (await readdir(out)).every((name) => name === 'data'),
    'something is written beside the folder',
  );
  const written = 'code' in restored ? [] : await filesOf(join(out, 'data'));
  await rm(out, { recursive: true });
  const what = isSealed ? 'sealed' : 'plain';
  if ('code' in restored) return `${what}: ${restored.code}`;
  const same = [...CONTENTS].every(([path, text]) => written.some(([one, is]) => one === path && String(is) === text));
  mustBe(same || (isPlanted && !isSealed), 'what is restored is not what was backed up');
  return `${what}: restored`;
}

function contentOf(template: Template, number: number, dice: Dice): Uint8Array {
  if (number === PLANTED) return utf8(textOf(changeValue(template.listing, new Choices(dice.bytes(48)))));
  const content = template.files[number]?.[1] ?? Buffer.alloc(0);
  if (!content.toString().startsWith('{') || dice.oneIn(2)) return content;
  return utf8(textOf(changeValue(JSON.parse(content.toString()), new Choices(dice.bytes(48)))));
}

export const backups: FuzzTarget = {
  name: 'backups',
  seed(dice) {
    const kind = dice.below(2);
    const template = templateOf(kind);
    const number = dice.oneIn(3) ? PLANTED : dice.below(template.files.length);
    return Buffer.concat([Uint8Array.of(kind, number), contentOf(template, number, dice)]);
  },
  async run(input) {
    const [kind = 0, number = 0] = input;
    const template = templateOf(kind);
    const content = input.subarray(2);
    const isHeader = template.files[number % template.files.length]?.[0] === 'backup.json';
    if (isHeader && workOf(content) > MAX_WORK_HERE) return 'costly';
    const undo = await spoil(template, number, content);
    try {
      return await restore(template, number === PLANTED);
    } finally {
      await undo();
    }
  },
  async close() {
    rmSync(root, { recursive: true, force: true });
  },
};
