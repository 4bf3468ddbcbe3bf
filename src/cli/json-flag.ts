/** The flag of every command that prints something. */

import type { FlagSpec } from './command.js';

export const JSON_FLAG: FlagSpec = { name: 'json', description: 'Prints JSON for programs instead.' };
