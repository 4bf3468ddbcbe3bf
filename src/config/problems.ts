/** Collects everything that is wrong with a configuration, to report it at once. */

import { TesseraError } from '../lib/errors.js';

export interface ConfigProblem {
  /** Path of the option: `api.port`. */
  readonly option: string;
  /** Source of the value: `default`, `file /etc/tessera.toml`, `env TESSERA_API__PORT`, `flag --set`. */
  readonly source: string;
  /** Description of the mistake and of allowed values. Never holds a secret. */
  readonly problem: string;
}

/** The error `invalid_config`: a line for each problem, and the same in `details.problems`. */
export function configError(problems: readonly ConfigProblem[]): TesseraError {
  const lines = problems.map(({ option, source, problem }) => `  ${option} (${source}): ${problem}`);
  return new TesseraError('invalid_config', `The configuration is wrong:\n${lines.join('\n')}`, {
    details: { problems },
  });
}
