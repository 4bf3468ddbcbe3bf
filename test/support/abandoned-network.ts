/** For `processes.e2e.test.ts`: starts two nodes, suspends one of them, says where they are, and waits to be killed. */

import { createNetwork } from './processes.js';

const network = await createNetwork();
const [running, suspended] = [await network.add('one', 'storage'), await network.add('two', 'storage')];
suspended.suspend();
const facts = [running, suspended].map(({ pid, apiUrl, folder }) => ({ pid, apiUrl, folder }));
process.stdout.write(`${JSON.stringify(facts)}\n`);
setInterval(() => undefined, 60_000);
