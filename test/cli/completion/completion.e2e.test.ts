/** `tessera completion` in the shells that it is for: what they offer for a command line. */

import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { COMMANDS } from '../../../src/cli/commands.js';
import { runCli } from '../../../src/cli/run.js';
import { OPTIONS } from '../../../src/config/option-table.js';
import { NODE_ROLES } from '../../../src/lib/roles.js';
import { MOVEMENT_DIRECTIONS } from '../../../src/wallet/service.js';
import { createContext } from '../../support/cli-context.js';
import { MAIN } from '../../support/processes.js';
import { findTool } from '../../support/tools.js';

/** A folder with a file and a folder, in which the shells run. */
const folder = mkdtempSync(join(tmpdir(), 'tessera-completion-'));
const ENVIRONMENT = { ...process.env, PATH: `${join(folder, 'bin')}:${process.env.PATH}`, HOME: folder, TERM: 'xterm' };
const driver = (shell: string): string => fileURLToPath(new URL(`offered.${shell}`, import.meta.url));

beforeAll(() => {
  writeFileSync(join(folder, 'payment one.json'), '');
  writeFileSync(join(folder, 'payment-two.json'), '');
  mkdirSync(join(folder, 'payments'));
  mkdirSync(join(folder, 'scripts'));
  mkdirSync(join(folder, 'bin'));
  for (const name of ['tessera', 'tessera-node']) {
    writeFileSync(join(folder, 'bin', name), `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`, { mode: 0o755 });
  }
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const names = (list: readonly { readonly name: string }[]): string[] => list.map(({ name }) => name);

type Line = readonly [line: string, offered: readonly string[]];

/** Command line → what must be offered, in any order; the last word is what is typed so far. The shells are asked these. */
const LINES: readonly Line[] = [
  ['tessera-node wal', ['wallet']],
  ['tessera --role m', ['mempool', 'miner']],
  ['tessera wallet history --limit 3 --direction o', ['out']],
  ['tessera config --set mining.unicorn.', unicornOptions()],
  ['tessera tx show payment', ['payment one.json', 'payment-two.json', 'payments']],
  ['tessera backup pay', ['payments']],
  ['tessera no-such-command ', []],
];

/** These are asked of the program alone. */
const MORE: readonly Line[] = [
  ['tessera ', names(COMMANDS)],
  ['tessera wal', ['wallet']],
  ['tessera --role ', NODE_ROLES],
  ['tessera --peer-p', ['--peer-port']],
  ['tessera start -l ', ['debug', 'info', 'warn', 'error', 'silent']],
  ['tessera wallet pa', ['pay', 'passphrase']],
  ['tessera wallet pay --role ', ['user', 'miner']],
  ['tessera wallet pay ADDRESS 5 --dev', ['--dev-account']],
  ['tessera wallet history --limit ', []],
  ['tessera wallet history --direction ', MOVEMENT_DIRECTIONS],
  ['tessera completion ', ['bash', 'zsh', 'fish']],
  ['tessera call getSup', ['getSupply']],
  ['tessera call --url http://127.0.0.1:3003 getSup', ['getSupply']],
  ['tessera help opt', ['options']],
  ['tessera tx send payment-two.json payment-', [':files']],
  ['tessera --role=mi', ['--role=miner']],
  ['tessera -h --nod', []],
];

function unicornOptions(): string[] {
  return OPTIONS.map(({ path }) => `${path}=`).filter((path) => path.startsWith('mining.unicorn.'));
}

async function script(shell: string): Promise<string> {
  const context = createContext();
  expect(await runCli(['completion', shell], context)).toBe(0);
  return context.out();
}

/** What the shell offers for each line, as one text each: zsh and fish put a slash after folders, fish a backslash before spaces. */
function offered(program: string, args: readonly string[]): string[] {
  const result = spawnSync(program, args, {
    cwd: folder,
    encoding: 'utf8',
    env: ENVIRONMENT,
  });
  expect(result.stderr).toBe('');
  expect(result.status).toBe(0);
  const lines = result.stdout.replaceAll('\r', '').split('\n');
  return lines.slice(0, LINES.length).map((line) => sorted(line.replaceAll('\\ ', ' ').replaceAll(/\/(?= |$)/g, '')));
}

/** Words in one order; names with a space come apart on both sides. */
const sorted = (text: string): string => [...new Set(text.split(' ').filter((word) => word !== ''))].sort().join(' ');
const expected = LINES.map(([, words]) => sorted(words.join(' ')));
const typed = LINES.map(([line]) => line);
const lines = (texts: readonly string[]) => texts.map((text, i) => `${typed[i]}→ ${text}`);

describe('completion', () => {
  it.each(MORE)('offers what may follow: %s', async (line, words) => {
    const context = createContext();
    expect(await runCli(['completion', 'bash', `${line.split(' ').join('\n')}\n`], context)).toBe(0);
    const lines = context
      .out()
      .split('\n')
      .filter((one) => one !== '');
    expect(lines.map((one) => one.split('\t')[0]).sort()).toEqual([...words].sort());
  });

  it('in bash offers commands, flags, values, options, operations and files', async () => {
    const file = join(folder, 'scripts', 'tessera.bash');
    writeFileSync(file, await script('bash'));
    expect(lines(offered('bash', [driver('bash'), file, ...typed]))).toEqual(lines(expected));
  });

  it('in bash knows --flag=value, which bash takes for three words', async () => {
    const file = join(folder, 'scripts', 'tessera.bash');
    writeFileSync(file, await script('bash'));
    const tried = [
      'tessera --role=mi',
      'tessera --role=',
      'tessera config --set=api.po',
      'tessera config --set api.port=3',
      'tessera call --role=user getSup',
    ];
    const { stdout } = spawnSync('bash', [driver('bash'), file, ...tried], {
      cwd: folder,
      encoding: 'utf8',
      env: ENVIRONMENT,
    });
    expect(stdout.split('\n').slice(0, -1)).toEqual(['miner', NODE_ROLES.join(' '), 'api.port=', '', 'getSupply']);
  });

  const zsh = findTool('zsh');
  it.runIf(zsh !== undefined)('in zsh offers the same', async () => {
    writeFileSync(join(folder, 'scripts', '_tessera'), await script('zsh'));
    expect(lines(offered(zsh ?? '', ['-f', driver('zsh'), join(folder, 'scripts'), ...typed]))).toEqual(
      lines(expected),
    );
  });

  const fish = findTool('fish');
  it.runIf(fish !== undefined)('in fish offers the same', async () => {
    const file = join(folder, 'scripts', 'tessera.fish');
    writeFileSync(file, await script('fish'));
    expect(lines(offered(fish ?? '', ['--no-config', driver('fish'), file, ...typed]))).toEqual(lines(expected));
  });

  it('refuses a shell that it does not know', async () => {
    const context = createContext();
    expect(await runCli(['completion', 'toString'], context)).toBe(2);
    expect(context.err()).toContain('there is completion for bash, zsh, fish, not for toString');
  });
});
