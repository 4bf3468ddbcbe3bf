/** Names, at the end of a run, the tests that were left out and what they need. */

import type { Reporter, TestModule } from 'vitest/node';
import { missingTools } from './tools.js';

/** Vitest loads reporters by their default export. */
export default class LeftOutReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const leftOut = modules.flatMap((module) =>
      [...module.children.allTests('skipped')]
        // What the command line filters away (`-t`) is not left out.
        .filter((test) => test.options.mode === 'skip')
        .map((test) => `  ${module.relativeModuleId}: ${test.fullName}`),
    );
    if (leftOut.length === 0) return;
    const tests = leftOut.length === 1 ? '1 test was' : `${leftOut.length} tests were`;
    process.stdout.write(`\n${tests} left out:\n${leftOut.join('\n')}\n`);
    for (const line of missingTools()) process.stdout.write(`${line}\n`);
  }
}
