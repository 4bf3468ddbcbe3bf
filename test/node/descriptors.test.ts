import { expect, it } from 'vitest';
import { descriptorLimit, planDescriptors } from '../../src/node/descriptors.js';

it('leaves more than half of few descriptors to the databases and the program', () => {
  const { peerSockets, apiSockets, warning } = planDescriptors(300);
  expect(peerSockets + apiSockets).toBeLessThanOrEqual(150);
  expect(warning).toMatch(/300 files and sockets.*ulimit -n/);
});

it('refuses to start with too few, and says what to do', () => {
  expect(() => planDescriptors(200)).toThrow(/may open 200 files.*ulimit -n 8192/);
});

it('is content with many', () => {
  expect(planDescriptors(20_000).warning).toBeUndefined();
  expect(planDescriptors(Number.POSITIVE_INFINITY)).toMatchObject({ peerSockets: 2_048, warning: undefined });
});

it('reads the limit of this process', () => {
  expect(descriptorLimit()).toBeGreaterThan(0);
});
