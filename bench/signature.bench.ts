/** A signature by libsodium, by node:crypto and as nodes verify it: processor time, in rounds that take turns. */

import { keyPairFromSeed, sign, verifySignature } from '../src/crypto/ed25519.js';
import { verifyByOpenssl } from '../src/crypto/ed25519-backend.js';
import { openSodium, type Verify } from '../src/crypto/sodium.js';
import { utf8 } from '../src/lib/bytes.js';
import { printMeasured, printSection } from './report.js';
import { interleave, measured, ratios } from './rounds.js';

const LONG = { rounds: 9, calls: 1_000 };
const SHORT = { rounds: 5, calls: 400 };
const MESSAGE = utf8('0'.repeat(64));

const keys = Array.from({ length: 100 }, (_, i) => keyPairFromSeed(new Uint8Array(32).fill(i + 1)));
const signed = keys.map((key) => ({ key: key.publicKey, signature: sign(key.seed, MESSAGE) }));
const forged = signed.map(({ key, signature }) => ({ key, signature: signature.with(3, (signature[3] ?? 0) ^ 1) }));

/** µs of processor time for one. */
function cpuOf(verify: Verify, of: typeof signed, calls: number): number {
  const before = process.cpuUsage();
  for (let i = 0; i < calls; i++) {
    const one = of[i % of.length];
    if (one !== undefined) verify(one.key, MESSAGE, one.signature);
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / calls;
}

export async function signatureBench({ short }: { readonly short: boolean }): Promise<void> {
  const { rounds, calls } = short ? SHORT : LONG;
  const { verify, reason } = openSodium(verifyByOpenssl);
  const ways: readonly (readonly [name: string, verify: Verify, of: typeof signed])[] = [
    ['node:crypto', verifyByOpenssl, signed],
    ...(verify === null ? [] : ([['libsodium', verify, signed]] as const)),
    ['both, as a node verifies', verifySignature, signed],
    ['both, a signature that is wrong', verifySignature, forged],
  ];
  const times = await interleave(ways, rounds, ([, way, of]) => cpuOf(way, of, calls));
  printSection('Signatures: processor time for one');
  if (reason !== null) console.log(`  ${reason}`);
  const [base = []] = times;
  for (const [i, [name]] of ways.entries()) {
    const own = times[i] ?? [];
    printMeasured(name, measured(own), 'us', i === 0 ? {} : { against: ['node:crypto', ratios(own, base)] as const });
  }
}
