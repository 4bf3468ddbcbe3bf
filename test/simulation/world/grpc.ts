/** gRPC as the program calls it: the calls of this process go to the etcd of the world, below the client of the package. */

import { Client, status } from '@grpc/grpc-js';
import type { Etcd } from './etcd.js';

export interface UnaryCall {
  readonly target: string;
  readonly path: string;
  readonly request: Uint8Array;
  /** By the calendar of the caller. */
  readonly deadline: number;
  readonly answered: (error: object | null, bytes?: Uint8Array) => void;
}

interface StreamModules {
  readonly deserialize: (bytes: Buffer) => unknown;
  readonly send: (bytes: Uint8Array) => void;
  /** Runs something at the caller when what was sent arrives there; false while nothing does. */
  readonly deliver: (run: () => void) => boolean;
  readonly later: (ms: number, run: () => void) => void;
  readonly forget: () => void;
}

/** The end of the caller of a stream, as much of gRPC's as the program uses. */
export class Stream {
  readonly host: string;
  readonly #modules: StreamModules;
  #queue: Uint8Array[] = [];
  #arrived: unknown[] = [];
  #failure: object | undefined;
  #isDelivering = false;
  #wake: () => void = () => undefined;
  serialize: (message: never) => Buffer = () => Buffer.alloc(0);

  /** `host`: machine of the caller. */
  constructor(host: string, modules: StreamModules) {
    this.host = host;
    this.#modules = modules;
  }

  get isOver(): boolean {
    return this.#failure !== undefined;
  }

  on(): this {
    return this;
  }

  write(message: never): void {
    this.#modules.send(this.serialize(message));
  }

  cancel(): void {
    this.end(status.CANCELLED, 'Cancelled on client');
  }

  push(bytes: Uint8Array): void {
    this.#queue.push(bytes);
    this.#pump();
  }

  end(code: number, message: string): void {
    if (this.#failure !== undefined) return;
    this.#failure = Object.assign(new Error(message), { code, details: message });
    this.#modules.forget();
    this.#modules.later(0, () => this.#wake());
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<unknown> {
    for (;;) {
      const next = this.#arrived.shift();
      if (next !== undefined) yield next;
      else if (this.#failure !== undefined) throw this.#failure;
      else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    }
  }

  #pump(): void {
    if (this.#isDelivering || this.isOver || this.#queue.length === 0) return;
    const burst = this.#queue.length;
    this.#isDelivering = true;
    const arrive = (): void => {
      this.#isDelivering = false;
      for (const bytes of this.#queue.splice(0, burst))
        this.#arrived.push(this.#modules.deserialize(Buffer.from(bytes)));
      this.#wake();
      this.#pump();
    };
    if (this.#modules.deliver(arrive)) return;
    this.#modules.later(200, () => {
      this.#isDelivering = false;
      this.#pump();
    });
  }
}

let cluster: Etcd | undefined;

/** From now on the calls of gRPC of this process go to this cluster. */
export function connectTo(entered: Etcd | undefined): void {
  cluster = entered;
}

interface Prototype {
  makeUnaryRequest: (
    path: string,
    serialize: (message: unknown) => Buffer,
    deserialize: (bytes: Buffer) => unknown,
    message: unknown,
    metadata: unknown,
    options: { readonly deadline: number },
    callback: (error: object | null, answer?: unknown) => void,
  ) => void;
  makeBidiStreamRequest: (
    path: string,
    serialize: (message: never) => Buffer,
    deserialize: (bytes: Buffer) => unknown,
  ) => Stream;
  getChannel(): { getTarget(): string };
}

const prototype = Client.prototype as unknown as Prototype;

prototype.makeUnaryRequest = function (
  this: Prototype,
  path,
  serialize,
  deserialize,
  message,
  _metadata,
  options,
  callback,
) {
  cluster?.unary({
    target: this.getChannel().getTarget(),
    path,
    request: serialize(message),
    deadline: Number(options.deadline),
    answered: (error, bytes) => callback(error, bytes && deserialize(Buffer.from(bytes))),
  });
};

prototype.makeBidiStreamRequest = function (this: Prototype, path, serialize, deserialize) {
  if (cluster === undefined) throw new Error('no cluster of etcd in this world');
  const stream = cluster.stream(this.getChannel().getTarget(), path, deserialize);
  stream.serialize = serialize;
  return stream;
};
