/** `ip:port` as the contract defines it (docs/clients.md#payments): an IP address, not a host name. */

import { isIPv4, isIPv6 } from 'node:net';
import { TesseraError } from './errors.js';

const FORM = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/;
const MAX_PORT = 65_535;

/** True for `1.2.3.4:5` and `[::1]:5`, with a port from 1 to 65535. */
export function isSocketAddress(text: string): boolean {
  const found = FORM.exec(text);
  if (found === null) return false;
  const [, v6, v4, port] = found;
  const number = Number(port);
  return number >= 1 && number <= MAX_PORT && (v6 === undefined ? isIPv4(v4 ?? '') : isIPv6(v6));
}

/** Throws `invalid_socket_address` unless the text is an `ip:port`. */
export function requireSocketAddress(text: string): void {
  if (!isSocketAddress(text)) {
    throw new TesseraError('invalid_socket_address', 'address must be a valid ip:port socket address.');
  }
}
