/** Turns an operation of the library into requests: chooses the node, builds the request, and sends it again when needed. */

import { describesKeys, KEYED_ATTEMPT, type Repeating, repeat } from '../client/repeat.js';
import { exchange, type Fetch, MAX_ANSWER_BYTES, notANode, platformFetch, TIMEOUT_MS } from '../client/transport.js';
import { toHex } from '../lib/bytes.js';
import { systemClock } from '../lib/clock.js';
import { TesseraError } from '../lib/errors.js';
import { stringifyExact } from '../lib/json.js';
import { pause } from '../lib/pause.js';
import { NODE_ROLES, type NodeRole } from '../lib/roles.js';

/** Milliseconds in which a request is repeated. */
const RETRY_FOR = 30_000;

export interface OperationRow {
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly path: string;
  readonly roles: readonly NodeRole[];
  /** True if arguments that are not in the path go into the body. */
  readonly body?: boolean;
  /** True if the operation changes nothing. */
  readonly reads?: boolean;
  readonly apiKey?: boolean;
  readonly idempotencyKey?: boolean;
  /** True if the answer has no body. */
  readonly empty?: boolean;
  /** Statuses besides 2xx that are answers. */
  readonly also?: readonly number[];
  /** Places of 64-bit integers in the answer. */
  readonly exact?: ExactPlaces;
}

/** One address, or one for each role; several of a role are asked in turn when one does not answer. */
export type NodeAddresses = string | { readonly [Role in NodeRole]?: string | readonly string[] };

export interface ClientOptions {
  /** Address of a node, or of a whole network, such as `http://127.0.0.1:8080`; or the addresses of its nodes by role. */
  readonly url: NodeAddresses;
  /** API key for protected operations; sent to no others. By role where the nodes have different ones. */
  readonly apiKey?: string | { readonly [Role in NodeRole]?: string } | undefined;
  /** Time limit of one attempt in ms, 0 for none. Default: 30 s, and 90 s for operations that take an idempotency key. */
  readonly timeoutMs?: number | undefined;
  /** Milliseconds in which a request is repeated; 0 for one attempt. Default: 30 s. */
  readonly retryForMs?: number | undefined;
  /** Replaces the platform's `fetch`. */
  readonly fetch?: Fetch | undefined;
}

export interface CallOptions {
  /** Cancels the call, which throws its reason. */
  readonly signal?: AbortSignal | undefined;
  /** Replaces the time limit of the client. */
  readonly timeoutMs?: number | undefined;
  /** Replaces the retry time of the client. */
  readonly retryForMs?: number | undefined;
  /** Idempotency key, 1 to 255 printable ASCII characters: calls with the same key act once, from any page or process. Default: a new key. */
  readonly idempotencyKey?: string | undefined;
  /** The node to ask, where several roles have the operation and `url` names them. */
  readonly role?: NodeRole | undefined;
}

/** Members by name, or a body in the chain's own encoding. */
export type CallArguments = Readonly<Record<string, unknown>> | Uint8Array;

export interface NodePlace {
  readonly url: string;
  readonly apiKey: string | undefined;
}

const GET_OPENAPI: OperationRow = {
  method: 'GET',
  path: '/v1/openapi.json',
  roles: NODE_ROLES,
  reads: true,
};

export class NodeCalls {
  readonly fetch: Fetch;
  readonly #options: ClientOptions;

  constructor(options: ClientOptions) {
    this.#options = options;
    this.fetch = options.fetch ?? platformFetch;
  }

  /** The nodes that can be asked, the first one first. Throws `invalid_request` when no address is known. */
  places(roles: readonly NodeRole[], wanted?: NodeRole): readonly [NodePlace, ...NodePlace[]] {
    const { url, apiKey } = this.#options;
    if (typeof url === 'string') return [{ url, apiKey: keyOf(apiKey, wanted ?? roles[0]) }];
    const role = [wanted, ...roles].find((one) => one !== undefined && (url[one]?.length ?? 0) > 0);
    if (role === undefined || (wanted !== undefined && role !== wanted)) {
      throw new TesseraError(
        'invalid_request',
        `this client knows no address of a ${wanted ?? roles.join(' or ')} node`,
      );
    }
    const [first, ...others] = [url[role] ?? []].flat().map((one) => ({ url: one, apiKey: keyOf(apiKey, role) }));
    if (first === undefined) throw new TesseraError('invalid_request', `the list of ${role} nodes is empty`);
    return [first, ...others];
  }

  /** The answer, with bigints. Throws the node's error, `NoAnswer`, `UnknownOutcome`, or the reason of the signal. */
  async call(row: OperationRow, args: CallArguments = {}, options: CallOptions = {}): Promise<unknown> {
    const { signal, retryForMs = this.#options.retryForMs ?? RETRY_FOR } = options;
    signal?.throwIfAborted();
    const places = this.places(row.roles, options.role);
    const key = keyFor(row, args, options);
    const attempts = { number: 0 };
    const attempt = (): Promise<unknown> => {
      // Other nodes do not know a request that was sent with an Idempotency-Key.
      const place = row.reads ? places[attempts.number++ % places.length] : undefined;
      return this.#send(row, args, { ...options, idempotencyKey: key }, place ?? places[0]);
    };
    if (retryForMs <= 0) return attempt();
    const afterLoss = (): Promise<boolean> => this.#takesKeys(row, places[0], signal);
    return repeat(attempt, {
      ...repetition(row, key, afterLoss),
      until: () => systemClock.monotonic() + retryForMs,
      clock: systemClock,
      pause: (ms) => pause(ms, signal),
    });
  }

  async #takesKeys(row: OperationRow, place: NodePlace, signal: AbortSignal | undefined): Promise<boolean> {
    return describesKeys(await this.#send(GET_OPENAPI, {}, { signal }, place), row);
  }

  async #send(row: OperationRow, args: CallArguments, options: CallOptions, { url, apiKey }: NodePlace) {
    const { signal, idempotencyKey } = options;
    const { path, query, body } =
      args instanceof Uint8Array ? { ...row, query: {}, body: Uint8Array.from(args) } : requestOf(row, args);
    const usual = idempotencyKey === undefined ? TIMEOUT_MS : KEYED_ATTEMPT;
    const outgoing = {
      method: row.method,
      url: addressOf(url, path, query),
      headers: {
        ...(apiKey === undefined || !row.apiKey ? {} : { 'x-api-key': apiKey }),
        ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
      },
      body: body === undefined || body instanceof Uint8Array ? body : stringifyExact(body),
    };
    const sending = {
      fetch: this.fetch,
      signal,
      timeoutMs: options.timeoutMs ?? this.#options.timeoutMs ?? usual,
      maxAnswerBytes: MAX_ANSWER_BYTES,
    };
    const { answer } = await exchange(outgoing, sending, (status) => row.also?.includes(status) ?? false);
    if (answer === undefined && !row.empty) throw notANode(outgoing.url.origin, 'its answer is empty');
    return row.exact === undefined ? answer : withBigints(answer, row.exact);
  }
}

/** Policy of repetition: reads are repeated freely, operations that take a key with that key, and nothing else is sent twice. */
function repetition(
  row: OperationRow,
  key: string | undefined,
  takesKeys: () => Promise<boolean>,
): Pick<Repeating, 'afterLoss' | 'refusals'> {
  if (row.reads) return { afterLoss: 'repeat', refusals: 'all' };
  return key === undefined ? { afterLoss: 'stop', refusals: false } : { afterLoss: takesKeys, refusals: 'all' };
}

/** The idempotency key of a call. Throws `invalid_request` for a given key that would be ignored: the caller counts on it. */
function keyFor(row: OperationRow, args: CallArguments, { idempotencyKey }: CallOptions): string | undefined {
  // An item that the caller has signed is for a mempool node, which takes no keys.
  const isSigned = ['signature', 'public_key', 'script_public_key'].some(
    (name) => name in args && Boolean(args[name as keyof typeof args]),
  );
  const takesKey = row.idempotencyKey === true && !isSigned;
  if (takesKey) return idempotencyKey ?? toHex(crypto.getRandomValues(new Uint8Array(16)));
  if (idempotencyKey === undefined) return undefined;
  throw new TesseraError('invalid_request', `${row.method} ${row.path} takes no idempotency key here`);
}

function keyOf(apiKey: ClientOptions['apiKey'], role: NodeRole | undefined): string | undefined {
  return typeof apiKey === 'object' ? role && apiKey[role] : apiKey;
}

/** Path, query and body for arguments. Throws `invalid_request` for a missing parameter of the path, and for numbers that are not exact. */
function requestOf({ method, path, body }: OperationRow, args: Readonly<Record<string, unknown>>) {
  checkNumbers(args, '');
  const rest: Record<string, unknown> = { ...args };
  const filled = path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => {
    const value = rest[name];
    if (value === undefined || value === '') throw new TesseraError('invalid_request', `${name} is missing`);
    delete rest[name];
    return encodeURIComponent(String(value));
  });
  return { path: filled, query: method === 'GET' ? rest : {}, body: body ? rest : undefined };
}

function checkNumbers(value: unknown, name: string): void {
  if (typeof value === 'object' && value !== null) {
    for (const [member, one] of Object.entries(value)) checkNumbers(one, name === '' ? member : `${name}.${member}`);
  } else if (typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value)) {
    throw new TesseraError('invalid_request', `${name} is a number beyond 2^53, which is not exact: give a bigint`);
  }
}

/** A path at an address, which may have a path of its own. */
export function addressOf(base: string, path: string, query: CallArguments = {}): URL {
  const url = new URL(base.replace(/\/+$/, '') + path);
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null) url.searchParams.append(name, String(one));
    }
  }
  return url;
}
/** Places of exact integers: here, or in members; `*` is every other member or element. */
type ExactPlaces = 1 | { readonly [member: string]: ExactPlaces };

/** The value with bigints in these places. The value is changed, not copied. */
export function withBigints(value: unknown, places: ExactPlaces | undefined): unknown {
  if (places === undefined) return value;
  if (places === 1) return typeof value === 'number' && Number.isSafeInteger(value) ? BigInt(value) : value;
  if (typeof value !== 'object' || value === null) return value;
  const members = value as Record<string, unknown>;
  for (const [name, member] of Object.entries(members)) {
    // Names may come from strangers; such a member would replace the prototype.
    if (name === '__proto__') continue;
    const below = Object.hasOwn(places, name) ? places[name] : places['*'];
    if (below !== undefined) members[name] = withBigints(member, below);
  }
  return value;
}
