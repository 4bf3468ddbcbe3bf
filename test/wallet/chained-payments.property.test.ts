/**
 * The wallet against a small model of a chain and a pool: payments that spend each other's change, in any order with
 * admissions, lost answers, refusals, blocks that are seen, missed, told late and told again, thefts and copies, refreshes,
 * imports, merges, and kill -9 at rest and in the middle of payments and blocks. Requests arrive and are answered in any
 * order, and blocks take what waits in any order that the chain allows. No coin is spent twice, the sums are those of the
 * chain, and every payment ends once (docs/adr/0023-own-change.md). PROPERTY_RUNS=N takes so many walks.
 */

import { afterAll, describe } from 'vitest';
import { fc, test } from '../support/property.js';
import { removeFolders } from '../support/wallet-fixtures.js';
import { Step, WalletModel } from './wallet-model.js';

afterAll(removeFolders);

/** Walks of 50 steps on average. */
const RUNS = Number(process.env.PROPERTY_RUNS ?? 20);

describe('chained payments against a model', () => {
  test.prop([fc.array(Step, { minLength: 20, maxLength: 80, size: 'max' })], { numRuns: RUNS, endOnFailure: true })(
    'spends no coin twice, keeps the sums, and ends every payment once',
    async (steps) => {
      const model = await WalletModel.create();
      for (const step of steps) {
        await model.run(step);
        await model.check();
      }
      await model.finish();
      await model.open.close();
    },
  );
});
