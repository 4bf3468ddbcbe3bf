/** Routes of dev networks. */

import type { FastifyPluginCallback } from 'fastify';
import { parseCreateTransaction } from '../../../chain/create-transaction.js';
import { scriptFault } from '../../../chain/script/interpreter.js';
import { opcodeName } from '../../../chain/script/opcodes.js';
import type { Script, StackEntry } from '../../../chain/types.js';
import { toHex } from '../../../lib/bytes.js';
import { TesseraError } from '../../../lib/errors.js';
import { addRoutes } from '../../http/route.js';
import { devOperations, FAUCET_AMOUNT, type SnapshotResponse } from './operations.js';
import type { DevService, DevSnapshot } from './service.js';

/** Maximum number of entries of a stack that a trace shows. */
const MOST_SHOWN = 20;

export interface DevRoutes {
  /** Service of the network; undefined while the network starts. */
  readonly dev: () => DevService | undefined;
}

export const devRoutes: FastifyPluginCallback<DevRoutes> = (app, options, done) => {
  const service = (): DevService => {
    const dev = options.dev();
    if (dev !== undefined) return dev;
    throw new TesseraError('overloaded', 'The network is not up yet; try again.');
  };

  addRoutes(app, devOperations, {
    getDevFacts() {
      const dev = service();
      const { accounts, urls, intervalMs, automine } = dev.facts();
      return { accounts: [...accounts], urls: { ...urls }, interval_ms: intervalMs, automine, time: dev.time() };
    },

    async payFromFaucet({ body: { amount = FAUCET_AMOUNT, ...order } }) {
      const paid = await service().faucet({ ...order, amount: BigInt(amount) });
      return { tx_hash: paid.txHash, to_address: paid.to, amount: paid.amount, block_num: paid.height };
    },

    makeBlocks: async ({ body: { count = 1, time } }) => ({ block_nums: [...(await service().mine(count, time))] }),

    setAutomine: async ({ body: { automine } }) => ({ automine: await service().setAutomine(automine) }),

    getDevTime: () => ({ time: service().time() }),

    async setDevTime({ body: { time, advance } }) {
      if (time !== undefined) return { time: await service().setTime(time) };
      if (advance !== undefined) return { time: await service().setTime(service().time() + advance) };
      throw new TesseraError('invalid_request', 'Give time or advance.');
    },

    traceScripts({ body }) {
      const { inputs } = parseCreateTransaction(body.transaction, 'transaction');
      return { inputs: inputs.map(({ script }) => traceOf(script)) };
    },

    getSnapshots: () => ({ snapshots: service().snapshots().map(snapshotView) }),

    takeSnapshot: async () => snapshotView(await service().takeSnapshot()),

    revertToSnapshot: async ({ params }) => snapshotView(await service().revert(params.id)),

    async saveState() {
      const { file, bytes, height } = await service().saveState();
      return { file, bytes, block_num: height };
    },
  });
  done();
};

function traceOf(script: Script) {
  const steps: { entry: string; is_taken: boolean; stack: string[] }[] = [];
  const fault = scriptFault(script, (entry, isTaken, stack) => {
    steps.push({ entry: entryText(entry), is_taken: isTaken, stack: stack.slice(-MOST_SHOWN).map(entryText) });
  });
  return { fault, steps };
}

function entryText(entry: StackEntry): string {
  if (entry.kind === 'op') return opcodeName(entry.op) ?? `opcode ${entry.op}`;
  if (entry.kind === 'num') return String(entry.value);
  return entry.kind === 'bytes' ? JSON.stringify(entry.text) : toHex(entry.bytes);
}

function snapshotView({ id, height, time }: DevSnapshot): SnapshotResponse {
  return { id, block_num: height, time };
}
