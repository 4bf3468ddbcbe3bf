/**
 * etcd's v3 API over gRPC, as much of it as the journal needs. A call goes to one member; when that member does not answer,
 * the next call goes to the next one. Nothing is repeated here: only the caller knows what may be.
 */

import {
  create,
  type DescMessage,
  type DescMethodBiDiStreaming,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import { type ChannelCredentials, Client, credentials, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { asBuffer } from '../../lib/bytes.js';
import { Auth, Watch, type WatchRequestSchema, type WatchResponse } from './generated/etcd-pb.js';

export interface EtcdOptions {
  /** Base URLs of the members; all http or all https. */
  readonly endpoints: readonly string[];
  readonly tls?:
    | { readonly ca?: Buffer | undefined; readonly key?: Buffer | undefined; readonly cert?: Buffer | undefined }
    | undefined;
  readonly user?: { readonly name: string; readonly password: string } | undefined;
  /** Milliseconds after which a member that does not answer is given up. */
  readonly callTimeout: number;
}

/** What a call came to when there is no answer. */
export class EtcdError extends Error {
  /** One of gRPC's status codes. */
  readonly status: number;

  constructor(status: number, message: string, cause: unknown) {
    super(message, { cause });
    this.name = 'EtcdError';
    this.status = status;
  }

  /** Whether etcd has refused the request itself, which no repetition changes. */
  get isRefusal(): boolean {
    return this.status === status.INVALID_ARGUMENT;
  }
}

/** After these the next member is tried. */
const MEMBER_FAILS: ReadonlySet<number> = new Set([
  status.UNAVAILABLE,
  status.DEADLINE_EXCEEDED,
  status.CANCELLED,
  status.UNKNOWN,
]);

const CHANNEL_OPTIONS = {
  'grpc.max_receive_message_length': -1,
  'grpc.max_send_message_length': -1,
  // A member whose machine is gone is noticed by this; etcd allows one ping in 5 seconds.
  'grpc.keepalive_time_ms': 6_000,
  'grpc.keepalive_timeout_ms': 3_000,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1_000,
};

export interface EtcdWatch {
  /** The first answer, which says that etcd watches. */
  readonly created: WatchResponse;
  /** Those after it, as they come. Throws `EtcdError` when the member is gone or has no leader. */
  readonly responses: AsyncIterable<WatchResponse>;
  cancel(): void;
}

export class EtcdClient {
  readonly #options: EtcdOptions;
  readonly #members: readonly Client[];
  #current = 0;
  #token: string | undefined;
  #authenticating: Promise<void> | undefined;

  constructor(options: EtcdOptions) {
    this.#options = options;
    this.#members = options.endpoints.map((endpoint) => {
      const { host, protocol } = new URL(endpoint);
      return new Client(host, channelCredentials(protocol, options.tls), CHANNEL_OPTIONS);
    });
  }

  /** The answer of one member. Throws `EtcdError`. */
  async call<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageInitShape<I>,
  ): Promise<MessageShape<O>> {
    try {
      return await this.#callOnce(method, request);
    } catch (error) {
      if (!(error instanceof EtcdError) || error.status !== status.UNAUTHENTICATED || this.#token === undefined)
        throw error;
      // The token was too old.
      this.#token = undefined;
      return this.#callOnce(method, request);
    }
  }

  /** Begins a watch. Throws `EtcdError`. */
  async watch(request: MessageInitShape<typeof WatchRequestSchema>): Promise<EtcdWatch> {
    const metadata = await this.#metadata();
    // A member that is cut off from the others ends the watch, instead of telling nothing for ever.
    metadata.set('hasleader', 'true');
    const { first, responses, cancel } = await this.#stream(Watch.method.watch, request, metadata);
    return { created: first, responses, cancel };
  }

  /** The first answer of a call that streams both ways. Throws `EtcdError`. */
  async exchange<I extends DescMessage, O extends DescMessage>(
    method: DescMethodBiDiStreaming<I, O>,
    request: MessageInitShape<I>,
  ): Promise<MessageShape<O>> {
    try {
      const { first, cancel } = await this.#stream(method, request, await this.#metadata());
      cancel();
      return first;
    } catch (error) {
      // The token was too old; the next call gets another.
      if (error instanceof EtcdError && error.status === status.UNAUTHENTICATED) this.#token = undefined;
      throw error;
    }
  }

  /** The next call asks for a new token: tokens are of one member, and end. */
  forgetToken(): void {
    this.#token = undefined;
  }

  close(): void {
    for (const member of this.#members) member.close();
  }

  async #callOnce<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageInitShape<I>,
  ): Promise<MessageShape<O>> {
    return this.#unary(method, request, await this.#metadata());
  }

  /** Sends the request and waits for the first answer. */
  async #stream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodBiDiStreaming<I, O>,
    request: MessageInitShape<I>,
    metadata: Metadata,
  ): Promise<{
    readonly first: MessageShape<O>;
    readonly responses: AsyncIterable<MessageShape<O>>;
    readonly cancel: () => void;
  }> {
    const member = this.#current;
    const stream = this.#member().makeBidiStreamRequest(
      pathOf(method),
      (message: MessageShape<I>) => asBuffer(toBinary(method.input, message)),
      (bytes) => fromBinary(method.output, bytes),
      metadata,
    );
    const cancel = (): void => stream.cancel();
    // Who reads gets it; cancelling is one too, which nobody reads any more.
    stream.on('error', () => undefined);
    stream.write(create(method.input, request));
    const responses = this.#responses<MessageShape<O>>(stream, member);
    const timer = setTimeout(cancel, this.#options.callTimeout);
    try {
      return { first: (await responses.next()).value, responses, cancel };
    } finally {
      clearTimeout(timer);
    }
  }

  #unary<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageInitShape<I>,
    metadata: Metadata,
  ): Promise<MessageShape<O>> {
    const member = this.#current;
    const deadline = Date.now() + this.#options.callTimeout;
    return new Promise((resolve, reject) => {
      this.#member().makeUnaryRequest(
        pathOf(method),
        (message: MessageShape<I>) => asBuffer(toBinary(method.input, message)),
        (bytes) => fromBinary(method.output, bytes),
        create(method.input, request),
        metadata,
        { deadline },
        (error, answer) => {
          if (answer === undefined || error) reject(this.#failed(error, member));
          else resolve(answer);
        },
      );
    });
  }

  async *#responses<T>(stream: AsyncIterable<unknown>, member: number): AsyncGenerator<T, never> {
    try {
      for await (const response of stream) yield response as T;
    } catch (error) {
      throw this.#failed(error, member);
    }
    throw this.#failed({ code: status.UNAVAILABLE, message: 'the stream has ended' }, member);
  }

  #member(): Client {
    const member = this.#members[this.#current];
    if (member === undefined) throw new Error('broken invariant: no etcd member is configured');
    return member;
  }

  #failed(cause: unknown, member: number): EtcdError {
    const { code = status.UNKNOWN, details, message } = cause as Partial<ServiceError>;
    if (MEMBER_FAILS.has(code) && member === this.#current) this.#current = (member + 1) % this.#members.length;
    const endpoint = this.#options.endpoints[member] ?? '';
    return new EtcdError(code, `etcd at ${endpoint}: ${details || message || 'no answer'}`, cause);
  }

  async #metadata(): Promise<Metadata> {
    const metadata = new Metadata();
    const { user } = this.#options;
    if (user === undefined) return metadata;
    if (this.#token === undefined) {
      this.#authenticating ??= this.#authenticate(user).finally(() => {
        this.#authenticating = undefined;
      });
      await this.#authenticating;
    }
    metadata.set('token', this.#token ?? '');
    return metadata;
  }

  async #authenticate({ name, password }: NonNullable<EtcdOptions['user']>): Promise<void> {
    try {
      const { token } = await this.#unary(Auth.method.authenticate, { name, password }, new Metadata());
      this.#token = token;
    } catch (error) {
      if (!(error instanceof EtcdError) || !error.isRefusal) throw error;
      // etcd calls a wrong password an invalid argument; who waits for the right one need not start again.
      throw new EtcdError(status.UNAUTHENTICATED, error.message, error);
    }
  }
}

function channelCredentials(protocol: string, tls: EtcdOptions['tls']): ChannelCredentials {
  if (protocol === 'http:') return credentials.createInsecure();
  return credentials.createSsl(tls?.ca ?? null, tls?.key ?? null, tls?.cert ?? null);
}

function pathOf({ parent, name }: { readonly parent: { readonly typeName: string }; readonly name: string }): string {
  return `/${parent.typeName}/${name}`;
}
