/**
 * A dev network in this process, on free ports, for a test that starts, stops and configures it itself; `dev-network.ts` has one
 * for all tests of a file.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { IN_CODE } from '../../src/config/sources.js';
import { DevNetwork } from '../../src/node/dev-network.js';
import { NodeLogger } from '../../src/observability/logger.js';
import { until } from './processes.js';

export interface RunningDevNetwork extends DevNetwork {
  /** What the nodes wrote. */
  readonly lines: readonly string[];
  /** Stops it and removes its data. */
  end(): Promise<void>;
}

export async function startDevNetwork(options: Readonly<Record<string, unknown>> = {}): Promise<RunningDevNetwork> {
  const dataDir = await mkdtemp(join(tmpdir(), 'tessera-test-'));
  const lines: string[] = [];
  const logger = NodeLogger.create({ level: 'info', format: 'json' }, { out: { write: (line) => lines.push(line) } });
  const flags = Object.entries(options).map(([option, value]) => ({ option, value, flag: IN_CODE }));
  const network = new DevNetwork({ dataDir, ports: 'any', flags }, { logger });
  await network.start();
  return Object.assign(network, {
    lines,
    async end() {
      await network.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  });
}

/** Pays from the user node; resolves with the hash when its block is stored. */
export async function payAndConfirm(network: RunningDevNetwork, address: string, amount: number): Promise<string> {
  const response = await fetch(`${network.urls.user}/v1/payments`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ kind: 'address', address, amount, passphrase: '' }),
  });
  const { tx_hash } = (await response.json()) as { tx_hash: string };
  const { wallet } = network.nodes.user.services;
  if (wallet === undefined) throw new Error('the user node has no wallet');
  await until(`payment ${tx_hash} to be in a block`, async () => {
    const entry = wallet.outgoing.get(tx_hash);
    if (entry !== undefined) throw new Error(`it is ${entry.state}:\n${network.lines.slice(-20).join('')}`);
    return true;
  });
  return tx_hash;
}
