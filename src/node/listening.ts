/** Listening on a port. One that is in use is the most common mistake of newcomers, so its option is named. */

import { errorMessage, TesseraError } from '../lib/errors.js';

/** The error codes of the API's server and of the links for a port that is in use. */
const PORT_TAKEN: ReadonlySet<string> = new Set(['EADDRINUSE', 'port_in_use']);

/** Runs `listen`. Throws `port_in_use`, naming the option to change, when somebody else has the port. */
export async function listening<T>(option: string, listen: () => Promise<T>): Promise<T> {
  try {
    return await listen();
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause && PORT_TAKEN.has(String(cause.code)))) throw cause;
    const message = `${errorMessage(cause)}: stop the program that uses it, or choose another ${option} (\`tessera dev\` has --port-offset)`;
    throw new TesseraError('port_in_use', message, { cause });
  }
}
