/** What a mempool node that lies can make a wallet believe: each lie costs it the link, and nothing else. */

import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { encodeFullBlock } from '../../src/chain/codec.js';
import { blockHash } from '../../src/chain/hash.js';
import { proofOfWorkFault } from '../../src/chain/pow.js';
import { spentOutPoints } from '../../src/chain/transaction.js';
import type { BlockHeader, FullBlock } from '../../src/chain/types.js';
import { createTestNet, next, type TestNet, type TestUser, until } from '../support/user.js';
import {
  block,
  NOBODY,
  PASSPHRASE,
  paymentFromOutside,
  removeFolders,
  tokens,
  withProofOfWork,
} from '../support/wallet-fixtures.js';

let net: TestNet;
let victim: TestUser;
let address: string;

beforeEach(async () => {
  net = await createTestNet();
  victim = await net.user();
  await until(() => victim.user.inStep);
  address = await victim.wallet.newAddress();
  // The wallet knows the hash of block 1.
  net.mempool.mine();
  await until(() => victim.wallet.height === 1);
});
afterEach(() => net.stop());
afterAll(removeFolders);

const riches = () => [paymentFromOutside([tokens(address, 1_000_000n)])];

/** Tells the victim of a block; resolves with the reason for which it closed the link. */
async function tell({ full, hash }: { readonly full: FullBlock; readonly hash: string }): Promise<string> {
  const down = next(victim.network.linkDown);
  const [link] = net.mempoolNetwork.links;
  link?.send('block.mined', { block_num: Number(full.block.header.bNum), hash }, encodeFullBlock(full));
  return (await down).reason;
}

const withHeader = (full: FullBlock, header: BlockHeader) => ({
  full: { ...full, block: { ...full.block, header } },
  hash: blockHash(header),
});

/** A header whose hash has no leading zero byte. */
function withoutProofOfWork(header: BlockHeader): BlockHeader {
  for (let i = 0; ; i++) {
    const idle = { ...header, nonce: Uint8Array.of(i) };
    if (proofOfWorkFault(idle) !== null) return idle;
  }
}

describe('a mempool node that lies about blocks', () => {
  it('does not bring one without proof of work', async () => {
    const { full } = block(2, riches(), { previous: victim.wallet.tipHash });
    const reason = await tell(withHeader(full, withoutProofOfWork(full.block.header)));
    expect(reason).toMatch(/proof of work/);
    expect(victim.wallet.totals().running).toBe(0n);
  });

  it('does not bring one that follows another block than the last', async () => {
    expect(await tell(block(2, riches(), { previous: 'b'.repeat(65) }))).toMatch(/does not follow/);
    expect(victim.wallet.totals().running).toBe(0n);
  });

  it('does not put another block in the place of the last', async () => {
    expect(await tell(block(1, riches()))).toMatch(/block 1 is/);
    expect(victim.wallet.totals().running).toBe(0n);
  });

  it('does not put a transaction into a block that does not list it', async () => {
    const { full, hash } = block(2, [paymentFromOutside([tokens(NOBODY, 1n)])], { previous: victim.wallet.tipHash });
    expect(await tell({ full: { ...full, transactions: riches() }, hash })).toMatch(/another transaction/);
    const listed = { ...full.block, transactions: ['g'.repeat(32)] };
    await until(() => victim.user.inStep);
    expect(await tell({ full: { ...full, block: listed }, hash })).toMatch(/list/);
    expect(victim.wallet.totals().running).toBe(0n);
  });

  it('does not make a wallet drop its coins by a forged spend', async () => {
    net.mempool.grant([tokens(address, 100n)]);
    await victim.wallet.refresh({ all: true });
    await until(() => victim.wallet.totals().available === 100n);
    const honest = paymentFromOutside([tokens(NOBODY, 1n)]);
    const { full, hash } = block(2, [honest], { previous: victim.wallet.tipHash });
    const [coin] = [...net.mempool.utxos.values()].filter(([, { value }]) => value.amount === 100n);
    if (coin === undefined) throw new Error('no coin');
    const forged = { ...honest, inputs: [{ previousOut: coin[0], script: [] }] };
    expect(spentOutPoints(forged)).toEqual([coin[0]]);
    expect(await tell({ full: { ...full, transactions: [forged] }, hash })).toMatch(/another transaction/);
    expect(victim.wallet.totals().available).toBe(100n);
  });

  it('does not reject a payment with a block that has no proof of work', async () => {
    net.mempool.grant([tokens(address, 100n)]);
    await victim.wallet.refresh({ all: true });
    await until(() => victim.wallet.totals().available === 100n);
    const { txHash } = await victim.user.payAddress({
      address: NOBODY,
      amount: 100n,
      locktime: 0n,
      passphrase: PASSPHRASE,
    });
    await until(() => victim.wallet.transfers.inFlightByHash(txHash)?.state === 'sent');
    const [made] = victim.wallet.transfers.inFlight();
    const theft = { ...paymentFromOutside([tokens(NOBODY, 100n)]), inputs: made?.transaction.inputs ?? [] };
    const { full } = block(2, [theft], { previous: victim.wallet.tipHash });
    await tell(withHeader(full, withoutProofOfWork(full.block.header)));
    expect(victim.wallet.transfers.inFlightByHash(txHash)).toBeDefined();
  });
});

describe('a mempool node that lies about unspent outputs', () => {
  it('is not believed when it names another block for the number that the wallet knows', async () => {
    const honest = victim.wallet.tipHash;
    const { header } = block(1, []).full.block;
    net.mempool.pretend(blockHash(withProofOfWork({ ...header, timestamp: 7n })));
    net.mempool.grant([tokens(address, 1_000_000n)]);
    const down = next(victim.network.linkDown);
    await victim.wallet.refresh({ all: true });
    expect((await down).reason).toMatch(/block 1 is/);
    expect(victim.wallet.totals().running).toBe(0n);
    expect(victim.wallet.tipHash).toBe(honest);
  });

  it('does not continue pages where nothing was asked for', async () => {
    net.mempool.loop = true;
    const down = next(victim.network.linkDown);
    await victim.wallet.refresh({ all: true });
    expect((await down).reason).toMatch(/continues where nothing was asked for/);
  });
});
