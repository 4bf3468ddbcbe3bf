/**
 * Scripts that anybody may have an input run. An input is the bytes of a script. Running it gives true or false, the same
 * each time; it changes nothing of the script, and verifies no more signatures than were counted before it ran.
 */

import { p2shAddress } from '../../../src/chain/address.js';
import { decodeScript, encodeScript } from '../../../src/chain/codec.js';
import { interpret } from '../../../src/chain/script/interpreter.js';
import { OP, OPCODE_COUNT } from '../../../src/chain/script/opcodes.js';
import { scriptSignatureOperations } from '../../../src/chain/signature-operations.js';
import type { Script, StackEntry } from '../../../src/chain/types.js';
import { keyPairFromSeed, sign } from '../../../src/crypto/ed25519.js';
import { utf8 } from '../../../src/lib/bytes.js';
import * as arbitraries from '../../support/arbitraries.js';
import { fc } from '../../support/property.js';
import { documented, type FuzzTarget, mustBe } from '../target.js';
import { countVerifications } from '../verifications.js';

const MESSAGE = 'signed';
const SIGNERS = [1, 2, 3].map((seed) => {
  const { publicKey } = keyPairFromSeed(new Uint8Array(32).fill(seed));
  return { publicKey, signature: sign(new Uint8Array(32).fill(seed), utf8(MESSAGE)) };
});
const KEYS = SIGNERS.map(({ publicKey }): StackEntry => ({ kind: 'pubkey', bytes: publicKey }));
const SIGNATURES = SIGNERS.map(({ signature }): StackEntry => ({ kind: 'signature', bytes: signature }));
const TEXTS = ['', MESSAGE, 'é', 'x'.repeat(520)].map((text): StackEntry => ({ kind: 'bytes', text }));
const MAX_ENTRIES = 40;
const MAX_CHANGES = 3;

const op = fc.integer({ min: 0, max: OPCODE_COUNT - 1 }).map((code): StackEntry => ({ kind: 'op', op: code }));
const num = fc.oneof(fc.bigInt({ min: 0n, max: 24n }), fc.constantFrom(2n ** 32n, 2n ** 63n, 2n ** 64n - 1n));
/** Entries that later operations can use, so that scripts go on. */
const entry: fc.Arbitrary<StackEntry> = fc.oneof(
  { weight: 6, arbitrary: op },
  { weight: 3, arbitrary: num.map((value): StackEntry => ({ kind: 'num', value })) },
  { weight: 6, arbitrary: fc.constantFrom(...TEXTS, ...KEYS, ...SIGNATURES) },
);
const free = fc.array(entry, { maxLength: MAX_ENTRIES });

/** m of n, with what it needs on the stack. */
const multiSignature = fc
  .tuple(
    fc.integer({ min: 0, max: 3 }),
    fc.integer({ min: 0, max: 3 }),
    fc.constantFrom(OP.CHECKMULTISIG, OP.CHECKMULTISIGVERIFY),
  )
  .map(
    ([m, n, code]): Script => [
      { kind: 'bytes', text: MESSAGE },
      ...SIGNATURES.slice(0, m),
      { kind: 'num', value: BigInt(m) },
      ...KEYS.slice(0, n),
      { kind: 'num', value: BigInt(n) },
      { kind: 'op', op: code },
    ],
  );

const script: fc.Arbitrary<Script> = fc.oneof(
  { weight: 4, arbitrary: free },
  { weight: 1, arbitrary: arbitraries.script },
  { weight: 2, arbitrary: fc.tuple(free, multiSignature, free).map((parts): Script => parts.flat()) },
);

export const scripts: FuzzTarget = {
  name: 'scripts',
  seed: (dice) => encodeScript(dice.sample(script)),
  change(input, dice) {
    const entries = entriesOf(input);
    for (let changes = 1 + dice.below(MAX_CHANGES); changes > 0; changes--) {
      const at = dice.below(entries.length + 1);
      entries.splice(at, dice.below(3), ...Array.from({ length: dice.below(3) }, () => dice.sample(entry)));
    }
    return encodeScript(entries);
  },
  async run(input) {
    const decoded = await documented(() => decodeScript(input), ['malformed_transaction']);
    if ('code' in decoded) return decoded.code;
    const { value } = decoded;
    const counted = scriptSignatureOperations(value);
    const [verdict, verified] = countVerifications(() => interpret(value));
    mustBe(typeof verdict === 'boolean', 'the verdict is neither true nor false');
    mustBe(verified <= counted, `it verified ${verified} signatures; ${counted} were counted before it ran`);
    mustBe(interpret(value) === verdict, 'the second verdict is another one');
    mustBe(Buffer.compare(encodeScript(value), input) === 0, 'running it changed the script');
    mustBe(p2shAddress(value).length === 64, 'its address has another length');
    return String(verdict);
  },
};

function entriesOf(input: Uint8Array): StackEntry[] {
  try {
    return [...decodeScript(input)];
  } catch {
    return [];
  }
}
