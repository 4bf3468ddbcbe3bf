/**
 * Property tests make the same inputs in every run, so that a run that fails is one that fails again. PROPERTY_SEED=N
 * takes another seed; PROPERTY_SEED=random takes a new one for each property, which it names when it fails. Of inputs that are
 * the same each time half are taken: PROPERTY_SEED and LONG_TESTS=1 take all.
 */

import * as fc from 'fast-check';
import { it as ordinary } from 'vitest';

export { fc };

const { PROPERTY_SEED, LONG_TESTS } = process.env;
const wanted = PROPERTY_SEED ?? '20261122';
const SHARE = PROPERTY_SEED === undefined && LONG_TESTS !== '1' ? 0.5 : 1;
/** Runs of a property that says nothing of them, as fast-check has it. */
const RUNS = 100;
if (wanted !== 'random') fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(wanted) });
const seedOfRun = (): number => fc.readConfigureGlobal().seed ?? Math.floor(Math.random() * 2 ** 32) | 0;

type Arbitraries<Values extends readonly unknown[]> = { [At in keyof Values]: fc.Arbitrary<Values[At]> };
type Property<Values extends readonly unknown[]> = (...values: Values) => unknown;

/**
 * A test that a property holds for whatever the arbitraries make; it fails where the property throws or gives false. Hooks run
 * once for all runs. (`@fast-check/vitest` has the same, but makes functions for every order of `only`, `skip` and the
 * like when it is imported: four seconds and 270 MB in each process.)
 */
function prop<Values extends [unknown, ...unknown[]]>(
  arbitraries: Arbitraries<Values>,
  parameters: fc.Parameters<Values> = {},
) {
  return (name: string, property: Property<Values>): void => {
    const seed = parameters.seed ?? seedOfRun();
    const holds = fc.asyncProperty(...arbitraries, async (...values) => (await property(...values)) !== false);
    const numRuns = Math.ceil(SHARE * (parameters.numRuns ?? RUNS));
    ordinary(`${name} (with seed=${seed})`, () => fc.assert(holds, { ...parameters, numRuns, seed }));
  };
}

/** Vitest's, with `prop`. */
export const test = Object.assign(ordinary, { prop });
