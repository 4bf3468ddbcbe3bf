/** The file of `dist/program` that `testing/index.ts` starts as a process. */

import { loadProgram } from './load-program.js';

await loadProgram().program.startNetworkProcess();
