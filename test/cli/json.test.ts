/** `--json` of every command (docs/cli.md#output). */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { devJson } from '../../src/cli/banner.js';
import type { Command, CommandEntry } from '../../src/cli/command.js';
import { COMMANDS } from '../../src/cli/commands.js';
import { runCli } from '../../src/cli/run.js';
import { runNode } from '../../src/cli/start.js';
import { devAccounts } from '../../src/config/dev-accounts.js';
import type { Config } from '../../src/config/schema.js';
import { createContext, noGroup, parseFor } from '../support/cli-context.js';

const PAGE = readFileSync(new URL('../../docs/cli.md', import.meta.url), 'utf8');

/** Every command that does something, with the words that name it. */
async function leaves(entries: readonly CommandEntry[], group = ''): Promise<readonly (readonly [string, Command])[]> {
  const found = await Promise.all(
    entries.map(async ({ name, load }) => {
      const command = await load();
      const words = `${group}${name}`;
      return command.commands === undefined ? [[words, command] as const] : leaves(command.commands, `${words} `);
    }),
  );
  return found.flat();
}

const ALL = await leaves(COMMANDS);

async function json(...argv: string[]): Promise<unknown> {
  const context = createContext();
  expect(await runCli([...argv, '--json'], context)).toBe(0);
  expect(context.out().trimEnd()).not.toContain('\n');
  return JSON.parse(context.out());
}

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'tessera-json-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

describe('every command', () => {
  it.each(ALL.map(([words, { spec }]) => ({ words, spec })))('has --json, and a page: $words', ({ words, spec }) => {
    expect(spec.flags.map(({ name }) => name)).toContain('json');
    expect(spec.name).toBe(words);
    expect(spec.description.length * spec.examples.length).toBeGreaterThan(0);
  });

  it('that docs/cli.md names exists', () => {
    const [, table = ''] = /prints \|\n\|---\|---\|\n([\s\S]*?)\n\n/.exec(PAGE) ?? [];
    const cells = table.split('\n').map((line) => line.split('|')[1] ?? '');
    const named = cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, words]) => words));
    const known = new Set(ALL.map(([words]) => words));
    expect(named.filter((words) => words !== '--version' && !known.has(words ?? ''))).toEqual([]);
    for (const one of ['dev', 'verify', 'wallet pay', 'tx send']) expect(named).toContain(one);
  });

  it.each(ALL.map(([words]) => words))('is in the table of docs/cli.md: %s', (words) => {
    const [, table = ''] = /prints \|\n\|---\|---\|\n([\s\S]*?)\n\n/.exec(PAGE) ?? [];
    expect(table).toContain(`\`${words}\``);
  });

  it.each(ALL)('refuses a wrong flag in JSON, and only there (docs/cli.md#errors): %s', async (words) => {
    const context = createContext();
    expect(await runCli([...words.split(' '), '--no-such-flag', '--json'], context)).toBe(2);
    expect(context.out()).toBe('');
    expect(context.err()).toMatch(/^\{.*\}\n$/);
    const detail = expect.stringContaining('--no-such-flag is not a flag');
    const page = words === 'start' ? /^tessera help start$/ : new RegExp(`^tessera help ${words}$`);
    expect(JSON.parse(context.err())).toEqual({ code: 'invalid_request', detail, hint: expect.stringMatching(page) });
  });

  it('says nothing of the exit statuses that docs/cli.md does not know', () => {
    const [, table = ''] = /## Exit statuses\n([\s\S]*?)\n## /.exec(PAGE) ?? [];
    const known = new Set([...table.matchAll(/^\| (\d+) \|/gm)].map(([, status]) => status));
    const used = ALL.flatMap(([, { spec }]) => Object.keys(spec.exits ?? {}));
    expect(used.filter((status) => !known.has(status))).toEqual([]);
  });
});

describe('--json', () => {
  it('of --version and help', async () => {
    expect(await json('--version')).toEqual({ version: expect.any(String), node: process.version });
    expect(await json('help')).toContainEqual({ name: 'tx', summary: expect.any(String) });
    expect(await json('help', 'tx', 'send')).toMatchObject({ name: 'tx send', exits: { 0: 'done' } });
    expect(await json('help', 'call', 'getBlock')).toMatchObject({ name: 'call getBlock' });
    expect(await json('help', 'options', 'api.port')).toEqual([
      { path: 'api.port', env: 'TESSERA_API__PORT', description: expect.any(String), default: null, unit: null },
    ]);
  });

  it('of --help is the page', async () => {
    expect(await json('--help')).toEqual(await json('help'));
    expect(await json('wallet', '--help')).toMatchObject({ name: 'wallet', commands: expect.any(Array) });
    expect(await json('tx', 'send', '--help')).toEqual(await json('help', 'tx', 'send'));
  });

  it('of an error has its code, and null where there is no command to run next (docs/cli.md#errors)', async () => {
    const context = createContext();
    expect(await runCli(['genesis', 'show', join(folder(), 'none'), '--json'], context)).toBe(1);
    expect(context.out()).toBe('');
    const told = { code: 'invalid_config', detail: expect.stringContaining('ENOENT'), hint: null };
    expect(JSON.parse(context.err())).toEqual(told);
  });

  it('of an error leaves nothing in it that a terminal obeys', async () => {
    const context = createContext();
    await runCli(['\u001b[31m\u0085\u202e', '--json'], context);
    expect(context.err()).toMatch(/^\{[\x20-\x7e]*\}\n$/);
  });

  it('of an operation without an answer is null', async () => {
    const server = createServer((_, response) => void response.writeHead(204).end());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    expect(await json('call', 'abandonPayment', `tx_hash=g${'0'.repeat(31)}`, '--url', url)).toBeNull();
  });

  it('of config is on one line, and its sample is a file in TOML', async () => {
    expect(await json('config', '--role', 'user')).toContainEqual(expect.objectContaining({ path: 'api.port' }));
    const context = createContext();
    expect(await runCli(['config', '--sample', '--json'], context)).toBe(2);
  });

  it('of rebuild and verify', async () => {
    const node = ['--role', 'mempool', '--data', join(folder(), 'data')];
    expect(await json('rebuild', ...node)).toEqual({ block_num: -1, submitted_again: 0, kept: null });
    expect(await json('verify', ...node)).toEqual({
      data_dir: node[3],
      role: 'mempool',
      checks: expect.arrayContaining([{ database: 'journal', found: expect.stringContaining('all checksums right') }]),
    });
  });

  it('of openapi', async () => {
    const out = folder();
    const documents = expect.arrayContaining([expect.stringMatching(/^[\w-]+\.json$/)]);
    expect(await json('openapi', '--out', out)).toEqual({ folder: out, documents, stale: [] });
    expect(await json('openapi', '--out', out, '--check')).toEqual({ folder: out, documents, stale: [] });
  });

  it('of start is the log', async () => {
    let config: Config | undefined;
    const createNode = async (given: Config) => {
      config = given;
      throw new Error('enough');
    };
    const args = await parseFor('start', '--role', 'storage', '-l', 'silent', '--json');
    await runNode(args, createContext(), async () => ({ createNode, ...noGroup }));
    expect(config?.log.format).toBe('json');
  });

  it('of dev has the accounts by the names that commands take', () => {
    const urls = { mempool: 'm', storage: 's', miner: 'r', user: 'u' };
    const facts = {
      url: 'n',
      urls,
      accounts: devAccounts(),
      mnemonic: null,
      dataDir: null,
      intervalMs: undefined,
      readyAfterMs: 900.4,
    };
    const { accounts, ...rest } = JSON.parse(devJson(facts));
    expect(rest).toEqual({ url: 'n', urls, mnemonic: null, data_dir: null, interval_ms: null, ready_after_ms: 900 });
    expect(accounts).toHaveLength(12);
    expect(accounts[0]).toMatchObject({ account: '1', address: devAccounts().accounts[0]?.address });
    expect(accounts.at(-1)).toMatchObject({ account: 'miner', tokens: 7_207_200_000_000_000 });
  });
});
