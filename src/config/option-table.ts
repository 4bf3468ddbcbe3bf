/** The options by name: one list made from the schema, for the loader, the help, the sample file and the commands. */

import { fileURLToPath } from 'node:url';
import { ENV_PREFIX, listOptions, type OptionSpec } from './options.js';
import { ConfigSchema } from './schema.js';

/** The folder with the role files, the sample and the genesis files that ship with the program. */
export const PACKAGE_CONFIG_DIR = fileURLToPath(new URL('../../config/', import.meta.url));

/** All options, in the order of the schema. */
export const OPTIONS: readonly OptionSpec[] = listOptions(ConfigSchema);

export const CONFIG_FILE_ENV = `${ENV_PREFIX}CONFIG`;

export const OPTIONS_BY_PATH = new Map(OPTIONS.map((option) => [option.path, option]));
export const OPTIONS_BY_ENV = new Map(OPTIONS.map((option) => [option.env, option]));
