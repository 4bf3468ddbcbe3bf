/**
 * Looks into a running node from outside, through the inspector of Node.js: collects its garbage, asks for its memory,
 * writes heap snapshots. The node needs no code for it, only `--inspect=127.0.0.1:0`.
 */

import { createWriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';
import { WebSocket } from 'ws';
import { type NodeProcess, until } from '../support/processes.js';

/** Bytes. */
export interface V8Memory {
  /** Objects. */
  readonly heapUsed: number;
  /** What V8 holds for them. */
  readonly heapTotal: number;
  /** Outside of V8's heap, buffers included. */
  readonly external: number;
  readonly arrayBuffers: number;
}

interface Answer {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { readonly chunk?: string };
  readonly result?: { readonly result?: { readonly value?: unknown } };
  readonly error?: { readonly message: string };
}

/** The inspector of a node that was started with `--inspect=127.0.0.1:0`. */
export async function inspectorOf(node: NodeProcess): Promise<Inspector> {
  const url = await until(`the inspector of ${node.role}`, async () =>
    /Debugger listening on (ws:\S+)/.exec(node.log())?.at(1),
  );
  return Inspector.connect(url);
}

export class Inspector {
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, { resolve(answer: Answer): void; reject(error: Error): void }>();
  #next = 1;
  #onChunk: ((chunk: string) => void) | undefined;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on('message', (data) => this.#take(JSON.parse(String(data)) as Answer));
    socket.on('close', () => {
      for (const { reject } of this.#waiting.values()) reject(new Error('the inspected process is gone'));
      this.#waiting.clear();
    });
  }

  /** Connects to the address that Node.js prints after `Debugger listening on`. */
  static async connect(url: string): Promise<Inspector> {
    const socket = new WebSocket(url, { perMessageDeflate: false });
    await new Promise<void>((resolve, reject) => {
      socket.once('open', resolve);
      socket.once('error', reject);
    });
    return new Inspector(socket);
  }

  /** What is alive: garbage is collected first. */
  async liveMemory(): Promise<V8Memory> {
    await this.#send('HeapProfiler.collectGarbage');
    return this.memory();
  }

  /** Memory as it is, garbage included. */
  async memory(): Promise<V8Memory> {
    const answer = await this.#send('Runtime.evaluate', {
      expression: 'process.memoryUsage()',
      returnByValue: true,
    });
    return answer.result?.result?.value as V8Memory;
  }

  /** Writes a snapshot of the heap, for the memory page of Chrome's developer tools. */
  async heapSnapshot(file: string): Promise<void> {
    const stream = createWriteStream(file);
    this.#onChunk = (chunk) => void stream.write(chunk);
    try {
      await this.#send('HeapProfiler.takeHeapSnapshot', { reportProgress: false });
    } finally {
      this.#onChunk = undefined;
      stream.end();
    }
    await finished(stream);
  }

  close(): void {
    this.#socket.close();
  }

  #send(method: string, params: object = {}): Promise<Answer> {
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#socket.send(JSON.stringify({ id, method, params }));
    });
  }

  #take(answer: Answer): void {
    if (answer.method === 'HeapProfiler.addHeapSnapshotChunk') this.#onChunk?.(answer.params?.chunk ?? '');
    if (answer.id === undefined) return;
    const waiter = this.#waiting.get(answer.id);
    this.#waiting.delete(answer.id);
    if (answer.error === undefined) waiter?.resolve(answer);
    else waiter?.reject(new Error(answer.error.message));
  }
}
