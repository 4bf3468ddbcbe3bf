/**
 * Links with a peer that does anything: the handshake from either side, and every message, right, wrong and out of turn. An
 * input is the row of its decisions. Whatever it does, the node ends the link with a reason or answers; nothing breaks
 * inside, nothing of the link is left afterwards, and an honest peer is served.
 */

import type { TSchema } from '@sinclair/typebox';
import { createDeferred } from '../../../src/lib/deferred.js';
import { errorMessage, TesseraError } from '../../../src/lib/errors.js';
import { silentLogger } from '../../../src/lib/logger.js';
import { NODE_ROLES, type NodeRole } from '../../../src/lib/roles.js';
import { formatAddress } from '../../../src/peers/address.js';
import { decodeControl, type Hello } from '../../../src/peers/link/frames.js';
import { createHello, createProof, type Identity, type Side } from '../../../src/peers/link/handshake.js';
import type { LinkNetwork } from '../../../src/peers/link-network.js';
import { MESSAGES, type MessageType } from '../../../src/peers/messages.js';
import type { Link, Message, Reply } from '../../../src/peers/network.js';
import { PERMISSIONS, type Permission } from '../../../src/peers/permissions.js';
import type { Connection } from '../../../src/peers/transport/transport.js';
import { settle } from '../../support/manual-clock.js';
import { type Bed, createBed, createSeededRandom, keyOf, rawMessage, SECRET } from '../../support/peers.js';
import { Choices, changeValue, otherValue, textOf } from '../choices.js';
import type { Dice } from '../dice.js';
import { documented, type FuzzTarget, mustBe } from '../target.js';

const TYPES = Object.keys(MESSAGES) as MessageType[];
const RULES = { 'chain.constants': 'the same' };
const FIRST_PORT = 30_000;
const PORTS = 20_000;
const MAX_STEPS = 24;
const MAX_ATTACHMENT = 200;
/** An honest peer comes by after so many inputs. */
const HONEST_EVERY = 50;
const CODES = ['peer_unreachable', 'aborted', 'overloaded'];
/** Milliseconds after which nothing waits any more. */
const LONG = 60_000;

/** A peer that speaks frames and does what its decisions say. */
class Liar {
  readonly #connection: Connection;
  readonly #choices: Choices;
  readonly #identity: Identity;
  readonly #side: Side;
  readonly #hello: Hello;
  /** Messages that its role may send to the node's. */
  readonly #fitting: readonly MessageType[];
  #theirs: Hello | undefined;
  #lastId = 0;
  isOver = false;

  constructor(connection: Connection, { role, side }: { role: NodeRole; side: Side }, choices: Choices) {
    this.#connection = connection;
    this.#choices = choices;
    this.#side = side;
    this.#identity = {
      network: 'test',
      role: choices.pick(NODE_ROLES),
      address: '127.0.0.1:9',
      nodeKey: keyOf(`liar ${choices.below(4)}`),
      secret: choices.below(2) === 0 ? SECRET : undefined,
      rules: RULES,
    };
    const { role: own } = this.#identity;
    this.#fitting = TYPES.filter((type) => mayPass(type, own, role));
    this.#hello = createHello(this.#identity, createSeededRandom('liar'));
    connection.onMessage((frame) => this.#receive(frame));
    connection.onClose(() => {
      this.isOver = true;
    });
  }

  async act(bed: Bed): Promise<void> {
    if (this.#choices.below(8) !== 0) await this.#shakeHands();
    for (let steps = 0; steps < MAX_STEPS && !this.#choices.isOver && !this.isOver; steps++) {
      this.#step();
      if (this.#choices.below(4) === 0) await settle();
      if (this.#choices.below(16) === 0) await bed.clock.advance(this.#choices.pick([1, 5_000, 20_000]));
    }
    await settle();
    this.#connection.cut('done');
  }

  async #shakeHands(): Promise<void> {
    this.#say(this.#hello);
    await settle();
    this.#proof();
    await settle();
    this.#say({ k: 'ready' });
    await settle();
  }

  #receive(frame: string | Uint8Array): void {
    if (typeof frame !== 'string') {
      const envelope = JSON.parse(Buffer.from(frame.subarray(4, 4 + Buffer.from(frame).readUInt32LE(0))).toString());
      if (envelope.id !== undefined) this.#lastId = envelope.id;
      return;
    }
    const control = decodeControl(frame);
    if (control.k === 'hello') this.#theirs = control;
  }

  #step(): void {
    const steps = [
      () => this.#message(),
      () => this.#message(),
      () => this.#message(),
      () => this.#say(this.#hello),
      () => this.#proof(),
      () => this.#say({ k: 'ready' }),
      () => this.#say({ k: this.#choices.pick(['ping', 'pong']) }),
      () => this.#say({ k: 'bye', reason: this.#choices.text(), duplicate: this.#choices.below(2) === 0 }),
      () => this.#connection.send(Buffer.from(this.#choices.bytes(60)).toString('utf8')),
      () => this.#connection.send(this.#choices.bytes(60)),
    ];
    this.#choices.pick(steps)();
  }

  #proof(): void {
    const theirs = this.#theirs ?? this.#hello;
    const hellos =
      this.#side === 'dialer' ? { dialer: this.#hello, listener: theirs } : { dialer: theirs, listener: this.#hello };
    this.#say(createProof(this.#identity, this.#side, hellos));
  }

  #say(record: object): void {
    const said = this.#choices.below(8) === 0 ? changeValue(record, this.#choices) : record;
    this.#connection.send(textOf(said));
  }

  #message(): void {
    const type = this.#choices.pick(this.#choices.below(4) === 0 ? TYPES : this.#fitting);
    const marks = this.#choices.pick([{}, { id: 1 + this.#choices.below(9) }, { re: this.#lastId }]);
    const envelope = { t: type, ...marks, b: this.#body(type) };
    const said = this.#choices.below(8) === 0 ? changeValue(envelope, this.#choices) : envelope;
    this.#connection.send(rawMessage(textOf(said), this.#choices.bytes(MAX_ATTACHMENT)));
  }

  /** As the schema asks, and at times with a member more. */
  #body(type: MessageType): object {
    const body = this.#choices.valueOf(MESSAGES[type].body as TSchema) as object;
    return this.#choices.below(4) === 0 ? { ...body, [this.#choices.text()]: otherValue(this.#choices) } : body;
  }
}

function mayPass(type: MessageType, sender: NodeRole, receiver: NodeRole): boolean {
  const permissions: readonly Permission[] = PERMISSIONS[type];
  return permissions.some(({ from, to }) => from.includes(sender) && to.includes(receiver));
}

/** The nodes under attack, one of each role, and what they wrote of things that broke. */
class Victims {
  readonly bed = createBed('memory');
  readonly broken: string[] = [];
  readonly #nodes = new Map<NodeRole, LinkNetwork>();
  #ways = 0;
  #runs = 0;

  async node(role: NodeRole): Promise<LinkNetwork> {
    const known = this.#nodes.get(role);
    if (known !== undefined) return known;
    const logger = {
      ...silentLogger,
      error: (fields: object, message: string) => {
        const { err } = fields as { err?: unknown };
        this.broken.push(`${message}: ${errorMessage(err)}`);
      },
    };
    const node = await this.bed.start(role, { role, secret: SECRET, rules: RULES }, { logger });
    for (const type of TYPES) node.handle(type, (_link, message) => answerTo(message));
    // What a node asks by itself, so that there is something to answer wrongly.
    node.linkUp.on((link) => void ask(link).catch((error: unknown) => this.broken.push(errorMessage(error))));
    this.#nodes.set(role, node);
    return node;
  }

  /** A connection to the node, or one from it. */
  async connect(node: LinkNetwork, side: Side): Promise<[connection: Connection, dialed: Promise<unknown>]> {
    const transport = this.bed.transport();
    if (side === 'dialer') return [await transport.dial(node.address, new AbortController().signal), Promise.resolve()];
    const accepted = createDeferred<Connection>();
    const listener = await transport.listen(
      { host: '127.0.0.1', port: FIRST_PORT + (this.#ways++ % PORTS) },
      accepted.resolve,
    );
    const dialed = documented(() => node.dial(formatAddress(listener.address), { timeoutMs: 5_000 }), CODES);
    return [await accepted.promise, dialed.finally(() => listener.close())];
  }

  /** Throws when something broke, or is left over. */
  async assertWell(node: LinkNetwork): Promise<void> {
    await this.bed.clock.advance(LONG);
    mustBe(this.broken.length === 0, this.broken.splice(0).join('; '));
    mustBe(node.links.size === 0, 'a link is left');
    mustBe(node.queuedBytes === 0, 'bytes wait for a link that is gone');
    mustBe(this.bed.hub.openWires === 0, 'a connection is left');
    this.bed.hub.forgetEnded();
    this.#runs++;
    if (this.#runs % HONEST_EVERY === 0) await this.#visit(node);
  }

  async #visit(node: LinkNetwork): Promise<void> {
    const honest = await this.bed.start(`honest ${this.#runs}`, { role: 'mempool', secret: SECRET, rules: RULES });
    const link = await honest.dial(node.address, { timeoutMs: 5_000 });
    mustBe(link.trusted, 'an honest node is not trusted any more');
    await honest.stop();
    await settle();
  }
}

/** A handler of every kind: an answer, an error of the catalogue, nothing. */
function answerTo({ type, attachment }: Message): Reply | undefined {
  if (attachment.length % 3 === 1) throw new TesseraError('invalid_request', 'not this one');
  if (type === 'utxos.get') return { type: 'utxos', body: { block_num: 0, hash: null } };
  if (type === 'statuses.get') return { type: 'statuses', body: { statuses: [] } };
  return undefined;
}

async function ask(link: Link): Promise<void> {
  const asked =
    link.role === 'mempool' || link.role === 'storage'
      ? (['chain.tip.get', 'utxos.get'] as const)
      : (['address.get'] as const);
  for (const type of asked) {
    const body = type === 'utxos.get' ? { addresses: [] } : {};
    await documented(
      () => link.request(type, body as never, { timeoutMs: 1_000 }),
      [
        ...CODES,
        // A node of this role must not ask that.
        'internal_error',
        // What a peer may answer.
        'invalid_request',
      ],
    );
  }
}

let victims: Victims | undefined;

export const peers: FuzzTarget = {
  name: 'peers',
  seed: (dice: Dice) => dice.bytes(20 + dice.below(120)),
  async run(input) {
    victims ??= new Victims();
    const choices = new Choices(input);
    const role = choices.pick(NODE_ROLES);
    const node = await victims.node(role);
    const side = choices.pick(['dialer', 'dialer', 'listener'] as const);
    const [connection, dialed] = await victims.connect(node, side);
    const liar = new Liar(connection, { role, side }, choices);
    let hadLink = false;
    const off = node.linkUp.on(() => {
      hadLink = true;
    });
    await liar.act(victims.bed);
    off();
    await victims.bed.clock.advance(LONG);
    await dialed;
    await victims.assertWell(node);
    return hadLink ? 'link' : 'refused';
  },
  async close() {
    await victims?.bed.stop();
    victims = undefined;
  },
};
