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

  /** Whether etcd has said that it has done nothing. One that is full may have done what filled it. */
  get hasDoneNothing(): boolean {
    return DONE_NOTHING.has(this.status);
  }
}

const DONE_NOTHING: ReadonlySet<number> = new Set([
  status.INVALID_ARGUMENT,
  status.UNAUTHENTICATED,
  status.PERMISSION_DENIED,
  status.FAILED_PRECONDITION,
]);

/** The watch was asked for what etcd's history does not have any more. */
export class Compacted extends Error {}

/** In place of a token, while etcd asks for no users: it refuses every token then. */
const NO_USERS = '';

/**
 * What etcd calls an invalid argument although a new token changes it: the token is older than the last change of users and roles, or
 * there was none because etcd asked for none.
 */
const TOKEN_REFUSED = /revision of auth store is old|user name is empty/;

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
  /** Those after it, as they come. Throws `EtcdError` when the member is gone or has no leader, and `Compacted`. */
  readonly responses: AsyncIterable<WatchResponse>;
  cancel(): void;
}

export class EtcdClient {
  readonly #options: EtcdOptions;
  readonly #members: readonly Client[];
  #current = 0;
  #token: string | undefined;
  #authenticating: Promise<string> | undefined;

  constructor(options: EtcdOptions) {
    this.#options = options;
    this.#members = options.endpoints.map((endpoint) => {
      const { host, protocol } = new URL(endpoint);
      return new Client(host, channelCredentials(protocol, options.tls), CHANNEL_OPTIONS);
    });
  }

  /** The answer of one member. Throws `EtcdError`. */
  call<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageInitShape<I>,
  ): Promise<MessageShape<O>> {
    return this.#withToken((metadata) => this.#unary(method, request, metadata));
  }

  /** Begins a watch. Throws `EtcdError`, and `Compacted`. */
  watch(request: MessageInitShape<typeof WatchRequestSchema>): Promise<EtcdWatch> {
    return this.#withToken(async (metadata) => {
      // A member that is cut off from the others ends the watch, instead of telling nothing for ever.
      metadata.set('hasleader', 'true');
      const { first, responses, cancel } = await this.#stream(Watch.method.watch, request, metadata);
      try {
        assertWatches(first);
      } catch (error) {
        cancel();
        throw error;
      }
      return { created: first, responses: stillWatching(responses), cancel };
    });
  }

  /** The first answer of a call that streams both ways. Throws `EtcdError`. */
  exchange<I extends DescMessage, O extends DescMessage>(
    method: DescMethodBiDiStreaming<I, O>,
    request: MessageInitShape<I>,
  ): Promise<MessageShape<O>> {
    return this.#withToken(async (metadata) => {
      const { first, cancel } = await this.#stream(method, request, metadata);
      cancel();
      return first;
    });
  }

  close(): void {
    for (const member of this.#members) member.close();
  }

  /** What the attempt comes to; once more when etcd does not take the token any more, which says that it has done nothing. */
  async #withToken<T>(attempt: (metadata: Metadata) => Promise<T>): Promise<T> {
    const { user } = this.#options;
    if (user === undefined) return attempt(new Metadata());
    const token = await this.#tokenFor(user);
    try {
      return await attempt(metadataWith(token));
    } catch (error) {
      if (!(error instanceof EtcdError) || error.status !== status.UNAUTHENTICATED) throw error;
    }
    // Another call may have got a new one meanwhile.
    if (this.#token === token) this.#token = undefined;
    return attempt(metadataWith(await this.#tokenFor(user)));
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
    const text = details || message || 'no answer';
    const isToken = code === status.INVALID_ARGUMENT && TOKEN_REFUSED.test(text);
    return new EtcdError(isToken ? status.UNAUTHENTICATED : code, `etcd at ${endpoint}: ${text}`, cause);
  }

  async #tokenFor(user: NonNullable<EtcdOptions['user']>): Promise<string> {
    if (this.#token !== undefined) return this.#token;
    this.#authenticating ??= this.#authenticate(user).finally(() => {
      this.#authenticating = undefined;
    });
    this.#token = await this.#authenticating;
    return this.#token;
  }

  async #authenticate({ name, password }: NonNullable<EtcdOptions['user']>): Promise<string> {
    try {
      return (await this.#unary(Auth.method.authenticate, { name, password }, new Metadata())).token;
    } catch (error) {
      if (!(error instanceof EtcdError)) throw error;
      if (error.status === status.FAILED_PRECONDITION) return NO_USERS;
      // etcd calls a wrong password an invalid argument; who waits for the right one need not start again.
      throw error.isRefusal ? new EtcdError(status.UNAUTHENTICATED, error.message, error) : error;
    }
  }
}

function metadataWith(token: string): Metadata {
  const metadata = new Metadata();
  if (token !== NO_USERS) metadata.set('token', token);
  return metadata;
}

async function* stillWatching(responses: AsyncIterable<WatchResponse>): AsyncGenerator<WatchResponse> {
  for await (const response of responses) {
    assertWatches(response);
    yield response;
  }
}

/** Throws for a watch that was refused or has ended. */
function assertWatches({ canceled, compactRevision, cancelReason }: WatchResponse): void {
  if (!canceled) return;
  if (compactRevision > 0n) throw new Compacted();
  // etcd says the same of a token that the member does not know and of a user who may not read this.
  throw new EtcdError(status.UNAUTHENTICATED, `etcd has ended the watch: ${cancelReason}`, undefined);
}

function channelCredentials(protocol: string, tls: EtcdOptions['tls']): ChannelCredentials {
  if (protocol === 'http:') return credentials.createInsecure();
  return credentials.createSsl(tls?.ca ?? null, tls?.key ?? null, tls?.cert ?? null);
}

function pathOf({ parent, name }: { readonly parent: { readonly typeName: string }; readonly name: string }): string {
  return `/${parent.typeName}/${name}`;
}
