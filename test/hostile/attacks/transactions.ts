/** Transactions of every wrong form, many that spend the same output, and scripts that cost as much as they may. */

import { p2shAddress } from '../../../src/chain/address.js';
import { tokenAsset } from '../../../src/chain/assets.js';
import { assemble, createItemTransaction, txOut } from '../../../src/chain/builders.js';
import { transactionHash } from '../../../src/chain/hash.js';
import { OP } from '../../../src/chain/script/opcodes.js';
import type { Script, StackEntry, Transaction, TxIn } from '../../../src/chain/types.js';
import { generateKeyPair, sign } from '../../../src/crypto/ed25519.js';
import { ERROR_CODES } from '../../../src/lib/errors.js';
import { systemRandom } from '../../../src/lib/random.js';
import type { Link } from '../../../src/peers/network.js';
import type { Arena } from '../arena.js';
import { type Attack, mustBe } from '../attack.js';
import { createPeer } from '../stranger.js';
import {
  devAccount,
  freshAddress,
  postText,
  spendOf,
  submitByHttp,
  submitByLink,
  tokensOf,
  untilTokens,
} from '../submit.js';

const AMOUNT = 1_000n;
const REFUSALS = [
  'transaction_rejected',
  'invalid_signature',
  'double_spend',
  'unknown_input',
  'malformed_transaction',
];
const U64_MAX = 2n ** 64n - 1n;
const CONFLICTS = 64;

async function withLink<T>({ mempool }: Arena, use: (link: Link) => Promise<T>): Promise<T> {
  const user = await createPeer('user');
  user.handle('block.mined', () => undefined);
  try {
    return await use(await user.dial(mempool.peerAddress, { timeoutMs: 10_000 }));
  } finally {
    await user.stop();
  }
}

/** Every wrong form of an honest payment, by what was done to it. */
function malleated(honest: Transaction): ReadonlyMap<string, Transaction> {
  const [input, other] = [honest.inputs[0], honest.outputs[0]];
  if (input === undefined || other === undefined) throw new Error('the payment has no input');
  const withInputs = (...inputs: TxIn[]): Transaction => ({ ...honest, inputs });
  const withFirst = (change: object): Transaction => ({
    ...honest,
    outputs: [{ ...other, ...change }, ...honest.outputs.slice(1)],
  });
  const withScript = (change: (script: Script) => Script): Transaction =>
    withInputs({ ...input, script: change(input.script) });
  const stranger = generateKeyPair(systemRandom);
  const minted = txOut(tokenAsset(AMOUNT), freshAddress());
  return new Map<string, Transaction>([
    ['another receiver', withFirst({ scriptPublicKey: freshAddress() })],
    ['another amount', withFirst({ value: tokenAsset(AMOUNT + 1n) })],
    ['an amount of zero', withFirst({ value: tokenAsset(0n) })],
    ['the largest amount', withFirst({ value: tokenAsset(U64_MAX) })],
    ['another locktime', withFirst({ locktime: 1n })],
    ['outputs in another order', { ...honest, outputs: [...honest.outputs].reverse() }],
    ['one output less', { ...honest, outputs: honest.outputs.slice(1) }],
    ['an output more', { ...honest, outputs: [...honest.outputs, minted] }],
    ['no outputs', { ...honest, outputs: [] }],
    ['no inputs', withInputs()],
    ['the same input twice', withInputs(input, input)],
    ['an input that is not there', withInputs({ ...input, previousOut: { tHash: 'f'.repeat(32), n: 0 } })],
    ['an input with a negative index', withInputs({ ...input, previousOut: { tHash: '000000', n: -1 } })],
    ['the output of somebody else', withInputs({ ...input, previousOut: { tHash: '000000', n: 7 } })],
    ['no previous output', withInputs({ ...input, previousOut: null })],
    ['an empty script', withScript(() => [])],
    ['the key of somebody else', withScript((script) => script.map((one) => keyOf(one, stranger.publicKey)))],
    ['a signature with one bit changed', withScript((script) => script.map(flipped))],
    ['an operation more', withScript((script) => [...script, { kind: 'op', op: OP.NOP }])],
    ['a fee out of nothing', { ...honest, fees: [minted] }],
    [
      'a fee in items without a name',
      { ...honest, fees: [txOut({ kind: 'item', amount: 1n, genesisHash: null, metadata: null }, freshAddress())] },
    ],
    [
      'a DRUID for nobody',
      { ...honest, druidInfo: { druid: '', participants: 0n, expectations: [], genesisHash: null } },
    ],
    [
      'a DRUID for too many',
      { ...honest, druidInfo: { druid: 'x', participants: U64_MAX, expectations: [], genesisHash: null } },
    ],
    [
      'a coinbase',
      assemble({ inputs: [{ previousOut: null, script: [{ kind: 'num', value: 1n }] }], outputs: [minted] }),
    ],
    ['items made out of a token signature', withInputs({ previousOut: null, script: input.script })],
  ]);
}

function keyOf(entry: StackEntry, publicKey: Uint8Array): StackEntry {
  return entry.kind === 'pubkey' ? { kind: 'pubkey', bytes: publicKey } : entry;
}

function flipped(entry: StackEntry): StackEntry {
  if (entry.kind !== 'signature') return entry;
  const bytes = Uint8Array.from(entry.bytes);
  bytes[5] = (bytes[5] ?? 0) ^ 1;
  return { kind: 'signature', bytes };
}

async function malleate(arena: Arena): Promise<void> {
  const payee = freshAddress();
  const honest = spendOf(devAccount(0), [txOut(tokenAsset(AMOUNT), payee)]);
  await withLink(arena, async (link) => {
    for (const [what, transaction] of malleated(honest)) {
      const code = await submitByLink(link, [transaction]);
      mustBe(REFUSALS.includes(code), `${what}: ${code === '' ? 'it was admitted' : code}`);
      const both = await submitByLink(link, [transaction, transaction]);
      mustBe(REFUSALS.includes(both), `${what}, twice: ${both === '' ? 'it was admitted' : both}`);
    }
    // The version is under no signature: whoever passes a payment on can give it another hash, and only one of them counts.
    const copy = { ...honest, version: 2n };
    mustBe(transactionHash(copy) !== transactionHash(honest), 'the copy is no copy');
    const codes = [await submitByLink(link, [copy]), await submitByLink(link, [honest])];
    mustBe(codes.filter((code) => code === '').length === 1, `a payment and its copy: ${codes.join(', ')}`);
  });
  await untilTokens(arena.mempool, [payee], Number(AMOUNT));
  mustBe((await tokensOf(arena.mempool, [payee])) === Number(AMOUNT), 'a payment was counted twice');
}

async function conflict(arena: Arena): Promise<void> {
  const payees = Array.from({ length: CONFLICTS }, freshAddress);
  const spends = payees.map((payee) => spendOf(devAccount(1), [txOut(tokenAsset(AMOUNT), payee)]));
  const codes = await withLink(arena, (link) =>
    Promise.all(spends.map((tx, i) => (i % 2 === 0 ? submitByLink(link, [tx]) : submitByHttp(arena.mempool, [tx])))),
  );
  mustBe(
    codes.filter((code) => code === '').length === 1,
    `${codes.filter((code) => code === '').length} were admitted`,
  );
  mustBe(
    codes.every((code) => code === '' || REFUSALS.includes(code)),
    `an undocumented refusal: ${codes.join(' ')}`,
  );
  await untilTokens(arena.mempool, payees, Number(AMOUNT));
  mustBe((await tokensOf(arena.mempool, payees)) === Number(AMOUNT), 'an output was spent twice');
}

/** A key of small order: whether a signature is its own takes five times as long to find out as with any other. */
const DEAR_KEY: StackEntry = { kind: 'pubkey', bytes: Uint8Array.of(1, ...new Uint8Array(31)) };
/** Of the twenty keys of a script. */
const DEAR_KEYS = 10;
const SIGNERS = 10;
const SPENDS = 9;
const MESSAGE = 'm';
/** Scripts of the most signatures in one: 155 operations each, where 2,000 are allowed. */
const OVER_BUDGET = 20;

/**
 * Ten of twenty signatures, each of which is tried on all keys that are left before its own comes; false at its very end.
 */
function dearScript(): Script {
  const signers = Array.from({ length: SIGNERS }, () => generateKeyPair(systemRandom));
  const signatures = signers.map(({ seed }): StackEntry => ({ kind: 'signature', bytes: sign(seed, MESSAGE) }));
  const keys = signers.map(({ publicKey }): StackEntry => ({ kind: 'pubkey', bytes: publicKey }));
  const num = (value: number): StackEntry => ({ kind: 'num', value: BigInt(value) });
  return [
    { kind: 'bytes', text: MESSAGE },
    ...signatures.reverse(),
    num(SIGNERS),
    ...keys,
    ...Array.from({ length: DEAR_KEYS }, () => DEAR_KEY),
    num(SIGNERS + DEAR_KEYS),
    { kind: 'op', op: OP.CHECKMULTISIG },
    num(0),
  ];
}

/** Outputs to a script that is false after all its work, spent again and again: what is refused costs its sender nothing. */
async function spendDearScripts(arena: Arena): Promise<void> {
  const script = dearScript();
  const address = p2shAddress(script);
  const funding = spendOf(
    devAccount(2),
    Array.from({ length: SPENDS }, () => txOut(tokenAsset(AMOUNT), address)),
  );
  await withLink(arena, async (link) => {
    mustBe((await submitByLink(link, [funding])) === '', 'the outputs could not be made');
    await untilTokens(arena.mempool, [address], SPENDS * Number(AMOUNT));
    const tHash = transactionHash(funding);
    const inputs = Array.from({ length: SPENDS }, (_, n): TxIn => ({ previousOut: { tHash, n }, script }));
    const outputs = [txOut(tokenAsset(BigInt(SPENDS) * AMOUNT), freshAddress())];
    const bombs = Array.from({ length: 4 * arena.scale }, (_, i) => ({
      ...assemble({ inputs, outputs }),
      version: BigInt(i),
    }));
    const codes = await Promise.all(bombs.map((bomb) => submitByLink(link, [bomb])));
    mustBe(codes.includes('invalid_signature'), `nothing was verified: ${codes.join(' ')}`);
    mustBe(
      codes.every((code) => code === 'invalid_signature' || code === 'overloaded'),
      codes.join(' '),
    );
  });
}

/** Creations that need no funds, each under a key that is dear to verify. */
async function createByDearKeys(arena: Arena): Promise<void> {
  const key = generateKeyPair(systemRandom);
  const bombs = Array.from({ length: 500 }, (_, i) => {
    const honest = createItemTransaction({ bNum: 0n, amount: BigInt(i + 1), spec: 'Create', metadata: null }, key);
    return {
      ...honest,
      inputs: honest.inputs.map((one) => ({
        ...one,
        script: one.script.map((e) => (e.kind === 'pubkey' ? DEAR_KEY : e)),
      })),
    };
  });
  await withLink(arena, async (link) => {
    for (let i = 0; i < 2 * arena.scale; i++) {
      const code = await submitByLink(link, bombs);
      mustBe(REFUSALS.includes(code), `items of a key of small order: ${code || 'admitted'}`);
    }
  });
}

/** More of an item that exists, made by naming it: the item itself, one that nobody has, and a name that is none. */
async function copyItem(arena: Arena): Promise<void> {
  const key = generateKeyPair(systemRandom);
  const item = createItemTransaction({ bNum: 0n, amount: 1n, spec: 'Create', metadata: 'one of one' }, key);
  const named = (genesisHash: string): Transaction => ({
    ...item,
    outputs: item.outputs.map((out) => ({ ...out, value: { kind: 'item', amount: 1n, genesisHash, metadata: null } })),
  });
  await withLink(arena, async (link) => {
    mustBe((await submitByLink(link, [item])) === '', 'the item could not be made');
    for (const name of [transactionHash(item), `g${'0'.repeat(31)}`, '', 'x', '\u001b[2J']) {
      for (const submit of [submitByLink.bind(null, link), submitByHttp.bind(null, arena.mempool)]) {
        const code = await submit([named(name)]);
        mustBe(code !== '' && code in ERROR_CODES, `more of the item "${name}": ${code || 'admitted'}`);
      }
    }
  });
}

/** A transaction of a megabyte whose scripts ask for more signatures than any may, at no cost for its sender. */
async function askForTooManySignatures(arena: Arena): Promise<void> {
  const multi = dearScript().slice(0, -1);
  const script = Array.from({ length: OVER_BUDGET }, () => multi).flat();
  const bomb = assemble({
    inputs: [{ previousOut: { tHash: 'f'.repeat(32), n: 0 }, script }],
    outputs: [txOut(tokenAsset(AMOUNT), freshAddress())],
  });
  await withLink(arena, async (link) => {
    for (let i = 0; i < 10 * arena.scale; i++) {
      const again = { ...bomb, version: BigInt(i) };
      const codes = [await submitByLink(link, [again]), await submitByHttp(arena.mempool, [again])];
      mustBe(
        codes.every((code) => code === 'transaction_rejected' || code === 'malformed_transaction'),
        `scripts beyond the budget: ${codes.map((code) => code || 'admitted').join(' ')}`,
      );
    }
  });
}

/** Bodies that are small or allowed, and dear to read. */
async function postDearBodies({ mempool, scale }: Arena): Promise<void> {
  const names = Array.from({ length: 100_000 }, (_, i) => `"${i.toString(36)}":0`).join();
  const address = (i: number): string => i.toString(16).padStart(64, '0');
  const bodies: readonly (readonly [path: string, body: string])[] = [
    ['/v1/transactions', `{"transactions":${'['.repeat(500_000)}${']'.repeat(500_000)}}`],
    ['/v1/transactions', `{${names}}`],
    ['/v1/transactions', `{"transactions":[{"version":${'9'.repeat(1_000_000)}}]}`],
    ['/v1/transactions', `{"transactions":["${'\\u0000'.repeat(200_000)}"]}`],
    ['/v1/balances/query', JSON.stringify({ addresses: Array.from({ length: 1_000 }, (_, i) => address(i)) })],
    ['/v1/balances/query', JSON.stringify({ addresses: Array.from({ length: 30_000 }, (_, i) => address(i)) })],
    ['/v1/transactions:deserialize', JSON.stringify(['00'.repeat(900_000)])],
  ];
  for (let i = 0; i < 2 * scale; i++) {
    for (const [path, body] of bodies) {
      const code = await postText(mempool, path, body);
      mustBe(code === '' || code in ERROR_CODES, `${path}: ${code} is not documented`);
    }
  }
}

export const malleatedTransactions: Attack = { name: 'a payment in 25 wrong forms, and a copy', run: malleate };
export const conflictingSpends: Attack = { name: '64 conflicting spends at once', run: conflict };
export const dearScripts: Attack = { name: 'scripts of the most signatures, under dear keys', run: spendDearScripts };
export const dearKeys: Attack = { name: 'creations under keys that are dear to verify', run: createByDearKeys };
export const dearBodies: Attack = { name: 'bodies that are dear to read', run: postDearBodies };
export const copiedItems: Attack = { name: 'more of an item that exists', run: copyItem };
export const overBudget: Attack = {
  name: 'scripts of more signatures than any may have',
  run: askForTooManySignatures,
};
