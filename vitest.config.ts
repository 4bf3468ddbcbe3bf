import { defineConfig } from 'vitest/config';

/** Tests with processes, browsers, whole networks or fuzz; everything else runs in seconds. */
const END_TO_END = 'test/**/*.e2e.test.ts';

export default defineConfig({
  test: {
    // Far beyond what a test takes: a busy machine must not fail what only waits.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
    // Of two cores: what runs processes waits for them a third of the time.
    maxWorkers: 3,
    reporters: ['default', './test/support/left-out-reporter.ts'],
    projects: [
      { extends: true, test: { name: 'unit', include: ['test/**/*.test.ts'], exclude: [END_TO_END] } },
      { extends: true, test: { name: 'e2e', include: [END_TO_END] } },
    ],
  },
});
