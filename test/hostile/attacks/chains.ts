/** Payments that spend what waits: long chains, wide trees, lists that are dear to follow, and spends of what others spend. */

import { tokenAsset } from '../../../src/chain/assets.js';
import { assemble, txOut } from '../../../src/chain/builders.js';
import { transactionHash } from '../../../src/chain/hash.js';
import type { OutPoint, Transaction } from '../../../src/chain/types.js';
import { DEV_GENESIS_TX, type DevAccount } from '../../../src/config/dev-accounts.js';
import { ERROR_CODES } from '../../../src/lib/errors.js';
import type { Link } from '../../../src/peers/network.js';
import { payment } from '../../support/mempool.js';
import { call, createNetwork } from '../../support/processes.js';
import { type Arena, WATCHED, type Watch } from '../arena.js';
import { type Attack, mustBe } from '../attack.js';
import { createPeer } from '../stranger.js';
import { devAccount, freshAddress, submitByLink, tokensOf, untilTokens } from '../submit.js';

/** What one transaction may be behind (`mempool.max_ancestors`). */
const MAX_ANCESTORS = 100;
const BRANCHES = 120;
const BRANCH = 1_000n;
const LIST = 1_000;
/** Inputs of a transaction of a dear list, none signed: as many as fit into a submission of 4 MiB. */
const INPUTS = 40;
const REFUSALS = ['too_many_ancestors', 'unknown_input', 'invalid_signature', 'transaction_rejected', 'overloaded'];

function spend(
  account: DevAccount,
  inputs: readonly OutPoint[],
  outputs: readonly [address: string, amount: bigint][],
) {
  const { keyPair: key, address } = account;
  return payment({
    from: { key, address },
    inputs: [...inputs],
    outputs: outputs.map(([to, amount]) => txOut(tokenAsset(amount), to)),
  });
}

const firstOutput = ({ outputs }: DevAccount): OutPoint => ({ tHash: DEV_GENESIS_TX, n: outputs[0] ?? 0 });
const outputOf = (tx: Transaction, n = 0): OutPoint => ({ tHash: transactionHash(tx), n });

/** A payment, and others that each spend the change of the one before. */
function chainOf(account: DevAccount, length: number): Transaction[] {
  const chain: Transaction[] = [];
  for (let from = firstOutput(account); chain.length < length; ) {
    const next = spend(account, [from], [[account.address, account.outputAmount]]);
    chain.push(next);
    from = outputOf(next);
  }
  return chain;
}

/** As deep as may be, and one deeper; what another wallet spends of it is refused. Gives the last that was admitted. */
async function growChain(link: Link, account: DevAccount): Promise<Transaction> {
  const chain = chainOf(account, MAX_ANCESTORS + 2);
  const codes: string[] = [];
  for (const tx of chain) codes.push(await submitByLink(link, [tx]));
  const refused = codes.findIndex((code) => code !== '');
  mustBe(refused === MAX_ANCESTORS + 1, `of a chain ${refused} were admitted: ${[...new Set(codes)].join(' ')}`);
  mustBe(codes.at(-1) === 'too_many_ancestors', `a chain that is too long: ${codes.at(-1)}`);
  for (const spent of [firstOutput(account), ...chain.slice(0, 20).map((tx) => outputOf(tx))]) {
    const code = await submitByLink(link, [spend(account, [spent], [[freshAddress(), account.outputAmount]])]);
    mustBe(code !== '' && code in ERROR_CODES, `what a payment that waits spends was spent again: ${code}`);
  }
  const [last] = chain.slice(MAX_ANCESTORS);
  if (last === undefined) throw new Error('the chain is too short');
  return last;
}

/** One payment with many outputs, a payment of each, and payments that are behind all of them. */
async function growTree(link: Link, account: DevAccount, payee: string): Promise<void> {
  const rest = account.outputAmount - BigInt(BRANCHES) * BRANCH;
  const branches = Array.from({ length: BRANCHES }, (): [string, bigint] => [account.address, BRANCH]);
  const root = spend(account, [firstOutput(account)], [...branches, [account.address, rest]]);
  mustBe((await submitByLink(link, [root])) === '', 'the root of a tree was refused');
  const children = branches.map((_, n) => spend(account, [outputOf(root, n)], [[account.address, BRANCH]]));
  for (const child of children) mustBe((await submitByLink(link, [child])) === '', 'a branch was refused');
  const behind = (count: number) =>
    spend(
      account,
      children.slice(0, count).map((tx) => outputOf(tx)),
      [[payee, BigInt(count) * BRANCH]],
    );
  const tooMany = await submitByLink(link, [behind(BRANCHES)]);
  mustBe(tooMany === 'too_many_ancestors', `a payment behind ${BRANCHES} others: ${tooMany || 'admitted'}`);
  // The root is behind all of them too.
  const fits = await submitByLink(link, [behind(MAX_ANCESTORS - 1)]);
  mustBe(fits === '', `a payment behind ${MAX_ANCESTORS} others: ${fits}`);
}

/** A list in which each spends as much as it can of those before it, and which nobody has signed. */
function dearList(salt: number): Transaction[] {
  const hashes: string[] = [];
  return Array.from({ length: LIST }, (_, i) => {
    const inputs = Array.from({ length: INPUTS }, (_input, n) => ({
      previousOut: { tHash: hashes[(i - 1 - (n % 24) + LIST) % LIST] ?? 'f'.repeat(32), n },
      script: [],
    }));
    const tx = { ...assemble({ inputs, outputs: [txOut(tokenAsset(1n), freshAddress())] }), version: BigInt(salt) };
    hashes.push(transactionHash(tx));
    return tx;
  });
}

async function submitDearLists(link: Link, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    const code = await submitByLink(link, dearList(i));
    mustBe(REFUSALS.includes(code), `a list of unsigned chains: ${code || 'admitted'}`);
  }
}

/** A network of its own whose miner is away: what is admitted stays, and goes into blocks when it is back. */
async function chainPayments({ scale }: Arena, watch: Watch): Promise<void> {
  const network = await createNetwork();
  const client = await createPeer('user');
  client.handle('block.mined', () => undefined);
  try {
    const storage = await network.add('storage', 'storage', WATCHED);
    const mempool = await network.add('mempool', 'mempool', { ...WATCHED, 'peers.storage': storage.peerAddress });
    for (const node of [storage, mempool]) await watch.alsoAt(node);
    const miner = await network.add('miner', 'miner', {
      'peers.mempool': mempool.peerAddress,
      'wallet.genesis_seed_index': 1,
    });
    const [owner, payee] = [devAccount(5), freshAddress()];
    await untilTokens(mempool, [owner.address], Number(owner.outputAmount));
    await miner.stop();
    const link = await client.dial(mempool.peerAddress, { timeoutMs: 10_000 });
    const last = await growChain(link, owner);
    await growTree(link, devAccount(6), payee);
    await submitDearLists(link, 2 * scale);
    await call(`${mempool.apiUrl}/v1/supply`);
    const held = await tokensOf(mempool, [owner.address]);
    await miner.start();
    const paid = (MAX_ANCESTORS - 1) * Number(BRANCH);
    await untilTokens(mempool, [payee], paid);
    mustBe((await tokensOf(mempool, [payee])) === paid, 'a payment of a tree was counted twice');
    mustBe(
      (await tokensOf(mempool, [owner.address])) === held,
      'a chain of payments to oneself has changed what one has',
    );
    const after = spend(owner, [outputOf(last)], [[freshAddress(), owner.outputAmount]]);
    mustBe((await submitByLink(link, [after])) === '', 'the end of a chain cannot be spent when it is in a block');
  } finally {
    await client.stop();
    await network.stopAll();
  }
}

export const chainedPayments: Attack = {
  name: 'chains and trees of payments that wait',
  byHand: true,
  run: chainPayments,
};
