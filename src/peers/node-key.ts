/** The node key: the Ed25519 seed that names a node to its peers, kept in a file that only its owner can read. */

import { chmod } from 'node:fs/promises';
import { generateKeyPair, type KeyPair, keyPairFromSeed, SEED_LENGTH } from '../crypto/ed25519.js';
import { writeFileDurable } from '../db/write-file-durable.js';
import { fromHex, isHex, toHex, utf8 } from '../lib/bytes.js';
import { TesseraError } from '../lib/errors.js';
import type { Random } from '../lib/random.js';
import { readWhole } from '../lib/read-bounded.js';
import { ifMissing } from '../lib/system-error.js';

/** Name of the node key's file in the data directory. */
export const NODE_KEY_FILE = 'node-key';

const OWNER_ONLY = 0o600;

/**
 * Reads the node key of a file (seed and public key in hex, a line each), or makes it (mode 0600, synced); completes an
 * older file with the seed alone. Throws `data_corrupt` for anything else: a new key would be a stranger to its peers.
 */
export async function loadOrCreateNodeKey(path: string, random: Random): Promise<KeyPair> {
  const known = await readFileOfKey(path);
  const pair = known?.pair ?? generateKeyPair(random);
  if (known?.isComplete !== true) await writeKey(path, pair);
  // A copy or a restore may have made the file readable for others.
  else await chmod(path, OWNER_ONLY);
  return pair;
}

/** The node key of a file; undefined when there is no file. Changes nothing. Throws `data_corrupt`. */
export async function readNodeKey(path: string): Promise<KeyPair | undefined> {
  return (await readFileOfKey(path))?.pair;
}

async function readFileOfKey(
  path: string,
): Promise<{ readonly pair: KeyPair; readonly isComplete: boolean } | undefined> {
  const text = await readIfThere(path);
  if (text === undefined) return undefined;
  const [seed = '', publicKey, ...rest] = text.trimEnd().split('\n');
  if (!isHex(seed, SEED_LENGTH) || rest.length > 0) throw damaged(path);
  const pair = keyPairFromSeed(fromHex(seed));
  if (publicKey !== undefined && publicKey !== toHex(pair.publicKey)) throw damaged(path);
  return { pair, isComplete: publicKey !== undefined };
}

function writeKey(path: string, { seed, publicKey }: KeyPair): Promise<void> {
  return writeFileDurable(path, utf8(`${toHex(seed)}\n${toHex(publicKey)}\n`), OWNER_ONLY);
}

function damaged(path: string): TesseraError {
  return new TesseraError(
    'data_corrupt',
    `${path} does not hold a node key: restore it from a backup, or delete it for a new one (peers that list the old key must then be told)`,
  );
}

async function readIfThere(path: string): Promise<string | undefined> {
  return (await readWhole(path).catch(ifMissing))?.toString('utf8');
}
