/**
 * The keystore: a file that a backup, another program or an attacker may have changed. An input is the file. It opens with
 * the passphrase that it was made with and gives the key and the words that were in it, or it is refused; one of the format
 * without words gets some and leaves a copy. What it asks of memory and time is bounded.
 */

import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deriveKey, isScryptCost, scryptParameters } from '../../../src/crypto/scrypt.js';
import { seal } from '../../../src/crypto/sealed-box.js';
import { sha3Hex } from '../../../src/crypto/sha3.js';
import { toHex, utf8 } from '../../../src/lib/bytes.js';
import { systemClock } from '../../../src/lib/clock.js';
import { systemRandom } from '../../../src/lib/random.js';
import { KEYSTORE_FILE, Keystore } from '../../../src/wallet/keys/keystore.js';
import { isEntropy, isSameWords, type WalletWords } from '../../../src/wallet/keys/words.js';
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
/** The key of the wallet without words. */
const OLD_KEY = new Uint8Array(32).fill(9);
const INTEGERS = [0, 1, -1, 2, 3, 16, 2 ** 17, 2 ** 20, 2 ** 31, 2 ** 53, 1.5, 1e300];

const folder = mkdtempSync(join(tmpdir(), 'tessera-fuzz-'));
const file = join(folder, KEYSTORE_FILE);
const modules = { random: systemRandom, clock: systemClock };
const options = { file, passphrase: PASSPHRASE, createIfMissing: true, allowBlankPassphrase: false, scryptCost: COST };

interface Sound {
  /** Files as they are written: of a wallet with words, and of another by a version without. */
  readonly text: string;
  readonly oldText: string;
  /** What the key of the one opens, and that of the other. */
  readonly boxes: readonly Uint8Array[];
  readonly words: WalletWords;
}

/** Keystores as they are written, with something that only their keys open. */
async function makeSound(): Promise<Sound> {
  const keystore = await Keystore.open(options, modules);
  const boxes = [keystore.seal(SECRET, CONTEXT), seal(OLD_KEY, SECRET, CONTEXT, systemRandom)];
  const words = keystore.words();
  keystore.close();
  return { text: readFileSync(file, 'utf8'), oldText: await textWithoutWords(), boxes, words };
}

async function textWithoutWords(): Promise<string> {
  const salt = new Uint8Array(16).fill(1);
  const kdf = scryptParameters(COST, salt);
  const context = `tessera-master-key:1:${kdf.name}:${kdf.n}:${kdf.r}:${kdf.p}:${kdf.salt}`;
  const box = toHex(seal(await deriveKey(PASSPHRASE, salt, COST), OLD_KEY, context, systemRandom));
  return JSON.stringify({ format: 1, kdf, master_key: box, checksum: sha3Hex(`${context}:${box}`) });
}

// A target gives its inputs without waiting.
const sound = await makeSound();

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
  if (content.words !== undefined && dice.oneIn(4)) {
    content.words = Buffer.from(dice.bytes(dice.below(100))).toString('hex');
  }
  if (dice.oneIn(8)) content.format = dice.pick([0, 1, 2, 3]);
  const context = `tessera-master-key:${content.format}:${kdf.name}:${kdf.n}:${kdf.r}:${kdf.p}:${kdf.salt}`;
  const words = content.format === 2 ? `:${content.words}` : '';
  content.checksum = sha3Hex(`${context}:${content.master_key}${words}`);
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

/** Copies of files of an older format. */
const copies = (): string[] => readdirSync(folder).filter((name) => name.startsWith('keystore-format-'));

export const keystore: FuzzTarget = {
  name: 'keystore',
  seed(dice) {
    const text = dice.oneIn(3) ? sound.oldText : sound.text;
    return utf8(dice.oneIn(2) ? planted(text, dice) : text);
  },
  async run(input) {
    const { memory, work } = workOf(Buffer.from(input).toString('utf8'));
    mustBe(memory <= MAX_MEMORY && work <= MAX_WORK, `a file may ask for ${memory} bytes and ${work} units of work`);
    if (work > MAX_WORK_HERE) return 'costly';
    await writeFile(file, input);
    const opened = await documented(() => Keystore.open(options, modules), CODES);
    const kept = copies();
    for (const name of kept) rmSync(join(folder, name));
    if ('code' in opened) return opened.code;
    const keystore = opened.value;
    const at = sound.boxes.findIndex((box) => keystore.open(box, CONTEXT) !== undefined);
    const content = keystore.open(sound.boxes[at] ?? new Uint8Array(), CONTEXT);
    mustBe(content !== undefined && Buffer.compare(content, SECRET) === 0, 'a changed file opens with another key');
    const words = keystore.words();
    mustBe(at === 1 || isSameWords(words, sound.words), 'a changed file has other words');
    mustBe(isEntropy(words.entropy) && (at === 0 || kept.length === 1), 'no copy of the older file is kept');
    keystore.close();
    return at === 0 ? 'opened' : 'given words';
  },
  async close() {
    rmSync(folder, { recursive: true, force: true });
  },
};
