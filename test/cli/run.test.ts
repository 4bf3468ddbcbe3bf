import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { UsageError } from '../../src/cli/command.js';
import { COMMANDS, findCommand } from '../../src/cli/commands.js';
import { runCli } from '../../src/cli/run.js';
import { OPTIONS } from '../../src/config/option-table.js';
import { sampleConfig } from '../../src/config/sample.js';
import { createContext, parseFor } from '../support/cli-context.js';

async function run(args: readonly string[], env = {}) {
  const context = createContext(env);
  const status = await runCli(args, context);
  return { status, out: context.out(), err: context.err() };
}

describe('the command line', () => {
  it('prints the overview with --help, and without anything to do', async () => {
    expect(await run(['--help'])).toMatchObject({ status: 0, out: expect.stringContaining('COMMANDS') });
    expect(await run([])).toMatchObject({ status: 2, out: expect.stringContaining('COMMANDS') });
  });

  it('prints its version', async () => {
    expect((await run(['--version'])).out).toMatch(/^tessera \d+\.\d+\.\d+ \(node v\d+/);
  });

  it.each([
    [['strat'], 'strat is not a command; did you mean start?'],
    [['config', '--rol', 'user'], '--rol is not a flag of tessera config; did you mean --role?'],
    [['config', '--role'], '--role needs a value: --role ROLE'],
    [['config', '--role', '--sample'], '--role needs a value: --role ROLE'],
    [['config', '--json=yes'], '--json takes no value'],
    [['config', '-r', 'user', '-r', 'miner'], '-r is given twice'],
    [['config', 'extra'], 'tessera config does not know what to do with "extra"'],
    [['config', '--set', 'api.port'], '--set api.port: write OPTION=VALUE'],
    [['wallet', 'export'], 'FILE is missing'],
    [['dev', '--interval', 'fast'], '--interval must be a whole number from 1'],
    [['help', 'options', 'apis'], 'apis is neither a section nor an option; did you mean api?'],
  ])('refuses a wrong one with status 2 and says what is right: %j', async (args, message) => {
    const { status, err } = await run(args);
    expect(status).toBe(2);
    expect(err).toContain(message);
    expect(err).toContain('See: tessera help');
  });

  it('tells a wrong option with its source and what is allowed', async () => {
    const { status, err } = await run(['--role', 'user', '--set', 'api.prot=1', '-p', '99999']);
    expect(status).toBe(1);
    expect(err).toBe(
      [
        'tessera: invalid_config: The configuration is wrong:',
        '  api.port (flag --api-port): 99999 is not allowed; it must be an integer from 0 to 65535',
        '  api.prot (flag --set): no such option; did you mean api.port?',
        '',
      ].join('\n'),
    );
  });

  it('warns once of variables that are no options, where a configuration is read, and goes on', async () => {
    const env = { TESSERA_PORT: '80', TESSERA_SERVICE_HOST: '10.0.0.1' };
    const { status, err } = await run(['config', '--role', 'mempool,storage', '--json'], env);
    expect([status, err.split('TESSERA_PORT').length]).toEqual([0, 2]);
    expect(err).toContain('warning: variables that are not options are ignored: TESSERA_PORT, TESSERA_SERVICE_HOST\n');
    expect((await run(['help'], env)).err).toBe('');
  });

  it('keeps the order of a repeated flag', async () => {
    expect((await parseFor('start', '-s', 'a=1', '--set=b=2')).values('set')).toEqual(['a=1', 'b=2']);
    await expect(parseFor('start', '-z')).rejects.toThrow(UsageError);
  });
});

describe('help', () => {
  it.each(COMMANDS.map(({ name }) => name))('has a page with the same summary as the overview: %s', async (name) => {
    const { spec } = (await findCommand([name])).command;
    expect(spec.name).toBe(name);
    expect(COMMANDS.find((entry) => entry.name === name)?.summary).toBe(spec.summary);
    const { out } = await run(['help', name]);
    expect((await run([name, '--help'])).out).toBe(out);
    for (const flag of spec.flags) expect(out).toContain(`--${flag.name}`);
    for (const line of out.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
  });

  it('explains every option of the configuration', async () => {
    const { out } = await run(['help', 'options']);
    const shown = out.replace(/\s+/g, ' ');
    for (const { path, env } of OPTIONS) {
      expect(shown).toContain(path);
      expect(shown).toContain(`Variable: ${env}.`);
    }
  });

  it('explains one section', async () => {
    const { out } = await run(['help', 'options', 'mining.unicorn']);
    expect(out).toContain('mining.unicorn.modulus');
    expect(out).not.toContain('api.host');
  });
});

describe('config', () => {
  it('shows each option with its source, secrets redacted', async () => {
    const env = { TESSERA_WALLET__PASSPHRASE: 'hunter2hunter2' };
    const { status, out } = await run(['config', '-r', 'user', '-s', 'user.donation_amount=5'], env);
    expect(status).toBe(0);
    expect(out).toMatch(/^donation_amount = 5 +# flag --set$/m);
    expect(out).toMatch(/^passphrase = "<redacted>" +# env TESSERA_WALLET__PASSPHRASE$/m);
    expect(out).toMatch(/^cache_entries = 10000 +# default$/m);
    expect(out).not.toContain('hunter2');
  });

  it('prints JSON for programs', async () => {
    const { out } = await run(['config', '--role', 'storage', '--json']);
    expect(JSON.parse(out).find((option: { path: string }) => option.path === 'api.port')).toMatchObject({
      value: 3001,
      source: 'default',
    });
  });

  it('prints the sample', async () => {
    expect((await run(['config', '--sample'])).out).toBe(sampleConfig());
  });
});

describe('the program', () => {
  const main = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
  const tessera = (args: readonly string[]) =>
    spawnSync(process.execPath, [main, ...args], { encoding: 'utf8', env: { PATH: process.env.PATH ?? '' } });

  it('ends with the status of the command', () => {
    expect(tessera(['--version']).status).toBe(0);
    expect(tessera(['strat']).status).toBe(2);
    expect(tessera(['--role', 'king'])).toMatchObject({ status: 1, stderr: expect.stringContaining('invalid_config') });
  });

  it('prints a long text in full before it ends', () => {
    expect(tessera(['config', '--sample']).stdout).toBe(sampleConfig());
  });
});
