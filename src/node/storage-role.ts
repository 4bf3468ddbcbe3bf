/** The role storage: the archive in a database of its own, and what it exchanges with other nodes. */

import { createArchive } from '../storage/archive.js';
import { createStorageService } from '../storage/storage-service.js';
import { failureOf, type RoleContext, type RunningRole } from './role.js';

export async function createStorageRole(context: RoleContext): Promise<RunningRole> {
  const { config, genesis, dataDir } = context;
  const archive = await createArchive({
    kv: await dataDir.open('archive'),
    rules: { genesis, activationHeight: config.mining.asertActivationHeight },
    cacheBytes: config.storage.cacheBytes,
  });
  const storage = createStorageService({}, { ...context, archive, logger: context.logger('storage') });
  return {
    type: 'Storage',
    services: { storage },
    async load() {},
    start: () => storage.start(),
    stop: () => storage.stop(),
    readiness() {
      const progress = storage.catchingUp;
      if (progress === undefined) return [];
      const percent = Math.floor((100 * progress.height) / Math.max(1, progress.target));
      return [`catching up: block ${progress.height} of ${progress.target} (${percent} %)`];
    },
    failed: failureOf((fail) => void storage.failed.on(fail)),
  };
}
