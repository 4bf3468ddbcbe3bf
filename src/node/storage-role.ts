/** The role storage: the archive in a database of its own, and what it exchanges with other nodes. */

import { createArchive } from '../storage/archive/archive.js';
import { RunningStorageService } from '../storage/storage-service.js';
import type { Role, RoleContext } from './role.js';

export async function createStorageRole(context: RoleContext): Promise<Role> {
  const { config, genesis, dataDir } = context;
  const archive = await createArchive({
    kv: await dataDir.open('archive'),
    rules: { genesis, activationHeight: config.mining.asertActivationHeight },
    cacheBytes: config.storage.cacheBytes,
    metrics: context.metrics,
    clock: context.clock,
  });
  const storage = new RunningStorageService({}, { ...context, archive, logger: context.logger('storage') });
  const catchingUp = context.progress('catch_up', { task: 'catching up', unit: 'blocks' });
  storage.catchUpProgress.on(({ height, target }) => catchingUp.update(height, target));
  storage.caughtUp.on(() => catchingUp.end());
  return {
    type: 'Storage',
    services: { storage },
    async load() {},
    start: () => storage.start(),
    stop: () => storage.stop(),
    readiness() {
      return [
        ...(storage.catchingUp === undefined ? [] : [catchingUp.current ?? 'catching up']),
        ...(storage.problem === '' ? [] : [storage.problem]),
      ];
    },
    failed: storage.failed,
  };
}
