/** The contract fuzz of the HTTP API with any number of requests, and what came back. */

import { createFuzzTarget, requestArbitrary } from '../support/api/fuzz.js';
import { fc } from '../support/property.js';

/** Answers by operation and status → how many. Throws when one is not as documented. */
export async function fuzzHttp(runs: number, seed: number): Promise<ReadonlyMap<string, number>> {
  const target = await createFuzzTarget();
  const counts = new Map<string, number>();
  await fc.assert(
    fc.asyncProperty(requestArbitrary(), async (request) => {
      const status = await target.check(request);
      const key = `${request.operation} ${status}`;
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }),
    { numRuns: runs, seed },
  );
  await target.close();
  return counts;
}
