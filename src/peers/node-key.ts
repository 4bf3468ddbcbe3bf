/** The node key: the Ed25519 seed that names a node to its peers, kept in a file that only its owner can read. */

import { chmod, readFile } from 'node:fs/promises';
import { generateKeyPair, type KeyPair, keyPairFromSeed, SEED_LENGTH } from '../crypto/ed25519.js';
import { writeFileDurable } from '../db/write-file-durable.js';
import { fromHex, isHex, toHex, utf8 } from '../lib/bytes.js';
import { TesseraError } from '../lib/errors.js';
import type { Random } from '../lib/random.js';

const OWNER_ONLY = 0o600;

/**
 * Reads the node key of a file (64 hex digits), or makes one and writes it there (mode 0600, synced) when the file does not
 * exist. Throws `data_corrupt` when it holds something else: a new key would make the node a stranger to its peers.
 */
export async function loadOrCreateNodeKey(path: string, random: Random): Promise<KeyPair> {
  const text = await readIfThere(path);
  if (text === undefined) {
    const pair = generateKeyPair(random);
    await writeFileDurable(path, utf8(`${toHex(pair.seed)}\n`), OWNER_ONLY);
    return pair;
  }
  const hex = text.trim();
  if (!isHex(hex, SEED_LENGTH)) {
    throw new TesseraError(
      'data_corrupt',
      `${path} does not hold a node key: restore it from a backup, or delete it for a new one (peers that list the old key must then be told)`,
    );
  }
  // A copy or a restore may have opened the file to others.
  await chmod(path, OWNER_ONLY);
  return keyPairFromSeed(fromHex(hex));
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
