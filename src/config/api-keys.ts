/** The rules for a configured API key. */

import { fault, type Verdict } from '../lib/fault.js';

const MIN_KEY_LENGTH = 16;
const SHA256_HEX = /^[0-9a-fA-F]{64}$/;

/** Checks a configured key. The message completes a sentence that begins with the key's name. */
export function apiKeyFault(configured: {
  readonly key?: string | undefined;
  readonly sha256?: string | undefined;
}): Verdict {
  const { key, sha256 } = configured;
  if ((key === undefined) === (sha256 === undefined)) return fault('invalid_config', 'needs either key or sha256');
  if (key !== undefined && key.length < MIN_KEY_LENGTH) {
    return fault('invalid_config', `has a key of fewer than ${MIN_KEY_LENGTH} characters`);
  }
  if (sha256 !== undefined && !SHA256_HEX.test(sha256)) {
    return fault('invalid_config', 'has a sha256 that is not 64 hexadecimal digits');
  }
  return null;
}
/**
 * Permissions of keys. `read`: history, labels, events. `pay`: payments, items, donations, new addresses, labels. `export`: private keys.
 * `admin`: importing keys, changing the passphrase.
 */
export const API_PERMISSIONS = ['read', 'pay', 'export', 'admin'] as const;
export type ApiPermission = (typeof API_PERMISSIONS)[number];
