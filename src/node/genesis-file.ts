/** The genesis file of a network, read and checked. */

import { readFile } from 'node:fs/promises';
import { type Genesis, parseGenesis } from '../chain/genesis.js';
import { errorMessage, TesseraError } from '../lib/errors.js';
import { parseExactJson } from '../lib/json.js';

/** Reads and checks a genesis file. Throws `invalid_config` naming the file and the place in it. */
export async function readGenesis(file: string): Promise<Genesis> {
  let bytes: Uint8Array;
  try {
    bytes = await readFile(file);
  } catch (cause) {
    throw new TesseraError('invalid_config', `network.genesis_file: ${errorMessage(cause)}`, { cause });
  }
  try {
    return parseGenesis(parseExactJson(bytes));
  } catch (cause) {
    throw new TesseraError('invalid_config', `network.genesis_file ${file}: ${errorMessage(cause)}`, { cause });
  }
}
