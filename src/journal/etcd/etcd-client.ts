/** etcd's v3 API over gRPC, as far as the journal needs it. A call without an answer sends the next call to another member. */

import { isIP } from 'node:net';
import { type PeerCertificate, checkServerIdentity as tlsIdentity } from 'node:tls';
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
import { Client, credentials, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { asBuffer } from '../../lib/bytes.js';
import { systemClock } from '../../lib/clock.js';
import { Auth, KV, Watch, type WatchRequestSchema, type WatchResponse } from './generated/etcd-pb.js';

export interface EtcdOptions {
  /** Base URLs of the members; all http or all https. */
  readonly endpoints: readonly string[];
  readonly tls?:
    | { readonly ca?: Buffer | undefined; readonly key?: Buffer | undefined; readonly cert?: Buffer | undefined }
    | undefined;
  /** Login that all clients of a node share. */
  readonly user?: EtcdLogin | undefined;
  /** Milliseconds after which a member that does not answer is given up; more, up to four times as many, while etcd is slow. */
  readonly callTimeout: number;
}

/** Error of a call without an answer. */
export class EtcdError extends Error {
  /** Status code of gRPC. */
  readonly status: number;

  constructor(status: number, message: string, cause: unknown) {
    super(message, { cause });
    this.name = 'EtcdError';
    this.status = status;
  }

  /** True if etcd has refused the request itself, which no repetition changes. */
  get isRefusal(): boolean {
    return this.status === status.INVALID_ARGUMENT;
  }

  /** True if etcd has said that it has done nothing. A full etcd may have carried out the request that filled it. */
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

/** The error of a watch from a revision that etcd's history does not have any more. */
export class Compacted extends Error {}

/** Token while etcd asks for no users: it refuses every real token then. */
const NO_USERS = '';

/** Invalid arguments, in etcd's words, that a new token mends: users or roles have changed, or were just switched on. */
const TOKEN_REFUSED = /revision of auth store is old|user name is empty/;

/** Statuses after which the next member is tried. */
const MEMBER_FAILS: ReadonlySet<number> = new Set([status.UNAVAILABLE, status.DEADLINE_EXCEEDED, status.UNKNOWN]);

/** Longest time of a call, in times of the configured one. */
const MOST_PATIENCE = 4;
/** Time that a call gets, in times of what the last call took. */
const SPARE = 4;
/** Milliseconds of difference up to which members count as equally near. */
const NEAR_MS = 5;
const ANY_KEY = Uint8Array.of(0);
/** Name in the handshake of a member that is dialed by its address; etcd has one certificate and does not ask. */
const NAME_OF_ADDRESS = 'etcd';

const CHANNEL_OPTIONS = {
  'grpc.max_receive_message_length': -1,
  'grpc.max_send_message_length': -1,
  // Pings tell when the machine of a member is gone; etcd allows one in 5 seconds.
  'grpc.keepalive_time_ms': 6_000,
  'grpc.keepalive_timeout_ms': 3_000,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1_000,
};

interface OpenStream {
  readonly member: number;
  cancel(): void;
}

export interface EtcdWatch {
  /** The first answer, which says that etcd watches. */
  readonly created: WatchResponse;
  /** Responses in the order of their arrival. Throws `EtcdError` when the member is gone or has no leader, and `Compacted`. */
  readonly responses: AsyncIterable<WatchResponse>;
  cancel(): void;
}

export class EtcdClient {
  readonly #options: EtcdOptions;
  readonly #members: readonly Client[];
  #current = 0;
  /** Milliseconds that a member has for an answer now. */
  #limit: number;
  readonly #watches = new Set<OpenStream>();
  #isClosed = false;

  constructor(options: EtcdOptions) {
    this.#options = options;
    this.#limit = options.callTimeout;
    this.#members = options.endpoints.map((endpoint) => memberClient(endpoint, options.tls));
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
      const patience = this.#limit;
      const { first, responses, stream } = await this.#stream(Watch.method.watch, request, metadata, patience);
      try {
        assertWatches(first);
      } catch (error) {
        stream.cancel();
        throw error;
      }
      this.#watches.add(stream);
      return { created: first, responses: this.#watching(stream, responses), cancel: stream.cancel };
    });
  }

  /** The first answer of a call that streams both ways; a slow one sends the next call to another member. Throws `EtcdError`. */
  exchange<I extends DescMessage, O extends DescMessage>(
    method: DescMethodBiDiStreaming<I, O>,
    request: MessageInitShape<I>,
  ): Promise<MessageShape<O>> {
    return this.#withToken(async (metadata) => {
      const patience = MOST_PATIENCE * this.#options.callTimeout;
      const { first, stream } = await this.#stream(method, request, metadata, patience);
      stream.cancel();
      return first;
    });
  }

  /** Chooses the member that answers first, unless the current one takes less than twice as long. */
  async preferNearest(): Promise<void> {
    const times = await Promise.all(this.#members.map((_, member) => this.#timeOf(member)));
    const least = Math.min(...times);
    if (2 * least + NEAR_MS < (times[this.#current] ?? 0)) this.#current = times.indexOf(least);
  }

  close(): void {
    this.#isClosed = true;
    for (const member of this.#members) member.close();
  }

  /** Milliseconds until the member answers anything, even that it wants a token; infinite when it does not answer. */
  async #timeOf(member: number): Promise<number> {
    const asked = systemClock.monotonic();
    try {
      await this.#unary(KV.method.range, { key: ANY_KEY, serializable: true, keysOnly: true }, new Metadata(), member);
    } catch (error) {
      if (!(error instanceof EtcdError) || MEMBER_FAILS.has(error.status)) return Number.POSITIVE_INFINITY;
    }
    return systemClock.monotonic() - asked;
  }

  /** Result of the attempt, which is repeated once when etcd refuses the token: then it has done nothing. */
  async #withToken<T>(attempt: (metadata: Metadata) => Promise<T>): Promise<T> {
    const { user } = this.#options;
    if (user === undefined) return attempt(new Metadata());
    const ask = (): Promise<string> => this.#authenticate(user);
    const token = await user.token(ask);
    try {
      return await attempt(metadataWith(token));
    } catch (error) {
      if (!(error instanceof EtcdError) || error.status !== status.UNAUTHENTICATED) throw error;
    }
    user.forget(token);
    return attempt(metadataWith(await user.token(ask)));
  }

  /** Sends the request and waits `patience` milliseconds for the first answer. */
  async #stream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodBiDiStreaming<I, O>,
    request: MessageInitShape<I>,
    metadata: Metadata,
    patience: number,
  ): Promise<{
    readonly first: MessageShape<O>;
    readonly responses: AsyncIterable<MessageShape<O>>;
    readonly stream: OpenStream;
  }> {
    const [member, limit, asked] = [this.#current, this.#limit, systemClock.monotonic()];
    const stream = this.#member(member).makeBidiStreamRequest(
      pathOf(method),
      (message: MessageShape<I>) => asBuffer(toBinary(method.input, message)),
      (bytes) => fromBinary(method.output, bytes),
      metadata,
    );
    // Readers of the stream get the error. Cancelling is an error too, with no reader left.
    stream.on('error', () => undefined);
    stream.write(create(method.input, request));
    const responses = this.#responses<MessageShape<O>>(stream, member);
    const timers = [
      systemClock.after(limit, () => this.#isSilent(member, limit)),
      systemClock.after(patience, () => stream.cancel()),
    ];
    try {
      const first = (await responses.next()).value;
      this.#hasAnswered(asked);
      return { first, responses, stream: { member, cancel: () => stream.cancel() } };
    } finally {
      for (const timer of timers) timer.cancel();
    }
  }

  #unary<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageInitShape<I>,
    metadata: Metadata,
    member = this.#current,
  ): Promise<MessageShape<O>> {
    const [asked, limit] = [systemClock.monotonic(), this.#limit];
    const deadline = systemClock.now() + limit;
    return new Promise((resolve, reject) => {
      this.#member(member).makeUnaryRequest(
        pathOf(method),
        (message: MessageShape<I>) => asBuffer(toBinary(method.input, message)),
        (bytes) => fromBinary(method.output, bytes),
        create(method.input, request),
        metadata,
        { deadline },
        (error, answer) => {
          if (error?.code === status.DEADLINE_EXCEEDED) this.#isSilent(member, limit);
          if (answer === undefined || error) return reject(this.#failed(error, member));
          this.#hasAnswered(asked);
          resolve(answer);
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

  #member(index: number): Client {
    if (this.#isClosed) throw new EtcdError(status.UNAVAILABLE, 'the connections to etcd are closed', undefined);
    const member = this.#members[index];
    if (member === undefined) throw new Error('broken invariant: no etcd member is configured');
    return member;
  }

  /** Lowers the time of a call when members are quick again. */
  #hasAnswered(asked: number): void {
    const took = systemClock.monotonic() - asked;
    this.#limit = Math.max(this.#options.callTimeout, Math.min(this.#limit, SPARE * took));
  }

  /** Raises the time of a call when a member is slow, so that calls get something done, and leaves that member. */
  #isSilent(member: number, limit: number): void {
    this.#limit = Math.max(this.#limit, Math.min(2 * limit, MOST_PATIENCE * this.#options.callTimeout));
    this.#leave(member);
  }

  /** Goes on to the next member. A suspended or cut-off member tells a watch nothing either, so watches begin anew there. */
  #leave(member: number): void {
    if (member !== this.#current || this.#members.length === 1) return;
    this.#current = (member + 1) % this.#members.length;
    for (const watch of this.#watches) if (watch.member === member) watch.cancel();
  }

  async *#watching(stream: OpenStream, responses: AsyncIterable<WatchResponse>): AsyncGenerator<WatchResponse> {
    try {
      for await (const response of responses) {
        assertWatches(response);
        yield response;
      }
    } finally {
      this.#watches.delete(stream);
    }
  }

  #failed(cause: unknown, member: number): EtcdError {
    const { code = status.UNKNOWN, details, message } = cause as Partial<ServiceError>;
    if (MEMBER_FAILS.has(code)) this.#leave(member);
    const endpoint = this.#options.endpoints[member] ?? '';
    const text = details || message || 'no answer';
    const isToken = code === status.INVALID_ARGUMENT && TOKEN_REFUSED.test(text);
    return new EtcdError(isToken ? status.UNAUTHENTICATED : code, `etcd at ${endpoint}: ${text}`, cause);
  }

  async #authenticate({ name, password }: EtcdLogin): Promise<string> {
    try {
      return (await this.#unary(Auth.method.authenticate, { name, password }, new Metadata())).token;
    } catch (error) {
      if (!(error instanceof EtcdError)) throw error;
      if (error.status === status.FAILED_PRECONDITION) return NO_USERS;
      // etcd calls a wrong password an invalid argument; with this status, the call is repeated until it is right.
      throw error.isRefusal ? new EtcdError(status.UNAUTHENTICATED, error.message, error) : error;
    }
  }
}

function metadataWith(token: string): Metadata {
  const metadata = new Metadata();
  if (token !== NO_USERS) metadata.set('token', token);
  return metadata;
}

/** Throws for a watch that was refused or has ended. */
function assertWatches({ canceled, compactRevision, cancelReason }: WatchResponse): void {
  if (!canceled) return;
  if (compactRevision > 0n) throw new Compacted();
  // etcd gives the same reason for a token that the member does not know and for a user who may not read the key.
  throw new EtcdError(status.UNAUTHENTICATED, `etcd has ended the watch: ${cancelReason}`, undefined);
}

function memberClient(endpoint: string, tls: EtcdOptions['tls']): Client {
  const { host, hostname, protocol } = new URL(endpoint);
  if (protocol === 'http:') return new Client(host, credentials.createInsecure(), CHANNEL_OPTIONS);
  const [ca, key, cert] = [tls?.ca ?? null, tls?.key ?? null, tls?.cert ?? null];
  const address = hostname.replace(/^\[|\]$/g, '');
  if (isIP(address) === 0) return new Client(host, credentials.createSsl(ca, key, cert), CHANNEL_OPTIONS);
  // TLS has no addresses as server names. The certificate must be of the address all the same.
  const checkServerIdentity = (_name: string, certificate: PeerCertificate) => tlsIdentity(address, certificate);
  const options = { ...CHANNEL_OPTIONS, 'grpc.ssl_target_name_override': NAME_OF_ADDRESS };
  return new Client(host, credentials.createSsl(ca, key, cert, { checkServerIdentity }), options);
}

function pathOf({ parent, name }: { readonly parent: { readonly typeName: string }; readonly name: string }): string {
  return `/${parent.typeName}/${name}`;
}

export class EtcdLogin {
  readonly name: string;
  readonly password: string;
  #token: string | undefined;
  #asking: Promise<string> | undefined;

  constructor(name: string, password: string) {
    this.name = name;
    this.password = password;
  }

  /** The token; `ask` gets one where there is none, once for all callers that wait for it. */
  async token(ask: () => Promise<string>): Promise<string> {
    if (this.#token !== undefined) return this.#token;
    this.#asking ??= ask().finally(() => {
      this.#asking = undefined;
    });
    this.#token = await this.#asking;
    return this.#token;
  }

  /** Forgets the token, unless there is a newer one: tokens expire, and change when users and roles do. */
  forget(token: string): void {
    if (this.#token === token) this.#token = undefined;
  }
}
