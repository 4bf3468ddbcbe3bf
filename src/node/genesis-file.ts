/** The genesis file of a network, read and checked. */

import { statSync } from 'node:fs';
import { type Era, eraView } from '../chain/eras.js';
import { type Genesis, parseGenesis } from '../chain/genesis.js';
import { writeFileDurable } from '../db/write-file-durable.js';
import { utf8 } from '../lib/bytes.js';
import { errorMessage, TesseraError } from '../lib/errors.js';
import { parseJsonFile, prettyExact } from '../lib/json.js';
import { MAX_DOCUMENT_FILE, readBounded } from '../lib/read-bounded.js';

const MODE_BITS = 0o777;

/** Reads a genesis file. Throws `invalid_config` naming file and place; also for rules still to be found, unless `withUnknown`. */
export async function readGenesis(file: string, { withUnknown = false } = {}): Promise<Genesis> {
  let bytes: Uint8Array;
  try {
    bytes = readBounded(file, MAX_DOCUMENT_FILE);
  } catch (cause) {
    throw new TesseraError('invalid_config', `network.genesis_file: ${errorMessage(cause)}`, { cause });
  }
  let genesis: Genesis;
  try {
    genesis = parseGenesis(parseJsonFile(bytes));
  } catch (cause) {
    throw new TesseraError('invalid_config', `network.genesis_file ${file}: ${errorMessage(cause)}`, { cause });
  }
  if (withUnknown || genesis.eras.every(({ find }) => find.length === 0)) return genesis;
  const message = `network.genesis_file ${file}: rules of its eras are still to be found in the blocks: run tessera import`;
  throw new TesseraError('invalid_config', message);
}

/** Writes other eras into the file, and leaves the rest unchanged. */
export function writeEras(file: string, eras: readonly Era[]): Promise<void> {
  return writeGenesisText(file, genesisWith(file, eras));
}

/** The text of the file with other eras, and with another interval between blocks if one is given. */
export function genesisWith(file: string, eras: readonly Era[], intervalMs?: number): string {
  const content = Object(parseJsonFile(readBounded(file, MAX_DOCUMENT_FILE)));
  const rules = intervalMs !== undefined && { block_rules: { ...content.block_rules, interval_ms: intervalMs } };
  return `${prettyExact({ ...content, ...rules, eras: eras.map(eraView) })}\n`;
}

/** Replaces the file, which keeps its permissions. */
export function writeGenesisText(file: string, text: string): Promise<void> {
  return writeFileDurable(file, utf8(text), statSync(file).mode & MODE_BITS);
}
