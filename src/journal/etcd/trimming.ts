/** Deletes from etcd what no node wants any more, one transaction after another, while the journal goes on. */

import { fromUtf8, utf8 } from '../../lib/bytes.js';
import { errorMessage } from '../../lib/errors.js';
import type { Logger } from '../../lib/logger.js';
import { endOf, type Names } from './entries.js';
import type { EtcdClient } from './etcd-client.js';
import { KV } from './generated/etcd-pb.js';
import { logKeys } from './history.js';

/** Entries deleted in one transaction, in two operations each; etcd takes 128. */
const DELETED_AT_ONCE = 50;

export interface TrimmingModules {
  readonly client: Pick<EtcdClient, 'call'>;
  readonly names: Names;
  readonly logger: Logger;
}

export class Trimming {
  readonly #modules: TrimmingModules;
  /** The last revision whose entries are not wanted. */
  #wanted = 0n;
  #running: Promise<void> | undefined;
  #closed = false;

  constructor(modules: TrimmingModules) {
    this.#modules = modules;
  }

  /** Begins to delete what came up to that revision. What etcd does not do now, it does the next time. */
  upTo(revision: bigint): void {
    if (this.#closed) return;
    if (revision > this.#wanted) this.#wanted = revision;
    this.#running ??= this.#run()
      .catch((error: unknown) => {
        const problem = errorMessage(error);
        if (!this.#closed) this.#modules.logger.warn({ problem }, `etcd keeps for now what no node wants: ${problem}`);
      })
      .finally(() => {
        this.#running = undefined;
      });
  }

  /** Resolves when the call under way has ended; the rest is left to the next time. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    for (let done = 0n; done < this.#wanted && !this.#closed; ) {
      const revision = this.#wanted;
      await this.#deleteUpTo(revision);
      done = revision;
    }
  }

  async #deleteUpTo(revision: bigint): Promise<void> {
    const { client, names } = this.#modules;
    for await (const { kvs } of logKeys(client, names)) {
      const old = kvs.filter(({ modRevision }) => modRevision <= revision).map(({ key }) => key);
      for (let i = 0; i < old.length && !this.#closed; i += DELETED_AT_ONCE) {
        const success = old.slice(i, i + DELETED_AT_ONCE).flatMap((key) => deletionsOf(key, names));
        await client.call(KV.method.txn, { success });
      }
      if (this.#closed) return;
    }
  }
}

function deletionsOf(key: Uint8Array, { log, part }: Names) {
  const parts = `${part}${fromUtf8(key).slice(log.length)}/`;
  return [{ key }, { key: utf8(parts), rangeEnd: endOf(parts) }].map((value) => ({
    request: { case: 'requestDeleteRange' as const, value },
  }));
}
