/** The client's address, for limits: the peer's, or with `api.trusted_proxies` the last in X-Forwarded-For that is no trusted proxy. */

import { isIP } from 'node:net';
import type { FastifyRequest } from 'fastify';
import { addressGroup, isLoopback, LOOPBACK_GROUP } from '../../lib/ip-address.js';

/** Name for all clients whose address a trusted proxy does not tell. */
const UNKNOWN = 'unknown';
/** An address as some proxies write it: with the port of the client, IPv6 in brackets. */
const BRACKETED = /^\[([^\]]*)\](?::\d+)?$/;
const IPV4_AND_PORT = /^([\d.]+):\d+$/;

/** Address of a client; never loopback when it was forwarded, so that no client of a proxy is exempt from limits. */
export function clientAddress({ ips, socket }: Pick<FastifyRequest, 'ips' | 'socket'>): string {
  // Fastify lists the peer first and the client last, and nothing without the option.
  const forwarded = ips !== undefined && ips.length > 1 ? ips.at(-1) : undefined;
  if (forwarded === undefined) return socket.remoteAddress ?? UNKNOWN;
  const address = BRACKETED.exec(forwarded)?.[1] ?? IPV4_AND_PORT.exec(forwarded)?.[1] ?? forwarded;
  const isKnown = isIP(address) !== 0 && !isLoopback(address) && addressGroup(address) !== LOOPBACK_GROUP;
  return isKnown ? address : UNKNOWN;
}
