/** Addresses of peers: `host:port`, where the host is a name, an IPv4 address or an IPv6 address in brackets. */

import { isIPv6 } from 'node:net';
import { TesseraError } from '../lib/errors.js';

export interface HostAndPort {
  /** Host without brackets. */
  readonly host: string;
  readonly port: number;
}

/** Characters of the longest address: a DNS name, a colon, a port. */
export const MAX_ADDRESS_LENGTH = 260;

const MAX_PORT = 65_535;
const ADDRESS = /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)):(\d{1,5})$/;

/** Reads `host:port`. Throws `invalid_socket_address` and says what is expected. */
export function parseAddress(address: string): HostAndPort {
  const match = address.length <= MAX_ADDRESS_LENGTH ? ADDRESS.exec(address) : null;
  const port = Number(match?.[3]);
  const host = match?.[1] ?? match?.[2];
  const ipv6Fits = match?.[1] === undefined || isIPv6(match[1]);
  if (host === undefined || !ipv6Fits || port < 1 || port > MAX_PORT) {
    throw new TesseraError(
      'invalid_socket_address',
      `"${address.slice(0, MAX_ADDRESS_LENGTH)}" is not an address: write host:port, such as 127.0.0.1:12300`,
    );
  }
  return { host, port };
}

/** The text `host:port`, with brackets around an IPv6 host. */
export function formatAddress({ host, port }: HostAndPort): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
