/** What an owner is told of addresses of version 99999, of which many keys have the same (docs/chain.md#addresses). */

/** Addresses that a sentence names. */
const NAMED = 3;

/** Undefined when there are none of them. */
export function temporaryAddressWarning(addresses: readonly string[] = []): string | undefined {
  if (addresses.length === 0) return undefined;
  const more = addresses.length > NAMED ? ` and ${addresses.length - NAMED} more` : '';
  return (
    `${addresses.slice(0, NAMED).join(', ')}${more}: other keys have the same address of version 99999, and whoever finds one can spend ` +
    'what is paid to it. Move that away (tessera wallet sweep), and have nothing paid there'
  );
}
