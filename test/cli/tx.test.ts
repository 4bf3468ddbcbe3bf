/** `tessera tx` without a node: what it builds, what it signs, and what it refuses (docs/cli.md#signing-without-a-node). */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { addressOf, BURN_ADDRESS } from '../../src/chain/address.js';
import { itemAsset, tokenAsset } from '../../src/chain/assets.js';
import { assemble, txOut } from '../../src/chain/builders.js';
import { encodeTransaction } from '../../src/chain/codec.js';
import { transactionHash } from '../../src/chain/hash.js';
import type { Asset, Transaction } from '../../src/chain/types.js';
import { runCli } from '../../src/cli/run.js';
import { parseDraft, transactionOf } from '../../src/cli/tx/draft.js';
import { devAccounts } from '../../src/config/dev-accounts.js';
import { keyPairFromSeed } from '../../src/crypto/ed25519.js';
import { toHex } from '../../src/lib/bytes.js';
import { parseExactJson, stringifyExact } from '../../src/lib/json.js';
import { DerivedKeys } from '../../src/wallet/keys/derived-keys.js';
import { parseWords } from '../../src/wallet/keys/words.js';
import { createContext } from '../support/cli-context.js';
import { fc, test } from '../support/property.js';
import { transactionFault } from '../support/validate.js';

const [ONE, TWO, THREE] = devAccounts().accounts.map(({ address }) => address) as [string, string, string];
const SEED = Uint8Array.from({ length: 32 }, (_, i) => i);
const SHORT = addressOf(keyPairFromSeed(SEED).publicKey, 0);
const CLASS = `g${'c'.repeat(31)}`;
const hash = (digit: string) => `g${digit.repeat(31)}`;

type Holding = readonly [address: string, name: string, value: object];

/** A listing as `tessera call getBalances --json` prints it. */
function listing(...holdings: readonly Holding[]): string {
  const address_list: Record<string, object[]> = {};
  for (const [address, name, value] of holdings) {
    const [n = '', t_hash] = name.split(/-(.*)/);
    const held = address_list[address] ?? [];
    address_list[address] = [...held, { out_point: { t_hash, n: Number(n) }, value }];
  }
  return JSON.stringify({ balance: { address_list, total: { tokens: 0, items: {} } } });
}

const LISTING = listing(
  [ONE, `0-${hash('1')}`, { Token: 100 }],
  [ONE, `1-${hash('2')}`, { Token: 30 }],
  [TWO, `0-${hash('3')}`, { Token: 7 }],
  [ONE, `0-${CLASS}`, { Item: { amount: 5, genesis_hash: null, metadata: 'a card' } }],
);

async function run(argv: readonly string[], input = '') {
  const stdin = new PassThrough();
  stdin.end(input);
  const context = { ...createContext(), stdin };
  const status = await runCli(['tx', ...argv], context);
  return { status, out: context.out(), err: context.err() };
}

const build = (...flags: string[]) => run(['build', '--utxos', '-', '--raw', ...flags], LISTING);

async function built(...flags: string[]): Promise<string> {
  const { status, out, err } = await build(...flags);
  expect(err).toContain('fee        none');
  expect(status).toBe(0);
  return out;
}

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'tessera-tx-'));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

async function file(name: string, content: string): Promise<string> {
  const path = join(await folder(), name);
  await writeFile(path, content);
  return path;
}

/** A transaction with one output: what it made is the output 0 of its hash. */
function maker(address: string, value: Asset = tokenAsset(5n)): Transaction {
  return assemble({ inputs: [{ previousOut: null, script: [] }], outputs: [txOut(value, address)] });
}

/** The file with these transactions in it. */
function withPrevious(text: string, ...previous: readonly Transaction[]): string {
  const file = parseExactJson(text);
  const previous_transactions = previous.map((one) => toHex(encodeTransaction(one)));
  return stringifyExact({ ...(file as object), previous_transactions });
}

/** Spends the output of a transaction, of which the file says that it holds this, and has no proof. */
async function spending(made: Transaction, value: object, ...flags: readonly string[]): Promise<string> {
  const owner = made.outputs[0]?.scriptPublicKey ?? '';
  const said = listing([owner, `0-${transactionHash(made)}`, value]);
  const { status, out, err } = await run(['build', '--utxos', '-', '--unproven', ...flags], said);
  expect(status, err).toBe(0);
  return out;
}

/** By the rules of the chain, as a node checks it. */
function isValid(text: string): boolean {
  const draft = parseDraft(text, 'the test');
  const verdict = transactionFault(transactionOf(draft), 10n, (outPoint) => {
    const found = draft.inputs.find((one) => one.outPoint.tHash === outPoint.tHash && one.outPoint.n === outPoint.n);
    return found && { value: found.value, locktime: 0n, scriptPublicKey: found.address };
  });
  return verdict === null;
}

describe('tx build', () => {
  it('pays, returns what is over to the first input, and says so', async () => {
    const { out, err } = await build('--from', 'dev:1', '--to', `${THREE}=40`);
    expect(JSON.parse(out)).toEqual({
      kind: 'tessera-transaction',
      format: 2,
      previous_transactions: [],
      inputs: [{ previous_out: { t_hash: hash('1'), n: 0 }, address: ONE, value: { Token: 100 }, signature: null }],
      outputs: [
        { value: { Token: 40 }, locktime: 0, script_public_key: THREE },
        { value: { Token: 60 }, locktime: 0, script_public_key: ONE },
      ],
    });
    expect(err).toContain(`pays       0.000000555 (40 raw units) to ${THREE}\n`);
    expect(err).toContain(`returns    0.000000832 (60 raw units) to ${ONE}\n`);
  });

  it('needs no change where outputs fit, takes several, and spends exactly those that are named', async () => {
    const inputs = async (...flags: string[]) =>
      JSON.parse(await built(...flags)).inputs.map((one: { value: { Token: number } }) => one.value.Token);
    expect(await inputs('--from', 'dev:1', '--to', `${THREE}=130`)).toEqual(expect.arrayContaining([100, 30]));
    expect(await inputs('--to', `${THREE}=37`)).toEqual(expect.arrayContaining([30, 7]));
    expect(await inputs('--to', `${THREE}=1`, '--input', `0-${hash('3')}`, '--input', `0-${hash('1')}`)).toEqual([
      7, 100,
    ]);
  });

  it('burns, and pays items to somebody with the rest to --change', async () => {
    const burnt = await build('--from', 'dev:2', '--burn', '7');
    expect(JSON.parse(burnt.out).outputs).toEqual([
      { value: { Token: 7 }, locktime: 0, script_public_key: BURN_ADDRESS },
    ]);
    expect(burnt.err).toContain('burns      0.000000097 (7 raw units): nobody can spend it ever again\n');
    const flags = ['--utxos', '-', '--item', CLASS, '--to', 'dev:3=2', '--change', 'dev:2'];
    const { out } = await run(['build', ...flags], LISTING);
    const item = (amount: number) => ({ Item: { amount, genesis_hash: CLASS, metadata: null } });
    expect(JSON.parse(out).outputs).toEqual([
      { value: item(2), locktime: 0, script_public_key: THREE },
      { value: item(3), locktime: 0, script_public_key: TWO },
    ]);
  });

  it('keeps integers exact that numbers are not', async () => {
    const text = LISTING.replace('"Token":100', '"Token":18014398509481985');
    const { out } = await run(
      ['build', '--utxos', '-', '--raw', '--from', 'dev:1', '--to', 'dev:2=9007199254740993'],
      text,
    );
    expect(out).toContain('"Token": 9007199254740993');
    expect(out).toContain('"Token": 9007199254740992');
  });

  it.each([
    [
      ['--from', 'dev:1', '--to', `${THREE}=131`],
      1,
      'insufficient_funds: the addresses hold 130, and 131 are to be paid',
    ],
    [['--from', 'dev:2', '--to', `${THREE}=1`, '--input', `0-${hash('1')}`], 1, 'unknown_input: 0-g1111'],
    [
      ['--to', `${THREE}=9`, '--input', `0-${hash('3')}`],
      1,
      'its inputs hold 7 raw units, and its outputs 9: 2 are missing',
    ],
    [['--to', `${THREE}=1`, '--input', `0-${CLASS}`], 1, `items of ${CLASS}`],
    [['--from', 'dev:1', '--to', 'nobody=1'], 2, '--to: "nobody" is not an address'],
    [['--from', 'dev:11', '--to', `${THREE}=1`], 2, 'the dev network has accounts 1 to 10, user and miner, not "11"'],
    [['--from', 'dev:1', '--to', `${THREE}=0`], 2, 'AMOUNT must be from 1'],
    [['--from', 'dev:1'], 2, 'say what to pay'],
  ])('refuses %j', async (flags, status, message) => {
    const refused = await build(...flags);
    expect([refused.status, refused.out]).toEqual([status, '']);
    expect(refused.err).toContain(message);
  });

  it('refuses what is no listing', async () => {
    const { status, err } = await run(['build', '--utxos', '-', '--raw', '--to', 'dev:2=1'], '{"balance":{}}');
    expect([status, err]).toEqual([
      1,
      expect.stringContaining('it is not an answer of tessera call getBalances --json'),
    ]);
  });
});

describe('tx sign', () => {
  it('makes what the rules of the chain accept, and opens no connection', async () => {
    const draft = await built('--to', `${THREE}=137`);
    const connections = vi.spyOn(Socket.prototype, 'connect');
    const fetches = vi.spyOn(globalThis, 'fetch');
    onTestFinished(() => void vi.restoreAllMocks());
    const { status, out, err } = await run(['sign', '--dev-account', '1', '--dev-account', '2'], draft);
    expect([status, connections.mock.calls, fetches.mock.calls]).toEqual([0, [], []]);
    expect(err).toContain('3 of 3 inputs to be signed');
    expect(isValid(out)).toBe(true);
    expect(isValid(draft)).toBe(false);
    const seeds = devAccounts().accounts.map(({ keyPair }) => toHex(keyPair.seed));
    for (const seed of seeds) expect(out + err).not.toContain(seed);
  });

  it('signs with the key pairs of a file, whatever form of address they have', async () => {
    const secret = toHex(SEED);
    const keys = await file('keys.json', JSON.stringify({ addresses: { [SHORT]: { secret_key: secret } } }));
    const made = maker(SHORT);
    const draft = withPrevious(await spending(made, { Token: 5 }, '--raw', '--to', 'dev:2=5'), made);
    const { out } = await run(['sign', '--key-file', keys], draft);
    expect(JSON.parse(out).inputs[0].signature.address_version).toBe(0);
    expect(isValid(out)).toBe(true);
  });

  it('warns of an address of version 99999 that it signs for, and of no other', async () => {
    const key = { secret_key: toHex(SEED) };
    for (const version of [99_999, null, 0] as const) {
      const address = addressOf(keyPairFromSeed(SEED).publicKey, version);
      const keys = await file('keys.json', JSON.stringify({ addresses: { [address]: key } }));
      const made = maker(address);
      const draft = withPrevious(await spending(made, { Token: 5 }, '--raw', '--to', 'dev:2=5'), made);
      const { status, out, err } = await run(['sign', '--key-file', keys], draft);
      expect([status, isValid(out)]).toEqual([0, true]);
      expect(err.includes(`\nwarning: ${address}: other keys have the same address`)).toBe(version === 99_999);
      expect(err.includes('warning')).toBe(version === 99_999);
    }
  });

  it('signs with words, as far as --depth', async () => {
    const text = `${'abandon '.repeat(11)}about`;
    const derived = await DerivedKeys.of(parseWords(text));
    const address = derived.address({ account: 'change', index: 3 });
    derived.close();
    const words = await file('words', text);
    const made = maker(address);
    const draft = withPrevious(await spending(made, { Token: 5 }, '--raw', '--to', 'dev:2=5'), made);
    expect(isValid((await run(['sign', '--words-file', words], draft)).out)).toBe(true);
    const { status, err } = await run(['sign', '--words-file', words, '--depth', '3'], draft);
    expect([status, err]).toEqual([1, expect.stringContaining(`no key is that of ${address}: nothing was signed`)]);
  });

  it('signs what it can with --partial, and another the rest', async () => {
    const draft = await built('--to', `${THREE}=137`);
    const refused = await run(['sign', '--dev-account', '2'], draft);
    expect([refused.status, refused.out]).toEqual([1, '']);
    expect(refused.err).toContain(`invalid_signature: no key is that of ${ONE}`);
    const first = await run(['sign', '--dev-account', '2', '--partial'], draft);
    expect(isValid(first.out)).toBe(false);
    const unsent = await run(['send', '--url', 'http://127.0.0.1:1'], first.out);
    expect([unsent.status, unsent.err]).toEqual([1, expect.stringContaining(`of ${ONE} is not signed`)]);
    const second = await run(['sign', '--dev-account', '1'], first.out);
    expect(second.err).toContain('2 of 3 inputs to be signed');
    expect(isValid(second.out)).toBe(true);
    const again = await run(['sign', '--dev-account', '1'], second.out);
    expect([again.status, again.err]).toEqual([1, expect.stringContaining('nothing is left to be signed')]);
  });

  it('calls change only what goes to a key of the signer: not what goes to another input, signed or not', async () => {
    const [victim, thief] = [maker(SHORT, tokenAsset(100n)), maker(THREE, tokenAsset(1n))];
    const listed = listing(
      [SHORT, `0-${transactionHash(victim)}`, { Token: 100 }],
      [THREE, `0-${transactionHash(thief)}`, { Token: 1 }],
    );
    const inputs = [victim, thief].flatMap((one) => ['--input', `0-${transactionHash(one)}`]);
    const flags = [...inputs, '--raw', '--to', `${THREE}=91`, '--change', SHORT];
    const { out: made, err: said } = await run(['build', '--utxos', '-', '--unproven', ...flags], listed);
    expect(said).not.toContain('returns');
    const open = withPrevious(made, victim, thief);
    const { out: signed } = await run(['sign', '--dev-account', '3', '--partial'], open);
    const keys = await file('keys.json', JSON.stringify({ addresses: { [SHORT]: { secret_key: toHex(SEED) } } }));
    for (const text of [open, signed]) {
      const { err } = await run(['sign', '--key-file', keys, '--partial'], text);
      expect(err).toMatch(new RegExp(`pays .*\\(91 raw units\\) to ${THREE}\n`));
      expect(err).toMatch(new RegExp(`returns .*\\(10 raw units\\) to ${SHORT}\n`));
      expect(err).toMatch(new RegExp(`spends .*\\(1 raw units?\\) of ${THREE} .*: NOT YOURS, its key was not given\n`));
      expect(err.match(/NOT YOURS/g)).toHaveLength(1);
      const shown = (await run(['show'], text)).out;
      expect(shown).not.toContain('returns');
      for (const address of [THREE, SHORT]) expect(shown).toContain(`to ${address}, where an input comes from\n`);
    }
  });

  it('asks a person, and signs nothing when the answer is no', async () => {
    const draft = await file('payment.json', await built('--to', `${THREE}=100`));
    const answer = async (typed: string) => {
      const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => undefined });
      stdin.write(typed);
      const context = { ...createContext(), stdin };
      const status = await runCli(['tx', 'sign', draft, '--dev-account', '1'], context);
      return { status, out: context.out() };
    };
    expect(await answer('no\n')).toEqual({ status: 4, out: '' });
    expect((await answer('yes\n')).status).toBe(0);
  });

  it.each([
    [[], 'name the keys'],
    [['--dev-account', '0'], 'accounts 1 to 10'],
    [['--key-file', '/no/such/file'], 'cannot be read'],
  ])('refuses %j', async (flags, message) => {
    const { status, out, err } = await run(['sign', ...flags], await built('--to', `${THREE}=1`));
    expect([status, out]).toEqual([2, '']);
    expect(err).toContain(message);
  });
});

describe('what an input holds', () => {
  const made = maker(SHORT, tokenAsset(1_000_000n));
  const keyFile = () => file('keys.json', JSON.stringify({ addresses: { [SHORT]: { secret_key: toHex(SEED) } } }));
  const lie = () => spending(made, { Token: 1_000 }, '--raw', '--to', 'dev:2=1000');

  it('could be taken as a fee, which no signature covers, by whoever made the file say less', async () => {
    const keys = await keyFile();
    const { status, out } = await run(['sign', '--key-file', keys, '--trust-amounts'], await lie());
    expect(status).toBe(0);
    const transaction = transactionOf(parseDraft(out, 'the test'));
    const stolen = { ...transaction, fees: [txOut(tokenAsset(999_000n), THREE)] };
    const holds = () => ({ value: tokenAsset(1_000_000n), locktime: 0n, scriptPublicKey: SHORT });
    expect(transactionFault(stolen, 10n, holds)).toBeNull();
    expect(transactionFault(transaction, 10n, holds)).not.toBeNull();
  });

  it('is checked by the transaction that made it, before anything is signed', async () => {
    const keys = await keyFile();
    const text = withPrevious(await lie(), made);
    for (const command of [['show'], ['sign', '--key-file', keys], ['sign', '--key-file', keys, '--trust-amounts']]) {
      const { status, out, err } = await run(command, text);
      expect([status, out]).toEqual([1, '']);
      expect(err).toContain('it holds 1000000 raw units, not 1000 raw units');
    }
  });

  it.each([
    ['there is no transaction', []],
    ['a transaction of another hash says the same', [maker(SHORT, tokenAsset(1_000n))]],
  ])('is not believed where %s: nothing is signed, and show says so', async (_what, previous) => {
    const text = withPrevious(await lie(), ...previous);
    const { status, out, err } = await run(['sign', '--key-file', await keyFile()], text);
    expect([status, out]).toEqual([1, '']);
    expect(err).toContain('NOT PROVEN, it may hold more');
    expect(err).toContain('the rest can be taken as a fee');
    expect((await run(['show'], text)).out).toContain('NOT PROVEN, it may hold more');
    expect(JSON.parse((await run(['show', '--json'], text)).out).unproven).toEqual([`0-${transactionHash(made)}`]);
  });

  it('is not believed of a file of format 1, which has no proofs', async () => {
    const old = JSON.parse(withPrevious(await lie(), made));
    const { status, out } = await run(['sign', '--key-file', await keyFile()], JSON.stringify({ ...old, format: 1 }));
    expect([status, out]).toEqual([1, '']);
  });

  it('is not believed when it belongs to somebody else, or is not there', async () => {
    const of = await spending(maker(SHORT), { Token: 5 }, '--raw', '--to', 'dev:2=5');
    const change = (path: 'address' | 'n', value: string | number): string => {
      const draft = JSON.parse(withPrevious(of, maker(SHORT)));
      if (path === 'n') draft.inputs[0].previous_out.n = value;
      else draft.inputs[0].address = value;
      return JSON.stringify(draft);
    };
    expect((await run(['show'], change('address', 'ab'.repeat(32)))).err).toContain('does not belong to abab');
    for (const n of [1, -1]) expect((await run(['show'], change('n', n))).err).toContain('has no such output');
  });

  it('is proven for items too, also by their creation', async () => {
    const created = maker(SHORT, itemAsset(5n, null, 'a card'));
    const name = transactionHash(created);
    const item = (amount: number) => ({ Item: { amount, genesis_hash: null, metadata: null } });
    const keys = await keyFile();
    const spend = (amount: number) =>
      spending(created, item(amount), '--item', name, '--to', `dev:2=${amount}`).then((text) =>
        withPrevious(text, created),
      );
    expect(isValid((await run(['sign', '--key-file', keys], await spend(5))).out)).toBe(true);
    expect((await run(['sign', '--key-file', keys], await spend(4))).err).toContain(
      `it holds 5 items of ${name}, not 4`,
    );
  });

  it('is read from the genesis file for outputs of block 0', async () => {
    const genesis = (amount: number) =>
      file('genesis.json', JSON.stringify({ mempool_seed_utxo: { '000000': [{ address: SHORT, amount }] } }));
    const said = listing([SHORT, '0-000000', { Token: 5 }]);
    const flags = ['--utxos', '-', '--raw', '--to', 'dev:2=5'];
    const refused = await run(['build', ...flags], said);
    expect([refused.status, refused.err]).toEqual([1, expect.stringContaining('nothing proves what 0-000000 holds')]);
    const { out } = await run(['build', ...flags, '--genesis', await genesis(5)], said);
    const keys = await keyFile();
    expect((await run(['sign', '--key-file', keys], out)).status).toBe(1);
    expect(isValid((await run(['sign', '--key-file', keys, '--genesis', await genesis(5)], out)).out)).toBe(true);
    const lied = await run(['sign', '--key-file', keys, '--genesis', await genesis(6)], out);
    expect([lied.status, lied.err]).toEqual([1, expect.stringContaining('it holds 6 raw units, not 5 raw units')]);
  });

  it('is asked for only of those whose keys are not published', async () => {
    const draft = await built('--from', 'dev:1', '--to', `${THREE}=40`);
    expect((await run(['sign', '--dev-account', '1'], draft)).status).toBe(0);
  });
});

describe('a file that was changed after it was signed', () => {
  const change = (draft: object, path: string, value: unknown): void => {
    const names = path.split('.');
    const last = names.pop() ?? '';
    const holder = names.reduce<unknown>((at, name) => Reflect.get(at as object, name), draft);
    Reflect.set(holder as object, last, value);
  };
  const signed = async () =>
    JSON.parse((await run(['sign', '--dev-account', '1'], await built('--from', 'dev:1', '--to', `${THREE}=40`))).out);

  const changes: readonly (readonly [
    what: string,
    message: string,
    ...changed: (readonly [path: string, value: unknown])[],
  ])[] = [
    ['amounts', 'signature of 0-g1', ['outputs.0.value.Token', 60], ['outputs.1.value.Token', 40]],
    ['a receiver', 'signature of 0-g1', ['outputs.0.script_public_key', TWO]],
    ['a locktime', 'signature of 0-g1', ['outputs.0.locktime', 9]],
    ['an outpoint', 'signature of 1-g1', ['inputs.0.previous_out.n', 1]],
    ['whose input it is', 'does not belong to', ['inputs.0.address', TWO]],
    ['a key', 'does not belong to', ['inputs.0.signature.public_key', 'ab'.repeat(32)]],
    ['a sum', '1 would be lost', ['outputs.0.value.Token', 39]],
    ['an address', 'address of output 0', ['outputs.0.script_public_key', 'x'.repeat(64)]],
    ['no outputs', 'needs an input and an output', ['outputs', []]],
    ['the format', 'its format is not 2', ['format', 3]],
    ['what comes with it', 'is no transaction in hex', ['previous_transactions', ['zz']]],
    ['the kind', 'its kind is not tessera-transaction', ['kind', 'x']],
  ];

  const cases = changes.map(([what, message, ...changed]) => ({ what, message, changed }));
  it.each(cases)('is refused by show, sign and send: $what', async ({ message, changed }) => {
    const draft = await signed();
    for (const [path, value] of changed) change(draft, path, value);
    const text = JSON.stringify(draft);
    for (const command of [['show'], ['sign', '--dev-account', '1'], ['send', '--url', 'http://127.0.0.1:1']]) {
      const { status, out, err } = await run(command, text);
      expect([status, out]).toEqual([1, '']);
      expect(err).toContain(message);
    }
  });

  it('is refused when it names an input twice', async () => {
    const draft = await signed();
    const { status, err } = await run(
      ['show'],
      JSON.stringify({ ...draft, inputs: [...draft.inputs, ...draft.inputs] }),
    );
    expect([status, err]).toEqual([1, expect.stringContaining('two inputs spend 0-g1')]);
  });

  test.prop([fc.json()], { numRuns: 30 })('or is none at all, ends with status 1', async (text) => {
    expect((await run(['show'], text)).status).toBe(1);
  });
});

describe('amounts of tx build', () => {
  test.prop([fc.array(fc.bigInt({ min: 1n, max: 10n ** 15n }), { minLength: 1, maxLength: 12 }), fc.nat(99)], {
    numRuns: 20,
  })('come and go as a whole, and what is signed is valid', async (amounts, percent) => {
    const total = amounts.reduce((sum, one) => sum + one, 0n);
    const pay = (total * BigInt(percent)) / 100n + 1n;
    const holdings = amounts.map((amount, i): Holding => [ONE, `${i}-${hash('1')}`, { Token: Number(amount) }]);
    const flags = ['--utxos', '-', '--raw', '--to', `dev:2=${pay < total ? pay : total}`];
    const { status, out } = await run(['build', ...flags], listing(...holdings));
    expect(status).toBe(0);
    const { inputs, outputs } = parseDraft(out, 'the test');
    const sum = (list: readonly { value: { amount: bigint } }[]) =>
      list.reduce((all, one) => all + one.value.amount, 0n);
    expect(sum(inputs)).toBe(sum(outputs));
    expect(isValid((await run(['sign', '--dev-account', '1'], out)).out)).toBe(true);
  });
});

it('shows a signed transaction with its hash, also for programs', async () => {
  const { out } = await run(['sign', '--dev-account', '2'], await built('--from', 'dev:2', '--to', `${THREE}=7`));
  const shown = await run(['show'], out);
  expect(shown.out).toMatch(/^transaction {2}g[0-9a-f]{31}\n/);
  const report = JSON.parse((await run(['show', '--json'], out)).out);
  expect(report).toEqual({
    tx_hash: expect.stringMatching(/^g[0-9a-f]{31}$/),
    is_signed: true,
    to_sign: [],
    unproven: [],
  });
});
