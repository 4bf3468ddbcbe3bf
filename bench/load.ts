/**
 * A load generator over plain sockets: prepared requests, keep-alive, a fixed number of connections with one request each
 * under way. It does as little as possible for each answer, so that on a small machine the server gets the processor.
 * Loopback only; bounded by the number of requests.
 */

import { connect } from 'node:net';

export interface LoadResult {
  /** Answers a second. */
  readonly rate: number;
  readonly answers: number;
  /** Answers by status code. */
  readonly statuses: ReadonlyMap<number, number>;
  /** Milliseconds: median, 99th percentile. */
  readonly p50: number;
  readonly p99: number;
}

export interface LoadOptions {
  readonly url: string;
  readonly connections: number;
  /** Gives the next request, or undefined when there are no more. */
  readonly next: () => Buffer | undefined;
}

/** The bytes of a request. */
export function requestBytes(url: string, method: string, body?: string): Buffer {
  const { host, pathname, search } = new URL(url);
  const head = `${method} ${pathname}${search} HTTP/1.1\r\nhost: ${host}\r\n`;
  if (body === undefined) return Buffer.from(`${head}\r\n`);
  const length = Buffer.byteLength(body);
  return Buffer.from(`${head}content-type: application/json\r\ncontent-length: ${length}\r\n\r\n${body}`);
}

export async function load({ url, connections, next }: LoadOptions): Promise<LoadResult> {
  const { hostname, port } = new URL(url);
  if (!/^(127\.|localhost$|\[::1\]$)/.test(hostname)) throw new Error('load goes to loopback only');
  const statuses = new Map<number, number>();
  const times: number[] = [];
  const start = performance.now();
  await Promise.all(Array.from({ length: connections }, () => run(hostname, Number(port), next, statuses, times)));
  const seconds = (performance.now() - start) / 1_000;
  times.sort((a, b) => a - b);
  const at = (share: number): number => times[Math.floor(share * (times.length - 1))] ?? 0;
  return { rate: times.length / seconds, answers: times.length, statuses, p50: at(0.5), p99: at(0.99) };
}

function run(
  host: string,
  port: number,
  next: () => Buffer | undefined,
  statuses: Map<number, number>,
  times: number[],
): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, noDelay: true });
    let received: Buffer = Buffer.alloc(0);
    let sentAt = 0;
    const send = (): void => {
      const request = next();
      if (request === undefined) {
        socket.end();
        resolve();
        return;
      }
      sentAt = performance.now();
      socket.write(request);
    };
    socket.on('connect', send);
    socket.on('error', reject);
    socket.on('data', (data: Buffer) => {
      received = received.length === 0 ? data : Buffer.concat([received, data]);
      const head = received.indexOf('\r\n\r\n');
      if (head < 0) return;
      const length = /content-length: (\d+)/i.exec(received.toString('latin1', 0, head));
      if (received.length < head + 4 + Number(length?.[1] ?? 0)) return;
      const status = Number(received.toString('latin1', 9, 12));
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      times.push(performance.now() - sentAt);
      received = Buffer.alloc(0);
      send();
    });
  });
}

/** A function for `LoadOptions.next` that gives each item once. */
export function once(items: readonly Buffer[]): () => Buffer | undefined {
  let at = 0;
  return () => items[at++];
}

/** A function for `LoadOptions.next` that gives one request so many times. */
export function repeat(item: Buffer, times: number): () => Buffer | undefined {
  let left = times;
  return () => (left-- > 0 ? item : undefined);
}
