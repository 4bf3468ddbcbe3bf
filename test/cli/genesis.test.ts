/** `tessera genesis`: the genesis file of a network, made by one command and read by the nodes. */

import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DISPLAY_UNIT, TOTAL_TOKENS } from '../../src/chain/constants.js';
import { parseGenesis } from '../../src/chain/genesis.js';
import { runCli } from '../../src/cli/run.js';
import { devAccounts } from '../../src/config/dev-accounts.js';
import { keyPairFromSeed } from '../../src/crypto/ed25519.js';
import { fromHex, toHex } from '../../src/lib/bytes.js';
import { parseExactJson } from '../../src/lib/json.js';
import { checkPair } from '../../src/wallet/keys/key-ring.js';
import { createContext } from '../support/cli-context.js';

const OWNER = devAccounts().accounts[0]?.address ?? '';
let folder: string;
let file: string;
let keys: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tessera-genesis-'));
  file = join(folder, 'genesis.json');
  keys = join(folder, 'keys.json');
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function run(...args: string[]) {
  const context = createContext();
  const status = await runCli(['genesis', ...args], context);
  return { status, out: context.out(), err: context.err() };
}

const read = () => parseGenesis(parseExactJson(readFileSync(file)));

interface Keys {
  readonly addresses: Readonly<Record<string, { readonly public_key: string; readonly secret_key: string }>>;
}

describe('genesis new', () => {
  it('gives a new key its funds, and the key to nobody else', async () => {
    const { status, out } = await run('new', file, '--new-owner', '1000.5', '--keys', keys, '--json');
    expect(status).toBe(0);
    const { addresses } = JSON.parse(readFileSync(keys, 'utf8')) as Keys;
    const [[address = '', pair] = []] = Object.entries(addresses);
    const { public_key: publicKey = '', secret_key: secretKey = '' } = pair ?? {};
    // Throws unless the three belong together.
    checkPair(address, { publicKey: fromHex(publicKey), secretKey: fromHex(secretKey), addressVersion: null });
    const [output] = read().transactions.get('000000')?.outputs ?? [];
    expect(output).toMatchObject({ scriptPublicKey: address, value: { amount: (DISPLAY_UNIT * 2_001n) / 2n } });
    expect(statSync(keys).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, 'utf8')).not.toContain(secretKey);
    expect(out).not.toContain(secretKey);
  });

  it('takes addresses that exist, and what is issued later (docs/chain.md#genesis)', async () => {
    const issue = ['--issue', `${OWNER}=3@100`];
    const { status } = await run('new', file, '--owner', `${OWNER}=5`, ...issue, '--raw', '--message', 'hello');
    expect(status).toBe(0);
    const genesis = read();
    const transaction = genesis.transactions.get('000000');
    expect(transaction?.outputs).toMatchObject([{ scriptPublicKey: OWNER, value: { amount: 5n } }]);
    expect(transaction?.inputs[0]?.script).toEqual([{ kind: 'bytes', text: 'hello' }]);
    expect(genesis.issuances).toEqual([{ address: OWNER, amount: 3n, bNum: 100n }]);
    expect(genesis.initialIssuance).toBe(5n);
  });

  it('takes rules for the blocks of a network, which are part of its fingerprint (docs/chain.md#genesis)', async () => {
    const owner = ['--owner', `${OWNER}=5`, '--message', 'hello', '--json'];
    const rules = ['max_transactions=20000', 'interval_ms=5000', 'start=interval'].flatMap((rule) => [
      '--block-rule',
      rule,
    ]);
    const facts = JSON.parse((await run('new', file, ...owner, ...rules)).out);
    expect(facts.block_rules).toMatchObject({ max_transactions: 20_000, interval_ms: 5_000, start: 'interval' });
    expect(read().blockRules).toMatchObject({ transactions: 20_000, intervalMs: 5_000, start: 'interval' });
    expect((await run('show', file)).out).toContain('at most 20000 single transactions');
    const twice = ['--block-rule', 'start=interval', '--block-rule', 'start=full_or_interval'];
    expect(await run('new', join(folder, 'twice.json'), ...owner, ...twice)).toMatchObject({ status: 2 });
    const plain = JSON.parse((await run('new', join(folder, 'plain.json'), ...owner)).out);
    expect(plain.fingerprint).not.toBe(facts.fingerprint);
    expect(readFileSync(join(folder, 'plain.json'), 'utf8')).not.toContain('block_rules');
  });

  it('makes the key that blocks are signed with, and prints its public half', async () => {
    const producer = join(folder, 'producer-key');
    const { status, out } = await run('new', file, '--owner', `${OWNER}=5`, '--producer-key', producer);
    expect(status).toBe(0);
    const seed = fromHex(readFileSync(producer, 'utf8').trim());
    expect(out).toContain(`producer_keys = ["${toHex(keyPairFromSeed(seed).publicKey)}"]`);
    expect(statSync(producer).mode & 0o777).toBe(0o600);
  });

  it('writes amounts beyond 2^53 exactly', async () => {
    await run('new', file, '--owner', `${OWNER}=${TOTAL_TOKENS}`, '--raw');
    expect(read().initialIssuance).toBe(TOTAL_TOKENS);
  });

  it.each([
    [['--owner', `${OWNER}=0`], 2, 'AMOUNT must be from 1'],
    [['--owner', 'somebody=5'], 2, 'write ADDRESS=AMOUNT'],
    [['--owner', OWNER], 2, 'AMOUNT must be a number'],
    [['--owner', `${OWNER}=5`, '--issue', `${OWNER}=5@99`], 2, 'a height of 100 or more'],
    [['--new-owner', '5'], 2, 'add --keys FILE'],
    [[], 2, 'the network needs an owner'],
    [['--owner', `${OWNER}=5`, '--block-rule', 'start'], 2, 'write NAME=VALUE'],
    [['--owner', `${OWNER}=5`, '--block-rule', 'max_bytes=9'], 1, 'block_rules.max_bytes: must be an integer from'],
    [['--owner', `${OWNER}=5000000001`], 1, 'issues more than'],
  ])('refuses %j and makes nothing', async (flags, expected, message) => {
    const { status, err } = await run('new', file, ...flags);
    expect({ status, err }).toEqual({ status: expected, err: expect.stringContaining(message) });
    expect(() => statSync(file)).toThrow('ENOENT');
  });

  it('never writes over a file', async () => {
    writeFileSync(keys, 'the only copy');
    const { status } = await run('new', file, '--new-owner', '5', '--keys', keys);
    expect(status).toBe(2);
    expect(readFileSync(keys, 'utf8')).toBe('the only copy');
    expect(() => statSync(file)).toThrow('ENOENT');
  });
});

describe('genesis import', () => {
  it('leaves out an issuance with block 0, which original nodes never issued', async () => {
    const [seed, later] = ['seed.json', 'issuance.json'].map((name) => join(folder, name));
    const issuances = [0, 1, 7].map((block_height) => ({ address: OWNER, amount: 5, block_height }));
    writeFileSync(seed ?? '', JSON.stringify({ mempool_seed_utxo: { '000000': [{ address: OWNER, amount: 9 }] } }));
    writeFileSync(later ?? '', JSON.stringify({ initial_issuances: issuances }));
    expect(await run('import', seed ?? '', later ?? '', '--out', file)).toMatchObject({ status: 0 });
    expect(read().issuances.map(({ bNum }) => bNum)).toEqual([1n, 7n]);
  });
});

describe('genesis show', () => {
  it('has one fingerprint for files that begin the same chain, however they are written', async () => {
    await run('new', file, '--owner', `${OWNER}=5`, '--message', 'hello');
    const first = JSON.parse((await run('show', file, '--json')).out) as { readonly fingerprint: string };
    writeFileSync(file, JSON.stringify(JSON.parse(readFileSync(file, 'utf8')), null, 7));
    const again = JSON.parse((await run('show', file, '--json')).out);
    expect(again).toEqual(first);
    expect((await run('show', file)).out).toContain(first.fingerprint);
    writeFileSync(file, readFileSync(file, 'utf8').replace('hello', 'hallo'));
    expect(JSON.parse((await run('show', file, '--json')).out).fingerprint).not.toBe(first.fingerprint);
  });

  it('says what a node would refuse', async () => {
    writeFileSync(file, '{"mempool_seed_utxo":{"x":[{"amount":-1}]}}');
    const { status, err } = await run('show', file);
    expect(status).toBe(1);
    expect(err).toContain('mempool_seed_utxo.x[0].amount: must be an integer');
    writeFileSync(file, '{"mempool_seed_utxo":{"x":[\n{"amount":1e3}]}}');
    expect((await run('show', file)).err).toContain('in digits alone (line 2, column 11)');
  });
});
