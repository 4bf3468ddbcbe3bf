/**
 * The keystore: a file that a backup, another program or an attacker may have changed. An input is the file. It opens with
 * the passphrase that it was made with and gives the key that was in it, or it is refused; what it asks of memory and time
 * is bounded.
 */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isScryptCost } from '../../../src/crypto/scrypt.js';
import { sha3Hex } from '../../../src/crypto/sha3.js';
import { utf8 } from '../../../src/lib/bytes.js';
import { systemClock } from '../../../src/lib/clock.js';
import { systemRandom } from '../../../src/lib/random.js';
import { KEYSTORE_FILE, Keystore } from '../../../src/wallet/keys/keystore.js';
import { PassphraseLimiter } from '../../../src/wallet/keys/passphrase-limiter.js';
import type { Dice } from '../dice.js';
import { documented, type FuzzTarget, mustBe } from '../target.js';

const PASSPHRASE = 'of the fuzzer';
const CODES = ['wallet_unreadable', 'wrong_passphrase'];
/** What new files cost here; those of nodes cost ten thousand times as much. */
const COST = { n: 16, r: 1, p: 1 };
/** Above it a file is not opened, only its cost is looked at. */
const MAX_WORK_HERE = 2 ** 14;
/** Bytes that the key of any file may take, and how many times the work of a new file of a node. */
const MAX_MEMORY = 512 * 1024 * 1024;
const MAX_WORK = 16 * 2 ** 20;
const CONTEXT = 'fuzz';
const SECRET = new Uint8Array(32).fill(7);
const INTEGERS = [0, 1, -1, 2, 3, 16, 2 ** 17, 2 ** 20, 2 ** 31, 2 ** 53, 1.5, 1e300];

const folder = mkdtempSync(join(tmpdir(), 'tessera-fuzz-'));
const file = join(folder, KEYSTORE_FILE);
const modules = { random: systemRandom, limiter: new PassphraseLimiter(systemClock) };
const options = { file, passphrase: PASSPHRASE, createIfMissing: true, allowBlankPassphrase: false, scryptCost: COST };

let sound: { readonly text: string; readonly box: Uint8Array } | undefined;

/** A keystore as it is written, with something that only its key opens. */
async function soundFile(): Promise<NonNullable<typeof sound>> {
  if (sound !== undefined) return sound;
  rmSync(file, { force: true });
  const keystore = await Keystore.open(options, modules);
  const box = keystore.seal(SECRET, CONTEXT);
  keystore.close();
  sound = { text: readFileSync(file, 'utf8'), box };
  return sound;
}
// A target gives its inputs without waiting.
await soundFile();

interface Content {
  format: unknown;
  kdf: Record<string, unknown>;
  master_key: unknown;
  words: unknown;
  checksum: unknown;
}

/** The file with members of its own changed and its checksum right, as somebody would plant it. */
function planted(text: string, dice: Dice): string {
  const content = JSON.parse(text) as Content;
  const { kdf } = content;
  for (const name of ['n', 'r', 'p']) if (dice.oneIn(2)) kdf[name] = dice.pick(INTEGERS);
  if (dice.oneIn(4)) kdf.salt = Buffer.from(dice.bytes(dice.below(600))).toString('hex');
  if (dice.oneIn(4)) content.master_key = Buffer.from(dice.bytes(dice.below(100))).toString('hex');
  if (dice.oneIn(4)) content.words = Buffer.from(dice.bytes(dice.below(100))).toString('hex');
  const context = `tessera-master-key:${content.format}:${kdf.name}:${kdf.n}:${kdf.r}:${kdf.p}:${kdf.salt}`;
  content.checksum = sha3Hex(`${context}:${content.master_key}:${content.words}`);
  return JSON.stringify(content);
}

/** The work that the file asks for; 0 when it is none. */
function workOf(text: string): { readonly memory: number; readonly work: number } {
  try {
    const { n, r, p } = (JSON.parse(text) as Content).kdf as { n: number; r: number; p: number };
    return isScryptCost({ n, r, p }) ? { memory: 128 * n * r, work: n * r * p } : { memory: 0, work: 0 };
  } catch {
    return { memory: 0, work: 0 };
  }
}

export const keystore: FuzzTarget = {
  name: 'keystore',
  seed: (dice) => utf8(dice.oneIn(2) ? planted(sound?.text ?? '', dice) : (sound?.text ?? '')),
  async run(input) {
    const { box } = await soundFile();
    const { memory, work } = workOf(Buffer.from(input).toString('utf8'));
    mustBe(memory <= MAX_MEMORY && work <= MAX_WORK, `a file may ask for ${memory} bytes and ${work} units of work`);
    if (work > MAX_WORK_HERE) return 'costly';
    await writeFile(file, input);
    const opened = await documented(() => Keystore.open(options, modules), CODES);
    if ('code' in opened) return opened.code;
    const content = opened.value.open(box, CONTEXT);
    mustBe(content !== undefined && Buffer.compare(content, SECRET) === 0, 'a changed file opens with another key');
    opened.value.close();
    return 'opened';
  },
  async close() {
    rmSync(folder, { recursive: true, force: true });
  },
};
