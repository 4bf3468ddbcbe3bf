/**
 * Counts the signatures that are verified, wherever from: those that libsodium is asked about where it is installed, those that
 * node:crypto verifies otherwise. Keys that neither gets are not counted.
 */

import crypto from 'node:crypto';
import { createRequire, syncBuiltinESMExports } from 'node:module';
import { whyNoSodium } from '../../src/crypto/ed25519-backend.js';

type Verifications = Record<string, (...args: never[]) => boolean>;

let verified = 0;

function count(verifier: Verifications, name: string): void {
  const verify = verifier[name];
  if (verify === undefined) throw new Error(`there is no ${name}`);
  verifier[name] = (...args) => {
    verified++;
    return verify(...args);
  };
}

// libsodium is tried on the edge cases when it is first used, which node:crypto then verifies: before anything is counted.
if (whyNoSodium() === null) {
  // What libsodium does not accept node:crypto verifies again; that is one signature all the same.
  count(createRequire(import.meta.url)('sodium-native') as Verifications, 'crypto_sign_verify_detached');
} else {
  count(crypto as unknown as Verifications, 'verify');
  // Modules that imported it by name see the counting one from here on.
  syncBuiltinESMExports();
}

/** What the work gives, and how many signatures were verified meanwhile. */
export function countVerifications<T>(work: () => T): [result: T, verified: number] {
  const before = verified;
  const result = work();
  return [result, verified - before];
}
