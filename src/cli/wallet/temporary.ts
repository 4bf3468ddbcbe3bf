/** The warning of commands that deal with addresses of version 99999. */

import type { Keypair } from '../../api/routes/wallet/schemas.js';
import { temporaryAddressWarning } from '../../chain/address.js';
import { ADDRESS_VERSION_TEMP } from '../../chain/constants.js';
import { printable } from '../../lib/printable.js';
import type { CliContext } from '../command.js';

/** Says nothing when there are none. */
export function warnOfTemporary(addresses: readonly string[] | undefined, { stderr }: CliContext): void {
  const warning = temporaryAddressWarning(addresses);
  if (warning !== undefined) stderr.write(`warning: ${printable(warning)}\n`);
}

/** The same for key pairs by their addresses. */
export function warnOfTemporaryPairs(pairs: readonly (readonly [string, Keypair])[], context: CliContext): void {
  const temporary = pairs.filter(([, pair]) => pair.address_version === ADDRESS_VERSION_TEMP);
  warnOfTemporary(
    temporary.map(([address]) => address),
    context,
  );
}
