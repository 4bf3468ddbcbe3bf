/** The dearest submissions that the rules allow: how long they take, and how long they hold the event loop at most. */

import { addressOf, p2shAddress } from '../src/chain/address.js';
import { tokenAsset } from '../src/chain/assets.js';
import { assemble, assembleSigned, createItemFromSignature, txOut, unsignedInput } from '../src/chain/builders.js';
import { encodeTransaction } from '../src/chain/codec.js';
import { OP } from '../src/chain/script/opcodes.js';
import { assetSignable } from '../src/chain/signable.js';
import { outPointKey } from '../src/chain/transaction.js';
import type { DruidInfo, OutPoint, Script, StackEntry, Transaction, TxOut } from '../src/chain/types.js';
import { createUnicorn, DEFAULT_MODULUS } from '../src/chain/unicorn.js';
import { type KeyPair, keyPairFromSeed, sign } from '../src/crypto/ed25519.js';
import { sha3Bytes } from '../src/crypto/sha3.js';
import { endlessRoom } from '../src/db/disk-room.js';
import { LocalJournal } from '../src/journal/local-journal.js';
import { Verifier } from '../src/ledger/verifier/verifier.js';
import { systemClock } from '../src/lib/clock.js';
import { errorMessage, isTesseraError } from '../src/lib/errors.js';
import { silentLogger } from '../src/lib/logger.js';
import { Admission } from '../src/mempool/admission/admission.js';
import { Applier } from '../src/mempool/state/applier.js';
import { MempoolState } from '../src/mempool/state/state.js';
import { StateStore } from '../src/mempool/state/state-store.js';
import { Statuses } from '../src/mempool/state/statuses.js';
import { noMetrics } from '../src/observability/metrics.js';
import { MemoryKv } from '../test/support/memory-kv.js';
import { BENCH_RULES } from './payments.js';
import { printRow, printSection } from './report.js';

const OUTPUTS = 80_000;
const SCRIPTS = 400;
const AMOUNT = 1_000n;
const GENESIS_HASH = '000000';
const key = keyPairFromSeed(sha3Bytes('bench submission'));
const address = addressOf(key.publicKey);

/** Hands out each output of the genesis once. */
let nextOutput = 0;
export const fresh = (count: number): OutPoint[] =>
  Array.from({ length: count }, () => ({ tHash: GENESIS_HASH, n: nextOutput++ }));

interface Parts {
  readonly inputs: readonly OutPoint[];
  readonly outputs: readonly TxOut[];
  readonly druidInfo?: DruidInfo;
}

function signed({ inputs, outputs, druidInfo }: Parts, by: KeyPair = key): Transaction {
  const keys = new Map(inputs.map((outPoint) => [outPointKey(outPoint), by]));
  const rest = druidInfo === undefined ? {} : { druidInfo };
  return assembleSigned({ inputs: inputs.map(unsignedInput), outputs, ...rest }, keys);
}

/** A payment of all inputs to as many outputs as are asked for. */
export function payment(inputs: readonly OutPoint[], outputs: number, druidInfo?: DruidInfo): Transaction {
  const total = AMOUNT * BigInt(inputs.length);
  const each = total / BigInt(outputs);
  const amounts = Array.from({ length: outputs }, (_, i) => (i === 0 ? total - each * BigInt(outputs - 1) : each));
  return signed({
    inputs,
    outputs: amounts.map((amount) => txOut(tokenAsset(amount), address)),
    ...(druidInfo === undefined ? {} : { druidInfo }),
  });
}

/** The same with signatures of another text. */
export function badlySigned(tx: Transaction): Transaction {
  const signature = sign(key.seed, 'another text');
  return {
    ...tx,
    inputs: tx.inputs.map(({ previousOut, script }) => ({
      previousOut,
      script: script.map((entry): StackEntry => (entry.kind === 'signature' ? { ...entry, bytes: signature } : entry)),
    })),
  };
}

/** A thousand transactions that the same signatures cover; those of the last are wrong. */
function formsOf(tx: Transaction, form: (i: number) => Partial<Transaction>): Transaction[] {
  return Array.from({ length: 1_000 }, (_, i) =>
    i < 999 ? { ...tx, ...form(i) } : { ...badlySigned(tx), ...form(i) },
  );
}

const itemSignature = sign(key.seed, assetSignable({ kind: 'item', amount: 1n, genesisHash: null, metadata: null }));
const MAKER = { address, publicKey: key.publicKey, signature: itemSignature };
const FORGER = { ...MAKER, signature: sign(key.seed, 'another text') };

/** Four 20-of-20 multi-signatures in their dearest order: 840 verifications; `seed` makes it another script. */
function multiSignatures(seed: number): Script {
  const pairs = Array.from({ length: 20 }, (_, i) => keyPairFromSeed(sha3Bytes(`bench signer ${i}`)));
  const twenty: StackEntry = { kind: 'num', value: 20n };
  const group: Script = [
    { kind: 'bytes', text: 'any text' },
    ...[...pairs].reverse().map((pair): StackEntry => ({ kind: 'signature', bytes: sign(pair.seed, 'any text') })),
    twenty,
    ...pairs.map((pair): StackEntry => ({ kind: 'pubkey', bytes: pair.publicKey })),
    twenty,
    { kind: 'op', op: OP.CHECKMULTISIGVERIFY },
  ];
  return [group, group, group, group, [{ kind: 'num' as const, value: BigInt(seed) }]].flat();
}

/** 201 operations that hash what they have. */
function hashing(seed: number): Script {
  return [
    { kind: 'num', value: BigInt(seed) },
    { kind: 'bytes', text: 'x'.repeat(520) },
    ...Array.from({ length: 201 }, (): StackEntry => ({ kind: 'op', op: 79 })),
  ];
}

const SPECIAL: readonly Script[] = Array.from({ length: SCRIPTS }, (_, i) =>
  i < 100 ? multiSignatures(i + 1) : hashing(i + 1),
);

function spendScripts(from: number, count: number): Transaction {
  const inputs = SPECIAL.slice(from, from + count).map((script, i) => ({
    previousOut: { tHash: GENESIS_HASH, n: OUTPUTS + from + i },
    script,
  }));
  return {
    ...assemble({ inputs: [], outputs: [txOut(tokenAsset(AMOUNT * BigInt(count)), address)] }),
    inputs,
  };
}

export async function createBed() {
  const keyed = txOut(tokenAsset(AMOUNT), address);
  const scripted = SPECIAL.map((script) => txOut(tokenAsset(AMOUNT), p2shAddress(script)));
  const genesis = assemble({ inputs: [], outputs: [...Array.from({ length: OUTPUTS }, () => keyed), ...scripted] });
  const issued = { hash: GENESIS_HASH, bytes: encodeTransaction(genesis), amount: AMOUNT * BigInt(OUTPUTS + SCRIPTS) };
  const state = new MempoolState({
    genesis: [issued],
    ...BENCH_RULES,
  });
  const store = new StateStore(new MemoryKv(), systemClock);
  const modules = { state, store, clock: systemClock, metrics: noMetrics, logger: silentLogger, room: endlessRoom };
  const journal = await LocalJournal.open({}, { ...modules, kv: new MemoryKv() });
  const unicorn = (seed: bigint) => createUnicorn(seed, { modulus: DEFAULT_MODULUS, iterations: 2 });
  const applier = new Applier({ ...modules, journal, unicorn });
  await applier.start();
  // The outputs of block 0 can be spent as soon as it is cut.
  await applier.submit<'cut-block'>({ kind: 'cut-block', time: 1, miners: ['m'] });
  const statuses = new Statuses({ lifetime: 86_400 }, modules);
  const verifier = new Verifier({ threads: 1 });
  const pool = { maxTransactions: 200_000, maxBytes: 1 << 30 };
  const admission = new Admission(pool, {
    ...modules,
    applier,
    statuses,
    verifier,
    assertNotBehind: () => undefined,
    onRefused: () => undefined,
  });
  const stop = async (): Promise<void> => {
    await applier.stop();
    await statuses.stop();
    await verifier.close();
  };
  return { admission, verifier, stop };
}

interface Watched {
  readonly ms: number;
  /** Milliseconds of processor time, of all threads. */
  readonly cpu: number;
  /** Milliseconds of the longest turn of the loop. */
  readonly longest: number;
  /** By code. */
  readonly outcomes: string;
}

/** What it takes until all promises have settled. */
async function watch(run: () => Promise<unknown>[]): Promise<Watched> {
  await new Promise((resolve) => setTimeout(resolve, 50));
  const started = performance.now();
  let last = started;
  let longest = 0;
  let over = false;
  const turn = (): void => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
    if (!over) setImmediate(turn);
  };
  setImmediate(turn);
  const used = process.cpuUsage();
  const settled = await Promise.allSettled(run());
  const ms = performance.now() - started;
  const { user, system } = process.cpuUsage(used);
  over = true;
  const counts = new Map<string, number>();
  for (const one of settled) {
    const code = one.status === 'fulfilled' ? 'admitted' : codeOf(one.reason);
    counts.set(code, (counts.get(code) ?? 0) + 1);
  }
  const outcomes = [...counts].map(([code, count]) => `${count} ${code}`).join(', ');
  return { ms, cpu: (user + system) / 1_000, longest, outcomes };
}

function codeOf(error: unknown): string {
  return isTesseraError(error) ? error.code : errorMessage(error);
}

/** Each case: the submissions, made at once. */
function cases(): [name: string, lists: readonly (readonly Transaction[])[]][] {
  const druid = (participants: bigint): DruidInfo => ({
    druid: 'd',
    participants,
    expectations: [],
    genesisHash: null,
  });
  const member = (): Transaction => payment(fresh(40), 1, druid(64n));
  const members = Array.from({ length: 64 }, member);
  const overBudget = (): Transaction => ({ ...spendScripts(0, 3) });
  return [
    ['1,000 payments in a list', [Array.from({ length: 1_000 }, () => payment(fresh(1), 2))]],
    ['one transaction of 1,460 inputs', [[payment(fresh(1_460), 1)]]],
    ['one transaction of 700 inputs and 2,000 outputs', [[payment(fresh(700), 2_000)]]],
    ['one transaction of 5,000 outputs', [[payment(fresh(5), 5_000)]]],
    ['scripts of 1,680 signature operations', [[spendScripts(0, 2)]]],
    ['scripts beyond the budget', [[overBudget()]]],
    ['200 scripts of 201 hash operations', [[spendScripts(100, 200)]]],
    ['a DRUID set of 64 in one list', [members]],
    [
      '60 lists of 1,000 bad signatures at once',
      Array.from({ length: 60 }, () => {
        const bad = badlySigned(payment(fresh(1), 2));
        return Array.from({ length: 1_000 }, (_, i) => ({ ...bad, version: BigInt(i) }));
      }),
    ],
    [
      '1,000 forms of one payment, the last signature wrong',
      [formsOf(payment(fresh(1), 2), (i) => ({ version: BigInt(i) }))],
    ],
    [
      '1,000 halves of trades under one signature, the last wrong',
      [formsOf(payment(fresh(1), 2), (i) => ({ druidInfo: { ...druid(2n), druid: `forms ${i}` } }))],
    ],
    [
      '1,000 item creations under one signature, the last wrong',
      [
        Array.from({ length: 1_000 }, (_, i) =>
          createItemFromSignature(
            { bNum: 0n, amount: 1n, spec: 'Create', metadata: `form ${i}` },
            i < 999 ? MAKER : FORGER,
          ),
        ),
      ],
    ],
  ];
}

export async function submissionBench(): Promise<void> {
  printSection('The dearest submissions (one verify thread): time, and the longest turn of the event loop');
  const { admission, verifier, stop } = await createBed();
  await admission.submit([payment(fresh(1), 2)]);
  for (const [name, lists] of cases()) {
    const before = { ...verifier.ran };
    const { ms, cpu, longest, outcomes } = await watch(() => lists.map((list) => admission.submit(list)));
    const checks = `${verifier.ran.worker - before.worker} checks in the worker, ${verifier.ran.main - before.main} here`;
    printRow({ name, value: ms, unit: 'ms', note: `${cpu.toFixed(0)} ms of processors` });
    printRow({ name: '    longest turn of the loop', value: longest, unit: 'ms', note: `${outcomes}; ${checks}` });
  }
  await stop();
}
