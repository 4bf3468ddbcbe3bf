/**
 * Chains of original nodes that are made at random from all that these take into their blocks: each moves in, is taken over with equal
 * balances, goes on with blocks of ours, and is indexed alike.
 */

import { describe, expect, it } from 'vitest';
import { addressOf, p2shAddress } from '../../src/chain/address.js';
import { itemAsset, withFixedHash } from '../../src/chain/assets.js';
import { txOut } from '../../src/chain/builders.js';
import { transactionHash } from '../../src/chain/hash.js';
import { OP } from '../../src/chain/script/opcodes.js';
import { txInsAddress } from '../../src/chain/signable.js';
import type { AddressVersion, BlockHeader, OutPoint, Script, Transaction, TxOut } from '../../src/chain/types.js';
import { sign } from '../../src/crypto/ed25519.js';
import {
  creates,
  ERAS,
  holdsAlike,
  isIndexedAlike,
  items,
  moves,
  movingFolder,
  OWNER,
  pays,
  TRADERS,
  takenOver,
  tokens,
  U64_MAX,
} from '../support/moving-in.js';
import { createOriginalChain, originalGenesis, originalGenesisFile } from '../support/original-chain.js';
import { fc, test } from '../support/property.js';

const VERSIONS: readonly AddressVersion[] = [null, 0, 99_999];
const WORDS = [
  '',
  'a',
  'Hé🙂',
  '\u0000',
  '__proto__',
  'constructor',
  '{"a":1}',
  'x'.repeat(700),
  'toString',
  '\u2028\ufeff',
];
const num = (value: bigint) => ({ kind: 'num' as const, value });
/** By its number. */
const op = (code: number) => ({ kind: 'op' as const, op: code });
const bytes = (text: string) => ({ kind: 'bytes' as const, text });
/** Scripts that hold, of which outputs are paid to the address. */
const SCRIPTS: readonly Script[] = [
  [],
  [num(U64_MAX)],
  [bytes('')],
  [bytes('x'.repeat(520)), op(79)],
  [op(OP.OP_0), op(OP.IF), op(OP.BURN), op(OP.ELSE), op(1), op(OP.ENDIF)],
  [bytes('Hé🙂'), op(47), op(41), op(43)].slice(0, 2),
  [num(5n), num(2n ** 32n), op(65), op(24), op(OP.NOP), op(25)],
  Array.from({ length: 201 }, () => op(OP.NOP)),
  [
    bytes('two of three'),
    ...TRADERS.slice(0, 2).map(({ seed }) => ({ kind: 'signature' as const, bytes: sign(seed, 'two of three') })),
    num(2n),
    ...TRADERS.map(({ publicKey }) => ({ kind: 'pubkey' as const, bytes: publicKey })),
    num(3n),
    op(OP.CHECKMULTISIG),
  ],
];

/** How an output is spent. */
type Key = { readonly by: number; readonly version: AddressVersion } | { readonly script: Script };
const KEYS = new Map<string, Key>([
  ...TRADERS.flatMap(({ publicKey }, by) =>
    VERSIONS.map((version): [string, Key] => [addressOf(publicKey, version), { by, version }]),
  ),
  ...SCRIPTS.map((script): [string, Key] => [p2shAddress(script), { script }]),
]);
const ADDRESSES = [...KEYS.keys()];

interface Coin {
  readonly outPoint: OutPoint;
  readonly txOut: TxOut;
}

class Maker {
  readonly #next: () => number;
  readonly chain;
  readonly coins = new Map<string, Coin>();
  readonly created: Transaction[] = [];
  readonly #taken = new Set<string>();

  constructor(seed: number, more: object) {
    let state = seed;
    this.#next = () => {
      state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x6d2b79f5) | 0;
      return (state ^ (state >>> 13)) >>> 0;
    };
    this.chain = createOriginalChain(originalGenesis(ERAS, more));
    this.close([]);
  }

  below(bound: number): number {
    return this.#next() % bound;
  }

  of<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T;
  }

  amountIn(total: bigint): bigint {
    const one = total > 0n ? 1n : 0n;
    return this.of([0n, one, total, total / 2n, total - one]);
  }

  word(): string {
    return this.of(WORDS);
  }

  address(): string | null {
    const odd = this.below(12);
    if (odd === 0) return null;
    return odd === 1
      ? this.of(['é'.repeat(32), '\u0000'.repeat(64), `${'🙂'.repeat(8)}`, 'G'.repeat(32)])
      : this.of(ADDRESSES);
  }

  /** Adds a block, and takes what it changes into the coins. */
  close(transactions: readonly Transaction[], coinbase: Partial<Transaction> = {}): void {
    const full = this.chain.add(transactions, this.below(3) === 0 ? this.header() : {}, coinbase);
    for (const { inputs } of full.transactions)
      for (const { previousOut } of inputs) this.coins.delete(`${previousOut?.tHash}/${previousOut?.n}`);
    for (const [i, { outputs, fees }] of full.transactions.entries()) {
      const tHash = full.block.transactions[i] ?? '';
      for (const [n, txOut] of [...outputs.entries(), ...fees.entries()])
        this.coins.set(`${tHash}/${n}`, { outPoint: { tHash, n }, txOut });
    }
    this.#taken.clear();
  }

  header(): Partial<BlockHeader> {
    return {
      version: this.of([6, 0, 2 ** 29 - 1]),
      bits: this.of([0n, 85n, U64_MAX]),
      timestamp: this.of([0n, -1n, 1_700_000_000n, 4_102_444_800n]),
      seedValue: this.of([new Uint8Array(0), Uint8Array.of(0xff, 0xfe), new Uint8Array(2_000).fill(0x31)]),
    };
  }

  /** Blocks of ours, which spend each coin by itself, and pay a fee where it can. */
  goOn(): void {
    for (let block = 0; block < 4; block++) {
      const made = this.each(20, [tokens(0n, ADDRESSES[1])]);
      for (const { previousOut } of this.chain.add(made).transactions.flatMap(({ inputs }) => inputs))
        this.coins.delete(`${previousOut?.tHash}/${previousOut?.n}`);
    }
  }

  /** A transaction for each of some coins, with a fee where they are tokens, and then with `more` outputs. */
  each(most: number, more: readonly TxOut[] = []): Transaction[] {
    return this.take(most).map((coin) => {
      const { amount, kind } = coin.txOut.value;
      const isPaying = kind === 'token' && amount > 0n;
      const value = withFixedHash({ ...coin.txOut.value, ...(isPaying && { amount: amount - 1n }) }, coin.outPoint);
      const bare = value.kind === 'item' ? { ...value, metadata: null } : value;
      const [to = '', other = ''] = ADDRESSES;
      const outputs = [txOut(bare, to), ...(isPaying ? more : [])];
      return this.spends([coin], null, { outputs, fees: isPaying ? [tokens(1n, other)] : [] });
    });
  }

  /** Coins that the next block may spend, none twice. */
  take(most: number): Coin[] {
    const now = BigInt(this.chain.blocks.length - 1);
    const there = [...this.coins].filter(
      ([key, { txOut }]) => !this.#taken.has(key) && txOut.locktime <= now && KEYS.has(txOut.scriptPublicKey ?? ''),
    );
    const taken: Coin[] = [];
    for (let i = 0; i < most && there.length > 0; i++) {
      // The newest are the oddest.
      const from = this.below(3) === 0 ? 0 : Math.max(0, there.length - 12);
      const [[key, coin] = ['', undefined]] = there.splice(from + this.below(there.length - from), 1);
      if (coin === undefined) continue;
      this.#taken.add(key);
      taken.push(coin);
    }
    return taken;
  }

  locktime(): bigint {
    const height = BigInt(this.chain.blocks.length);
    return this.of([0n, 0n, 0n, 0n, height, height + 2n, U64_MAX]);
  }

  /** Outputs and fees of what the coins hold. */
  spread(coins: readonly Coin[]): { outputs: TxOut[]; fees: TxOut[] } {
    const held = new Map<string | null, bigint>();
    for (const { outPoint, txOut } of coins) {
      const { value } = txOut;
      const name = value.kind === 'token' ? null : (value.genesisHash ?? outPoint.tHash);
      held.set(name, (held.get(name) ?? 0n) + value.amount);
    }
    const parts: TxOut[] = [];
    for (const [name, sum] of held) {
      const total = name === null ? (sum > U64_MAX ? U64_MAX : sum) : BigInt.asUintN(64, sum);
      const one = (amount: bigint): TxOut => ({
        ...(name === null ? tokens(amount, this.address()) : items(amount, name, this.address())),
        locktime: this.locktime(),
      });
      let left = total;
      for (let i = this.below(4); i > 0; i--) {
        const amount = this.amountIn(left);
        parts.push(one(amount));
        left -= amount;
      }
      parts.push(one(left));
    }
    if (this.below(5) === 0) parts.push(tokens(0n, this.address()));
    const cut = this.below(3) === 0 ? 1 + this.below(parts.length) : parts.length;
    const fees = parts.slice(cut).map((fee) => {
      const { value } = fee;
      return value.kind === 'item' ? { ...fee, value: { ...value, metadata: this.of([null, this.word()]) } } : fee;
    });
    if (this.below(6) === 0) fees.push(this.nameless());
    return { outputs: parts.slice(0, cut), fees };
  }

  nameless(): TxOut {
    const value = itemAsset(this.of([0n, 7n, U64_MAX]), null, this.of([null, this.word()]));
    return { value, locktime: this.locktime(), scriptPublicKey: this.address() };
  }

  spends(
    coins: readonly Coin[],
    druidInfo: Transaction['druidInfo'] = null,
    given?: ReturnType<Maker['spread']>,
  ): Transaction {
    const { outputs, fees } = given ?? this.spread(coins);
    const inputs = coins.flatMap(({ outPoint, txOut }) => {
      const key = KEYS.get(txOut.scriptPublicKey ?? '');
      if (key === undefined) return [];
      if ('script' in key) return [{ previousOut: outPoint, script: key.script }];
      return pays([outPoint], outputs, { version: key.version, key: TRADERS[key.by] ?? OWNER }).inputs;
    });
    return { inputs, outputs, fees, druidInfo, version: this.of([6n, 6n, 6n, 0n, 2n, U64_MAX]) };
  }

  creation(): Transaction {
    if (this.created.length > 0 && this.below(4) === 0) return this.of(this.created);
    const n = this.of([this.chain.blocks.length, 0, 2 ** 40]);
    const made = creates(
      n,
      this.of([1n, 0n, 10n, U64_MAX]),
      '',
      this.of([null, this.word()]),
      this.of(['Create', 'Create', 'Default']),
    );
    const [output] = made.outputs;
    if (output === undefined) return made;
    const known = this.of([null, ...this.created.slice(-2).map((tx) => transactionHash(tx)), this.word()]);
    const scriptPublicKey = this.below(3) === 0 ? this.of([...WORDS, null]) : this.address();
    const value = {
      ...output.value,
      ...(this.below(4) === 0 && output.value.kind === 'item' && { genesisHash: known }),
    } as TxOut['value'];
    const fees =
      this.below(3) > 0 ? [] : [tokens(this.of([77n, U64_MAX]), this.address()), this.nameless()].slice(this.below(2));
    const tx = { ...made, outputs: [{ ...output, value, scriptPublicKey, locktime: this.locktime() }], fees };
    this.created.push(tx);
    return tx;
  }

  /** Halves that expect each other's first output. */
  trade(): Transaction[] {
    const parties = Array.from({ length: 1 + this.below(3) }, () => this.take(1 + this.below(2))).filter(
      (one) => one.length > 0,
    );
    const spread = parties.map((coins) => this.spread(coins));
    const plain = parties.map((coins, i) => this.spends(coins, null, spread[i]));
    const druid = this.of(['two', '', this.word(), `d${this.below(1_000)}`]);
    return plain.map((tx, i) => {
      const next = plain[(i + 1) % plain.length] ?? tx;
      const expectations = next.outputs.flatMap(({ scriptPublicKey, value }) =>
        scriptPublicKey === null ? [] : [{ from: txInsAddress(next.inputs), to: scriptPublicKey, asset: value }],
      );
      const genesisHash = this.of([null, this.word()]);
      return { ...tx, druidInfo: { druid, participants: BigInt(plain.length), expectations, genesisHash } };
    });
  }

  block(): void {
    const made: Transaction[] = [];
    for (let i = this.below(7); i > 0; i--) {
      const what = this.below(6);
      if (what === 0) made.push(this.creation());
      else {
        const coins = this.take(1 + this.below(4));
        if (coins.length > 0) made.push(this.spends(coins));
      }
    }
    const names = made.map((tx) => transactionHash(tx));
    const single = made.filter((_, i) => names.indexOf(names[i] ?? '') === i);
    this.close([...(this.below(3) === 0 ? this.trade() : []), ...single], this.below(5) === 0 ? { version: 1n } : {});
  }
}

describe('chains of original nodes that nobody has thought of', () => {
  test.prop([fc.integer()], { numRuns: 4 })('move in', async (seed) => {
    const more = {
      initial_issuances: [3, 3, 5].map((block_height, i) => ({
        address: ADDRESSES[i],
        amount: 10 ** (5 * i),
        block_height,
      })),
    };
    const eras = [{ from: 0, made_by: 'original' }, { from: 12 }];
    movingFolder();
    const maker = new Maker(seed, { ...more, eras });
    while (maker.chain.blocks.length < 12) maker.block();
    await moves(maker.chain, originalGenesisFile(ERAS, more));
    maker.goOn();
    expect(maker.chain.blocks.slice(12).flatMap(({ transactions }) => transactions).length).toBeGreaterThan(20);
    await isIndexedAlike(maker.chain.blocks, { ...more, eras });
  });

  it('are taken over, and our nodes go on for a hundred blocks, whatever time the last of them says', async () => {
    const eras = [{ from: 0, made_by: 'original' }];
    movingFolder();
    const maker = new Maker(7, { eras });
    while (maker.chain.blocks.length < 12) maker.block();
    maker.chain.add([], { timestamp: 2n ** 63n - 1n });
    await moves(maker.chain, originalGenesisFile(ERAS));
    const pair = await takenOver(maker.chain);
    let paid = 0;
    for (const tx of maker.each(60)) {
      paid += (await pair.mempool.submit([tx]).catch(() => [])).length;
      await pair.cut();
    }
    while (pair.blocks.length < 100) await pair.cut();
    expect(paid).toBeGreaterThan(20);
    expect({ refusals: pair.refusals, next: pair.archive.nextHeight }).toEqual({ refusals: [], next: 113 });
    holdsAlike(pair, [...maker.chain.blocks, ...pair.blocks]);
  });
});
