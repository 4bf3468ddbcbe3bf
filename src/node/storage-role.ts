/** The role storage: the archive in a database of its own, and what it exchanges with other nodes. */

import type { Progress } from '../observability/progress.js';
import { Archive } from '../storage/archive/archive.js';
import { RunningStorageService } from '../storage/storage-service.js';
import type { Role, RoleContext, RoleServices } from './role.js';

export class StorageRole implements Role {
  readonly type = 'Storage';
  readonly services: RoleServices;
  readonly #storage: RunningStorageService;
  readonly #catchingUp: Progress;

  /** Opens the archive. */
  static async open(context: RoleContext): Promise<StorageRole> {
    const { config, genesis, dataDir } = context;
    const archive = await Archive.open(
      {
        rules: { genesis, activationHeight: config.mining.asertActivationHeight },
        cacheBytes: config.storage.cacheBytes,
      },
      { kv: await dataDir.open('archive'), metrics: context.metrics, clock: context.clock },
    );
    return new StorageRole(context, archive);
  }

  private constructor(context: RoleContext, archive: Archive) {
    const storage = new RunningStorageService({}, { ...context, archive, logger: context.logger('storage') });
    const catchingUp = context.progress('catch_up', { task: 'catching up', unit: 'blocks' });
    storage.catchUpProgress.on(({ height, target }) => catchingUp.update(height, target));
    storage.caughtUp.on(() => catchingUp.end());
    this.#storage = storage;
    this.#catchingUp = catchingUp;
    this.services = { storage };
  }

  async load(): Promise<void> {}

  start(): Promise<void> {
    return this.#storage.start();
  }

  stop(): Promise<void> {
    return this.#storage.stop();
  }

  readiness(): readonly string[] {
    const { catchingUp, problem } = this.#storage;
    return [
      ...(catchingUp === undefined ? [] : [this.#catchingUp.current ?? 'catching up']),
      ...(problem === '' ? [] : [problem]),
    ];
  }

  get failed(): Promise<never> {
    return this.#storage.failed;
  }
}
