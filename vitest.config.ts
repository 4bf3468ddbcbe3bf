import { defineConfig } from 'vitest/config';

/** Tests with processes, browsers, whole networks or fuzz; everything else runs in seconds. */
const END_TO_END = 'test/**/*.e2e.test.ts';
/** Tests that put another module in the place of one of ours, by `vi.mock`, or functions in the place of those of Node.js. */
export const REPLACE_MODULES = [
  'test/chain/signature-operations.test.ts',
  'test/db/private-folder.test.ts',
  'test/node/fifth-role.test.ts',
  'test/simulation/world/files.test.ts',
];

export default defineConfig({
  test: {
    // Far beyond what a test takes, so that none needs a limit of its own: a busy machine must not fail what only waits. What waits
    // for one thing gives up after a minute, and says for what.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    restoreMocks: true,
    setupFiles: ['test/support/patient-fetch.ts'],
    unstubGlobals: true,
    expect: { poll: { timeout: 60_000 } },
    // Of two cores: what runs processes waits for them more than half of the time.
    maxWorkers: 5,
    // Where it is set, every process of Node.js reads all certificates at its start, for 0.1 s. Tests reach nobody but this machine.
    env: { NODE_EXTRA_CA_CERTS: '' },
    reporters: ['default', './test/support/left-out-reporter.ts', './test/support/unsteady-reporter.ts'],
    projects: [
      // Files share their processes, and with them what they import: loading it anew for each costs a third of the time.
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: [END_TO_END, ...REPLACE_MODULES],
          isolate: false,
        },
      },
      { extends: true, test: { name: 'replace-modules', include: REPLACE_MODULES } },
      { extends: true, test: { name: 'e2e', include: [END_TO_END], isolate: false } },
    ],
  },
});
