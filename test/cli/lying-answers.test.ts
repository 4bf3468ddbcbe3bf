/**
 * Every command that shows answers, asked of a node whose answers have the right form, and escapes of a terminal in each text and
 * each name: the terminal gets none of them, and what --json prints is JSON with the same texts.
 */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Operation } from '../../src/api/operation.js';
import { OPERATIONS } from '../../src/api/operations.js';
import { devOperations } from '../../src/api/routes/dev/operations.js';
import { runCli } from '../../src/cli/run.js';
import { createContext } from '../support/cli-context.js';

/** Clears the screen, turns the direction of text, and asks a terminal that knows C1 for a colour. */
const ESCAPES = '\u001b[2J\u202e\u009b31m';
const UNSAFE = /[\p{Cf}\p{Zl}\p{Zp}\p{Cs}]|(?!\r?\n)\p{Cc}/u;
const ADDRESS = 'a'.repeat(64);
/** What ends a command that waits. */
const ENDS = ['confirmed', 'done'];

type Schema = { readonly [word: string]: unknown };

/** A value of the schema, with the text wherever a text or any name may be. */
function lieOf(schema: Schema): unknown {
  const { const: constant, enum: choices, anyOf, type, properties = {}, additionalProperties, items } = schema;
  if (constant !== undefined) return constant;
  if (Array.isArray(choices)) return choices.find((choice) => ENDS.includes(choice)) ?? choices[0];
  if (Array.isArray(anyOf)) {
    const ends = anyOf.find((one: Schema) => ENDS.includes(one.const as string));
    return lieOf(ends ?? anyOf[0]);
  }
  const [first] = [type].flat().filter((one) => one !== 'null');
  if (first === 'object') {
    const named = Object.entries(properties as Schema).map(([name, one]) => [name, lieOf(one as Schema)]);
    const free = typeof additionalProperties === 'object' ? [[ESCAPES, lieOf(additionalProperties as Schema)]] : [];
    return Object.fromEntries([...named, ...free]);
  }
  if (first === 'array') return [items].flat().map((one) => lieOf((one ?? {}) as Schema));
  if (first === 'integer' || first === 'number') return 5;
  if (first === 'boolean') return true;
  return first === 'string' ? ESCAPES : null;
}

function answerOf(method: string | undefined, path: string): string | undefined {
  const found = [...OPERATIONS, ...devOperations].find((operation: Operation) => {
    const pattern = operation.path.replaceAll(/\{\w+\}/g, '[^/]*');
    return operation.method === method && new RegExp(`^${pattern}$`).test(path);
  });
  const schema = Object.values((found as Operation | undefined)?.success ?? {})[0]?.schema;
  if (schema === undefined) return undefined;
  const answer = lieOf(schema as Schema);
  // A list that goes on has no end.
  return JSON.stringify(answer, (name, value) => (name === 'next' ? null : value));
}

const server = createServer((request, response) => {
  request.resume();
  const body = answerOf(request.method, new URL(request.url ?? '', 'http://localhost').pathname);
  response.writeHead(body === undefined ? 204 : 200, { 'content-type': 'application/json' }).end(body);
});
const folder = mkdtempSync(join(tmpdir(), 'lying-answers-'));
const passphrase = ['--passphrase-file', join(folder, 'passphrase')];
let url = '';

beforeAll(async () => {
  writeFileSync(join(folder, 'passphrase'), 'any');
  writeFileSync(join(folder, 'offer'), '{}');
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(() => {
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true });
});

const COMMANDS: readonly (readonly [line: string, ...more: string[]])[] = [
  ['wallet address'],
  ['wallet balance'],
  ['wallet balance --addresses'],
  ['wallet items'],
  ['wallet history'],
  ['wallet label'],
  ['wallet donations'],
  [`wallet pay ${ADDRESS} 1 --yes`, ...passphrase],
  [`wallet pay ${ADDRESS} 1 --yes --wait`, ...passphrase],
  [`wallet pay ${ADDRESS} 1 --yes --item x`, ...passphrase],
  ['wallet sweep --online --yes', ...passphrase],
  ['wallet export - --yes'],
  ['trade list'],
  ['trade watch x'],
  ['trade cancel x --yes'],
  ['trade offer --give 1 --want 1 --yes', ...passphrase],
  [`trade accept ${join(folder, 'offer')} --yes`, ...passphrase],
  [`trade complete ${join(folder, 'offer')}`],
  [`faucet ${ADDRESS}`],
  ['mine'],
];

describe('the terminal obeys nothing that a node answers to', () => {
  it.each(COMMANDS)('tessera %s', async (line, ...more) => {
    const argv = [...line.split(' '), ...more, '--url', url];
    const people = createContext();
    expect(await runCli(argv, people)).toBe(0);
    expect(people.out() + people.err()).not.toBe('');
    expect(people.out() + people.err()).not.toMatch(UNSAFE);
    const programs = createContext();
    expect(await runCli([...argv, '--json'], programs)).toBe(0);
    expect(programs.out() + programs.err()).not.toMatch(UNSAFE);
    for (const text of programs.out().split('\n').slice(0, -1)) JSON.parse(text);
  });

  it('tessera wallet history --csv -', async () => {
    const context = createContext();
    expect(await runCli(['wallet', 'history', '--csv', '-', '--url', url], context)).toBe(0);
    expect(context.out()).toContain('\\u{1b}[2J');
    expect(context.out()).not.toMatch(UNSAFE);
  });

  it('tessera wallet balance --json, and a program reads the same texts', async () => {
    const context = createContext();
    expect(await runCli(['wallet', 'balance', '--json', '--url', url], context)).toBe(0);
    expect(Object.keys(JSON.parse(context.out()).item_total)).toEqual([ESCAPES]);
  });
});
