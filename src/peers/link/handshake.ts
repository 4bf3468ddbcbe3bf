/**
 * The handshake that opens a link. Both sides say who they are (hello), prove it over both hellos (proof), and accept each
 * other (ready). Each hello carries the network rules that its node follows: a difference ends the handshake and is named.
 * The signature proves the node key, the MAC proves `network.secret`; both cover everything either side said, with fresh
 * nonces of both, so neither can be replayed, reflected or moved to another connection. The handshake does not give secrecy,
 * or protection against somebody on the wire after it: TLS does.
 *
 *   dialer                       listener
 *   hello  ───────────────────▶
 *          ◀───────────────────  hello
 *   proof  ───────────────────▶
 *          ◀───────────────────  proof
 *   ready  ───────────────────▶
 *          ◀───────────────────  ready       (either side may say bye with a reason instead)
 */

import { createHmac, timingSafeEqual } from 'node:crypto';
import { type KeyPair, sign, verifySignature } from '../../crypto/ed25519.js';
import { sha3Bytes } from '../../crypto/sha3.js';
import { concatBytes, fromHex, toHex, utf8 } from '../../lib/bytes.js';
import { isTesseraError, TesseraError } from '../../lib/errors.js';
import { type Fault, fault, type Verdict } from '../../lib/fault.js';
import type { Random } from '../../lib/random.js';
import type { NodeRole } from '../../lib/roles.js';
import type { Link } from '../network.js';
import { needsSecret } from '../permissions.js';
import type { Connection, Frame } from '../transport/transport.js';
import {
  decodeControl,
  encodeControl,
  type Hello,
  listRules,
  type NetworkRules,
  PROTOCOL_VERSION,
  type Proof,
  rulesFault,
  VERSION,
  violation,
} from './frames.js';

/** The end of a connection that a node is. */
export type Side = 'dialer' | 'listener';

const DOMAIN = 'tessera/peer/1';
const NONCE_BYTES = 32;

/** Identity of this node. */
export interface Identity {
  readonly network: string;
  readonly role: NodeRole;
  readonly address: string;
  readonly nodeKey: KeyPair;
  /** The operator's `network.secret`, if it has one. */
  readonly secret: string | undefined;
  readonly rules: NetworkRules;
  /** Version of the program that the node runs. */
  readonly version?: string | undefined;
}

/** Identity of the other side. */
export type PeerIdentity = Pick<Link, 'address' | 'nodeKey' | 'role' | 'trusted' | 'version'>;

/** First frames of both sides. */
export type Hellos = Readonly<Record<Side, Hello>>;

/** Receiver of a handshake's outcome: one of its functions is called, once, and synchronously with the frame that decided. */
export interface HandshakeOutcome {
  done(peer: PeerIdentity): void;
  /** Called on failure; `peer` is set when the other side had proven its key before. */
  failed(error: TesseraError, peer: PeerIdentity | undefined, isDuplicate: boolean): void;
}

export interface HandshakeOptions {
  readonly identity: Identity;
  readonly side: Side;
  readonly random: Random;
  /** Called when the peer has proven who it is; a returned fault is told to the peer. */
  admit(peer: PeerIdentity): Verdict;
}

/** The hello of this node; a version that does not have the form is left out. */
export function createHello(identity: Identity, random: Random): Hello {
  const { version } = identity;
  return {
    k: 'hello',
    protocol: PROTOCOL_VERSION,
    network: identity.network,
    role: identity.role,
    address: identity.address,
    node_key: toHex(identity.nodeKey.publicKey),
    nonce: toHex(random.bytes(NONCE_BYTES)),
    rules: identity.rules,
    ...(version !== undefined && VERSION.test(version) ? { version } : {}),
  };
}

/** Proof of one side, which covers the hellos of both. */
export function createProof(identity: Identity, side: Side, hellos: Hellos): Proof {
  const transcript = hashHellos(hellos);
  const signature = toHex(sign(identity.nodeKey.seed, signedBytes(side, transcript)));
  if (identity.secret === undefined) return { k: 'proof', signature };
  return { k: 'proof', signature, mac: toHex(macOf(identity.secret, side, transcript)) };
}

/** True when the proof was made with this secret. Takes constant time. */
function verifySecret(proof: Proof, side: Side, hellos: Hellos, secret: string | undefined): boolean {
  if (secret === undefined || proof.mac === undefined) return false;
  return timingSafeEqual(macOf(secret, side, hashHellos(hellos)), fromHex(proof.mac));
}

function hashHellos({ dialer, listener }: Hellos): Uint8Array {
  // Arrays of texts in a fixed order: JSON makes the borders between them unambiguous.
  const fields = ({ network, role, address, node_key, nonce, rules, version }: Hello) => [
    network,
    role,
    address,
    node_key,
    nonce,
    listRules(rules),
    ...(version === undefined ? [] : [version]),
  ];
  return sha3Bytes(JSON.stringify([DOMAIN, PROTOCOL_VERSION, fields(dialer), fields(listener)]));
}

function signedBytes(side: Side, transcript: Uint8Array): Uint8Array {
  return concatBytes(utf8(`${DOMAIN}/signature/${side}\0`), transcript);
}

function macOf(secret: string, side: Side, transcript: Uint8Array): Uint8Array {
  return createHmac('sha3-256', secret).update(`${DOMAIN}/secret/${side}\0`).update(transcript).digest();
}

/** The handshake on a connection that has just been opened. */
export class Handshake {
  readonly #connection: Connection;
  readonly #options: HandshakeOptions;
  readonly #outcome: HandshakeOutcome;
  readonly #own: Hello;
  #hellos: Hellos | undefined;
  #peer: PeerIdentity | undefined;
  #isOver = false;

  constructor(connection: Connection, options: HandshakeOptions, outcome: HandshakeOutcome) {
    this.#connection = connection;
    this.#options = options;
    this.#outcome = outcome;
    this.#own = createHello(options.identity, options.random);
  }

  /** Sends the hello. Frames may be waiting, so the handshake can be over before this returns. */
  start(): void {
    this.#connection.onClose((reason) =>
      this.#fail(
        new TesseraError('peer_unreachable', `${this.#connection.remote} left during the handshake: ${reason}`),
      ),
    );
    this.#connection.send(encodeControl(this.#own));
    this.#connection.onMessage((frame) => this.#receive(frame));
  }

  cancel(reason: string): void {
    this.#refuse(fault('link_refused', reason));
  }

  #receive(frame: Frame): void {
    if (this.#isOver) return;
    try {
      if (typeof frame !== 'string') throw violation('a message came before the handshake was done');
      const control = decodeControl(frame);
      if (control.k === 'hello') this.#receiveHello(control);
      else if (control.k === 'proof') this.#receiveProof(control);
      else if (control.k === 'ready') this.#receiveReady();
      else if (control.k === 'bye') {
        const text = `${this.#connection.remote} refused the link: ${control.reason}`;
        this.#fail(new TesseraError('peer_unreachable', text), control.duplicate);
      } else throw violation(`${control.k} came before the handshake was done`);
    } catch (error) {
      if (!isTesseraError(error)) throw error;
      this.#refuse(error);
    }
  }

  #receiveHello(hello: Hello): void {
    const { identity, side } = this.#options;
    if (this.#hellos) throw violation('hello was sent twice');
    const wrong = helloFault(identity, hello);
    if (wrong !== null) {
      this.#refuse(wrong);
      return;
    }
    this.#hellos = side === 'dialer' ? { dialer: this.#own, listener: hello } : { dialer: hello, listener: this.#own };
    this.#connection.send(encodeControl(createProof(identity, side, this.#hellos)));
  }

  #receiveProof(proof: Proof): void {
    const { identity, side } = this.#options;
    const hellos = this.#hellos;
    if (!hellos || this.#peer) throw violation('proof came out of turn');
    const otherSide: Side = side === 'dialer' ? 'listener' : 'dialer';
    const { role, address, node_key: nodeKey, version } = hellos[otherSide];
    const trusted = verifySecret(proof, otherSide, hellos, identity.secret);
    let wrong = proofFault(proof, otherSide, hellos) ?? (trusted ? null : secretFault(identity, role, proof));
    if (wrong === null) {
      this.#peer = { role, address, nodeKey, trusted, version };
      wrong = this.#options.admit(this.#peer);
    }
    if (wrong === null) this.#connection.send(encodeControl({ k: 'ready' }));
    else this.#refuse(wrong);
  }

  #receiveReady(): void {
    if (!this.#peer) throw violation('ready came out of turn');
    this.#isOver = true;
    this.#outcome.done(this.#peer);
  }

  #refuse({ code, message: reason }: Fault): void {
    if (this.#isOver) return;
    const isDuplicate = code === 'duplicate_link';
    this.#connection.send(encodeControl({ k: 'bye', reason, ...(isDuplicate ? { duplicate: true } : {}) }));
    this.#fail(new TesseraError('peer_unreachable', `refused ${this.#connection.remote}: ${reason}`), isDuplicate);
  }

  #fail(error: TesseraError, isDuplicate = false): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#connection.close();
    this.#outcome.failed(error, this.#peer, isDuplicate);
  }
}

function helloFault(identity: Identity, hello: Hello): Verdict {
  if (hello.network !== identity.network) {
    return fault(
      'link_refused',
      `this node is on network "${identity.network}", the other on "${hello.network}": set the same network.name on both`,
    );
  }
  if (hello.node_key === toHex(identity.nodeKey.publicKey)) {
    return fault(
      'link_refused',
      'the two ends have the same node key: take a node out of its own list of peers, and give each node a data directory of its own',
    );
  }
  return rulesFault(identity.rules, hello.rules);
}

/** Fault of a signature that is not by the other side's own key. */
function proofFault(proof: Proof, side: Side, hellos: Hellos): Verdict {
  const { node_key: nodeKey } = hellos[side];
  const message = signedBytes(side, hashHellos(hellos));
  if (verifySignature(fromHex(nodeKey), message, fromHex(proof.signature))) return null;
  return fault('link_refused', 'the signature does not prove the node key: the handshake was altered or is not yours');
}

/** Fault of a peer without proof of the secret, where its role must have one. */
function secretFault(identity: Identity, role: NodeRole, proof: Proof): Verdict {
  if (!needsSecret(identity.role, role)) return null;
  const same = 'set the same network.secret on both nodes';
  if (identity.secret === undefined) return fault('link_refused', `this node has no network.secret: ${same}`);
  if (proof.mac === undefined) return fault('link_refused', `the other node has no network.secret: ${same}`);
  return fault('link_refused', 'the two nodes have different values of network.secret: set the same on both');
}
