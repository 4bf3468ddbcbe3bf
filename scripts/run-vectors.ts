/** `npm run vectors -- FILE`: golden vectors against the chain's code. */

import { vectorsCommand } from '../test/vectors/command.js';

process.exitCode = await vectorsCommand(process.argv.slice(2));
