/** A logger for nodes whose lines nobody reads. */

import { NodeLogger } from '../../src/observability/logger.js';

export const silentLogger = NodeLogger.create({ level: 'error', format: 'json' }, { out: { write: () => true } });
