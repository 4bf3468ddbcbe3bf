/** Counts the signatures that node:crypto verifies, wherever they are verified from. */

import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';

let verified = 0;

const { verify } = crypto;
crypto.verify = ((...args: Parameters<typeof verify>) => {
  verified++;
  return verify(...args);
}) as typeof verify;
// Modules that imported it by name see the counting one from here on.
syncBuiltinESMExports();

/** What the work gives, and how many signatures were verified meanwhile. */
export function countVerifications<T>(work: () => T): [result: T, verified: number] {
  const before = verified;
  const result = work();
  return [result, verified - before];
}
