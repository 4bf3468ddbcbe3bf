/** Schemathesis with all its checks finds nothing but what docs/openapi.md#schemathesis says, and says why. */

import { describe, expect, it } from 'vitest';
import { useDevNetwork } from '../support/dev-network.js';
import { findTool } from '../support/tools.js';
import { documentedExceptions, runSchemathesis, unexpected } from './schemathesis.js';

const SCHEMATHESIS = findTool('schemathesis');
/** In ms. For a busy machine: alone it takes 15 seconds. */
const PATIENCE = 600_000;
const network = useDevNetwork();

describe('the exceptions', () => {
  it('are read from the document', async () => {
    const exceptions = await documentedExceptions();
    expect(exceptions.length).toBeGreaterThan(10);
    const finding = { check: 'not_a_server_error', operation: 'POST /v1/items', status: 500, detail: '' };
    expect(unexpected([{ ...finding, code: 'invalid_signature' }], exceptions)).toEqual([]);
    expect(unexpected([{ ...finding, code: 'internal_error' }], exceptions)).toHaveLength(1);
    expect(unexpected([{ ...finding, check: 'status_code_conformance', code: '' }], exceptions)).toHaveLength(1);
  });
});

describe.runIf(SCHEMATHESIS !== undefined)('Schemathesis', () => {
  it('finds nothing else on a network at one address', { timeout: PATIENCE }, async () => {
    const { findings, cases, operations, followed } = await runSchemathesis({
      program: SCHEMATHESIS ?? '',
      url: network().url ?? '',
      phases: ['examples', 'fuzzing', 'stateful'],
      examples: 2,
      patience: PATIENCE,
    });
    expect(unexpected(findings, await documentedExceptions())).toEqual([]);
    expect(cases).toBeGreaterThan(100);
    expect(operations.size).toBeGreaterThan(50);
    expect(followed).toBeGreaterThan(0);
  });
});
