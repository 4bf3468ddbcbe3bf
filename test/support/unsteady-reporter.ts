/** Names, at the end of a run that repeats what failed (`--retry`), the tests that passed only then. */

import type { Reporter, TestModule } from 'vitest/node';

/** Vitest loads reporters by their default export. */
export default class UnsteadyReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const unsteady = modules.flatMap((module) =>
      [...module.children.allTests()]
        .filter((test) => test.diagnostic()?.flaky === true)
        .map((test) => `  ${module.relativeModuleId}: ${test.fullName}`),
    );
    if (unsteady.length === 0) return;
    process.stdout.write(`\nunsteady, passed only the second time:\n${unsteady.join('\n')}\n`);
  }
}
