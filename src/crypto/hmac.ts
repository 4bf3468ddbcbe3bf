/** HMAC-SHA512 and PBKDF2, from which keys are derived; `hmac.browser.ts` in browsers. */

import { createHmac, pbkdf2 } from 'node:crypto';
import { promisify } from 'node:util';

const stretch = promisify(pbkdf2);

export function hmacSha512(key: Uint8Array, data: Uint8Array): Uint8Array {
  return createHmac('sha512', key).update(data).digest();
}

/** PBKDF2 with HMAC-SHA512; texts count as their UTF-8 bytes. */
export function pbkdf2Sha512(password: string, salt: string, rounds: number, length: number): Promise<Uint8Array> {
  return stretch(password, salt, rounds, length, 'sha512');
}
