/** The passphrase at the start of a node on a terminal, and that of a new wallet: what is asked, and when. */

import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { runCli } from '../../src/cli/run.js';
import { runNode } from '../../src/cli/start.js';
import type { Config } from '../../src/config/schema.js';
import { systemRandom } from '../../src/lib/random.js';
import { Keystore } from '../../src/wallet/keys/keystore.js';
import { createContext, noGroup, parseFor } from '../support/cli-context.js';
import { ManualClock } from '../support/manual-clock.js';

const QUESTION = 'Passphrase of the wallet: ';
const CHEAP = { n: 16, r: 1, p: 1 };
const modules = { random: systemRandom, clock: new ManualClock() };

function terminal(typed: string) {
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => undefined });
  stdin.write(typed);
  return { ...createContext(), stdin };
}

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'tessera-start-'));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

/** The folder of a wallet that was made as a newcomer makes it: without a configuration. */
let data: string;

beforeAll(async () => {
  data = await mkdtemp(join(tmpdir(), 'tessera-start-'));
  const context = terminal('mine\rmine\r');
  expect(await runCli(['wallet', 'new', '--data', data, '--no-confirm'], context)).toBe(0);
  expect(context.err()).toContain('Passphrase for the wallet: ');
  // It is opened again and again: from here on for less than half a second of processor time each.
  const options = { file: join(data, 'keystore.json'), passphrase: 'mine', scryptCost: CHEAP };
  const keystore = await Keystore.open({ ...options, createIfMissing: false, allowBlankPassphrase: false }, modules);
  await keystore.changePassphrase('mine', 'mine');
  keystore.close();
});

afterAll(() => rm(data, { recursive: true, force: true }));

/** The passphrase that a node would be made with, and what the terminal showed. */
async function started(typed: string, ...flags: string[]) {
  const context = terminal(typed);
  let config: Config | undefined;
  const load = async () => ({
    ...noGroup,
    createNode: async (given: Config) => {
      config = given;
      throw new Error('enough');
    },
  });
  const args = await parseFor('start', '--role', 'user', '-l', 'silent', ...flags);
  const failed = await runNode(args, context, load).catch((error: unknown) => error);
  return { passphrase: config?.wallet.passphrase, err: context.err(), failed };
}

describe('wallet new --data DIR, where no configuration is named', () => {
  it('asks twice for a passphrase, and seals the wallet with that', async () => {
    const open = (passphrase: string) => Keystore.read({ file: join(data, 'keystore.json'), passphrase }, modules);
    (await open('mine')).close();
    await expect(open('')).rejects.toMatchObject({ code: 'wrong_passphrase' });
  });

  it('makes nothing where nobody can be asked and nothing is given', async () => {
    const empty = await folder();
    const context = createContext();
    expect(await runCli(['wallet', 'new', '--data', empty], context)).toBe(2);
    expect(existsSync(join(empty, 'keystore.json'))).toBe(false);
  });

  it('asks a person also where a configuration with public keys is named', async () => {
    const context = terminal('mine\rmine\r');
    const args = ['wallet', 'new', '--data', await folder(), '--config', 'config/user.toml', '--no-confirm'];
    expect(await runCli(args, context)).toBe(0);
    expect(context.err()).toContain('Passphrase for the wallet: ');
    expect(context.err()).toContain('wallet.genesis_seed_index');
  });
});

describe('the start of a node on a terminal', () => {
  it('asks for the passphrase of a wallet that has one, also with the file that ships for the role', async () => {
    const { passphrase, err } = await started('mine\r', '--data', data);
    expect([passphrase, err]).toEqual(['mine', expect.stringContaining(QUESTION)]);
  });

  it('asks when the passphrase was changed and the configuration has the old one', async () => {
    const file = join(data, 'old-passphrase');
    await writeFile(file, 'hunter2\n');
    const { passphrase, err } = await started('mine\r', '--data', data, '--set', `wallet.passphrase_file=${file}`);
    expect(passphrase).toBe('mine');
    expect(err).toContain(
      `The passphrase from file ${file}, named by wallet.passphrase_file does not open the wallet.`,
    );
    expect(err).not.toMatch(/hunter2|\bmine\b/);
  });

  it('asks nothing when the configured one opens the wallet', async () => {
    const file = join(data, 'passphrase');
    await writeFile(file, 'mine\n');
    const { passphrase, err } = await started('', '--data', data, '--set', `wallet.passphrase_file=${file}`);
    expect([passphrase, err]).toEqual(['mine', 'tessera: internal_error: enough\n']);
  });

  it('asks again after a typing error, three times', async () => {
    const second = await started('mime\rmine\r', '--data', data);
    expect([second.passphrase, second.err]).toEqual(['mine', expect.stringContaining('does not open the wallet')]);
    const { passphrase, failed } = await started('a\rb\rc\r', '--data', data);
    expect([passphrase, failed]).toEqual([undefined, expect.objectContaining({ code: 'wrong_passphrase' })]);
  });
});
