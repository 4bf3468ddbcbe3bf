/** The services of a node, for its routes. Access to a missing service throws the error that the contract has for it (decisions V18, V24). */

import fp from 'fastify-plugin';
import { TesseraError } from '../lib/errors.js';
import type { MempoolService } from '../mempool/service.js';
import type { MinerService } from '../miner/service.js';
import type { ChainIndexService, IndexStatus } from '../storage/chain-index/service.js';
import type { StorageService } from '../storage/service.js';
import type { UserService } from '../user/service.js';
import type { WalletService } from '../wallet/service.js';
import type { NodeServices } from './options.js';

declare module 'fastify' {
  interface FastifyInstance {
    readonly services: Services;
  }
}

class Services {
  readonly #modules: NodeServices;

  constructor(modules: NodeServices) {
    this.#modules = modules;
  }

  get mempool(): MempoolService {
    const { mempool } = this.#modules;
    if (mempool) return mempool;
    throw new TesseraError('mempool_unreachable', 'The mempool node could not be reached: its service is not up.');
  }

  get storage(): StorageService {
    const { storage } = this.#modules;
    if (storage) return storage;
    throw new TesseraError('storage_unreachable', 'The storage node could not be reached: its service is not up.');
  }

  get chainIndex(): ChainIndexService {
    const { chainIndex } = this.#modules;
    if (chainIndex) return chainIndex;
    throw new TesseraError(
      'index_off',
      'This node keeps no index of the chain: set storage.index to true, and restart it.',
    );
  }

  indexStatus(): IndexStatus {
    return this.#modules.chainIndex?.status() ?? { state: 'off', height: null, blocks: 0, problem: null };
  }

  get miner(): MinerService {
    const { miner } = this.#modules;
    if (miner) return miner;
    throw new TesseraError('not_mining', 'This node does not mine (mining.enabled is false).');
  }

  get wallet(): WalletService {
    const { wallet } = this.#modules;
    if (wallet) return wallet;
    throw new TesseraError('no_wallet', 'This node does not expose a wallet (wallet.enabled is false).');
  }

  get user(): UserService {
    const { user } = this.#modules;
    if (this.wallet && user) return user;
    throw new TesseraError('cannot_pay', 'This node cannot make payments.');
  }
}

export const services = fp<{ readonly modules: NodeServices }>((app, { modules }, done) => {
  app.decorate('services', new Services(modules));
  done();
});
