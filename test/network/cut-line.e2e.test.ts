/** Lines between nodes that are cut without a word, as by a firewall or a cable: who waits for the other end says so, and goes on later. */

import { afterEach, expect, it } from 'vitest';
import { LosingProxy } from '../support/losing-proxy.js';
import { createNetwork, type Network, type NodeProcess, until, whenReady } from '../support/processes.js';

let network: Network;
const proxies: LosingProxy[] = [];

afterEach(async () => {
  await network.stopAll();
  for (const proxy of proxies.splice(0)) await proxy.close();
});

/** The address of a line to a node. */
async function lineTo({ peerAddress }: NodeProcess): Promise<string> {
  const proxy = await LosingProxy.start(`http://${peerAddress}`);
  proxies.push(proxy);
  return new URL(proxy.endpoint).host;
}

async function reasons({ apiUrl }: NodeProcess): Promise<readonly string[]> {
  return ((await (await fetch(`${apiUrl}/readyz`)).json()) as { reasons: string[] }).reasons;
}

it('are named by /readyz before the links are given up, which go on when the lines do', async () => {
  network = await createNetwork();
  const storage = await network.add('storage', 'storage');
  const mempool = await network.add('mempool', 'mempool', { 'peers.storage': await lineTo(storage) });
  await network.add('miner', 'miner', { 'peers.mempool': mempool.peerAddress, 'wallet.genesis_seed_index': 1 });
  const user = await network.add('user', 'user', {
    'peers.mempool': await lineTo(mempool),
    'wallet.genesis_seed_index': 0,
  });
  await whenReady(mempool);
  await whenReady(user);

  for (const proxy of proxies) proxy.isCut = true;
  const says = (node: NodeProcess, reason: RegExp) =>
    until(String(reason), async () => ((await reasons(node)).some((one) => reason.test(one)) ? true : undefined));
  await says(mempool, /^no storage node .* that is linked answers: no block can be kept$/);
  await says(user, /^no mempool node that is linked answers$/);
  for (const proxy of proxies) proxy.isCut = false;
  await whenReady(mempool);
  await whenReady(user);
  for (const node of [mempool, user]) expect(node.log()).not.toContain('link down');
});
