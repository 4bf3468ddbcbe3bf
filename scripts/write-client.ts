/** Writes `src/sdk/generated/operations.ts`, which the client library is typed by, from the operations: `npm run openapi`. */

import { writeFile } from 'node:fs/promises';
import { clientSource } from './client-source.js';

await writeFile(new URL('../src/sdk/generated/operations.ts', import.meta.url), clientSource());
