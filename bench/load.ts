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
  /** Requests a second at most, evenly; the time of each counts from when it was due, whenever a connection was free. */
  readonly pace?: number;
  /** A request that is answered 429 or 503 is sent again, by the same connection, after so many milliseconds. */
  readonly againAfter?: number;
  /** Called with each final answer; `sentAt` (or when it was due) is in milliseconds of `performance.now()`. */
  readonly onAnswer?: (request: Buffer, status: number, sentAt: number) => void;
}

/** The bytes of a request, with further headers. */
export function requestBytes(
  url: string,
  method: string,
  body?: string | Uint8Array,
  further: Readonly<Record<string, string>> = {},
): Buffer {
  const { host, pathname, search } = new URL(url);
  const lines = Object.entries({ host, ...further }).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `${method} ${pathname}${search} HTTP/1.1\r\n${lines.join('')}`;
  if (body === undefined) return Buffer.from(`${head}\r\n`);
  const [type, bytes] = typeof body === 'string' ? ['json', Buffer.from(body)] : ['octet-stream', body];
  const headers = `content-type: application/${type}\r\ncontent-length: ${bytes.length}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head + headers), bytes]);
}

export async function load(options: LoadOptions): Promise<LoadResult> {
  const { hostname, port } = new URL(options.url);
  if (!/^(127\.|localhost$|\[::1\]$)/.test(hostname)) throw new Error('load goes to loopback only');
  const statuses = new Map<number, number>();
  const times: number[] = [];
  const start = performance.now();
  const run = { options, host: hostname, port: Number(port), dueNext: paced(options.pace, start), statuses, times };
  await Promise.all(Array.from({ length: options.connections }, () => runConnection(run)));
  const seconds = (performance.now() - start) / 1_000;
  times.sort((a, b) => a - b);
  const at = (share: number): number => times[Math.floor(share * (times.length - 1))] ?? 0;
  return { rate: times.length / seconds, answers: times.length, statuses, p50: at(0.5), p99: at(0.99) };
}

/** When the next request is due. */
function paced(pace: number | undefined, start: number): () => number {
  let due = start;
  return () => {
    if (pace === undefined) return performance.now();
    due += 1_000 / pace;
    return due;
  };
}

interface Run {
  readonly options: LoadOptions;
  readonly host: string;
  readonly port: number;
  readonly dueNext: () => number;
  readonly statuses: Map<number, number>;
  readonly times: number[];
}

function runConnection({ options, host, port, dueNext, statuses, times }: Run): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, noDelay: true });
    let received: Buffer = Buffer.alloc(0);
    let request: Buffer | undefined;
    let sentAt = 0;
    const send = (): void => {
      request = options.next();
      if (request === undefined) {
        socket.end();
        resolve();
        return;
      }
      sentAt = dueNext();
      const wait = sentAt - performance.now();
      if (wait > 1) setTimeout(() => socket.write(request ?? ''), wait);
      else socket.write(request);
    };
    const answered = (status: number): void => {
      const { againAfter, onAnswer } = options;
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (againAfter !== undefined && (status === 429 || status === 503)) {
        setTimeout(() => socket.write(request ?? ''), againAfter);
        return;
      }
      times.push(performance.now() - sentAt);
      if (request !== undefined) onAnswer?.(request, status, sentAt);
      send();
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
      received = Buffer.alloc(0);
      answered(status);
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
