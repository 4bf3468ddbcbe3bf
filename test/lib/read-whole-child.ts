/** For `read-whole.e2e.test.ts`, as a process of its own on a faulty disk: prints how many bytes of a file it has read. */

import { readWhole } from '../../src/lib/read-bounded.js';

process.stdout.write(String((await readWhole(process.argv[2] ?? '')).length));
