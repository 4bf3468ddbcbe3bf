/**
 * Web pages that may use a node without API keys (`api.auth = "open"`): browsers send simple requests for any page, also to rebound names.
 */

import { isIP } from 'node:net';
import { isLoopback } from '../../lib/ip-address.js';

/** Names that no public DNS knows (RFC 6761, and the choice of ICANN for private use). */
const UNREGISTRABLE = /\.(?:localhost|internal)$/;

export interface PageFacts {
  readonly host: string | undefined;
  readonly origin: string | undefined;
  readonly fetchSite: string | undefined;
  /** True when no page of another origin could have sent the request without a preflight. */
  readonly preflighted: boolean;
}

export type AllowedOrigins = 'off' | 'loopback' | 'all' | readonly string[];

/** Headers that a page of another origin sends after a preflight only, besides the media types of bodies. */
const OWN_HEADERS = ['idempotency-key', 'x-api-key', 'x-cache-id', 'x-nonce', 'x-request-id'] as const;

/** True for a request with a header that asks for a preflight. Methods are not looked at. */
export function needsPreflight(headers: Readonly<Record<string, string | readonly string[] | undefined>>): boolean {
  if (OWN_HEADERS.some((name) => headers[name] !== undefined)) return true;
  const [type = ''] = String(headers['content-type'] ?? '').split(';');
  return ['application/json', 'application/octet-stream'].includes(type.trim().toLowerCase());
}

/** False for a page with a rebound name, and for another origin that `api.cors` does not allow or that has asked for no preflight. */
export function mayChange(page: PageFacts, allowed: AllowedOrigins): boolean {
  if (page.origin === undefined && page.fetchSite === undefined) return true;
  if (!isHostOfNode(page.host, allowed)) return false;
  return isSameOrigin(page) || (page.preflighted && isAllowed(page.origin, allowed));
}

/** True for a name that a stranger may point at this machine: no address, not in `api.cors`, and registrable. */
export function isStrangeHost(host: string | undefined, allowed: AllowedOrigins): boolean {
  if (host === undefined || allowed === 'all' || isHostOfNode(host, allowed)) return false;
  const name = hostname(`http://${host}`).replace(/\.$/, '');
  return name.includes('.') ? !UNREGISTRABLE.test(name) : name === '';
}

/** The host of a URL without its port, and without the brackets of an IPv6 address; empty when there is none. */
export function hostname(url: string): string {
  return parsed(url)?.hostname.replace(/^\[|\]$/g, '') ?? '';
}

/** True for addresses, loopback names and names in `api.cors`. A page that has rebound its name sends another name as the host. */
function isHostOfNode(host: string | undefined, allowed: AllowedOrigins): boolean {
  const name = hostname(`http://${host ?? ''}`);
  if (isLoopback(name) || isIP(name) !== 0) return true;
  return typeof allowed !== 'string' && allowed.some((origin) => hostname(origin) === name);
}

function isSameOrigin({ host = '', origin, fetchSite }: PageFacts): boolean {
  if (origin === undefined) return fetchSite === 'same-origin' || fetchSite === 'none';
  const from = parsed(origin);
  // The host is read with the scheme of the origin, which implies the port where none is given.
  return from !== undefined && from.host !== '' && from.host === parsed(`${from.protocol}//${host}`)?.host;
}

/** True for pages of this machine, which are trusted as its programs are, and for pages that `api.cors` allows. */
function isAllowed(origin: string | undefined, allowed: AllowedOrigins): boolean {
  if (allowed === 'all') return true;
  if (origin === undefined) return false;
  return isOfThisMachine(origin) || (typeof allowed !== 'string' && allowed.includes(origin));
}

export function isOfThisMachine(origin: string): boolean {
  return isLoopback(hostname(origin));
}

function parsed(url: string): URL | undefined {
  return URL.canParse(url) ? new URL(url) : undefined;
}
