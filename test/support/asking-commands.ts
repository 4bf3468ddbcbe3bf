/** Every command that asks a node, with arguments that lead it there: found in the list of commands, so that a new one is among them. */

import { cp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { CommandEntry, CommandSpec } from '../../src/cli/command.js';
import { COMMANDS } from '../../src/cli/commands.js';
import { runCli } from '../../src/cli/run.js';
import { devAccounts } from '../../src/config/dev-accounts.js';
import { toHex } from '../../src/lib/bytes.js';
import { createContext } from './cli-context.js';

const ADDRESS = 'a'.repeat(64);
const WALLET = fileURLToPath(new URL('../fixtures/folders-2/user', import.meta.url));
const WORDS = 'test test test test test test test test test test test junk';

/** What is given for an argument that must be there. */
const ARGUMENTS: Readonly<Record<string, string>> = {
  ADDRESS,
  TO: ADDRESS,
  AMOUNT: '1',
  HASH: `g${'a'.repeat(31)}`,
  ID: 'b'.repeat(64),
};

export interface AskingCommand {
  readonly name: string;
  readonly spec: CommandSpec;
  /** Its command line; what it makes goes into the folder, which is new for each. */
  line(url: string, folder: string): Promise<readonly string[]>;
}

/** What a command needs besides: files, and flags without which it would ask or do something else. */
const NEEDS: Readonly<Record<string, (folder: string) => Promise<readonly string[]>>> = {
  call: async () => ['getSupply'],
  'call (a write)': async () => ['createWalletAddress'],
  'call (a write with a key)': async () => ['requestDonation', 'address=127.0.0.1:1'],
  dev: async () => ['--port', '0', '--set', 'api.port=0', '--set', 'peers.port=0', '-l', 'silent'],
  'wallet label (a name)': async () => [ADDRESS, 'landlord'],
  'wallet export': async (folder) => [join(folder, 'keys')],
  'wallet backup': async (folder) => [join(folder, 'backup')],
  'wallet sweep': async () => ['--online'],
  'wallet import': async (folder) => [await file(folder, 'pairs', pairs())],
  'wallet restore': async (folder) => [
    '--words-file',
    await file(folder, 'words', WORDS),
    '--data',
    join(folder, 'new'),
  ],
  'wallet pay': async () => [ADDRESS, '1'],
  'wallet pay (of a dev account)': async () => [ADDRESS, '1', '--dev-account', '1'],
  'wallet balance (of a dev account)': async () => ['--dev-account', '1'],
  'tx build': async () => ['--from', 'dev:1', '--to', 'dev:2=5'],
  'tx send': async (folder) => [await file(folder, 'signed', await signed(folder))],
  'trade offer': async () => ['--give', '1', '--want', '2'],
  'trade accept': async (folder) => [await file(folder, 'offer', '{}')],
  'trade complete': async (folder) => [await file(folder, 'acceptance', '{}')],
  verify: async (folder) => {
    await cp(WALLET, join(folder, 'wallet'), { recursive: true });
    return ['--role', 'user', '--data', join(folder, 'wallet'), '--set', 'network.name=tessera-dev', '--json'];
  },
};

/** The key pair of an account that everybody knows, as `wallet export` writes it. */
function pairs(): string {
  const [{ address, keyPair } = devAccounts().user] = devAccounts().accounts;
  const pair = { public_key: toHex(keyPair.publicKey), secret_key: toHex(keyPair.seed) };
  return JSON.stringify({ addresses: { [address]: pair } });
}

/** A transaction of an account of the dev network. */
async function signed(folder: string): Promise<string> {
  const unspent = { out_point: { t_hash: '000000', n: 0 }, value: { Token: 5 } };
  const listing = { balance: { address_list: { [devAccounts().accounts[0]?.address ?? '']: [unspent] } } };
  const utxos = await file(folder, 'utxos', JSON.stringify(listing));
  const built = await output(['tx', 'build', '--utxos', utxos, '--raw', '--to', 'dev:2=5']);
  return output(['tx', 'sign', await file(folder, 'built', built), '--dev-account', '1', '--yes']);
}

async function output(argv: readonly string[]): Promise<string> {
  const context = createContext();
  if ((await runCli(argv, context)) !== 0) throw new Error(context.err());
  return context.out();
}

async function file(folder: string, name: string, text: string): Promise<string> {
  await writeFile(join(folder, name), text);
  return join(folder, name);
}

/** All of them, each with the arguments above or those that its page says must be given. */
export async function askingCommands(): Promise<readonly AskingCommand[]> {
  const specs = (await leaves(COMMANDS, '')).filter(({ flags }) => flags.some(({ value }) => value === 'URL'));
  return specs.flatMap((spec) => {
    const variants = Object.keys(NEEDS).filter((name) => name === spec.name || name.startsWith(`${spec.name} (`));
    return [...new Set([spec.name, ...variants])].map((name) => ({ name, spec, line: lineOf(name, spec) }));
  });
}

async function leaves(entries: readonly CommandEntry[], group: string): Promise<CommandSpec[]> {
  const found: CommandSpec[] = [];
  for (const entry of entries) {
    const { spec, commands } = await entry.load();
    found.push(
      ...(commands === undefined ? [{ ...spec, name: group + entry.name }] : await leaves(commands, `${entry.name} `)),
    );
  }
  return found;
}

function lineOf(name: string, spec: CommandSpec): AskingCommand['line'] {
  return async (url, folder) => {
    const secret = await file(folder, 'secret', 'any-secret-of-a-test');
    const given: Readonly<Record<string, readonly string[]>> = { yes: [], timeout: ['1'], 'api-key-file': [secret] };
    const flags = spec.flags.flatMap(({ name: flag, value }) => {
      if (value === 'URL') return [`--${flag}`, url];
      const values = flag.endsWith('passphrase-file') ? [secret] : given[flag];
      return values === undefined ? [] : [`--${flag}`, ...values];
    });
    const required = (spec.arguments ?? []).filter((one) => one.required).map((one) => ARGUMENTS[one.name] ?? one.name);
    return [...spec.name.split(' '), ...((await NEEDS[name]?.(folder)) ?? required), ...flags];
  };
}
