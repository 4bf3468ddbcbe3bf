import { describe, expect, it } from 'vitest';
import { itemAsset, tokenAsset } from '../../src/chain/assets.js';
import { coinbaseTransaction, txOut } from '../../src/chain/builders.js';
import { BLOCK_SIZE_IN_TX, MAX_BLOCK_TX_BYTES, MAX_TRANSACTION_BYTES } from '../../src/chain/constants.js';
import { OUR_ERA } from '../../src/chain/eras.js';
import type { Genesis } from '../../src/chain/genesis.js';
import { merkleRoot, transactionHash, txsHash } from '../../src/chain/hash.js';
import { compactToBytes } from '../../src/chain/pow.js';
import { OP } from '../../src/chain/script/opcodes.js';
import { createdOutPoints, outPointKey, spentOutPoints } from '../../src/chain/transaction.js';
import type { FullBlock, OutPoint, StackEntry, Transaction, TxOut } from '../../src/chain/types.js';
import { keyPairFromSeed } from '../../src/crypto/ed25519.js';
import type { BlockRule } from '../../src/ledger/block/rules.js';
import type { LedgerView } from '../../src/ledger/block/spending.js';
import { BlockVerifier } from '../../src/ledger/block/verify-block.js';
import { Verifier } from '../../src/ledger/verifier/verifier.js';
import { systemClock } from '../../src/lib/clock.js';
import type { TesseraError } from '../../src/lib/errors.js';
import { Archive } from '../../src/storage/archive/archive.js';
import { MemoryKv } from '../support/memory-kv.js';
import {
  ADDRESS,
  assembleBlock,
  createTestChain,
  GENESIS,
  genesisWith,
  itemCreation,
  MINER,
  mine,
  type Parts,
  payment,
  RULES,
  signed,
  spoil,
  type TestChain,
} from '../support/storage/test-chain.js';

/** An archive with two blocks and the chain that it holds. */
async function twoBlocks(rules = RULES) {
  const archive = await Archive.open({ rules }, { kv: new MemoryKv() });
  const chain = createTestChain().grow(2);
  for (const block of chain.blocks) await archive.store(block);
  return { archive, chain };
}

const first = (parts: Parts): Transaction => parts.transactions[0] ?? payment(99);
const output = (tx: Transaction): TxOut =>
  tx.outputs[0] ?? { value: { kind: 'token', amount: 0n }, locktime: 0n, scriptPublicKey: null };
const mining = (parts: Parts, change: (tx: Transaction) => Transaction): FullBlock =>
  assembleBlock({ ...parts, miningTransaction: change(parts.miningTransaction) });
const miningOutput = (parts: Parts, change: Partial<TxOut>): FullBlock =>
  mining(parts, (tx) => ({ ...tx, outputs: [{ ...output(tx), ...change }] }));
const listed = (parts: Parts, transactions: readonly Transaction[]): FullBlock =>
  assembleBlock({ ...parts, transactions, names: transactions.map(transactionHash) });

const funds = (n: number): OutPoint => ({ tHash: '000001', n });
const fund = (amount: bigint): TxOut => txOut(tokenAsset(amount), ADDRESS);
/** With each entry of each script as `change` gives it, or left out. */
const withScript = (tx: Transaction, change: (entry: StackEntry) => StackEntry | undefined): Transaction => ({
  ...tx,
  inputs: tx.inputs.map((input) => ({ ...input, script: input.script.flatMap((entry) => change(entry) ?? []) })),
});
const flipped = (entry: StackEntry): StackEntry =>
  entry.kind === 'signature' ? { ...entry, bytes: entry.bytes.map((byte) => byte ^ 1) } : entry;
/** A member of a DRUID set that expects 5 tokens at `to` of a member `from` that does not exist, or nothing. */
const trade = (druid: string, participants: bigint, seed: number, to?: string): Transaction => ({
  ...payment(seed),
  druidInfo: {
    druid,
    participants,
    expectations: to === undefined ? [] : [{ from: 'somebody', to, asset: tokenAsset(5n) }],
    genesisHash: null,
  },
});

/** So many of a transaction, told apart by their versions. */
const versions = (count: number, tx: Transaction): Transaction[] =>
  Array.from({ length: count }, (_, i) => ({ ...tx, version: BigInt(i) }));
const withEntries = (tx: Transaction, entries: readonly StackEntry[]): Transaction => ({
  ...tx,
  inputs: tx.inputs.map((input) => ({ ...input, script: entries })),
});
/** With a script of at least so many bytes. */
const withTexts = (tx: Transaction, bytes: number): Transaction =>
  withEntries(tx, Array(Math.ceil(bytes / 500)).fill({ kind: 'bytes', text: 'x'.repeat(500) }));
const withOperations = (tx: Transaction, count: number): Transaction =>
  withEntries(tx, Array(count).fill({ kind: 'op', op: OP.CHECKSIG }));
/** Spends the change of `payment(seed)`. */
const child = (seed: number, amount: bigint): Transaction =>
  signed([{ tHash: transactionHash(payment(seed)), n: 1 }], [fund(amount)]);

/** Each case breaks one rule of a block that is fine otherwise, mined again so that the proof of work holds. */
const BROKEN: [name: string, rule: BlockRule, make: (parts: Parts, chain: TestChain) => FullBlock][] = [
  ['is not the next one', 'number', (parts) => assembleBlock(parts, { bNum: 3n })],
  ['is stored already', 'number', (_, chain) => chain.block(1)],
  ['hangs on another block', 'link', (parts, chain) => assembleBlock(parts, { previousHash: chain.hash(0) })],
  ['hangs on nothing', 'link', (parts) => assembleBlock(parts, { previousHash: null })],
  ['has another list than its header binds', 'list', (parts) => assembleBlock(parts, { txsHash: txsHash([]) })],
  ['has another Merkle root', 'merkle', (parts) => assembleBlock(parts, { merkleRoot: merkleRoot(['x']) })],
  [
    'has a list that was changed after mining',
    'list',
    (parts) => {
      const full = assembleBlock(parts);
      return { ...full, block: { ...full.block, transactions: [...full.block.transactions, 'g'] } };
    },
  ],
  [
    'lacks its proof of work',
    'proof',
    (parts) => {
      const full = assembleBlock(parts);
      return { ...full, block: { ...full.block, header: spoil(full.block.header) } };
    },
  ],
  [
    'has a nonce of no bytes',
    'proof',
    (parts) => {
      const full = assembleBlock(parts);
      return { ...full, block: { ...full.block, header: { ...full.block.header, nonce: new Uint8Array(0) } } };
    },
  ],
  [
    'carries a target before the activation height',
    'difficulty',
    (parts) => assembleBlock({ ...parts, difficulty: compactToBytes(0x22000001) }),
  ],
  ['lacks a transaction', 'transactions', (parts) => ({ ...assembleBlock(parts), transactions: [] })],
  [
    'brings one transaction too many',
    'transactions',
    (parts) => ({ ...assembleBlock(parts), transactions: [...parts.transactions, payment(50)] }),
  ],
  [
    'brings another transaction than it names',
    'transactions',
    (parts) => ({ ...assembleBlock(parts), transactions: [payment(50)] }),
  ],
  ['has 2,001 single transactions', 'size', (parts) => listed(parts, versions(BLOCK_SIZE_IN_TX + 1, payment(1)))],
  [
    'has more than 32 MiB of transactions',
    'size',
    (parts) => listed(parts, versions(70, withTexts(payment(1), Math.floor(MAX_BLOCK_TX_BYTES / 69)))),
  ],
  [
    'has scripts with more than 20,000 signature operations',
    'size',
    (parts) => listed(parts, versions(11, withOperations(payment(1), 2_000))),
  ],
  [
    'has a transaction of more than 512 KiB',
    'transactions',
    (parts) => listed(parts, [withTexts(payment(1), MAX_TRANSACTION_BYTES)]),
  ],
  ['has a transaction twice', 'duplicate', (parts) => listed(parts, [first(parts), first(parts)])],
  [
    'has a transaction of an earlier block',
    'duplicate',
    (parts, chain) => listed(parts, [...parts.transactions, ...chain.block(1).transactions]),
  ],
  [
    'has an input that spends nothing beside others (rule P4)',
    'transactions',
    (parts) => listed(parts, [{ ...payment(1), inputs: [{ previousOut: null, script: [] }, ...payment(1).inputs] }]),
  ],
  [
    'has a transaction without inputs (rule P4)',
    'transactions',
    (parts) => listed(parts, [{ ...payment(1), inputs: [] }]),
  ],
  [
    'has a creation with fees, which would mint (decision B6)',
    'transactions',
    (parts) => listed(parts, [{ ...itemCreation(1, 1n, null, ''), fees: payment(1).outputs }]),
  ],
  [
    'spends an output that never was (rule P4)',
    'inputs',
    (parts) => listed(parts, [signed([{ tHash: '000001', n: 301 }], payment(1).outputs)]),
  ],
  [
    'spends what an earlier block has spent (rule P4)',
    'inputs',
    (parts, chain) =>
      listed(parts, [signed(chain.block(1).transactions.slice(0, 1).flatMap(spentOutPoints), [fund(1_000n)])]),
  ],
  [
    'spends one output in two transactions (rule P4)',
    'inputs',
    (parts) => listed(parts, [payment(1, 5n), payment(1, 6n)]),
  ],
  [
    'spends one output twice in a transaction (decision B7)',
    'transactions',
    (parts) => listed(parts, [signed([funds(1), funds(1)], [fund(2_000n)])]),
  ],
  [
    'spends what it creates itself, before it is there (rule P4)',
    'inputs',
    (parts) => listed(parts, [child(1, 995n), payment(1)]),
  ],
  [
    'spends what it creates itself twice (rule P4)',
    'inputs',
    (parts) => listed(parts, [payment(1), child(1, 995n), { ...child(1, 995n), version: 7n }]),
  ],
  [
    'spends what a transaction before it does not create',
    'inputs',
    (parts) => listed(parts, [payment(1), signed([{ tHash: transactionHash(payment(1)), n: 2 }], [fund(995n)])]),
  ],
  [
    'spends more than it has created itself (rule P4)',
    'amounts',
    (parts) => listed(parts, [payment(1), child(1, 996n)]),
  ],
  [
    'spends what it creates itself, and is locked',
    'inputs',
    (parts) => {
      const locked = signed([funds(1)], [{ ...fund(1_000n), locktime: 9n }]);
      return listed(parts, [locked, signed([{ tHash: transactionHash(locked), n: 0 }], [fund(1_000n)])]);
    },
  ],
  [
    'spends its own mining transaction',
    'inputs',
    (parts) => {
      const { miningTransaction } = parts;
      const { amount } = output(miningTransaction).value;
      return listed(parts, [signed([{ tHash: transactionHash(miningTransaction), n: 0 }], [fund(amount)])]);
    },
  ],
  [
    'spends a coinbase before its time',
    'inputs',
    (parts, chain) => {
      const { miningTransaction } = chain.block(1);
      return listed(parts, [
        signed([{ tHash: transactionHash(miningTransaction), n: 0 }], [fund(output(miningTransaction).value.amount)]),
      ]);
    },
  ],
  [
    'spends an output that is locked for longer',
    'inputs',
    (parts) => listed(parts, [signed([{ tHash: '000001', n: 0 }], [fund(7_000n)])]),
  ],
  ['pays more than it spends (rule P4)', 'amounts', (parts) => listed(parts, [signed([funds(1)], [fund(1_001n)])])],
  ['loses what it spends (rule P4)', 'amounts', (parts) => listed(parts, [signed([funds(1)], [fund(999n)])])],
  [
    'pays more by a fee than it spends (rule P4)',
    'amounts',
    (parts) => listed(parts, [{ ...payment(1), fees: [fund(1n)] }]),
  ],
  [
    'pays items out of tokens (rule P4)',
    'amounts',
    (parts) => listed(parts, [signed([funds(1)], [txOut(itemAsset(1_000n, 'default_genesis_hash'), ADDRESS)])]),
  ],
  [
    'spends with a signature over something else (rule P4)',
    'scripts',
    (parts) => listed(parts, [{ ...payment(1), outputs: payment(1, 6n).outputs }]),
  ],
  [
    'spends with the key of another',
    'scripts',
    (parts) => listed(parts, [signed([funds(1)], [fund(1_000n)], keyPairFromSeed(new Uint8Array(32).fill(4)))]),
  ],
  [
    'spends with a signature that was changed',
    'scripts',
    (parts) => listed(parts, [withScript(payment(1), (entry) => flipped(entry))]),
  ],
  ['spends without any script', 'scripts', (parts) => listed(parts, [withScript(payment(1), () => undefined)])],
  [
    'creates items with a signature over another amount',
    'transactions',
    (parts) => {
      const made = itemCreation(1, 1n, null, '');
      return listed(parts, [{ ...made, outputs: itemCreation(1, 2n, null, '').outputs }]);
    },
  ],
  [
    'creates items with a signature that was changed (decision B6)',
    'scripts',
    (parts) => listed(parts, [withScript(itemCreation(1, 1n, null, ''), (entry) => flipped(entry))]),
  ],
  ['has one half of a trade', 'trade', (parts) => listed(parts, [trade('t', 2n, 1)])],
  [
    'has the halves of a trade apart',
    'trade',
    (parts) => listed(parts, [trade('t', 2n, 1), payment(3), trade('t', 2n, 2)]),
  ],
  ['has halves of two trades', 'trade', (parts) => listed(parts, [trade('t', 2n, 1), trade('u', 2n, 2)])],
  [
    'has a trade that does not do what a party expects',
    'trade',
    (parts) => listed(parts, [trade('t', 2n, 1, MINER), trade('t', 2n, 2)]),
  ],
  [
    'issues tokens in an ordinary transaction (rule P4)',
    'issuance',
    (parts) => listed(parts, [coinbaseTransaction(77n, 5n, ADDRESS)]),
  ],
  [
    'names another coinbase than it brings',
    'mining-transaction',
    (parts) => assembleBlock(parts, { miningTxHash: transactionHash(payment(1)) }),
  ],
  [
    'is mined for another block number (decision B9)',
    'mining-transaction',
    (parts) =>
      mining(parts, (tx) => ({ ...tx, inputs: [{ previousOut: null, script: [{ kind: 'num', value: 3n }] }] })),
  ],
  [
    'has more in the script of its coinbase',
    'mining-transaction',
    (parts) =>
      mining(parts, (tx) => ({
        ...tx,
        inputs: [{ previousOut: null, script: [...(tx.inputs[0]?.script ?? []), { kind: 'num', value: 2n }] }],
      })),
  ],
  [
    'pays its miner at an address of wrong length',
    'mining-transaction',
    (parts) => miningOutput(parts, { scriptPublicKey: 'm'.repeat(63) }),
  ],
  ['pays no miner at all', 'mining-transaction', (parts) => miningOutput(parts, { scriptPublicKey: null })],
  ['pays its miner too early (decision B9)', 'mining-transaction', (parts) => miningOutput(parts, { locktime: 101n })],
  [
    'pays its miner in items',
    'mining-transaction',
    (parts) => miningOutput(parts, { value: { kind: 'item', amount: 1n, genesisHash: 'x', metadata: null } }),
  ],
  [
    'pays its miner twice',
    'mining-transaction',
    (parts) => mining(parts, (tx) => ({ ...tx, outputs: [...tx.outputs, ...tx.outputs] })),
  ],
  ['has fees in its coinbase', 'mining-transaction', (parts) => mining(parts, (tx) => ({ ...tx, fees: tx.outputs }))],
  [
    'has DRUID info in its coinbase',
    'mining-transaction',
    (parts) =>
      mining(parts, (tx) => ({
        ...tx,
        druidInfo: { druid: 'd', participants: 1n, expectations: [], genesisHash: null },
      })),
  ],
  ['has a payment as its coinbase', 'mining-transaction', (parts) => mining(parts, () => payment(1))],
  [
    'pays one unit more than the reward',
    'mining-transaction',
    (parts) => {
      const amount = output(parts.miningTransaction).value.amount + 1n;
      return miningOutput(parts, { value: { kind: 'token', amount } });
    },
  ],
  [
    'pays one unit less than the reward',
    'mining-transaction',
    (parts) => {
      const amount = output(parts.miningTransaction).value.amount - 1n;
      return miningOutput(parts, { value: { kind: 'token', amount } });
    },
  ],
];

describe('a block is refused and changes nothing when it (docs/chain.md#blocks)', () => {
  it.each(BROKEN)('%s', async (_, rule, make) => {
    const { archive, chain } = await twoBlocks();
    const parts = chain.parts();
    const broken = make(parts, chain);
    await expect(archive.store(broken)).rejects.toMatchObject({ code: 'block_refused', details: { rule } });
    expect(archive.tip).toMatchObject({ next: 2, hash: chain.hash(1), issued: chain.issued });
    expect(await archive.entry(parts.names[0] ?? '')).toBeUndefined();
    expect(await archive.store(assembleBlock(parts))).toMatchObject({ height: 2 });
  });
});

describe('the difficulty of a block after the activation height', () => {
  const build = async () => {
    const archive = await Archive.open({ rules: RULES }, { kv: new MemoryKv() });
    const chain = createTestChain().grow(4);
    for (const block of chain.blocks) await archive.store(block);
    return { archive, parts: chain.parts() };
  };

  it('is a compact target', async () => {
    const { archive, parts } = await build();
    expect(await archive.store(assembleBlock(parts))).toMatchObject({ height: 4 });
  });

  it.each([
    ['none', []],
    ['of 3 bytes', [34, 0, 1]],
    ['easier than the chain allows', [0x22, 0, 0, 2]],
    ['wider than a hash', [0xc8, 0, 0xff, 0xff]],
  ])('is refused when it is %s', async (_, bytes) => {
    const { archive, parts } = await build();
    // With 3 bytes no nonce can ever be right, so that block is not mined.
    const sound = assembleBlock(parts);
    const header = { ...sound.block.header, difficulty: Uint8Array.from(bytes) };
    const block = { ...sound.block, header: bytes.length === 3 ? header : mine(header) };
    await expect(archive.store({ ...sound, block })).rejects.toMatchObject({ details: { rule: 'difficulty' } });
  });

  it('is refused when it is impossible', async () => {
    const { archive, parts } = await build();
    const sound = assembleBlock(parts);
    const header = { ...sound.block.header, difficulty: Uint8Array.of(3, 0, 0, 0) };
    await expect(archive.store({ ...sound, block: { ...sound.block, header } })).rejects.toMatchObject({
      details: { rule: 'difficulty' },
    });
  });
});

describe('block 0', () => {
  const empty = async (rules = RULES) => Archive.open({ rules }, { kv: new MemoryKv() });

  it('is accepted with the names and contents of the genesis file, whatever the names are', async () => {
    expect(await (await empty()).store(createTestChain().add())).toMatchObject({ height: 0 });
  });

  it('is refused when a genesis transaction has the right name and another content', async () => {
    const parts = createTestChain().parts();
    const [one, two] = parts.transactions;
    const richer = { ...(one ?? payment(1)), outputs: payment(1, 7n).outputs };
    const block = assembleBlock({ ...parts, transactions: [richer, two ?? payment(1)] });
    await expect((await empty()).store(block)).rejects.toMatchObject({ details: { rule: 'genesis' } });
  });

  it('is refused when it lists other transactions than the genesis file', async () => {
    const parts = createTestChain().parts();
    const fewer = { ...parts, names: parts.names.slice(1), transactions: parts.transactions.slice(1) };
    await expect((await empty()).store(assembleBlock(fewer))).rejects.toMatchObject({ details: { rule: 'genesis' } });
    const renamed = { ...parts, names: ['000000', '000002'] };
    await expect((await empty()).store(assembleBlock(renamed))).rejects.toMatchObject({ details: { rule: 'genesis' } });
  });
});

describe('issuances of the genesis file', () => {
  const genesis = genesisWith([{ address: MINER, amount: 70, block_height: 100 }]);

  it('must end the list of the block at which they fall due', async () => {
    const archive = await Archive.open({ rules: { ...RULES, genesis } }, { kv: new MemoryKv() });
    const chain = createTestChain(0, genesis);
    for (let i = 0; i < 100; i++) await archive.store(chain.add([]));
    const due = coinbaseTransaction(0n, 70n, MINER);
    const without = chain.parts([payment(1)]);
    const early = listed(without, [due, payment(1)]);
    const other = listed(without, [payment(1), coinbaseTransaction(0n, 71n, MINER)]);
    for (const block of [assembleBlock(without), early, other, listed(without, [])]) {
      await expect(archive.store(block)).rejects.toMatchObject({ details: { rule: 'issuance' } });
    }
    expect(await archive.store(listed(without, [payment(1), due]))).toMatchObject({ height: 100 });
    expect(archive.tip.issued).toBe(chain.issued + 70n + output(without.miningTransaction).value.amount);
  });
});

describe('of the transactions of a block, by name (decision B6)', () => {
  /** What the chain is asked for, and the rule that refuses a block of a payment and a creation although its inputs are unspent. */
  const judge = async (genesis: Genesis, known: (hash: string) => boolean) => {
    const chain = createTestChain(0, genesis).grow(1);
    const spendable = new Map(
      [...genesis.transactions]
        .flatMap(([hash, tx]) => createdOutPoints(tx, hash))
        .map((one) => [outPointKey(one.outPoint), one.txOut]),
    );
    const asked: string[] = [];
    const ledger: LedgerView = {
      knownHashes: async (hashes) => {
        asked.push(...hashes);
        return hashes.filter(known);
      },
      unspent: async (outPoints) => outPoints.map((outPoint) => spendable.get(outPointKey(outPoint))),
    };
    const modules = { ledger, scripts: new Verifier({ threads: 0 }), clock: systemClock };
    const parts = chain.parts();
    const made = [payment(1), itemCreation(1, 1n, null, '')];
    const names = [...made.map(transactionHash), transactionHash(parts.miningTransaction)];
    const tip = { next: 1, hash: chain.hash(0), issued: chain.issued };
    const outcome = await new BlockVerifier({ ...RULES, genesis }, modules).verify(listed(parts, made), tip).then(
      () => 'stored',
      (error: TesseraError) => error.details.rule,
    );
    return { outcome, asked, names };
  };
  const paid = transactionHash(payment(1));

  it('only those are looked up that spend nothing: the others cannot be there while what they spend is unspent', async () => {
    const { outcome, asked, names } = await judge(GENESIS, () => false);
    expect([outcome, asked]).toEqual(['stored', names.slice(1)]);
  });

  it('a creation and a coinbase of an earlier block are refused', async () => {
    for (const at of [1, 2]) {
      const { names } = await judge(GENESIS, () => false);
      expect((await judge(GENESIS, (hash) => hash === names[at])).outcome).toBe('duplicate');
    }
  });

  it('all are looked up after blocks of original nodes, which repeat what they spend', async () => {
    const after = {
      ...GENESIS,
      eras: [
        { ...OUR_ERA, isOriginal: true },
        { ...OUR_ERA, from: 1 },
      ],
    };
    expect((await judge(after, (hash) => hash === paid)).outcome).toBe('duplicate');
  });

  it('one that block 0 has by the same name is looked up', async () => {
    const transactions = new Map([...GENESIS.transactions, [paid, payment(1)]]);
    expect((await judge({ ...GENESIS, transactions }, (hash) => hash === paid)).outcome).toBe('duplicate');
  });
});
