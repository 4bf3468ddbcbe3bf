import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import * as constants from '../../src/chain/constants.js';
import { parseExactJson, stringifyExact } from '../../src/lib/json.js';
import { vectorsCommand } from './command.js';
import { readVectors, runVector } from './run.js';

const golden = readVectors(
  parseExactJson(readFileSync(new URL('../fixtures/chain-vectors.json', import.meta.url), 'utf8')),
);
const source = (id: string) => {
  const found = golden.find((vector) => vector.id === id);
  if (found === undefined) throw new Error(`no vector ${id}`);
  return { inputs: found.inputs, expected: found.expected as Record<string, unknown> };
};
const run = (category: string, inputs: Record<string, unknown>, expected: unknown, status = 'active') =>
  runVector({ id: 'x', name: '', category, status, inputs, expected });
const passes = (category: string, inputs: Record<string, unknown>, expected: unknown) =>
  expect(run(category, inputs, expected), stringifyExact({ category, inputs, expected })).toEqual([]);
const fails = (category: string, inputs: Record<string, unknown>, expected: unknown) =>
  expect(run(category, inputs, expected), stringifyExact({ category, inputs, expected })).not.toEqual([]);

describe('shapes of vectors (docs/chain.md#vectors)', () => {
  it('takes a merkle root as a text, as a pair and by name', () => {
    const { inputs, expected } = source('d-merkle-3');
    const [root, txs_hash] = expected as unknown as string[];
    for (const shape of [root, [root, txs_hash], { root, txs_hash }, { merkle_root: root }, { txs_hash }])
      passes('merkle', { ...inputs }, shape);
    for (const shape of [txs_hash, [txs_hash, root], { root: txs_hash }, true]) fails('merkle', { ...inputs }, shape);
  });

  it('knows the constants by the names of the reference, as text and as number', () => {
    const table = {
      ...{ D_DISPLAY_PLACES: 72_072_000, TX_HASH_LENGTH: 32, V0_ADDRESS_LENGTH: 16, STANDARD_ADDRESS_LENGTH: 64 },
      ...{ NETWORK_VERSION: 6, NETWORK_VERSION_V0: 0, NETWORK_VERSION_TEMP: 99_999, MAX_METADATA_BYTES: 800 },
      ...{ MAX_BLOCK_SIZE: 1000, MAX_SCRIPT_ITEM_SIZE: 520, MAX_OPS_PER_SCRIPT: 201, MAX_PUB_KEYS_PER_MULTISIG: 20 },
      ...{ MAX_SCRIPT_SIZE: 10_000, MAX_STACK_SIZE: 1000, REWARD_ISSUANCE_VAL: 27, REWARD_SMOOTHING_VAL: 8 },
      ...{ COINBASE_MATURITY: 100, MINING_DIFFICULTY: 1, ZERO: 0, SIXTEEN: 16, TOTAL_TOKENS: 360360000000000000n },
    };
    for (const [name, value] of Object.entries(table)) {
      passes('constants', {}, { [name]: value });
      passes('constants', {}, { [name]: String(value) });
      passes('constants', { name }, value);
      fails('constants', {}, { [name]: BigInt(value) + 1n });
    }
    const texts = {
      ...{ TX_PREPEND: 'g', BLOCK_PREPEND: 'b', P2SH_PREPEND: 'H' },
      ...{ ITEM_DEFAULT_DRS_TX_HASH: 'default_genesis_hash', ITEM_ACCEPT_VAL: 'PAYMENT_ACCEPT' },
    };
    passes('constants', {}, texts);
    for (const name of Object.keys(texts)) fails('constants', {}, { [name]: 'x' });
    fails('constants', {}, { COLOUR: 1 });
    fails('constants', {}, { toString: 1 });
  });

  it('knows every constant of the chain by our own name', () => {
    for (const [name, value] of Object.entries(constants))
      if (name !== 'V0_ADDRESS_LENGTH') passes('constants', {}, { [name]: String(value) });
  });

  it('takes the verdict on a script bare and by name', () => {
    const cases = [
      ['script_interpret', { stack: [{ Op: 'OP_1' }] }, true],
      ['script_limits', { entry_kind: 'Op', entry: 'OP_1', repeat: 202 }, false],
    ] as const;
    for (const [category, inputs, verdict] of cases) {
      for (const shape of [verdict, { result: verdict }, { valid: verdict }, { interpret: verdict }])
        passes(category, inputs, shape);
      for (const shape of [!verdict, { result: !verdict }, { valid: !verdict }, String(verdict)])
        fails(category, inputs, shape);
    }
  });

  it('takes headers and blocks as text and as objects, in either layout', () => {
    const current = source('d-header-current');
    const header = JSON.parse(String(current.inputs.header_json));
    const { block_hash, bincode_hex, header_hash_hex } = current.expected;
    for (const inputs of [{ header_json: header }, { header }, { json: current.inputs.header_json }, header]) {
      passes('block_hash', inputs, current.expected);
      for (const bare of [block_hash, bincode_hex, header_hash_hex].filter((text) => text !== undefined))
        passes('block_hash', inputs, bare);
    }
    const prime = source('d-header-prime');
    passes('block_hash', { ...prime.inputs, layout: 'prime' }, prime.expected);
    fails('block_hash', { ...prime.inputs, layout: 'current' }, prime.expected);
    fails('block_hash', { ...prime.inputs, layout: 'other' }, prime.expected);
    const block = source('d-block-default');
    passes('block_hash', { block: JSON.parse(String(block.inputs.block_json)) }, block.expected);
    passes('struct_bincode', { json: block.inputs.block_json }, { bincode_hex: block.expected.bincode_hex });
    passes('struct_bincode', { json: header }, String(bincode_hex));
  });

  it('takes a transaction to hash as text, object and bytes', () => {
    const { inputs, expected } = source('d-tx-payment-fee');
    const text = String(inputs.transaction_json);
    const forms = [{ transaction_json: parseExactJson(text) }, { json: text }, { bincode_hex: expected.bincode_hex }];
    for (const form of forms) {
      passes('tx_hash', form, expected.tx_hash);
      passes('tx_hash', form, { tx_hash: expected.tx_hash });
      fails('tx_hash', form, `${expected.tx_hash}0`);
    }
  });

  it('takes stack entries as structures', () => {
    passes('struct_bincode', { json: '{"Num":5}' }, { bincode_hex: '030000000500000000000000' });
    passes('struct_bincode', { json: { Op: 'OP_DUP' } }, { bincode_hex: '0000000023000000' });
    passes('struct_bincode', { json: '{"Bytes":"a"}' }, { bincode_hex: '04000000010000000000000061' });
    passes('struct_bincode', { out_point_json: '{"t_hash":"","n":0}' }, '000000000000000000000000');
    fails('struct_bincode', { json: '{"Colour":"red"}' }, { bincode_hex: '00' });
  });

  it('takes amounts by sign and by name', () => {
    const max = '18446744073709551615';
    for (const op of ['+', '+=', 'add', 'add_assign']) passes('token_amount', { lhs: max, op, rhs: 1 }, max);
    for (const op of ['-', 'sub', 'sub_assign']) passes('token_amount', { lhs_u64: 0, op, rhs_u64: 1 }, { u64: 0 });
    for (const op of ['*', 'mul']) passes('token_amount', { lhs_u64: max, op, rhs_u64: 2 }, { result: max });
    for (const op of ['/', '/=', 'div', 'div_assign']) passes('token_amount', { a: '6', op, b: '2' }, '3');
    passes('token_amount', { op: 'sum', values: [max, 1] }, max);
    fails('token_amount', { lhs: 1, op: '%', rhs: 1 }, 0);
    fails('token_amount', { op: 'mul', values: [2, 3] }, 6);
  });

  it('takes keys, signatures and addresses bare and by name', () => {
    const edge = source('d-ed25519-s-plus-l').inputs;
    for (const shape of [false, { valid: false }, { verifies: false }, { result: false }])
      passes('signature', { ...edge }, shape);
    fails('signature', { ...edge }, { valid: true });
    const { inputs, expected } = source('twoway-counterparty');
    passes('key', { ...inputs }, expected.public_key_hex);
    passes('key', { ...inputs }, expected.secret_key_hex);
    fails('key', { ...inputs }, `${String(expected.public_key_hex).slice(2)}00`);
    const temporary = source('addr-temp-0');
    const { public_key_hex } = temporary.inputs;
    passes('address', { public_key_hex, js_address_version: 99_999 }, temporary.expected);
    passes('address', { public_key_hex, js_address_version: null }, source('addr-default-0').expected);
  });

  it('takes metadata, addresses and the inputs of a transaction', () => {
    passes('tx_validation', { metadata_bytes: 800 }, { valid: true });
    passes('tx_validation', { address_byte_length: 63 }, { valid: false });
    const { inputs, expected } = source('d-txins-emptyscript');
    passes('tx_ins_address', { inputs_json: JSON.stringify(inputs.inputs).replace('"7"', '7') }, expected);
  });

  it('lets a stale vector pass when its older form cannot be read', () => {
    expect(run('tx_hash', { receipts: [] }, 'g0', 'stale')).toEqual([]);
    expect(run('tx_hash', { receipts: [] }, 'g0')).not.toEqual([]);
    expect(run('weather', {}, 'g0', 'stale')).not.toEqual([]);
  });
});

describe('vectors FILE', () => {
  let folder: string;
  let lines: string[];
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'tessera-vectors-'));
    lines = [];
    vi.spyOn(console, 'log').mockImplementation((text: string) => void lines.push(...text.split('\n')));
    vi.spyOn(console, 'error').mockImplementation(() => undefined);
  });
  afterEach(() => {
    vi.restoreAllMocks();
    rmSync(folder, { recursive: true });
  });
  const command = (text: string) => {
    const file = join(folder, 'vectors.json');
    writeFileSync(file, text);
    return vectorsCommand([file]);
  };
  const good = { id: 'a', category: 'constants', inputs: {}, expected: { NETWORK_VERSION: 6 } };

  it('ends with 0 when all pass', async () => {
    expect(await command(JSON.stringify([good]))).toBe(0);
    expect(lines).toEqual(['1 passed, 0 failed']);
  });

  it.each(['[]', '{"vectors":[]}'])('ends with 1 when there is none: %s', async (text) => {
    expect(await command(text)).toBe(1);
    expect(lines.at(-1)).toBe('0 passed, 0 failed');
  });

  it.each(['', '{', '{}', '7'])('counts a malformed file as one failure: %j', async (text) => {
    expect(await command(text)).toBe(1);
    expect(lines.at(-1)).toBe('0 passed, 1 failed');
  });

  it('counts a file that is not there as one failure', async () => {
    expect(await vectorsCommand([join(folder, 'none.json')])).toBe(1);
    expect(lines.at(-1)).toBe('0 passed, 1 failed');
  });

  it('names an entry without id or category by its index, and runs the others', async () => {
    const { id: _, ...nameless } = good;
    const { category: __, ...familyless } = good;
    const { expected: ___, ...open } = good;
    expect(await command(JSON.stringify([good, nameless, { ...familyless, id: '' }, 7, open]))).toBe(1);
    expect(lines).toEqual([
      'FAILED vector 1: no id',
      'FAILED vector 2: no id',
      'FAILED vector 3: not an object',
      'FAILED a: no expected value',
      '1 passed, 4 failed',
    ]);
  });

  it('ends with 2 when the call is wrong', async () => {
    expect(await vectorsCommand([])).toBe(2);
    expect(await vectorsCommand(['a', 'b'])).toBe(2);
  });
});
