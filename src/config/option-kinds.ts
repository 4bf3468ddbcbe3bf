/** Kinds of options that several groups share (addresses, ports, files, hex), and units for their bounds. */

import { Type } from '@sinclair/typebox';
import { type Facts, perRole } from '../lib/roles.js';
import { integer, list, maybeText, text } from './options.js';

export const KIB = 1_024;
export const MIB = 1_024 * KIB;
export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_S = 86_400;

/** Pattern for a host name, IPv4 address or bracketed IPv6 address, a colon, and a port from 1 to 65535, as `peers/address.ts` reads it. */
export const HOST_PORT =
  '^([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?|\\[[0-9A-Fa-f:.]+\\]):' +
  '([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])$';
const hostPort = () => Type.String({ pattern: HOST_PORT, maxLength: 261, form: 'host:port' });
export const host = (description: string) =>
  text(
    { default: '127.0.0.1', pattern: '^[A-Za-z0-9._:-]+$', maxLength: 253, form: 'a host name or address' },
    description,
  );
/** A port, which each role has a default for. */
export const port = (kind: keyof Facts['ports'], description: string) =>
  integer(
    { minimum: 0, maximum: 65_535, roleDefaults: perRole(({ ports }) => ports[kind]) },
    `${description} 0 takes any free port.`,
  );
export const peerList = (description: string) =>
  list(hostPort(), { default: [], maxItems: 256, example: '["10.0.0.2:12300"]' }, description);
/** An IP address, or a network of them. `checks.ts` checks the numbers. */
export const addressOrNetwork = () =>
  Type.String({
    pattern: '^[0-9A-Fa-f:.]+(/[0-9]{1,3})?$',
    maxLength: 64,
    form: 'an IP address or a network such as 10.0.0.0/8',
  });
export const url = () =>
  Type.String({ pattern: '^https?://[^\\s/]+(/\\S*)?$', maxLength: 512, form: 'a URL such as https://host:port' });
export const file = (description: string) =>
  maybeText({ minLength: 1, path: 'working-directory', form: 'a file path' }, description);
export const hex = (bytes: number) =>
  Type.String({ pattern: `^[0-9a-f]{${bytes * 2}}$`, form: `${bytes * 2} lower-case hex digits` });
