/** What a request counts as: an operator is woken for failures, not for what a rule refuses. */

import { describe, expect, it } from 'vitest';
import { type ErrorCode, TesseraError } from '../../src/lib/errors.js';
import { silentLogger } from '../../src/lib/logger.js';
import { MetricsRegistry } from '../../src/observability/metrics.js';
import { openApp, send } from '../support/api/app.js';

async function resultsOf(code: ErrorCode): Promise<string> {
  const metrics = new MetricsRegistry();
  const supply = () => {
    throw new TesseraError(code, 'as the test wants');
  };
  const app = await openApp('mempool', { modules: { metrics, mempool: { supply } as never } });
  await send(app, { url: '/v1/supply' });
  const { body } = await metrics.render();
  return /tessera_http_request_duration_seconds_count\{operation="getSupply",(.*)\} 1/.exec(body)?.[1] ?? '';
}

describe('the result of a request', () => {
  it.each([
    ['double_spend', '500', 'refused'],
    ['invalid_signature', '500', 'refused'],
    ['invalid_request', '400', 'refused'],
    ['internal_error', '500', 'failed'],
    ['storage_unreachable', '500', 'failed'],
    ['overloaded', '503', 'failed'],
  ] as const)('%s with %s is %s', async (code, status, result) => {
    expect(await resultsOf(code)).toBe(`status="${status}",result="${result}"`);
  });
});

it('health checks are logged at debug, and nothing else is', async () => {
  const lines: string[] = [];
  const logger = {
    ...silentLogger,
    info: (fields: object) => void lines.push(`info ${JSON.stringify(fields)}`),
    debug: (fields: object) => void lines.push(`debug ${JSON.stringify(fields)}`),
  };
  const app = await openApp('mempool', { modules: { logger } });
  await send(app, { url: '/livez' });
  await send(app, { url: '/readyz' });
  await send(app, { url: '/v1/supply' });
  const levels = lines.map((line) => /^(\w+) .*"operation":"(\w+)"/.exec(line)?.slice(1).join(' '));
  expect(levels).toEqual(['debug getLiveness', 'debug getReadiness', 'info getSupply']);
});
