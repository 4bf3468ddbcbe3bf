/** Routes of the backup file of a wallet, and of moving funds under its words. */

import type { FastifyPluginCallback } from 'fastify';
import { passphraseCaller } from '../../http/access.js';
import { addRoutes } from '../../http/route.js';
import { walletBackupOperations } from './backup-operations.js';

export const walletBackupRoutes: FastifyPluginCallback = (app, _options, done) => {
  const { services } = app;

  addRoutes(app, walletBackupOperations, {
    backupWallet: async (request) => ({
      backup: await services.wallet.backup(request.body.passphrase, passphraseCaller(request)),
    }),

    async sweepWallet() {
      const { wallet } = services;
      const before = wallet.uncovered();
      const made = await wallet.sweep();
      const left = wallet.uncovered();
      return {
        transactions: made.map(({ hash }) => hash),
        tokens: before > left ? before - left : 0n,
        tokens_left: left,
      };
    },
  });
  done();
};
