/** `npm run simulate`: puts the program and its simulated world into one file, and lets it run. `--help` has the options. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { bundle } from './bundle.js';

const child = spawn(process.execPath, [await bundle(), ...process.argv.slice(2)], { stdio: 'inherit' });
const [code] = await once(child, 'exit');
process.exitCode = code ?? 1;
