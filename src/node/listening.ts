/** Listening on a port. Errors name the option to change: a port in use is what newcomers stumble over most. */

import { errorMessage, TesseraError } from '../lib/errors.js';
import { formatAddress, type HostAndPort } from '../peers/address.js';

/** The error codes of the API's server and of the links for a port that is in use. */
const PORT_TAKEN: ReadonlySet<unknown> = new Set(['EADDRINUSE', 'port_in_use']);

/** The error codes of the system for a name or an address that this machine does not have, and a port that it does not give. */
const NOT_OURS: ReadonlySet<unknown> = new Set(['ENOTFOUND', 'EAI_AGAIN', 'EADDRNOTAVAIL', 'EAFNOSUPPORT', 'EACCES']);

/** Runs `listen`. Throws `port_in_use`, or `invalid_config` when this machine cannot listen there; both name the option. */
export async function listening<T>(option: string, at: HostAndPort, listen: () => Promise<T>): Promise<T> {
  try {
    return await listen();
  } catch (cause) {
    // Links wrap the error of the system in their own.
    const codes = [cause, Reflect.get(Object(cause), 'cause')].map((one: unknown) => Reflect.get(Object(one), 'code'));
    if (codes.some((code) => PORT_TAKEN.has(code))) {
      const advice = `stop it, or choose another ${option} (\`tessera dev\` has --port-offset)`;
      throw new TesseraError('port_in_use', `another program listens on ${formatAddress(at)}: ${advice}`);
    }
    if (!codes.some((code) => NOT_OURS.has(code))) throw cause;
    const message = `cannot listen: ${errorMessage(cause)}: choose an address and a port of this machine (${option}, and the host beside it)`;
    throw new TesseraError('invalid_config', message, { cause });
  }
}
