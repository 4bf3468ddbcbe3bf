/** Attacks on wallets: dust, and a mempool node that somebody else runs. */

import { tokenAsset } from '../../../src/chain/assets.js';
import { coinbaseTransaction, txOut } from '../../../src/chain/builders.js';
import { certifyBlock } from '../../../src/chain/certificate.js';
import { encodeUtxos } from '../../../src/chain/decode-in-pieces.js';
import { transactionHash } from '../../../src/chain/hash.js';
import { DEV_AMOUNT, DEV_GENESIS_TX } from '../../../src/config/dev-accounts.js';
import { generateKeyPair } from '../../../src/crypto/ed25519.js';
import { systemRandom } from '../../../src/lib/random.js';
import { encodeFullBlock } from '../../support/full-block.js';
import { payment } from '../../support/mempool.js';
import { call, createNetwork, type NodeProcess, until } from '../../support/processes.js';
import { block, NOBODY, paymentFromOutside, tokens } from '../../support/wallet-fixtures.js';
import { type Arena, WATCHED, type Watch } from '../arena.js';
import { type Attack, mustBe } from '../attack.js';
import { createPeer } from '../stranger.js';
import { devAccount, spendOf, submitByHttp } from '../submit.js';

/** Outputs of one payment, and payments. */
const DUST = 1_000;
const DUST_PAYMENTS = 4;

/** Outputs of one unit each, thousands of them, to the wallet that pays meanwhile. */
async function sendDust({ mempool, user, scale }: Arena): Promise<void> {
  const { address } = (await call(`${user.apiUrl}/v1/wallet/addresses`, {})) as { address: string };
  const worthless = spendOf(devAccount(4), [txOut(tokenAsset(0n), address)]);
  mustBe((await submitByHttp(mempool, [worthless])) !== '', 'an output of nothing was admitted');
  const { keyPair: key, address: own, outputs, outputAmount } = devAccount(4);
  let [left, from] = [outputAmount, { tHash: DEV_GENESIS_TX, n: outputs[0] ?? 0 }];
  for (let i = 0; i < DUST_PAYMENTS * scale; i++) {
    left -= BigInt(DUST);
    const dust = Array.from({ length: DUST }, () => txOut(tokenAsset(1n), address));
    const tx = payment({
      from: { key, address: own },
      inputs: [from],
      outputs: [...dust, txOut(tokenAsset(left), own)],
    });
    // What the payment before has left can be spent when that is in a block.
    await until('the dust to be admitted', async () => {
      const code = await submitByHttp(mempool, [tx]);
      if (code === '') return true;
      throw new Error(code);
    });
    from = { tHash: transactionHash(tx), n: DUST };
  }
  await call(`${user.apiUrl}/v1/wallet`);
  await call(`${user.apiUrl}/v1/payments`, { kind: 'address', address: NOBODY, amount: 1_000, passphrase: '' });
}

async function fundsOf({ apiUrl }: NodeProcess): Promise<bigint> {
  const { running_total_tokens: held } = (await call(`${apiUrl}/v1/wallet`)) as { running_total_tokens: bigint };
  return BigInt(held);
}

/** A wallet of its own whose mempool node is the attacker's: it is told of riches by block and by refresh. */
async function lieToWallet(_arena: Arena, watch: Watch): Promise<void> {
  const network = await createNetwork();
  const liar = await createPeer('mempool');
  const forger = generateKeyPair(systemRandom);
  const farewells: string[] = [];
  let address = '';
  liar.handle('statuses.get', () => ({ type: 'statuses', body: { statuses: [] } }));
  liar.handle('producer.get', () => ({
    type: 'producer',
    body: { certificate: certifyBlock(forger, 'a chain', { height: 0, hash: 'b' }) },
  }));
  liar.handle('utxos.get', () => ({
    type: 'utxos',
    body: { block_num: -1, hash: null },
    attachment: encodeUtxos([[{ tHash: 'made up', n: 0 }, tokens(address || NOBODY, DEV_AMOUNT)]]),
  }));
  liar.linkUp.on((link) => {
    if (address === '') return;
    const riches = paymentFromOutside([tokens(address, DEV_AMOUNT)]);
    const forged = block(0, [riches], { mining: coinbaseTransaction(0n, 1n, NOBODY) });
    const certificate = certifyBlock(forger, 'a chain', { height: 0, hash: forged.hash });
    link.send('block.mined', { block_num: 0, hash: forged.hash, certificate }, encodeFullBlock(forged.full));
  });
  liar.linkDown.on(({ reason }) => farewells.push(reason));
  try {
    await liar.start();
    const user = await network.add('user', 'user', {
      ...WATCHED,
      'peers.mempool': liar.address,
      'wallet.genesis_seed_index': 0,
    });
    await watch.alsoAt(user);
    ({ address } = (await call(`${user.apiUrl}/v1/wallet/addresses`, {})) as { address: string });
    const held = await fundsOf(user);
    // The links from here on know the address.
    const before = farewells.length;
    for (const link of liar.links) link.close('come again');
    await until('the wallet to judge what it is told', async () => (farewells.length > before + 2 ? true : undefined));
    mustBe((await fundsOf(user)) === held, 'the wallet counts what a liar told it of');
    mustBe(/producer/.test(farewells.slice(before).join()), `the wallet goes, but why: ${farewells.join('; ')}`);
  } finally {
    await liar.stop();
    await network.stopAll();
  }
}

/** Dust to the arena's wallet, and what the payer has left. */
export const dust: Attack = { name: 'dust to a wallet, 4,000 outputs of one unit', byHand: true, run: sendDust };
export const lyingMempool: Attack = {
  name: 'a mempool node of somebody else, for a wallet',
  byHand: true,
  run: lieToWallet,
};
