/** The accounts of the dev network by number, as `tessera dev` prints them: `dev:1` to `dev:10`, `dev:user`, `dev:miner`. */

import { type DevAccount, devAccounts } from '../config/dev-accounts.js';
import { UsageError } from './command.js';

const PREFIX = 'dev:';

export function devAccount(name: string): DevAccount {
  const { accounts, user, miner } = devAccounts();
  const found = name === 'user' ? user : name === 'miner' ? miner : /^\d+$/.test(name) && accounts[Number(name) - 1];
  if (found) return found;
  throw new UsageError(`the dev network has accounts 1 to ${accounts.length}, user and miner, not "${name}"`);
}

/** Warning before something of value is paid to `dev:N`; undefined for other texts. */
export function devWarning(text: string): string | undefined {
  if (!text.startsWith(PREFIX)) return undefined;
  return `${text} is an account of tessera dev: everybody has its key, and can take payments to it on any other network`;
}

/** The address for a text: `dev:N` is the address of an account of the dev network, any other text is the address itself. */
export function addressOrDev(text: string): string {
  return text.startsWith(PREFIX) ? devAccount(text.slice(PREFIX.length)).address : text;
}
