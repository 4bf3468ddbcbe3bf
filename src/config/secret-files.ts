/** Secrets that options read from a file of their own. */

import { errorMessage } from '../lib/errors.js';
import { MAX_SECRET_FILE, readBoundedText } from '../lib/read-bounded.js';
import { OPTIONS_BY_PATH } from './option-table.js';
import type { ConfigProblem } from './problems.js';
import type { Settings } from './settings.js';
import { allowed, problemOf } from './values.js';

/** Options whose value may be in a file that another option names. */
export const FILE_VARIANTS = [
  { option: 'network.secret', file: 'network.secret_file' },
  { option: 'wallet.passphrase', file: 'wallet.passphrase_file' },
  { option: 'mempool.producer_key', file: 'mempool.producer_key_file' },
  { option: 'journal.password', file: 'journal.password_file' },
] as const;

/** Reads the files of `*_file` options. The later source wins; giving both options in one source is an error. */
export function readSecretFiles(settings: Settings, problems: ConfigProblem[]): void {
  for (const { option: path, file: filePath } of FILE_VARIANTS) {
    const named = settings.get(filePath);
    const direct = settings.get(path);
    const option = OPTIONS_BY_PATH.get(path);
    if (named === undefined || option === undefined || (direct !== undefined && direct.rank > named.rank)) continue;
    if (direct !== undefined && direct.rank === named.rank) {
      problems.push({ option: filePath, source: named.source, problem: `${path} is given too; keep one of them` });
      continue;
    }
    const file = String(named.value);
    const source = `file ${file}, named by ${filePath}`;
    try {
      const value = readSecret(file, path !== 'wallet.passphrase');
      const problem = problemOf(option.schema, value);
      if (problem === undefined) settings.set(path, { value, source, rank: named.rank });
      else problems.push({ option: path, source, problem: `it must be ${allowed(option.schema)}` });
    } catch (error) {
      problems.push({ option: filePath, source: named.source, problem: `cannot be read: ${errorMessage(error)}` });
    }
  }
}

/** Line ends after a secret come from the editor. Spaces around a passphrase may be intended; around a key they are not. */
function readSecret(file: string, trim: boolean): string {
  const text = readBoundedText(file, MAX_SECRET_FILE);
  return trim ? text.trim() : text.replace(/[\r\n]+$/, '');
}
