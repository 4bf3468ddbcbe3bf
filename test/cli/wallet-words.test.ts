/**
 * The words of a new wallet: shown once to a person, given to a script, and never the public keys of the shipped network.
 */

import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCli } from '../../src/cli/run.js';
import { lockFolder } from '../../src/db/folder-lock.js';
import { DerivedKeys } from '../../src/wallet/keys/derived-keys.js';
import { parseWords } from '../../src/wallet/keys/words.js';
import { createContext } from '../support/cli-context.js';

let folder: string;
let secret: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tessera-words-'));
  secret = join(folder, 'passphrase');
  await writeFile(secret, 'of the tests\n');
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

async function run(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const context = createContext(env);
  const code = await runCli(['wallet', ...args], context);
  return { code, out: context.out(), err: context.err() };
}

/** Somebody at a terminal who answers each question by what is on the screen. */
function person(answer: (question: string, screen: string) => string | undefined) {
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => undefined });
  const context = createContext();
  let screen = '';
  const stderr = {
    isTTY: true,
    write: (text: string): boolean => {
      screen += text;
      const typed = answer(text, screen);
      if (typed !== undefined) setImmediate(() => stdin.write(`${typed}\r`));
      return true;
    },
  };
  return { context: { ...context, stdin, stderr }, out: () => context.out(), screen: () => screen };
}

/** The words on a screen, by their numbers. */
function shown(screen: string): string[] {
  const words: string[] = [];
  const table = screen.split('\n').filter((line) => /^ {2,3}\d+ [a-z]/.test(line));
  for (const [, number, word] of table.join('\n').matchAll(/(\d+) ([a-z]+)/g)) words[Number(number) - 1] = word ?? '';
  return words;
}

const firstAddress = async (words: readonly string[], extraWord = ''): Promise<string> =>
  (await DerivedKeys.of(parseWords(words.join(' '), extraWord))).address({ account: 'receive', index: 0 });

describe('tessera wallet new', () => {
  it('asks for a passphrase where no configuration is named, and takes nothing from the shipped one', async () => {
    const data = join(folder, 'nothing');
    const { code, err } = await run(['new', '--data', data]);
    expect([code, err]).toEqual([2, expect.stringContaining('the passphrase is missing')]);
    expect(existsSync(data)).toBe(false);
  });

  it('shows the words to a person and asks for three of them; they give its address', async () => {
    const data = join(folder, 'person');
    const asked: string[] = [];
    const { context, out, screen } = person((question, all) => {
      if (question.includes('Press Enter')) return '';
      const place = /^Word (\d+): $/.exec(question)?.[1];
      if (place === undefined) return undefined;
      asked.push(place);
      return ` ${shown(all)[Number(place) - 1]?.toUpperCase()} `;
    });
    expect(await runCli(['wallet', 'new', '--data', data, '--passphrase-file', secret], context)).toBe(0);
    const words = shown(screen());
    expect(words).toHaveLength(12);
    expect(new Set(asked).size).toBe(3);
    expect(out()).toBe(`${await firstAddress(words)}\n`);
  });

  it('makes no wallet for somebody who does not know the words', async () => {
    const data = join(folder, 'careless');
    const { context, screen } = person((question) =>
      question.includes('Press Enter') || question.startsWith('Word ') ? 'zoo' : undefined,
    );
    const args = ['wallet', 'new', '--data', data, '--passphrase-file', secret];
    expect(await runCli(args, context)).toBe(2);
    expect(screen()).toContain('no wallet was made');
    expect(existsSync(join(data, 'keystore.json'))).toBe(false);
    // Another network may be chosen for the folder next time.
    expect(existsSync(join(data, 'tessera.json'))).toBe(false);
    expect((await run(['new', '--data', data, '--passphrase-file', secret])).code).toBe(0);
  });

  it('shows no words where the error stream goes into a file, though somebody types at a terminal', async () => {
    const data = join(folder, 'tee');
    const { context, out, screen } = person(() => undefined);
    const intoFile = { ...context, stderr: { write: context.stderr.write } };
    expect(await runCli(['wallet', 'new', '--data', data, '--passphrase-file', secret], intoFile)).toBe(0);
    expect(out()).toMatch(/^[0-9a-f]{64}\n$/);
    expect(shown(screen())).toEqual([]);
    expect(screen()).toContain('tessera wallet words');
    expect(await runCli(['wallet', 'words', '--data', data, '--passphrase-file', secret], intoFile)).toBe(2);
    expect(shown(screen())).toEqual([]);
  });

  it('shows no words while another process has the folder', async () => {
    const data = join(folder, 'taken');
    await mkdir(data);
    const unlock = await lockFolder(data);
    const { context, screen } = person((question) => (question.includes('Press Enter') ? '' : undefined));
    expect(await runCli(['wallet', 'new', '--data', data, '--passphrase-file', secret], context)).toBe(1);
    await unlock();
    expect(shown(screen())).toEqual([]);
    expect(existsSync(join(data, 'keystore.json'))).toBe(false);
  });

  it('gives them to a script with --json, 24 on demand, with a BIP39 passphrase; `wallet words` gives them again', async () => {
    const data = join(folder, 'script');
    const env = { TESSERA_WALLET_EXTRA_WORD: 'ünd' };
    const made = await run(['new', '--data', data, '--passphrase-file', secret, '--words', '24', '--json'], env);
    expect(made.code).toBe(0);
    const { words, address } = JSON.parse(made.out) as { words: string[]; address: string };
    expect(words).toHaveLength(24);
    expect(address).toBe(await firstAddress(words, 'ünd'));
    const again = await run(['words', '--data', data, '--passphrase-file', secret, '--json']);
    expect(JSON.parse(again.out)).toEqual({ words, has_extra_word: true });
    const wrong = await run(['words', '--data', data, '--json'], { TESSERA_WALLET__PASSPHRASE: 'another' });
    expect([wrong.code, wrong.out]).toEqual([1, '']);
  });

  it('shows no words where nobody asked for them', async () => {
    const { code, out, err } = await run(['new', '--data', join(folder, 'quiet'), '--passphrase-file', secret]);
    expect([code, out]).toEqual([0, expect.stringMatching(/^[0-9a-f]{64}\n$/)]);
    expect(err).toContain('tessera wallet words');
    expect(shown(err)).toEqual([]);
    expect((await run(['words', '--data', join(folder, 'quiet'), '--passphrase-file', secret])).code).toBe(2);
  });

  it('makes a wallet that has nothing to sweep', async () => {
    const place = ['--data', join(folder, 'clean'), '--passphrase-file', secret];
    expect((await run(['new', ...place])).code).toBe(0);
    expect((await run(['sweep', ...place])).code).toBe(2);
    const { code, out } = await run(['sweep', ...place, '--yes', '--json']);
    expect([code, JSON.parse(out)]).toEqual([0, { transactions: [], tokens: 0, tokens_left: 0 }]);
  });
});
