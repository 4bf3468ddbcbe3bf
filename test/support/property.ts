/**
 * Property tests make the same inputs in every run, so that a run that fails is one that fails again. PROPERTY_SEED=N
 * takes another seed; PROPERTY_SEED=random takes a new one for each property, which it names when it fails.
 */

import { fc } from '@fast-check/vitest';

export { fc, it, test } from '@fast-check/vitest';

const wanted = process.env.PROPERTY_SEED ?? '20261122';
if (wanted !== 'random') fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(wanted) });
