/**
 * The bytes of frames. A text frame is a control record in JSON; a binary frame is a message: u32le length ‖ JSON
 * envelope `{t, id?, re?, b}` ‖ attachment (`id`: a request, `re`: its answer). All incoming frames are checked.
 */

import { type Static, type TSchema, Type } from '@sinclair/typebox';
import { type TypeCheck, TypeCompiler } from '@sinclair/typebox/compiler';
import { asBuffer } from '../../lib/bytes.js';
import { TesseraError } from '../../lib/errors.js';
import { assertSound, fault, type Verdict } from '../../lib/fault.js';
import { type JsonShapeLimits, shapeFault } from '../../lib/json-scan.js';
import { printable } from '../../lib/printable.js';
import { isOperator, NODE_ROLES, type NodeRole } from '../../lib/roles.js';
import { MAX_ADDRESS_LENGTH } from '../address.js';
import { MESSAGES, type MessageType } from '../messages.js';
import type { Message } from '../network.js';
import { meets, PERMISSIONS, type Standing } from '../permissions.js';

const MAX_RULES = 48;

/** Values of rules by name (for an option, its name); a long value is given by its hash. */
export const NetworkRules = Type.Record(
  Type.String({ pattern: '^[a-z][a-z0-9_.]{0,63}$' }),
  Type.String({ pattern: '^[\\x20-\\x7e]{1,160}$' }),
  { maxProperties: MAX_RULES, additionalProperties: false },
);
export type NetworkRules = Static<typeof NetworkRules>;

/** Rules that are lists of words: one word in common is enough, so that a running network can change its producer keys. */
const LISTS: ReadonlySet<string> = new Set(['network.producer_keys']);

/** Fault that names the first differing rule; null when all rules that both nodes have are compatible. */
export function rulesFault(own: NetworkRules, theirs: NetworkRules): Verdict {
  for (const [name, value] of Object.entries(own).sort(byName)) {
    const other = Object.hasOwn(theirs, name) ? theirs[name] : undefined;
    if (other === undefined || other === value || (LISTS.has(name) && haveCommonWord(value, other))) continue;
    return fault(
      'link_refused',
      `the two nodes have different rules of the network: ${name} is "${value}" on one and "${other}" on the other; set the same on all nodes`,
    );
  }
  return null;
}

function haveCommonWord(a: string, b: string): boolean {
  const words = new Set(b.split(' '));
  return a.split(' ').some((word) => words.has(word));
}

/** The rules in the order of their names. */
export function listRules(rules: NetworkRules): [name: string, value: string][] {
  return Object.entries(rules).sort(byName);
}

function byName([a]: readonly [string, string], [b]: readonly [string, string]): number {
  return a < b ? -1 : 1;
}

/** Version of the protocol between nodes, which two nodes must share. It goes up when the release before would misread something. */
export const PROTOCOL_VERSION = 3;

/** Bytes of the largest envelope: a list of 1,000 statuses with their reasons, escaped. */
const MAX_ENVELOPE_BYTES = 4 * 1024 * 1024;
/** Bytes of the largest envelope from nodes that only ask: a list of 1,000 hashes. */
const MAX_ASKING_ENVELOPE_BYTES = 256 * 1024;
const MAX_CONTROL_LENGTH = 12 * 1024;
/** Most characters of a reason; a longer reason is cut when sent. */
const MAX_REASON_LENGTH = 500;
const LENGTH_BYTES = 4;
/** Bytes of an envelope that cost one unit to read. */
const ENVELOPE_BYTES_PER_UNIT = 4 * 1024;
/** Length in characters from which on texts are checked before they are parsed; shorter texts cost little, whatever they contain. */
const SCANNED_FROM = 4_096;
/** Most levels and different member names of a record or an envelope; every schema here has far fewer. */
const SHAPE: JsonShapeLimits = { depth: 16, names: 256 };

const hexOf = (bytes: number) => Type.String({ pattern: `^[0-9a-f]{${bytes * 2}}$` });

const NodeRoleSchema = Type.Unsafe<NodeRole>(Type.Union(NODE_ROLES.map((role) => Type.Literal(role))));

/** Form of a program's version in a hello. */
export const VERSION = /^[0-9A-Za-z.+-]{1,32}$/;

/** First record of each side. */
export const Hello = Type.Object({
  k: Type.Literal('hello'),
  protocol: Type.Literal(PROTOCOL_VERSION),
  network: Type.String({ pattern: '^[A-Za-z0-9._-]{1,64}$' }),
  role: NodeRoleSchema,
  address: Type.String({ minLength: 3, maxLength: MAX_ADDRESS_LENGTH, pattern: '^[\\x21-\\x7e]+$' }),
  node_key: hexOf(32),
  nonce: hexOf(32),
  rules: NetworkRules,
  /** Version of the sender's program, as the sender says; shown to people, and compared with nothing. */
  version: Type.Optional(Type.String({ pattern: VERSION.source })),
});
export type Hello = Static<typeof Hello>;

/** Second record of each side: proof of its key and secret over both hellos. */
export const Proof = Type.Object({
  k: Type.Literal('proof'),
  signature: hexOf(64),
  /** MAC by the network secret; absent when the sender has none. */
  mac: Type.Optional(hexOf(32)),
});
export type Proof = Static<typeof Proof>;

/** Third record of each side: the other side is accepted, messages may come. */
const Ready = Type.Object({ k: Type.Literal('ready') });
const Ping = Type.Object({ k: Type.Literal('ping') });
const Pong = Type.Object({ k: Type.Literal('pong') });

/** Reason why a connection is being closed. `duplicate`: there is a link to this node key already. */
const Bye = Type.Object({
  k: Type.Literal('bye'),
  reason: Type.String({ maxLength: 1_000 }),
  duplicate: Type.Optional(Type.Boolean()),
});

const CONTROLS = { hello: Hello, proof: Proof, ready: Ready, ping: Ping, pong: Pong, bye: Bye } as const;

export type Control =
  | Hello
  | Proof
  | Static<typeof Ready>
  | Static<typeof Ping>
  | Static<typeof Pong>
  | Static<typeof Bye>;

const Envelope = Type.Object({
  t: Type.String({ maxLength: 64 }),
  id: Type.Optional(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
  re: Type.Optional(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
  b: Type.Unknown(),
});
const envelopeCheck = TypeCompiler.Compile(Envelope);

const checks = new Map<TSchema, TypeCheck<TSchema>>();

/** The check of a schema of this file or of `messages.ts`, compiled on first use: a node needs less than half of them. */
function checkOf(schema: TSchema): TypeCheck<TSchema> {
  let check = checks.get(schema);
  if (check === undefined) {
    check = TypeCompiler.Compile(schema);
    checks.set(schema, check);
  }
  return check;
}

/** The facts about the two ends that decide who may send a message. */
export interface Route {
  readonly from: NodeRole;
  readonly to: NodeRole;
  /** Standing of the sender at the receiver. */
  readonly standing: Standing;
}

export interface Envelope {
  readonly message: Message;
  /** Number of a request; undefined for other messages. */
  readonly id: number | undefined;
  readonly re: number | undefined;
}

/** Bytes of the largest frame that may come by this route. */
export function maxFrameBytes(route: Route): number {
  const attachments = Object.entries(MESSAGES).map(([type, { maxAttachment }]) =>
    permissionFault(type as MessageType, route) === null ? maxAttachment : 0,
  );
  return LENGTH_BYTES + maxEnvelopeBytesFrom(route.from) + Math.max(...attachments);
}

/** Fault of a message that may not go by this route; null when it may. */
export function permissionFault(type: MessageType, { from, to, standing }: Route): Verdict {
  const ofSender = PERMISSIONS[type].filter((permission) => permission.from.includes(from));
  if (ofSender.length === 0) {
    return fault('protocol_violation', `${type} is not a message that a ${from} node may send`);
  }
  const ofBoth = ofSender.filter((permission) => permission.to.includes(to));
  const [first] = ofBoth;
  if (first === undefined) return fault('protocol_violation', `a ${to} node takes no ${type}`);
  if (ofBoth.some((permission) => meets(standing, permission.standing))) return null;
  return fault(
    'protocol_violation',
    first.standing === 'trusted'
      ? `${type} needs a link that has proven network.secret: set the same network.secret on both nodes`
      : `a ${to} node takes ${type} only from a ${from} node that it has dialed`,
  );
}

function maxEnvelopeBytesFrom(role: NodeRole): number {
  return isOperator(role) ? MAX_ENVELOPE_BYTES : MAX_ASKING_ENVELOPE_BYTES;
}

/** Cost of reading a message in a frame of so many bytes, in the units of `messages.ts`; every envelope is parsed. */
export function readingCost({ attachment }: Message, frameBytes: number): number {
  return 1 + (frameBytes - attachment.length) / ENVELOPE_BYTES_PER_UNIT;
}

/** Cost of handling a message once it is read. */
export function workCost({ type, body, attachment }: Message): number {
  const { cost } = MESSAGES[type] as { readonly cost: (body: never, attachmentBytes: number) => number };
  return cost(body as never, attachment.length);
}

export function violation(message: string): TesseraError {
  return new TesseraError('protocol_violation', message);
}

export function encodeControl(control: Control): string {
  if (control.k !== 'bye') return JSON.stringify(control);
  return JSON.stringify({ ...control, reason: control.reason.slice(0, MAX_REASON_LENGTH) });
}

/** The checked control record of a text frame. Throws `protocol_violation`; another protocol version is named before anything else. */
export function decodeControl(text: string): Control {
  if (text.length > MAX_CONTROL_LENGTH)
    throw violation(`a control record has at most ${MAX_CONTROL_LENGTH} characters`);
  const record = parseJson(text, 'a control record');
  const kind = memberOf(record, 'k');
  if (kind === 'hello') checkProtocol(memberOf(record, 'protocol'));
  if (typeof kind !== 'string' || !Object.hasOwn(CONTROLS, kind)) {
    throw violation('a control record of an unknown kind');
  }
  const check = checkOf(CONTROLS[kind as keyof typeof CONTROLS]);
  if (!check.Check(record)) throw violation(`${String(kind)}: ${firstError(check, record)}`);
  const control = record as Control;
  return control.k === 'bye' ? { ...control, reason: printable(control.reason) } : control;
}

function checkProtocol(version: unknown): void {
  if (version === PROTOCOL_VERSION) return;
  const theirs = typeof version === 'number' ? `protocol ${version}` : 'another protocol';
  throw violation(
    `this node speaks peer protocol ${PROTOCOL_VERSION}, the other ${theirs}: run the same release on both nodes`,
  );
}

/** The bytes of a message. Throws `internal_error` when body or attachment break the bounds of their type. */
export function encodeMessage(
  type: MessageType,
  body: unknown,
  attachment: Uint8Array,
  marks: { readonly id?: number; readonly re?: number } = {},
): Uint8Array {
  try {
    checkBounds(type, body, attachment.length);
  } catch (cause) {
    const text = cause instanceof Error ? cause.message : '';
    throw new TesseraError('internal_error', `this node must not send this: ${text}`, { cause });
  }
  const json = Buffer.from(JSON.stringify({ t: type, ...marks, b: body }), 'utf8');
  if (json.length > MAX_ENVELOPE_BYTES) throw new TesseraError('internal_error', `${type}: the envelope is too large`);
  const frame = Buffer.allocUnsafe(LENGTH_BYTES + json.length + attachment.length);
  frame.writeUInt32LE(json.length, 0);
  frame.set(json, LENGTH_BYTES);
  frame.set(attachment, LENGTH_BYTES + json.length);
  return frame;
}

/** The checked message of a binary frame; its attachment is a view of the frame. Throws `protocol_violation`. */
export function decodeMessage(frame: Uint8Array, route: Route): Envelope {
  const bytes = asBuffer(frame);
  if (bytes.length < LENGTH_BYTES) throw violation('a message frame is shorter than its length field');
  const jsonLength = bytes.readUInt32LE(0);
  if (jsonLength > MAX_ENVELOPE_BYTES) throw violation(`an envelope has at most ${MAX_ENVELOPE_BYTES} bytes`);
  const end = LENGTH_BYTES + jsonLength;
  if (end > bytes.length) throw violation('a message frame is shorter than its envelope');
  const envelope = parseJson(bytes.toString('utf8', LENGTH_BYTES, end), 'an envelope');
  if (!envelopeCheck.Check(envelope)) throw violation(`an envelope: ${firstError(envelopeCheck, envelope)}`);
  if (envelope.id !== undefined && envelope.re !== undefined)
    throw violation('a message is a request and an answer at once');
  const attachment = bytes.subarray(end);
  const type = knownType(envelope.t);
  assertSound(permissionFault(type, route));
  checkBounds(type, envelope.b, attachment.length);
  // The body was checked against the schema of its type just now.
  const message = { type, body: withPrintableTexts(envelope.b), attachment } as Message;
  return { message, id: envelope.id, re: envelope.re };
}

/** The members of a body that are sentences for people. */
const TEXTS: ReadonlySet<string> = new Set(['reason', 'detail', 'info', 'code']);

/** The body with its sentences made safe to show: they appear in logs and on terminals. */
function withPrintableTexts(body: unknown): unknown {
  if (Array.isArray(body)) return body.map(withPrintableTexts);
  if (typeof body !== 'object' || body === null) return body;
  return Object.fromEntries(
    Object.entries(body).map(([name, value]) => [
      name,
      typeof value === 'string' && TEXTS.has(name) ? printable(value) : withPrintableTexts(value),
    ]),
  );
}

function knownType(type: string): MessageType {
  if (!Object.hasOwn(MESSAGES, type)) throw violation(`"${printable(type)}" is not a message of this protocol`);
  return type as MessageType;
}

function checkBounds(type: MessageType, body: unknown, attachmentLength: number): void {
  const { maxAttachment } = MESSAGES[type];
  if (attachmentLength > maxAttachment) {
    throw violation(`${type}: ${attachmentLength} bytes are attached, ${maxAttachment} are allowed`);
  }
  const check = checkOf(MESSAGES[type].body);
  if (!check.Check(body)) throw violation(`${type}: ${firstError(check, body)}`);
}

function parseJson(text: string, what: string): unknown {
  const wrong = text.length > SCANNED_FROM ? shapeFault(text, SHAPE) : null;
  if (wrong !== null) throw violation(`${what}: ${wrong}`);
  try {
    return JSON.parse(text);
  } catch {
    throw violation(`${what} is not JSON`);
  }
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

/** Place and kind of an error in a value; never the value itself, which is the other side's. */
function firstError(check: TypeCheck<TSchema>, value: unknown): string {
  const error = check.Errors(value).First();
  return error ? `${printable(error.path, 64) || 'the body'}: ${error.message}` : 'not as the schema asks';
}
