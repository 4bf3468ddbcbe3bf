/**
 * Chains with all that original nodes take into their blocks, imported from both kinds of their API: afterwards every balance is that of a
 * model of their rules, which is written here once more, without a line of ours.
 */

import { beforeEach, describe, expect, it } from 'vitest';
import { addressOf, p2shAddress } from '../../src/chain/address.js';
import { itemAsset, tokenAsset } from '../../src/chain/assets.js';
import { txOut } from '../../src/chain/builders.js';
import { TOTAL_TOKENS } from '../../src/chain/constants.js';
import { OP } from '../../src/chain/script/opcodes.js';
import { txInsAddress } from '../../src/chain/signable.js';
import type { OutPoint, Script, Transaction, TxOut } from '../../src/chain/types.js';
import { sign } from '../../src/crypto/ed25519.js';
import type { Kv } from '../../src/db/kv.js';
import { keys } from '../../src/mempool/state/layout.js';
import {
  at,
  creates,
  ERAS,
  isIndexedAlike,
  items,
  moves,
  movingFolder,
  OWNER,
  pays,
  TRADERS,
  takenOver,
  tessera,
  tokens,
  U64_MAX,
} from '../support/moving-in.js';
import { createOriginalChain, originalGenesis, originalGenesisFile } from '../support/original-chain.js';
import { originalNode } from '../support/original-node.js';
import { collectingLogger } from '../support/silent-logger.js';
import { ADDRESS } from '../support/storage/test-chain.js';

const [, BOB = '', CAROL = ''] = TRADERS.map(({ publicKey }) => addressOf(publicKey));
/** Addresses that items were created for. */
const ODD = ['', 'x', 'a'.repeat(5_000), 'Hé🙂', `${ADDRESS.slice(1)}\n`];
let nextFund = 0;
const fund = (): OutPoint => ({ tHash: '000000', n: nextFund++ });

describe('a chain of original nodes moves in', () => {
  beforeEach(() => {
    movingFolder();
    nextFund = 0;
  });

  it('with items for any address, of any name, with fees and trades', async () => {
    const file = originalGenesisFile(ERAS);
    const chain = createOriginalChain(originalGenesis(ERAS));
    chain.add();
    const badge = creates(1, 10n, ADDRESS, 'a "badge"\n🙂');
    const shared = creates(2, U64_MAX, ADDRESS, null, 'Default');
    const output = (tx: Transaction, change: Partial<TxOut>) => ({
      ...tx,
      outputs: tx.outputs.map((one) => ({ ...one, ...change })),
    });
    const free = { ...creates(3, 4n, ADDRESS), fees: [tokens(77n), items(9n, null)] };
    chain.add([
      badge,
      shared,
      free,
      creates(4, 0n, ADDRESS),
      ...ODD.map((address, i) => creates(10 + i, 3n, address)),
      output(creates(5, 3n, ''), { scriptPublicKey: null }),
      output(creates(6, 3n, ADDRESS), { value: itemAsset(3n, at(badge).tHash) }),
      output(creates(7, 3n, ADDRESS), { locktime: 1n }),
      {
        ...creates(8, 3n, ADDRESS),
        druidInfo: { druid: 'alone', participants: 1n, expectations: [], genesisHash: null },
      },
    ]);
    // The fee of items took the second place of its transaction, and has no name but that.
    const spends = pays(
      [at(badge), at(free, 1)],
      [items(4n, at(badge).tHash, BOB), items(6n, at(badge).tHash), items(9n, at(free).tHash)],
    );
    const nameless = pays([fund()], [tokens(900n), tokens(90n)], {
      fees: [tokens(10n), items(5n, null), items(6n, null)],
    });
    chain.add([spends, nameless, pays([at(shared)], [items(U64_MAX, 'default_genesis_hash', CAROL)])]);
    chain.add([
      pays([at(nameless, 2)], [items(6n, at(nameless).tHash, null)]),
      pays([at(nameless, 1)], [items(5n, at(nameless).tHash)]),
    ]);
    await moves(chain, file);
  });

  it('with trades of one, two and three, many in a block, and two of one name', async () => {
    const chain = createOriginalChain(originalGenesis(ERAS));
    chain.add();
    const given = TRADERS.map(({ publicKey }) => pays([fund()], [tokens(1_000n, addressOf(publicKey))]));
    const badge = creates(1, 10n, BOB);
    chain.add([...given, badge, pays([fund()], [tokens(500n, BOB), tokens(500n, CAROL)])]);
    const of = at(badge).tHash;
    const trade = (
      druid: string,
      halves: readonly { inputs: readonly OutPoint[]; by: number; outputs: readonly TxOut[] }[],
    ) => {
      const from = halves.map(({ inputs, outputs, by }) =>
        txInsAddress(pays(inputs, outputs, { key: TRADERS[by] ?? OWNER }).inputs),
      );
      return halves.map(({ inputs, outputs, by }, i) => {
        const next = halves[(i + 1) % halves.length];
        const { value = tokenAsset(0n), scriptPublicKey = '' } = next?.outputs[0] ?? {};
        const expected = { from: from[(i + 1) % halves.length] ?? '', to: scriptPublicKey ?? '', asset: value };
        const druidInfo = {
          druid,
          participants: BigInt(halves.length),
          expectations: [expected],
          genesisHash: i === 0 ? of : null,
        };
        return pays(inputs, outputs, { key: TRADERS[by] ?? OWNER, druidInfo, fees: [] });
      });
    };
    const three = trade(
      'three',
      given.map((tx, by) => ({ inputs: [at(tx)], by, outputs: [tokens(1_000n, [BOB, CAROL, ADDRESS][by] ?? '')] })),
    );
    const two = trade('two', [
      { inputs: [at(badge)], by: 1, outputs: [items(3n, of), items(7n, of, BOB)] },
      { inputs: [fund()], by: 0, outputs: [tokens(250n, BOB), tokens(750n)] },
    ]);
    const alone = trade('', [{ inputs: [fund()], by: 0, outputs: [tokens(1_000n, CAROL)] }]);
    const again = trade('two', [{ inputs: [fund()], by: 0, outputs: [tokens(1_000n, CAROL)] }]);
    chain.add([...three, ...two, ...alone, pays([fund()], [tokens(1_000n)])]);
    chain.add(again);
    await moves(chain, originalGenesisFile(ERAS), ['v1']);
  });

  it('with multisignatures, old addresses, locktimes, burnt outputs, more fees than outputs, and a large transaction', async () => {
    const issuances = [
      { address: BOB, amount: 5_000, block_height: 2 },
      { address: 'short', amount: 7, block_height: 2 },
    ];
    const more = { initial_issuances: issuances };
    const chain = createOriginalChain(originalGenesis(ERAS, more));
    chain.add();
    const said = 'two of three';
    const script: Script = [
      { kind: 'bytes', text: said },
      ...TRADERS.slice(0, 2).map(({ seed }) => ({ kind: 'signature' as const, bytes: sign(seed, said) })),
      { kind: 'num', value: 2n },
      ...TRADERS.map(({ publicKey }) => ({ kind: 'pubkey' as const, bytes: publicKey })),
      { kind: 'num', value: 3n },
      { kind: 'op', op: OP.CHECKMULTISIG },
    ];
    const old = ([0, 99_999] as const).map((version) => addressOf(OWNER.publicKey, version));
    const spread = pays(
      [fund()],
      [tokens(100n, p2shAddress(script)), ...old.map((one) => tokens(100n, one)), tokens(700n, ADDRESS, 3n)],
    );
    const many = Array.from({ length: 6 }, () =>
      pays([fund()], [...Array.from({ length: 299 }, () => tokens(1n)), tokens(701n)]),
    );
    const dear = pays([fund()], [tokens(990n)], { fees: [tokens(5n, BOB), tokens(0n, null), tokens(5n, CAROL)] });
    chain.add([spread, ...many, dear, pays([fund()], [tokens(0n), tokens(0n, null), tokens(1_000n, null)])]);
    const redeemed = { ...pays([], [tokens(100n)]), inputs: [{ previousOut: at(spread), script }] };
    chain.add([
      redeemed,
      ...([0, 99_999] as const).map((version, i) => pays([at(spread, i + 1)], [tokens(100n)], { version })),
      pays([at(dear)], [tokens(5n, CAROL)], { key: TRADERS[1] ?? OWNER }),
    ]);
    const inputs = many.flatMap((tx) => Array.from({ length: 300 }, (_, n) => at(tx, n)));
    chain.add([pays(inputs, [tokens(6_000n)])], {}, { fees: [tokens(1n, CAROL)] });
    // The number in a coinbase is free, and so are its locktime and address.
    const [reward] = chain.next().miningTransaction.outputs;
    chain.add(
      [pays([at(spread, 3)], [tokens(700n)])],
      {},
      { outputs: [txOut(reward?.value ?? tokenAsset(0n), 'nobody')] },
    );
    await moves(chain, originalGenesisFile(ERAS, more));
  });

  it('with items that are more than 2^64-1 together, and so begin again at 0', async () => {
    const chain = createOriginalChain(originalGenesis(ERAS));
    chain.add();
    const badge = creates(1, 10n, ADDRESS);
    chain.add([badge]);
    const of = at(badge).tHash;
    const wrapped = pays([at(badge)], [items(U64_MAX, of), items(11n, of, BOB)]);
    chain.add([wrapped]);
    chain.add([pays([at(wrapped)], [items(U64_MAX, of, CAROL)])]);
    await moves(chain, originalGenesisFile(ERAS), ['v1']);
    chain.add([pays([at(wrapped, 1)], [items(12n, of)], { key: TRADERS[1] ?? OWNER })]);
    const refused = await tessera('import', '--from', (await originalNode('v1', chain.answers())).url);
    expect(refused).toMatchObject({ status: 1, err: expect.stringContaining("TxOuts spent don't match TxIns spent") });
  });

  it('with an item that is created again by the same bytes: over its output, or anew when that was spent', async () => {
    const chain = createOriginalChain(originalGenesis(ERAS));
    chain.add();
    const badge = { ...creates(1, 10n, BOB, 'again'), fees: [] };
    const mine = creates(2, 5n, ADDRESS, null, 'Default');
    chain.add([badge, mine]);
    chain.add([badge]);
    const of = at(badge).tHash;
    chain.add([pays([at(badge)], [items(10n, of, CAROL)], { key: TRADERS[1] ?? OWNER })]);
    chain.add([badge, mine]);
    chain.add([badge]);
    chain.add([pays([at(badge)], [items(4n, of), items(6n, of, CAROL)], { key: TRADERS[1] ?? OWNER })]);
    chain.add([badge]);
    await moves(chain, originalGenesisFile(ERAS), ['envelope']);

    const { archive } = await isIndexedAlike(chain.blocks, {}, async (view) => {
      // Created at 1, 4 and 7; over itself at 2 and 5.
      expect(await view.address(BOB)).toMatchObject({ unspentOutputs: 1, transactions: 5 });
      expect(await view.itemHolders(of, { limit: 10 })).toMatchObject({
        entries: [{ amount: 16n }, { amount: 10n }, { amount: 4n }],
      });
    });
    expect((await archive.item(of))?.totalAmount).toBe(30n);
  });

  it('with an item that is created again in the block that spends it: what a block spends goes before what it creates', async () => {
    const chain = createOriginalChain(originalGenesis(ERAS));
    chain.add();
    const badges = Array.from({ length: 6 }, (_, i) => creates(20 + i, 10n, BOB));
    const minted = { ...creates(30, 3n, BOB), fees: [tokens(70n, BOB), items(9n, null, BOB)] };
    chain.add([...badges, minted]);
    const byBob = { key: TRADERS[1] ?? OWNER };
    const spends = badges.map((badge) => pays([at(badge)], [items(10n, at(badge).tHash, CAROL)], byBob));
    // Both orders are there: a block of original nodes lists its transactions by their hashes.
    const isBefore = badges.map((badge, i) => at(badge).tHash < at(spends[i] ?? badge).tHash);
    expect(new Set(isBefore).size).toBe(2);
    const spent = pays([at(minted)], [tokens(70n, CAROL)], byBob);
    chain.add([...spends, spent, ...badges]);
    chain.add([minted, ...spends.slice(0, 2)]);
    // A payment may come again with what it spends, by the same bytes, and what it made may be there or not.
    const further = pays([at(spent)], [tokens(70n, BOB)], { key: TRADERS[2] ?? OWNER });
    chain.add([spent, minted, further]);
    chain.add([spent, ...badges.slice(0, 1)]);
    chain.add([further]);
    await moves(chain, originalGenesisFile(ERAS), ['v1']);
    const { archive } = await isIndexedAlike(chain.blocks);
    const totals = badges.map(async (badge) => (await archive.item(at(badge).tHash))?.totalAmount);
    expect(await Promise.all(totals)).toEqual([30n, 20n, 20n, 20n, 20n, 20n]);
  });

  it('with items that are created again after they were spent: what has spent them does not come again, and blocks go on', async () => {
    const chain = createOriginalChain(originalGenesis(ERAS));
    chain.add();
    const badges = [creates(40, 10n, BOB), creates(41, 10n, BOB)];
    chain.add(badges);
    const byBob = { key: TRADERS[1] ?? OWNER };
    const [spent, left] = badges.map((badge) => pays([at(badge)], [items(10n, at(badge).tHash, CAROL)], byBob));
    if (spent === undefined || left === undefined) throw new Error('two badges');
    chain.add([spent, left]);
    chain.add([pays([at(spent)], [items(10n, at(badges[0] ?? spent).tHash)], { key: TRADERS[2] ?? OWNER }), ...badges]);
    await moves(chain, originalGenesisFile(ERAS), ['v1']);
    const { lines, logger } = collectingLogger();
    const pair = await takenOver(chain, { logger });
    const warning = expect.objectContaining({ message: expect.stringContaining('tessera rebuild --role mempool') });
    expect(lines).not.toContainEqual(warning);
    // They are answered as known while they have a status, and do not wait. In a block, storage refuses the first, and the second ends the mempool node.
    for (const tx of [spent, left]) await pair.mempool.submit([tx]);
    expect(pair.mempool.figures().waitingCount).toBe(0);
    const other = pays([at(badges[0] ?? spent)], [items(10n, at(badges[0] ?? spent).tHash)], byBob);
    await pair.mempool.submit([other]);
    while (pair.blocks.length < 4) await pair.cut();
    const ours = pair.blocks.flatMap(({ block }) => block.transactions);
    expect({ refusals: pair.refusals, ours }).toEqual({ refusals: [], ours: [at(other).tHash] });
  });

  it('and a mempool node whose state an earlier version made says that it must be made again', async () => {
    const chain = createOriginalChain(originalGenesis(ERAS));
    chain.add();
    await moves(chain, originalGenesisFile(ERAS), ['v1']);
    const { lines, logger } = collectingLogger();
    const change = (kv: Kv) => kv.write(kv.batch().del(keys.known('000000')), { sync: false });
    await takenOver(chain, { logger, change });
    expect(lines).toContainEqual(
      expect.objectContaining({ message: expect.stringContaining('tessera rebuild --role mempool') }),
    );
  });

  it('with equal issuances in one block, and an item that a block creates twice', async () => {
    const issuances = [1, 2, 2, 3].map((block_height) => ({ address: BOB, amount: 5_000, block_height }));
    const more = { initial_issuances: issuances };
    const chain = createOriginalChain(originalGenesis(ERAS, more));
    chain.add();
    const druidInfo = { druid: 'alone', participants: 1n, expectations: [], genesisHash: null };
    const badge = { ...creates(8, 3n, BOB), druidInfo };
    chain.add([badge, badge]);
    chain.add([pays([at(badge)], [items(3n, at(badge).tHash)], { key: TRADERS[1] ?? OWNER }), badge, badge]);
    chain.add();
    await moves(chain, originalGenesisFile(ERAS, more), ['envelope']);
    await isIndexedAlike(chain.blocks, more);
  });

  it('with a coinbase of the same bytes in two blocks, which was spent between them, and no block that spends its own', async () => {
    // All is issued, so that every reward is the same.
    const amount = Number(TOTAL_TOKENS / 300n);
    const seeds = { '000000': Array.from({ length: 300 }, () => ({ address: ADDRESS, amount })) };
    const more = { mempool_seed_utxo: seeds };
    const chain = createOriginalChain(originalGenesis(ERAS, more));
    chain.add();
    const { inputs, outputs } = chain.next().miningTransaction;
    const reward = outputs[0]?.value ?? tokenAsset(0n);
    const same = { inputs, outputs: [txOut(reward, ADDRESS)] };
    const coinbase = { tHash: chain.add([], {}, same).block.header.miningTxHash, n: 0 };
    chain.add([pays([coinbase], [tokens(reward.amount)])]);
    chain.add([], {}, same);
    chain.add([pays([coinbase], [tokens(reward.amount, BOB)])]);
    await moves(chain, originalGenesisFile(ERAS, more));
    const parent = pays([fund()], [tokens(BigInt(amount))]);
    chain.add([parent, pays([at(parent)], [tokens(BigInt(amount))])]);
    const refused = await tessera('import', '--from', (await originalNode('v1', chain.answers())).url);
    expect(refused).toMatchObject({ status: 1, err: expect.stringContaining("UTXO doesn't contain") });
  });

  it('with targets from another block on than ours, or none, and seeds of any form', async () => {
    const modulus = String(2n ** 521n - 1n);
    const eras = [{ ...ERAS[0], unicorn: { modulus, iterations: 2, miners: ['127.0.0.1:12340'] } }];
    const chain = createOriginalChain(originalGenesis(ERAS));
    for (let i = 0; i < 8; i++) chain.add([], i === 5 ? { difficulty: new Uint8Array(0) } : {});
    await moves(chain, originalGenesisFile(eras), ['v1']);
  });
});
