/**
 * Chains of real nodes hold our codec and rules: each block of them is written back as it was read, in JSON and in bytes, meets the rules
 * where it stands, and with any of its bytes changed it does not, or is another block that somebody has mined.
 */

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { encodeTransaction, inBlock } from '../../src/chain/codec.js';
import { type Genesis, parseGenesis } from '../../src/chain/genesis.js';
import { blockHash } from '../../src/chain/hash.js';
import { blockJson, transactionJson } from '../../src/chain/json.js';
import { parseBlock, parseTransaction } from '../../src/chain/json-read.js';
import { createdOutPoints, outPointKey, spentOutPoints } from '../../src/chain/transaction.js';
import type { FullBlock, TxOut } from '../../src/chain/types.js';
import type { LedgerView } from '../../src/ledger/block/spending.js';
import { BlockVerifier } from '../../src/ledger/block/verify-block.js';
import { Verifier } from '../../src/ledger/verifier/verifier.js';
import { systemClock } from '../../src/lib/clock.js';
import { isTesseraError } from '../../src/lib/errors.js';
import { parseExactJson, stringifyExact } from '../../src/lib/json.js';
import { decodeFullBlock, encodeFullBlock } from '../support/full-block.js';
import { FIXTURES, realChain } from '../support/original-chain.js';
import { fc, test } from '../support/property.js';

interface RealChain {
  readonly genesis: Genesis;
  readonly blocks: readonly FullBlock[];
}

function readChain(name: 'one-miner' | 'two-mempool-nodes', mempool_nodes: number): RealChain {
  const { blocks, transactions } = realChain(name);
  const byName = new Map(transactions.map(([key, data]) => [key, data]));
  const take = (key: string) => parseTransaction(byName.get(key));
  const settings = parseExactJson(readFileSync(new URL(`${name}/genesis.json`, FIXTURES)), { anyName: true });
  const genesis = parseGenesis({ ...Object(settings), eras: [{ from: 0, made_by: 'original', mempool_nodes }] });
  return {
    genesis,
    blocks: blocks.map(([, data]) => {
      const { header, transactions: names } = parseBlock(Object(data).block);
      const block = { header: { ...header, isOriginal: true as const }, transactions: names };
      const miningTransaction = inBlock(take(header.miningTxHash), block.header);
      return { block, transactions: names.map((key) => inBlock(take(key), block.header)), miningTransaction };
    }),
  };
}

const CHAINS = [readChain('one-miner', 1), readChain('two-mempool-nodes', 2)];

/** The rule that refuses the block at this height of the chain; null for none. */
async function refusalAt({ genesis, blocks }: RealChain, height: number, full: FullBlock): Promise<string | null> {
  const unspent = new Map<string, TxOut>();
  const known = new Set<string>();
  let issued = genesis.initialIssuance;
  for (const { block, transactions, miningTransaction } of blocks.slice(0, height)) {
    issued += miningTransaction.outputs[0]?.value.amount ?? 0n;
    for (const [i, tx] of [...transactions, miningTransaction].entries()) {
      const hash = block.transactions[i] ?? block.header.miningTxHash;
      known.add(hash);
      for (const outPoint of spentOutPoints(tx)) unspent.delete(outPointKey(outPoint));
      for (const { outPoint, txOut } of createdOutPoints(tx, hash)) unspent.set(outPointKey(outPoint), txOut);
    }
  }
  const ledger: LedgerView = {
    knownHashes: async (hashes) => hashes.filter((hash) => known.has(hash)),
    unspent: async (outPoints) => outPoints.map((outPoint) => unspent.get(outPointKey(outPoint))),
  };
  const scripts = new Verifier({ threads: 0 });
  const verifier = new BlockVerifier({ genesis, activationHeight: 3 }, { ledger, scripts, clock: systemClock });
  const last = blocks[height - 1]?.block.header;
  try {
    await verifier.verify(full, { next: height, hash: last === undefined ? null : blockHash(last), issued });
    return null;
  } catch (error) {
    if (isTesseraError(error, 'block_refused')) return String(error.details.rule);
    throw error;
  } finally {
    await scripts.close();
  }
}

const place = fc
  .constantFrom(...CHAINS)
  .chain((chain) => fc.record({ chain: fc.constant(chain), height: fc.nat(chain.blocks.length - 1) }));
const blockOf = ({ chain, height }: { chain: RealChain; height: number }): FullBlock => {
  const block = chain.blocks[height];
  if (block === undefined) throw new Error(`no block ${height}`);
  return block;
};

describe('chains of real nodes', () => {
  it('are written back as they were read', () => {
    for (const name of ['one-miner', 'two-mempool-nodes'] as const) {
      const { blocks, transactions } = realChain(name);
      for (const [key, data] of blocks) {
        const block = parseBlock(Object(data).block);
        expect(`{"block":${blockJson(block)}}`).toBe(stringifyExact(data));
        expect(blockHash(block.header)).toBe(key);
      }
      for (const [, data] of transactions) expect(transactionJson(parseTransaction(data))).toBe(stringifyExact(data));
    }
    for (const { blocks } of CHAINS)
      for (const full of blocks) expect(decodeFullBlock(encodeFullBlock(full))).toEqual(full);
  });

  test.prop([place], { numRuns: 60 })('meet the rules, each block where it stands', async (at) => {
    expect(await refusalAt(at.chain, at.height, blockOf(at))).toBeNull();
  });

  test.prop([place, fc.nat(), fc.integer({ min: 1, max: 255 })], { numRuns: 150 })(
    'are refused with any byte changed, unless somebody has mined that',
    async (at, index, mask) => {
      const full = blockOf(at);
      const bytes = Uint8Array.from(encodeFullBlock(full));
      const i = index % bytes.length;
      bytes[i] = (bytes[i] ?? 0) ^ mask;
      let changed: FullBlock;
      try {
        changed = decodeFullBlock(bytes);
      } catch (error) {
        expect(error).toMatchObject({ code: 'malformed_transaction' });
        return;
      }
      const rule = await refusalAt(at.chain, at.height, changed);
      if (rule === null) expect(blockHash(changed.block.header)).not.toBe(blockHash(full.block.header));
    },
  );

  test.prop([place, place], { numRuns: 60 })(
    'do not take a block of another place, or transactions of another',
    async (at, from) => {
      const [here, there] = [blockOf(at), blockOf(from)];
      const isSame =
        encodeTransaction(here.miningTransaction).join() === encodeTransaction(there.miningTransaction).join();
      const mixed = { ...here, miningTransaction: there.miningTransaction };
      expect((await refusalAt(at.chain, at.height, mixed)) === null).toBe(isSame);
      expect((await refusalAt(at.chain, at.height, there)) === null).toBe(isSame);
    },
  );
});
