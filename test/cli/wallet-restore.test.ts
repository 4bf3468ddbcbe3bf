/** `tessera wallet restore` with nodes that are busy, away, behind or lie, and with words that are wrong. */

import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCli } from '../../src/cli/run.js';
import { type ChainSearchResult, searchChain } from '../../src/cli/wallet/chain-search.js';
import { NodeClient } from '../../src/client/client.js';
import { lockFolder } from '../../src/db/folder-lock.js';
import { AddressSearch } from '../../src/wallet/keys/address-search.js';
import { type Account, DerivedKeys } from '../../src/wallet/keys/derived-keys.js';
import { parseWords, wordsText } from '../../src/wallet/keys/words.js';
import { type ChainBehindApi, chainBehindApi } from '../support/chain-behind-api.js';
import { createContext } from '../support/cli-context.js';

const WORDS = parseWords(`${'abandon '.repeat(11)}about`);

let keys: DerivedKeys;
let folder: string;
let secret: string;
let wordsFile: string;
/** Of a chain whose block 0 has no transactions. */
let genesis: string;

beforeAll(async () => {
  keys = await DerivedKeys.of(WORDS);
  folder = await mkdtemp(join(tmpdir(), 'tessera-restore-'));
  secret = join(folder, 'passphrase');
  wordsFile = join(folder, 'words');
  genesis = join(folder, 'genesis.json');
  await writeFile(genesis, '{"mempool_seed_utxo": {}}');
  await writeFile(secret, 'of the tests\n');
  await writeFile(wordsFile, wordsText(WORDS));
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

const addressAt = (index: number, account: Account = 'receive'): string => keys.address({ account, index });

/** Searches without waiting; the pauses that it would have made, in ms. */
async function searchOn(chain: ChainBehindApi, search = new AddressSearch(keys, 20)) {
  const pauses: number[] = [];
  const result: ChainSearchResult = await searchChain(search, {
    storage: new NodeClient({ url: chain.urls.storage }),
    mempool: new NodeClient({ url: chain.urls.mempool }),
    onProgress: () => undefined,
    pause: async (ms) => void pauses.push(ms),
    signal: new AbortController().signal,
  });
  return { ...result, pauses, found: search.found };
}

describe('a search of the chain', () => {
  it('asks for fewer transactions when their answer would be too large', async () => {
    const chain = await chainBehindApi();
    // The JSON of a merge of 500 inputs; 100 of them are more than a node answers at once.
    chain.blocks.push(Array.from({ length: 100 }, (_, i) => ({ pays: [addressAt(i % 20)], bytes: 353_362 })));
    const { found, height } = await searchOn(chain);
    expect([found.length, height]).toEqual([20, 0]);
    expect(chain.asked[0]).toBe(101);
    expect(chain.asked[1]).toBe(51);
  });

  it('goes on where it was after answers that ask to wait, or do not come', async () => {
    const chain = await chainBehindApi();
    chain.blocks.push(
      [{ pays: [addressAt(3)] }],
      [{ pays: [addressAt(22, 'change')] }, { pays: [addressAt(19, 'change')] }],
    );
    chain.unspent.set(addressAt(3), 5n);
    chain.failures.push(503, 429, 'lost');
    const { found, pauses, balance, height } = await searchOn(chain);
    expect([found.length, balance.tokens, height]).toEqual([4 + 23, 5n, 1]);
    expect(pauses).toEqual([7_000, 7_000, 2_000]);
  });

  it('ends with the failure of a node that stays away', async () => {
    const chain = await chainBehindApi();
    chain.blocks.push([]);
    chain.failures.push(...Array.from({ length: 9 }, () => 503 as const));
    await expect(searchOn(chain)).rejects.toMatchObject({ code: 'storage_unreachable' });
  });

  it('ends with a mempool node that says of every address that it holds something', async () => {
    const chain = await chainBehindApi();
    chain.blocks.push([]);
    chain.lies = true;
    const search = new AddressSearch(keys, 1);
    await expect(searchOn(chain, search)).rejects.toMatchObject({ code: 'protocol_violation' });
    expect(search.found.length).toBeLessThan(1_000);
  });

  it('knows an address again that has more outputs than one answer lists', async () => {
    const chain = await chainBehindApi();
    chain.blocks.push([{ pays: [addressAt(0)] }]);
    chain.unspent.set(addressAt(0), undefined).set(addressAt(1), 9n);
    const { found, balance } = await searchOn(chain);
    expect(found.length).toBe(2);
    expect(balance).toMatchObject({ tokens: 9n, uncounted: 1 });
  });
});

describe('tessera wallet restore', () => {
  async function restore(data: string, chain: ChainBehindApi, args: readonly string[] = []) {
    const context = createContext({ TESSERA_NETWORK__GENESIS_FILE: genesis });
    const nodes = ['--storage', chain.urls.storage, '--mempool', chain.urls.mempool];
    const place = ['--data', join(folder, data), '--passphrase-file', secret];
    const code = await runCli(['wallet', 'restore', ...place, ...nodes, ...args], context);
    return { code, out: context.out(), err: context.err(), hasWallet: existsSync(join(folder, data, 'keystore.json')) };
  }
  const words = () => ['--words-file', wordsFile];

  it('makes no wallet while a node is not ready, and says why; --anyway goes on', async () => {
    const chain = await chainBehindApi();
    chain.notReady.storage = ['catching up: 3 of 9 blocks'];
    const refused = await restore('behind', chain, words());
    expect(refused).toMatchObject({ code: 1, hasWallet: false, err: expect.stringContaining('catching up: 3 of 9') });
    chain.notReady.storage = [];
    chain.notReady.mempool = ['the mempool is reading its state'];
    expect(await restore('behind', chain, words())).toMatchObject({ code: 1, hasWallet: false });
    chain.blocks.push([], [{ pays: [addressAt(0)] }]);
    const done = await restore('behind', chain, [...words(), '--anyway', '--json']);
    expect(JSON.parse(done.out)).toMatchObject({ addresses: 1, block_num: 1 });
    expect(done).toMatchObject({ code: 0, hasWallet: true });
    expect(done.err).toMatch(/mempool node counts 0.*up to 1.*one of the two is behind/);
  });

  it('takes no block 0 that is not of the genesis file', async () => {
    const chain = await chainBehindApi();
    chain.blocks.push([{ pays: [addressAt(0)] }]);
    expect(await restore('forged', chain, words())).toMatchObject({
      code: 1,
      err: expect.stringContaining('not those of the genesis file'),
    });
  });

  it('makes no wallet when nothing is found, unless it is told to', async () => {
    const chain = await chainBehindApi();
    chain.blocks.push([], [{ pays: [addressAt(0)] }]);
    const env = join(folder, 'extra');
    await writeFile(env, 'another\n');
    const refused = await restore('empty', chain, [...words(), '--extra-word-file', env]);
    expect(refused).toMatchObject({ code: 1, hasWallet: false, err: expect.stringContaining('up to block 1') });
    expect(refused.err).toContain('BIP39 passphrase');
    expect(await restore('empty', chain, [...words(), '--extra-word-file', env, '--yes'])).toMatchObject({ code: 0 });
  });

  it('takes no BIP39 passphrase for a wallet that is there without its words', async () => {
    const chain = await chainBehindApi();
    chain.blocks.push([], [{ pays: [addressAt(0)] }]);
    expect(await restore('again', chain, words())).toMatchObject({ code: 0, hasWallet: true });
    expect(await restore('again', chain)).toMatchObject({ code: 0 });
    const refused = await restore('again', chain, ['--extra-word-file', secret]);
    expect(refused).toMatchObject({ code: 2, err: expect.stringContaining('--words-file') });
  });

  it('changes nothing when it is interrupted while it waits for a node', async () => {
    const chain = await chainBehindApi();
    chain.blocks.push([], [{ pays: [addressAt(0)] }]);
    chain.failures.push(...Array.from({ length: 1_000 }, () => 503 as const));
    const context = createContext({ TESSERA_NETWORK__GENESIS_FILE: genesis });
    const nodes = ['--storage', chain.urls.storage, '--mempool', chain.urls.mempool];
    const place = ['--data', join(folder, 'interrupted'), '--passphrase-file', secret];
    const ending = runCli(['wallet', 'restore', ...place, ...nodes, ...words()], context);
    await expect.poll(() => context.err()).toContain('asking again');
    context.raise('SIGINT');
    expect(await ending).toBe(130);
    expect(context.err()).toContain('nothing was changed');
    expect(existsSync(join(folder, 'interrupted', 'keystore.json'))).toBe(false);
    expect(context.listeners()).toBe(0);
  });

  it('says that the wallet is made when it is interrupted after that, and goes on when it is run again', async () => {
    const chain = await chainBehindApi();
    chain.blocks.push([], [{ pays: [addressAt(0)] }]);
    const made = join(folder, 'half', 'keystore.json');
    const shift = (): 503 | undefined => (existsSync(made) ? 503 : undefined);
    const failing = Object.assign(chain.failures, { shift });
    const context = createContext({ TESSERA_NETWORK__GENESIS_FILE: genesis });
    const nodes = ['--storage', chain.urls.storage, '--mempool', chain.urls.mempool];
    const place = ['--data', join(folder, 'half'), '--passphrase-file', secret];
    const ending = runCli(['wallet', 'restore', ...place, ...nodes, ...words()], context);
    await expect.poll(() => context.err(), { timeout: 60_000 }).toContain('asking again');
    context.raise('SIGINT');
    expect(await ending).toBe(130);
    expect(context.err()).toContain('the wallet is made');
    expect(context.err()).not.toContain('nothing was changed');
    expect(existsSync(made)).toBe(true);
    failing.shift = () => undefined;
    expect(await restore('half', chain)).toMatchObject({ code: 0 });
  });

  it('reads no chain while another process has the folder', async () => {
    const chain = await chainBehindApi();
    chain.blocks.push([], [{ pays: [addressAt(0)] }]);
    await mkdir(join(folder, 'locked'));
    const unlock = await lockFolder(join(folder, 'locked'));
    const refused = await restore('locked', chain, words());
    await unlock();
    expect(refused).toMatchObject({ code: 1, hasWallet: false });
    expect(chain.asked).toEqual([]);
  });
});
