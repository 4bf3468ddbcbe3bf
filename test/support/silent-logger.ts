/** Loggers for nodes whose lines nobody reads, or the test. */

import type { Logger } from '../../src/lib/logger.js';
import { NodeLogger } from '../../src/observability/logger.js';

export const silentLogger = NodeLogger.create({ level: 'error', format: 'json' }, { out: { write: () => true } });

/** A logger whose lines, but those for debugging, are kept as they were given. */
export function collectingLogger() {
  const lines: (object & { readonly message: string })[] = [];
  const keep = (fields: object, message: string) => void lines.push({ ...fields, message });
  const logger: Logger = { debug: () => undefined, info: keep, warn: keep, error: keep };
  return { lines, logger };
}
