/** A signature by libsodium, by node:crypto and as nodes verify it: CPU time, in rounds that take turns. */

import { keyPairFromSeed, sign, verifySignature } from '../src/crypto/ed25519.js';
import { verifyByOpenssl } from '../src/crypto/ed25519-backend.js';
import { openSodium, type Verify } from '../src/crypto/sodium.js';
import { utf8 } from '../src/lib/bytes.js';
import { printRow, printSection } from './report.js';

const ROUNDS = 9;
const CALLS = 1_000;
const MESSAGE = utf8('0'.repeat(64));

const keys = Array.from({ length: 100 }, (_, i) => keyPairFromSeed(new Uint8Array(32).fill(i + 1)));
const signed = keys.map((key) => ({ key: key.publicKey, signature: sign(key.seed, MESSAGE) }));
const forged = signed.map(({ key, signature }) => ({ key, signature: signature.with(3, (signature[3] ?? 0) ^ 1) }));

/** µs of CPU for one. */
function measure(verify: Verify, of: typeof signed): number {
  const before = process.cpuUsage();
  for (let i = 0; i < CALLS; i++) {
    const one = of[i % of.length];
    if (one !== undefined) verify(one.key, MESSAGE, one.signature);
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / CALLS;
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;

export async function signatureBench(): Promise<void> {
  const { verify, reason } = openSodium(verifyByOpenssl);
  const ways: readonly (readonly [name: string, verify: Verify, of: typeof signed])[] = [
    ['node:crypto', verifyByOpenssl, signed],
    ...(verify === null ? [] : ([['libsodium', verify, signed]] as const)),
    ['both, as a node verifies', verifySignature, signed],
    ['both, a signature that is wrong', verifySignature, forged],
  ];
  const times = ways.map((): number[] => []);
  for (let round = 0; round < ROUNDS; round++) {
    for (const [i, [, way, of]] of ways.entries()) times[i]?.push(measure(way, of));
  }
  printSection(`signatures${reason === null ? '' : `: ${reason}`}`);
  const base = median(times[0] ?? []);
  for (const [i, [name]] of ways.entries()) {
    const [value, all] = [median(times[i] ?? []), times[i] ?? []];
    const note = `${Math.min(...all).toFixed(0)} to ${Math.max(...all).toFixed(0)}`;
    printRow({ name, value, unit: 'us', note, ...(i === 0 ? {} : { against: ['node:crypto', base] as const }) });
  }
}
