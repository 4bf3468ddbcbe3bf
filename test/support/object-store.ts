/** A real object store on loopback: versitygw, with a folder behind it. And a proxy before it that breaks its word. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ObjectStore } from '../../src/storage/segments/object-store.js';
import { freePort } from './free-port.js';
import { findTool } from './tools.js';

export const hasObjectStore = findTool('versitygw') !== undefined;

const ACCESS_KEY = 'AKIDOFTHETESTS';
export const SECRET_KEY = 'secret-of-the-object-store';
const BUCKET = 'blocks';
const PREFIX = 'tessera/test';

/** What the proxy does with an answer of the store. */
export type Breaking = 'nothing' | '500' | 'half' | 'silence' | 'wrong-bytes' | 'lost-upload';

export interface RunningStore {
  /** URL of the proxy before it. */
  readonly endpoint: string;
  /** Requests that came, as `PUT NAME`. */
  readonly requests: string[];
  breaking: Breaking;
  /** Uploads wait for it. */
  uploadsWait: Promise<void> | undefined;
  /** Options of a node that uses it. */
  options(): Readonly<Record<string, unknown>>;
  open(timeoutMs?: number): ObjectStore;
  names(): Promise<string[]>;
  bytes(name: string): Promise<Buffer>;
  write(name: string, bytes: Uint8Array): Promise<void>;
  remove(name: string): Promise<void>;
  /** Ends the store, and starts it again on what it has. */
  kill(): Promise<void>;
  start(): Promise<void>;
  dispose(): Promise<void>;
}

export function openStore(endpoint: string, timeoutMs = 60_000): ObjectStore {
  const keys = { accessKey: ACCESS_KEY, secretKey: SECRET_KEY };
  return new ObjectStore({ endpoint, bucket: BUCKET, prefix: PREFIX, region: 'us-east-1', ...keys, timeoutMs });
}

export async function startObjectStore(): Promise<RunningStore> {
  const folder = await mkdtemp(join(tmpdir(), 'tessera-store-'));
  const objects = join(folder, 'objects', BUCKET, PREFIX);
  await mkdir(objects, { recursive: true });
  await mkdir(join(folder, 'iam'));
  const port = await freePort();
  let child: ChildProcess | undefined;
  const start = async (): Promise<void> => {
    const args = ['--port', `127.0.0.1:${port}`, '--access', ACCESS_KEY, '--secret', SECRET_KEY, '--quiet'];
    child = spawn(findTool('versitygw') ?? '', [...args, 'posix', join(folder, 'objects')], { stdio: 'ignore' });
    for (;;) if (await isUp(port)) return;
  };
  const kill = async (): Promise<void> => {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  };
  await start();
  const proxy = createServer((asked, answer) => pass(asked, answer, port, store));
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const endpoint = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const store: RunningStore = {
    endpoint,
    requests: [],
    breaking: 'nothing',
    uploadsWait: undefined,
    options: () => ({
      'storage.segments.store': 's3',
      'storage.segments.endpoint': endpoint,
      'storage.segments.bucket': BUCKET,
      'storage.segments.access_key': ACCESS_KEY,
    }),
    open: (timeoutMs) => openStore(endpoint, timeoutMs),
    names: async () => (await readdir(objects)).sort(),
    bytes: (name) => readFile(join(objects, name)),
    write: (name, bytes) => writeFile(join(objects, name), bytes),
    remove: (name) => rm(join(objects, name)),
    kill,
    start,
    async dispose() {
      await close(proxy);
      await kill();
      await rm(folder, { recursive: true });
    },
  };
  return store;
}

async function isUp(port: number): Promise<boolean> {
  const asked = request({ host: '127.0.0.1', port, path: '/' });
  asked.end();
  try {
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    answer.resume();
    return true;
  } catch {
    await new Promise((resolve) => setTimeout(resolve, 20));
    return false;
  }
}

function pass(asked: IncomingMessage, answer: ServerResponse, port: number, store: RunningStore): void {
  const { method = '', url = '', headers } = asked;
  store.requests.push(`${method} ${url.split('/').at(-1)}`);
  const { breaking } = store;
  if (breaking === 'silence') return void asked.resume();
  if (breaking === '500' || (breaking === 'lost-upload' && method === 'PUT')) {
    asked.resume();
    asked.on('end', () => answer.writeHead(breaking === '500' ? 500 : 200).end());
    return;
  }
  const onward = request({ host: '127.0.0.1', port, method, path: url, headers }, (found) => {
    const isBroken = method === 'GET' && !url.includes('list-type') && breaking !== 'nothing';
    answer.writeHead(found.statusCode ?? 500, found.headers);
    if (!isBroken) return void found.pipe(answer);
    const parts: Buffer[] = [];
    found.on('data', (part: Buffer) => parts.push(part));
    found.on('end', () => {
      const bytes = Buffer.concat(parts);
      if (breaking === 'half') {
        answer.write(bytes.subarray(0, bytes.length >> 1));
        answer.destroy();
        return;
      }
      answer.end(Buffer.from(bytes.map((byte) => byte ^ 1)));
    });
  });
  onward.on('error', () => answer.destroy());
  const go = (): unknown => asked.pipe(onward);
  if (method === 'PUT' && store.uploadsWait !== undefined) void store.uploadsWait.then(go);
  else go();
}

async function close(server: Server): Promise<void> {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
}
