import { expect, it } from 'vitest';
import { metricsDocument } from './metrics-page.js';

it('docs/metrics.md is what the catalogue says', async () => {
  await expect(metricsDocument()).toMatchFileSnapshot('../../docs/metrics.md');
});
