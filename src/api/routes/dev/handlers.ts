/** Routes of dev networks. */

import type { FastifyPluginCallback } from 'fastify';
import { TesseraError } from '../../../lib/errors.js';
import { addRoutes } from '../../http/route.js';
import { devOperations } from './operations.js';
import { FAUCET_AMOUNT, type SnapshotResponse } from './schemas.js';
import type { DevService, DevSnapshot } from './service.js';

export const devRoutes: FastifyPluginCallback<{ readonly dev: DevService }> = (app, { dev }, done) => {
  addRoutes(app, devOperations, {
    getDevFacts() {
      const { accounts, urls, intervalMs } = dev.facts();
      return { accounts: [...accounts], urls: { ...urls }, interval_ms: intervalMs, time: dev.time() };
    },

    async payFromFaucet({ body: { address, amount = FAUCET_AMOUNT } }) {
      const { txHash, height } = await dev.faucet(address, BigInt(amount));
      return { tx_hash: txHash, to_address: address, amount, block_num: height };
    },

    makeBlocks: async ({ body: { count = 1 } }) => ({ block_nums: [...(await dev.mine(count))] }),

    getDevTime: () => ({ time: dev.time() }),

    async setDevTime({ body: { time, advance } }) {
      if (time !== undefined) return { time: await dev.setTime(time) };
      if (advance !== undefined) return { time: await dev.setTime(dev.time() + advance) };
      throw new TesseraError('invalid_request', 'Give time or advance.');
    },

    getSnapshots: () => ({ snapshots: dev.snapshots().map(snapshotView) }),

    takeSnapshot: async () => snapshotView(await dev.takeSnapshot()),

    revertToSnapshot: async ({ params }) => snapshotView(await dev.revert(params.id)),

    async saveState() {
      const { file, bytes, height } = await dev.saveState();
      return { file, bytes, block_num: height };
    },
  });
  done();
};

function snapshotView({ id, height, time }: DevSnapshot): SnapshotResponse {
  return { id, block_num: height, time };
}
