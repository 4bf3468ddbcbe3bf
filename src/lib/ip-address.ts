/** IP addresses and networks: which addresses are loopback, and which count as one (a host usually has a whole IPv6 /64). */

import { isIP, isIPv4, isIPv6 } from 'node:net';
import { TesseraError } from './errors.js';

const IPV4_IN_IPV6 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;
/** Parts of 16 bits in a /64. */
const PREFIX_PARTS = 4;

/** Most addresses whose group is remembered: every request needs its sender's group, and reading an address is slow. */
const MAX_REMEMBERED = 1_000;
const groups = new Map<string, string>();
/** The group of ::1. IPv4 addresses in IPv6 form are in it too. */
export const LOOPBACK_GROUP = '0:0:0:0::/64';

/** Group that counts as one address: an IPv4 address itself, the /64 of an IPv6 address. */
export function addressGroup(host: string): string {
  const known = groups.get(host);
  if (known !== undefined) return known;
  const group = groupOf(host);
  if (groups.size >= MAX_REMEMBERED) groups.clear();
  groups.set(host, group);
  return group;
}

/** Group for which a connection counts in limits; undefined over loopback, where nobody is limited: a proxy may stand there. */
export function limitedGroup(host: string): string | undefined {
  return isLoopback(host) ? undefined : addressGroup(host);
}

function groupOf(host: string): string {
  const mapped = IPV4_IN_IPV6.exec(host)?.[1];
  if (mapped !== undefined) return mapped;
  const [plain = ''] = host.split('%');
  // The first look for IPv6 takes Node.js 20 ms.
  if (!plain.includes(':') || !isIPv6(plain)) return host;
  const [head = '', tail] = plain.split('::');
  const parts = head === '' ? [] : head.split(':');
  // `::` stands for zeros. Only the first four parts matter, so parts behind it count only where they reach that far.
  if (tail !== undefined) {
    const behind = tail === '' ? [] : tail.split(':');
    while (parts.length < 8 - behind.length) parts.push('0');
    parts.push(...behind);
  }
  const prefix = parts.slice(0, PREFIX_PARTS).map((part) => Number.parseInt(part, 16).toString(16));
  return `${prefix.join(':')}::/64`;
}

/** True for addresses that only this machine can reach: `localhost`, 127.0.0.0/8 and ::1, also in the brackets of a URL. */
export function isLoopback(host: string): boolean {
  if (host === 'localhost') return true;
  const bare = host.replace(/^\[|\]$/g, '');
  const plain = IPV4_IN_IPV6.exec(bare)?.[1] ?? bare;
  return plain === '::1' || (isIPv4(plain) && plain.startsWith('127.'));
}

/** True for an IP address, and for a network in the CIDR form whose prefix has at least one bit: `10.0.0.0/8`. */
export function isAddressOrNetwork(text: string): boolean {
  const [address = '', prefix, ...rest] = text.split('/');
  const family = isIP(address);
  if (family === 0 || rest.length > 0) return false;
  if (prefix === undefined) return true;
  return /^[1-9]\d{0,2}$/.test(prefix) && Number(prefix) <= (family === 4 ? 32 : 128);
}

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
