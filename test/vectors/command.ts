/** `npm run vectors -- FILE`: runs golden vectors against the code of the chain and says which of them fail. */

import { readFileSync } from 'node:fs';
import { errorMessage } from '../../src/lib/errors.js';
import { parseExactJson } from '../../src/lib/json.js';
import { readVectors, runVectors, type Vector } from './run.js';

const USAGE = 'usage: npm run vectors -- FILE';

/**
 * Runs the vectors of one file. The last line on stdout is always the count, also for a file that cannot be read, which
 * counts as one failure. Exit code 0 when all pass, 1 when one fails or there is none, 2 when the call is wrong.
 */
export async function vectorsCommand(args: string[]): Promise<number> {
  const [file] = args;
  if (file === undefined || args.length !== 1) {
    console.error(USAGE);
    return 2;
  }
  let vectors: Vector[];
  try {
    vectors = readVectors(parseExactJson(readFileSync(file, 'utf8')));
  } catch (error) {
    console.log(`FAILED ${file}: ${errorMessage(error)}\n0 passed, 1 failed`);
    return 1;
  }
  if (vectors.length === 0) console.log(`${file}: the file holds no vectors`);
  const { passed, failures } = runVectors(vectors);
  for (const { id, problems } of failures) {
    for (const problem of problems) console.log(`FAILED ${id}: ${problem}`);
  }
  console.log(`${passed} passed, ${failures.length} failed`);
  return passed > 0 && failures.length === 0 ? 0 : 1;
}
