/** An HTTP proxy on a real socket that loses what the test tells it to lose. */

import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/**
 * - `pass`: the answer comes.
 * - `lose request`: the connection breaks before the node has heard of it.
 * - `lose answer`: the node has answered, and the connection breaks.
 * - `bad gateway`: the node has answered, and the caller gets a 502 of the proxy.
 */
export type Fate = 'pass' | 'lose request' | 'lose answer' | 'bad gateway';

export interface LossyProxy {
  readonly url: string;
  /** The `Idempotency-Key` of each request other than GET, in order. */
  readonly keys: readonly (string | undefined)[];
  stop(): Promise<void>;
}

export interface LossyProxyOptions {
  /**
   * Asked for each request other than GET; they come one after the other. What comes while the node is away has no fate of
   * its own: its connection breaks.
   */
  readonly fate: (nth: number) => Fate;
  /** Called when the node has answered and before the answer is lost. */
  readonly onLost?: () => Promise<void>;
}

export async function startLossyProxy(target: string, { fate, onLost }: LossyProxyOptions): Promise<LossyProxy> {
  const keys: (string | undefined)[] = [];
  let nth = 0;
  const server = createServer((request, response) => {
    const isWrite = request.method !== 'GET';
    const what = isWrite ? fate(nth) : 'pass';
    if (isWrite) keys.push(request.headers['idempotency-key']?.toString());
    const met = (): void => {
      if (isWrite) nth += 1;
    };
    if (what === 'lose request') {
      met();
      request.socket.destroy();
    } else relay(target, request, response, { fate: what, met, onLost }).catch(() => request.socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    keys,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function relay(
  target: string,
  request: IncomingMessage,
  response: ServerResponse,
  {
    fate,
    met,
    onLost,
  }: { readonly fate: Fate; readonly met: () => void; readonly onLost: LossyProxyOptions['onLost'] },
): Promise<void> {
  const body = await buffer(request);
  const { status, headers, answer } = await ask(target, request, body);
  met();
  if (fate === 'pass') {
    response.writeHead(status, headers).end(answer);
    return;
  }
  await onLost?.();
  if (fate === 'bad gateway') response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad Gateway</h1>');
  else request.socket.destroy();
}

async function ask(target: string, { method, url, headers }: IncomingMessage, body: Buffer) {
  const upstream = await new Promise<IncomingMessage>((resolve, reject) => {
    // A connection for each: one that the node has closed meanwhile is no answer.
    const sent = httpRequest(new URL(url ?? '/', target), { method, headers, agent: false }, resolve);
    sent.once('error', reject);
    sent.end(body);
  });
  return { status: upstream.statusCode ?? 0, headers: upstream.headers, answer: await buffer(upstream) };
}
