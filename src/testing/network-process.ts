/** The process of a dev network for tests: started by `index.ts`, and gone when whoever started it is gone. */

import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { normalMnemonic, type DevAccount as OwnAccount } from '../config/dev-accounts.js';
import { IN_CODE } from '../config/sources.js';
import { toHex } from '../lib/bytes.js';
import { errorMessage, isTesseraError, TesseraError } from '../lib/errors.js';
import { DevNetwork } from '../node/dev-network.js';
import { NodeLogger } from '../observability/logger.js';
import type { Answer, DevAccount, DevNetworkOptions, NetworkFacts, Request } from './messages.js';

/** Milliseconds for a clean stop. */
const STOP_WITHIN_MS = 10_000;

let network: DevNetwork | undefined;
let temporary: string | undefined;
let ending: Promise<void> | undefined;

process.umask(0o077);
process.on('message', (request: Request) => void take(request));
process.on('disconnect', () => void end());
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => void end());

async function take(request: Request): Promise<void> {
  const id = 'id' in request ? request.id : 0;
  try {
    if ('start' in request) return answer({ ready: await start(request.start) });
    if (request.command === 'stop') return await end();
    answer({ id, result: await run(request) });
  } catch (error) {
    answer({ id, error: { code: codeOf(error), message: errorMessage(error) } });
    if ('start' in request) await end();
  }
}

async function start(options: DevNetworkOptions): Promise<NetworkFacts> {
  const { accounts, balance, mnemonic, blockTime = 0, automine = true, port, dataDir, state, fork } = options;
  temporary = dataDir === undefined ? join(tmpdir(), `tessera-dev-${randomUUID()}`) : undefined;
  const started = new DevNetwork(
    {
      dataDir: temporary ?? resolve(dataDir ?? ''),
      ports: 'any',
      ...(port === undefined ? {} : { port }),
      ...(blockTime === 0 ? {} : { intervalMs: blockTime }),
      accounts: { count: accounts, balance, ...(mnemonic === undefined ? {} : { mnemonic: normalMnemonic(mnemonic) }) },
      flags: [{ option: 'metrics.enabled', value: false, flag: IN_CODE }],
      ...(state === undefined ? {} : { stateFile: resolve(state) }),
      ...(fork === undefined ? {} : { fork: new URL(fork).origin }),
      automine,
      haveNodesAddresses: options.nodeAddresses ?? false,
    },
    { logger: NodeLogger.create({ level: 'error', format: 'json' }, { out: process.stderr }) },
  );
  network = started;
  started.failed.catch((error: unknown) => {
    answer({ id: null, error: { code: codeOf(error), message: errorMessage(error) } });
    void end();
  });
  await started.start();
  const { accounts: numbered, user, miner } = started.accounts;
  return {
    url: started.url ?? '',
    urls: { ...started.urls },
    accounts: [
      ...numbered.map((owner, index) => accountView(String(index + 1), owner)),
      accountView('user', user),
      accountView('miner', miner),
    ],
  };
}

function run({ command, args }: Extract<Request, { readonly id: number }>): unknown {
  if (network === undefined || command === 'stop')
    throw new TesseraError('shutting_down', 'the network is not running');
  const { control } = network;
  // The runner is bound by the types of `Commands`, which are the types of the methods.
  const method = control[command] as (...given: readonly unknown[]) => unknown;
  return method.apply(control, [...args]);
}

async function end(): Promise<void> {
  try {
    ending ??= stopAll();
    await ending;
    process.exit(0);
  } catch {
    process.exit(1);
  }
}

async function stopAll(): Promise<void> {
  setTimeout(() => process.exit(1), STOP_WITHIN_MS).unref();
  await network?.stop().catch(() => undefined);
  if (temporary !== undefined) await rm(temporary, { recursive: true, force: true });
}

function answer(content: Answer): void {
  // The runner may be gone.
  if (process.connected) process.send?.(content, () => undefined);
}

function accountView(account: string, { address, keyPair, outputs, outputAmount }: OwnAccount): DevAccount {
  return { account, address, seed: toHex(keyPair.seed), tokens: outputAmount * BigInt(outputs.length) };
}

function codeOf(error: unknown): string {
  return isTesseraError(error) ? error.code : 'internal_error';
}
