/** The metrics of every node, whatever its role, and the server for all metrics. */

import { folderSize } from '../db/disk-room.js';
import { programVersion } from '../lib/program-files.js';
import type { NodeRole } from '../lib/roles.js';
import { Failure, type Service } from '../lib/service.js';
import { LINE_LEVELS, type NodeLogger } from '../observability/logger.js';
import { followTotal, type MetricsRegistry, watchProcess } from '../observability/metrics.js';
import { MetricsServer } from '../observability/metrics-server.js';
import type { HasClock, HasLogger, HasMetrics } from '../observability/modules.js';
import { Progress, type ProgressOptions } from '../observability/progress.js';
import type { TaskName } from './roles/role.js';

/** Milliseconds for which the size of the data directory is cached: it takes a look at every file. */
const SIZE_FRESH_MS = 10_000;

export interface NodeMetricsOptions {
  readonly host: string;
  readonly port: number;
  readonly role: NodeRole;
  readonly name: string;
  readonly folder: string;
}

export interface NodeMetricsModules extends HasClock {
  readonly registry: MetricsRegistry;
  readonly logger: NodeLogger;
  readonly readiness: () => readonly string[];
}

export interface TaskProgressModules extends HasClock, HasLogger, HasMetrics {
  readonly terminal: { write(text: string): unknown } | undefined;
}

export class NodeMetrics implements Service {
  readonly #options: NodeMetricsOptions;
  readonly #modules: NodeMetricsModules;
  readonly #server: MetricsServer;
  readonly #failure = new Failure();
  readonly failed = this.#failure.promise;
  #stopProcessMetrics: (() => void) | undefined;
  #sizedAt = Number.NEGATIVE_INFINITY;

  constructor(options: NodeMetricsOptions, modules: NodeMetricsModules) {
    this.#options = options;
    this.#modules = modules;
    this.#server = new MetricsServer(options, { ...modules, metrics: modules.registry });
    this.#failure.follow(this.#server);
    this.#measureNode();
  }

  get url(): string {
    return this.#server.url;
  }

  async start(): Promise<void> {
    this.#stopProcessMetrics = watchProcess(this.#modules.registry);
    await this.#server.start();
  }

  async stop(): Promise<void> {
    this.#stopProcessMetrics?.();
    await this.#server.stop();
  }

  #measureNode(): void {
    const { role, name } = this.#options;
    const { registry, logger, readiness } = this.#modules;
    registry.gauge('tessera_build_info', programVersion(), role, name).set(1);
    const ready = registry.gauge('tessera_node_ready');
    const lines = LINE_LEVELS.map((level) => ({
      level,
      follow: followTotal(registry.counter('tessera_log_lines_total', level)),
    }));
    registry.beforeScrape(async () => {
      ready.set(readiness().length === 0 ? 1 : 0);
      for (const { level, follow } of lines) follow(logger.lines[level]);
      await this.#measureFolder();
    });
  }

  async #measureFolder(): Promise<void> {
    const { registry, clock } = this.#modules;
    if (clock.monotonic() - this.#sizedAt < SIZE_FRESH_MS) return;
    this.#sizedAt = clock.monotonic();
    registry.gauge('tessera_db_size_bytes').set(await folderSize(this.#options.folder));
  }
}

/** Shows the progress of a long task on the terminal, or else in the log, and in the metrics. */
export function taskProgress(
  name: TaskName,
  options: ProgressOptions,
  { metrics, logger, clock, terminal }: TaskProgressModules,
): Progress {
  const share = metrics.gauge('tessera_progress_ratio', name);
  share.set(1);
  const line = (text: string): void => logger.info({ task: name }, text);
  return new Progress(options, { clock, terminal, line, share: share.set });
}
