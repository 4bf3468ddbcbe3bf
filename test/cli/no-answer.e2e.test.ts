/**
 * Every command that asks a node, asked of servers that are none: one that closes, one that says nothing, one that answers nothing. None
 * of them succeeds, none fails without a reason that names a cause, and what may have been done has a status of its own.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { isRead, type Operation } from '../../src/api/operation.js';
import { OPERATIONS } from '../../src/api/operations.js';
import { devOperations } from '../../src/api/routes/dev/operations.js';
import { IDEMPOTENCY_KEY_FLAG } from '../../src/cli/once.js';
import { runCli } from '../../src/cli/run.js';
import { type AskingCommand, askingCommands } from '../support/asking-commands.js';
import { createContext } from '../support/cli-context.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const MAIN = join(ROOT, 'dist/main.js');

const empty = (type: string, body: string) =>
  `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`;

const SILENT = 'that never answers';

/** What a server does with a request. */
const SERVERS: Readonly<Record<string, (socket: Socket) => void>> = {
  'that closes when it is asked': (socket) => void socket.destroy(),
  'that closes within its answer': (socket) => void socket.end('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{'),
  'that answers {}': (socket) => void socket.end(empty('application/json', '{}')),
  'that answers nothing with status 200': (socket) => void socket.end(empty('text/plain', '')),
  [SILENT]: () => undefined,
};

/** These go on until they are told to end. */
const ENDLESS: ReadonlySet<string> = new Set(['watch']);

/** Undo what the tests have opened, when all of them are done: some run side by side. */
const cleanUps: (() => unknown)[] = [];

afterAll(async () => {
  for (const cleanUp of cleanUps) await cleanUp();
});

interface Dead {
  readonly url: string;
  /** The first lines of the requests. */
  readonly asked: string[];
}

async function listen(onConnection: (socket: Socket, asked: string[]) => void): Promise<Dead> {
  const asked: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined));
    onConnection(socket, asked);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanUps.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

const dead = (answer: (socket: Socket) => void): Promise<Dead> =>
  listen((socket, asked) => {
    socket.once('data', (bytes) => {
      asked.push(String(bytes).split('\r\n')[0] ?? '');
      answer(socket);
    });
  });

/** True when one of the requests would have changed something. */
function hasWritten({ asked }: Dead): boolean {
  return asked.some((line) => {
    const [method = '', target = ''] = line.split(' ');
    const found = [...OPERATIONS, ...devOperations].find((one: Operation) => {
      const pattern = one.path.replaceAll(/\{\w+\}/g, '[^/?]*');
      const methods: readonly string[] = [one.method, ...(one.aliases ?? [])];
      return methods.includes(method) && new RegExp(`^${pattern}$`).test(target.split('?')[0] ?? '');
    });
    expect(found, line).toBeDefined();
    return found !== undefined && !isRead(found);
  });
}

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'tessera-no-answer-'));
  cleanUps.push(() => rm(path, { recursive: true, force: true }));
  return path;
}

async function run({ line }: AskingCommand, url: string) {
  const context = createContext();
  const status = await runCli(await line(url, await folder()), context);
  return { status, out: context.out(), err: context.err() };
}

/** Ends with a process of its own: the first connection of a process is not like the others. */
async function runProcess(argv: readonly string[], nodeFlags: readonly string[] = []) {
  const cwd = await folder();
  const env = { PATH: process.env.PATH ?? '', TMPDIR: cwd };
  const child = spawn(process.execPath, [...nodeFlags, MAIN, ...argv], { env, cwd, stdio: ['pipe', 'pipe', 'pipe'] });
  cleanUps.push(() => void child.kill('SIGKILL'));
  const written = { out: '', err: '' };
  child.stdout.on('data', (chunk) => (written.out += String(chunk)));
  child.stderr.on('data', (chunk) => (written.err += String(chunk)));
  return { child, written, closed: once(child, 'close') };
}

const all = await askingCommands();
const ending = all.filter(({ name }) => !ENDLESS.has(name));

describe.each(Object.entries(SERVERS))('a server %s', (what, answer) => {
  // Without a limit of its own, a command would keep the test waiting.
  const limited = ending.filter(({ spec }) => what !== SILENT || spec.flags.some(({ name }) => name === 'timeout'));

  // What waits for its time limit waits beside others.
  const test = what === SILENT ? it.concurrent : it;

  test.each(limited.map((command) => [command.name, command] as const))('is no success: %s', async (_name, command) => {
    const server = await dead(answer);
    const { status, out, err } = await run(command, server.url);
    expect(server.asked, err).not.toEqual([]);
    const isUnknown = hasWritten(server);
    expect([status, out], err).toEqual([isUnknown ? 3 : 1, '']);
    expect(err).toMatch(/^(tessera: [a-z_]+: .+|\{"code":.+)$/m);
    expect(err).not.toContain('internal_error');
    expect(err.includes('the result is not known')).toBe(isUnknown);
    // Its page says how to go on.
    expect(command.spec.again !== undefined || !isUnknown).toBe(true);
  });
});

describe('a server that closes every connection at once', () => {
  it.each(ending.map((command) => [command.name, command] as const))('is no success: %s', async (_name, command) => {
    const asked = await run(command, (await dead((socket) => void socket.destroy())).url);
    const { url } = await listen((socket) => void socket.end());
    const { status, out, err } = await run(command, url);
    expect(status, err).toBe(asked.status);
    expect(status).toBeOneOf([1, 3]);
    expect([out, err]).toEqual(['', expect.stringContaining('node_unreachable')]);
  });

  // All commands ask through one client: what its first connection in a process does, it does for each of them.
  it.each(['call', 'wallet balance', 'wallet pay', 'tx send', 'wallet restore'])(
    'is no success of a process of its own: %s',
    async (name) => {
      const command = ending.find((one) => one.name === name);
      const { url } = await listen((socket) => void socket.end());
      const { written, closed } = await runProcess((await command?.line(url, await folder())) ?? []);
      expect((await closed)[0], written.err).toBeOneOf([1, 3]);
      expect([written.out, written.err]).toEqual(['', expect.stringContaining('node_unreachable')]);
    },
  );

  it('is looked for again by what goes on for ever, which says so', async () => {
    const { url } = await listen((socket) => void socket.end());
    const { child, written, closed } = await runProcess(['watch', '--url', url]);
    await expect.poll(() => written.err.split('node_unreachable').length).toBeGreaterThan(2);
    child.kill('SIGINT');
    expect([(await closed)[0], written.out]).toEqual([0, '']);
  });

  it('is an error for a program with the client library', async () => {
    const { url } = await listen((socket) => void socket.end());
    const program = `
      import { createClient } from '${new URL('../../dist/sdk/client.js', import.meta.url)}';
      const client = createClient({ url: '${url}', timeoutMs: 500, retryForMs: 0 });
      console.log(await client.getSupply().catch(({ code }) => code));`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let out = '';
    child.stdout.on('data', (chunk) => (out += String(chunk)));
    expect([(await once(child, 'close'))[0], out]).toEqual([0, 'node_unreachable\n']);
  });
});

describe('a signal while a server says nothing', () => {
  const writing = ending.filter(({ spec }) => spec.again !== undefined);

  it.each(writing.map((command) => [command.name, command] as const))('ends %s', async (_name, { line, spec }) => {
    const server = await dead(() => undefined);
    const context = createContext();
    const running = runCli(await line(server.url, await folder()), context);
    await expect.poll(() => server.asked).not.toEqual([]);
    // What only reads is ended by the system.
    if (!hasWritten(server)) return expect(await running).toBe(1);
    context.raise('SIGTERM');
    expect([await running, context.out(), context.listeners()]).toEqual([3, '', 0]);
    expect(context.err()).toContain('interrupted while the request was out; the result is not known: ');
    if (!spec.flags.includes(IDEMPOTENCY_KEY_FLAG)) expect(context.err()).toContain(spec.again);
  });
});

it('of the commands that ask a node, these have no limit that can be chosen', () => {
  const unlimited = all.filter(({ spec }) => spec.flags.every(({ name }) => name !== 'timeout'));
  expect(unlimited.map(({ name }) => name)).toEqual(['dev', 'watch']);
});

it('says whom it waits for and until when, and gives up then', async () => {
  const { url } = await dead(() => undefined);
  const context = createContext();
  expect(await runCli(['wallet', 'balance', '--url', url, '--timeout', '2'], context)).toBe(1);
  expect(context.err()).toBe(
    `waiting for ${url}: 1 s of 2 s\ntessera: node_unreachable: ${url} does not answer: nothing came within 2 s\n`,
  );
});

it('has failed when nothing is left that could bring it to an end', async () => {
  // Its standard input holds no process, and never ends.
  const silent = `data:text/javascript,import{PassThrough}from"node:stream";Object.defineProperty(process,"stdin",{value:new PassThrough})`;
  const { written, closed } = await runProcess(['tx', 'show', '-'], ['--import', silent]);
  expect((await closed)[0]).toBe(1);
  expect(written).toEqual({
    out: '',
    err: 'tessera: internal_error: the command waits for something that never comes\n',
  });
});
