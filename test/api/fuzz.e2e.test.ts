/** The contract fuzz at its usual size; `npm run fuzz -- --runs N` runs any number. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createFuzzTarget, type FuzzTarget, requestArbitrary } from '../support/api/fuzz.js';
import { fc } from '../support/property.js';

const RUNS = 4_000;

let target: FuzzTarget;
beforeAll(async () => {
  target = await createFuzzTarget();
});
afterAll(() => target.close());

describe('contract fuzz', () => {
  it(`answers ${RUNS} whole and broken requests as documented`, async () => {
    const statuses = new Set<number>();
    await fc.assert(
      fc.asyncProperty(requestArbitrary(), async (request) => {
        statuses.add(await target.check(request));
      }),
      { numRuns: RUNS },
    );
    // The requests reach successes and refusals of every kind that they meet often; 204 and 304 are a matter of luck, and
    // have tests of their own.
    for (const status of [200, 201, 202, 400, 401, 404, 405, 415, 422, 500]) {
      expect(statuses).toContain(status);
    }
  });
});
