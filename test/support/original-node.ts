/** A small server in the shape of a storage node of the original network, or of its successor, over a chain that is data. */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { parseExactJson, stringifyExact } from '../../src/lib/json.js';
import type { Entry, OriginalChain } from './original-chain.js';

export interface OriginalNode {
  readonly url: string;
  /** What it has; a test may change it between two questions. */
  chain: OriginalChain;
  /** Replaces an answer: its text, or `lost`, `slow` and `endless`; undefined leaves it. */
  instead: (path: string, body: string) => string | undefined;
  /** Number of questions. */
  asked: number;
  /** Refuses questions without a name of their own, as some releases do. */
  wantsNames: boolean;
  /** The most connections at once; in all there are more where a client on a busy machine rests for long. */
  connections: number;
}

/** Closed when the test ends. */
export async function originalNode(kind: 'v1' | 'envelope', chain: OriginalChain): Promise<OriginalNode> {
  const names = new Set<string>();
  const node = { chain, instead: () => undefined, asked: 0, connections: 0, url: '', wantsNames: false } as {
    -readonly [K in keyof OriginalNode]: OriginalNode[K];
  };
  const server = createServer((request, response) => {
    void (async () => {
      node.asked++;
      const path = request.url ?? '';
      const body = await text(request);
      const name = String(request.headers['x-cache-id'] ?? '');
      if (node.wantsNames && (name.length !== 32 || names.has(name))) return void unauthorized(response);
      names.add(name);
      const other = node.instead(path, body);
      if (other === 'lost') return void request.socket.destroy();
      if (other === 'slow') return;
      const answer =
        other ?? (kind === 'v1' ? versioned(node.chain, path, body) : enveloped(node.chain, request, body));
      response.statusCode = answer === undefined ? 404 : 200;
      response.setHeader('content-type', 'application/json');
      if (other !== 'endless') return void response.end(answer ?? '{"status":"Error","reason":"Method not found"}');
      response.write('[');
      const fill = (): void => {
        if (!response.destroyed) response.write('0,'.repeat(100_000), fill);
      };
      fill();
    })().catch(() => response.destroy());
  });
  let open = 0;
  server.on('connection', (socket) => {
    node.connections = Math.max(node.connections, ++open);
    socket.on('close', () => open--);
  });
  // On a busy machine a client may ask again after more than the usual five seconds.
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => close(server));
  node.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return node;
}

function unauthorized(response: ServerResponse): void {
  response.writeHead(401, { 'content-type': 'application/json' });
  response.end('{"id":"","status":"Error","reason":"Unauthorized","route":"","content":"null"}');
}

function close(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}

function enveloped(
  { blocks, transactions }: OriginalChain,
  request: IncomingMessage,
  body: string,
): string | undefined {
  const content = (value: unknown): string =>
    stringifyExact({
      id: '',
      status: 'Success',
      reason: 'Database item(s) successfully retrieved',
      route: '',
      content: value,
    });
  const found = (entries: readonly (Entry | undefined)[]) => content(entries.map((one) => one ?? ['', '', '']));
  if (request.url === '/latest_block' && request.method === 'GET') return content(blocks.at(-1)?.[1] ?? null);
  if (request.method !== 'POST') return undefined;
  if (request.url === '/block_by_num') return found((parseExactJson(body) as number[]).map((height) => blocks[height]));
  if (request.url === '/blockchain_entry') {
    const byKey = new Map([...blocks, ...transactions].map((one) => [one[0], one]));
    return found((parseExactJson(body) as string[]).map((key) => byKey.get(key)));
  }
  return undefined;
}

function versioned({ blocks, transactions }: OriginalChain, path: string, body: string): string | undefined {
  const views = (entries: readonly (Entry | undefined)[]): string =>
    stringifyExact(entries.flatMap((one) => (one === undefined ? [] : [{ key: one[0], item_meta: {}, data: one[1] }])));
  const { pathname, searchParams } = new URL(path, 'http://node');
  if (pathname === '/v1/blocks/latest') return stringifyExact({ block: blocks.at(-1)?.[1] });
  if (pathname === '/v1/blocks') return views(searchParams.getAll('num').map((num) => blocks[Number(num)]));
  if (pathname !== '/v1/blockchain-entries/query') return undefined;
  const byKey = new Map([...blocks, ...transactions].map((one) => [one[0], one]));
  const { keys } = parseExactJson(body) as { keys: string[] };
  return views(keys.map((key) => byKey.get(key)));
}
