/** The genesis file of a network, read and checked. */

import { type Genesis, parseGenesis } from '../chain/genesis.js';
import { errorMessage, TesseraError } from '../lib/errors.js';
import { parseJsonFile } from '../lib/json-file.js';
import { MAX_DOCUMENT_FILE, readBounded } from '../lib/read-bounded.js';

/** Reads and checks a genesis file. Throws `invalid_config` naming the file and the place in it. */
export async function readGenesis(file: string): Promise<Genesis> {
  let bytes: Uint8Array;
  try {
    bytes = readBounded(file, MAX_DOCUMENT_FILE);
  } catch (cause) {
    throw new TesseraError('invalid_config', `network.genesis_file: ${errorMessage(cause)}`, { cause });
  }
  try {
    return parseGenesis(parseJsonFile(bytes));
  } catch (cause) {
    throw new TesseraError('invalid_config', `network.genesis_file ${file}: ${errorMessage(cause)}`, { cause });
  }
}
