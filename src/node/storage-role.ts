/** The role storage: the archive in a database of its own, and what it exchanges with other nodes. */

import { Verifier } from '../ledger/verifier/verifier.js';
import type { Progress } from '../observability/progress.js';
import { Archive } from '../storage/archive/archive.js';
import type { UnspentProgress } from '../storage/archive/unspent-outputs.js';
import { RunningStorageService } from '../storage/storage-service.js';
import type { Role, RoleContext, RoleServices } from './role.js';

export class StorageRole implements Role {
  readonly type = 'Storage';
  readonly services: RoleServices;
  readonly #context: RoleContext;
  readonly #archive: Archive;
  readonly #scripts: Verifier;
  readonly #storage: RunningStorageService;
  readonly #counting: Progress;
  readonly #catchingUp: Progress;

  /** Opens the archive. */
  static async open(context: RoleContext): Promise<StorageRole> {
    const { config, genesis, producers, dataDir } = context;
    const kv = await dataDir.open('archive');
    const scripts = new Verifier({ threads: config.storage.verifyThreads });
    const rules = { genesis, producers, activationHeight: config.mining.asertActivationHeight };
    try {
      const archive = await Archive.open(
        { rules, cacheBytes: config.storage.cacheBytes },
        { kv, scripts, metrics: context.metrics, clock: context.clock, room: context.room },
      );
      return new StorageRole(context, archive, scripts);
    } catch (error) {
      await scripts.close();
      throw error;
    }
  }

  private constructor(context: RoleContext, archive: Archive, scripts: Verifier) {
    this.#context = context;
    this.#archive = archive;
    this.#scripts = scripts;
    this.#counting = context.progress('count', { task: 'counting the unspent outputs', unit: 'blocks' });
    const storage = new RunningStorageService(
      { producers: context.producers },
      { ...context, archive, logger: context.logger('storage') },
    );
    const catchingUp = context.progress('catch_up', { task: 'catching up', unit: 'blocks' });
    storage.catchUpProgress.on(({ height, target }) => catchingUp.update(height, target));
    storage.caughtUp.on(() => catchingUp.end());
    this.#storage = storage;
    this.#catchingUp = catchingUp;
    this.services = { storage };
  }

  /** An archive of an older version gets its account of unspent outputs; any other has it. */
  async load(): Promise<void> {
    const onProgress = ({ height, target }: UnspentProgress): void => this.#counting.update(height, target);
    await this.#archive.countUnspent(onProgress, this.#context.stopping);
    this.#counting.end();
  }

  start(): Promise<void> {
    return this.#storage.start();
  }

  async stop(): Promise<void> {
    await this.#storage.stop();
    await this.#scripts.close();
  }

  readiness(): readonly string[] {
    const { catchingUp, problem } = this.#storage;
    const counting = this.#counting.current;
    return [
      ...(counting === undefined ? [] : [counting]),
      ...(catchingUp === undefined ? [] : [this.#catchingUp.current ?? 'catching up']),
      ...(problem === null ? [] : [problem]),
    ];
  }

  get failed(): Promise<never> {
    return this.#storage.failed;
  }
}
