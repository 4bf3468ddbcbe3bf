/**
 * The handshake that opens a link. Both sides say who they are (hello), prove it over both hellos (proof), and accept each
 * other (ready). The signature proves the node key, the MAC proves `network.secret`; both cover everything either side said,
 * with fresh nonces of both, so neither can be replayed, reflected or moved to another connection. What this does not give
 * is secrecy or protection against somebody on the wire after the handshake: that is TLS.
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
import type { Random } from '../../lib/random.js';
import type { NodeRole } from '../../lib/roles.js';
import type { Connection, Frame } from '../transport/transport.js';
import { decodeControl, encodeControl, type Hello, PROTOCOL_VERSION, type Proof } from './frames.js';

/** Which end of a connection a node is. */
export type Side = 'dialer' | 'listener';

const DOMAIN = 'tessera/peer/1';
const NONCE_BYTES = 32;

/** Who this node is. */
export interface Identity {
  readonly network: string;
  readonly role: NodeRole;
  /** `host:port` where it accepts links. */
  readonly address: string;
  readonly nodeKey: KeyPair;
  /** The operator's `network.secret`, if it has one. */
  readonly secret: string | undefined;
}

/** Who the other side is. */
export interface PeerIdentity {
  readonly role: NodeRole;
  /** As it says; proves nothing. */
  readonly address: string;
  /** Hex; proven. */
  readonly nodeKey: string;
  /** True when it proved `network.secret`. */
  readonly trusted: boolean;
}

/** A refusal that is sent to the other side. `duplicate` tells it that there is a link already. */
export interface Refusal {
  readonly reason: string;
  readonly duplicate?: boolean;
}

/** How a handshake ends. Exactly one of the two is called, once, and synchronously with the frame that decided it. */
export interface HandshakeOutcome {
  done(peer: PeerIdentity): void;
  /** `peer` is set when the other side had proven its key before it failed. */
  failed(error: TesseraError, peer: PeerIdentity | undefined, duplicate: boolean): void;
}

export interface HandshakeOptions {
  readonly identity: Identity;
  readonly side: Side;
  readonly random: Random;
  /** Asked when the peer has proven who it is; what it returns is sent as the refusal. */
  admit(peer: PeerIdentity): Refusal | undefined;
}

export function createHello(identity: Identity, random: Random): Hello {
  return {
    k: 'hello',
    protocol: PROTOCOL_VERSION,
    network: identity.network,
    role: identity.role,
    address: identity.address,
    node_key: toHex(identity.nodeKey.publicKey),
    nonce: toHex(random.bytes(NONCE_BYTES)),
  };
}

/** What one side's proof says, over the hellos of both. */
export function createProof(identity: Identity, side: Side, dialer: Hello, listener: Hello): Proof {
  const transcript = hashHellos(dialer, listener);
  const signature = toHex(sign(identity.nodeKey.seed, signedBytes(side, transcript)));
  if (identity.secret === undefined) return { k: 'proof', signature };
  return { k: 'proof', signature, mac: toHex(macOf(identity.secret, side, transcript)) };
}

/** True when the proof's signature is the other side's own. */
export function verifyProof(proof: Proof, side: Side, dialer: Hello, listener: Hello): boolean {
  const { node_key: nodeKey } = side === 'dialer' ? dialer : listener;
  const message = signedBytes(side, hashHellos(dialer, listener));
  return verifySignature(fromHex(nodeKey), message, fromHex(proof.signature));
}

/** True when the proof shows the same secret. In constant time. */
export function verifySecret(
  proof: Proof,
  side: Side,
  dialer: Hello,
  listener: Hello,
  secret: string | undefined,
): boolean {
  if (secret === undefined || proof.mac === undefined) return false;
  return timingSafeEqual(macOf(secret, side, hashHellos(dialer, listener)), fromHex(proof.mac));
}

function hashHellos(dialer: Hello, listener: Hello): Uint8Array {
  // Arrays of texts in a fixed order: JSON makes the borders between them unambiguous.
  const fields = (hello: Hello) => [hello.network, hello.role, hello.address, hello.node_key, hello.nonce];
  return sha3Bytes(JSON.stringify([DOMAIN, PROTOCOL_VERSION, fields(dialer), fields(listener)]));
}

function signedBytes(side: Side, transcript: Uint8Array): Uint8Array {
  return concatBytes(utf8(`${DOMAIN}/signature/${side}\0`), transcript);
}

function macOf(secret: string, side: Side, transcript: Uint8Array): Uint8Array {
  return createHmac('sha3-256', secret).update(`${DOMAIN}/secret/${side}\0`).update(transcript).digest();
}

/** Runs the handshake on a connection that has just been opened. The returned function gives it up, with a reason for the peer. */
export function runHandshake(
  connection: Connection,
  options: HandshakeOptions,
  outcome: HandshakeOutcome,
): (reason: string) => void {
  const { identity, side } = options;
  const otherSide: Side = side === 'dialer' ? 'listener' : 'dialer';
  const own = createHello(identity, options.random);
  let hellos: { readonly dialer: Hello; readonly listener: Hello } | undefined;
  let peer: PeerIdentity | undefined;
  let over = false;

  const fail = (error: TesseraError, duplicate = false): void => {
    if (over) return;
    over = true;
    connection.close();
    outcome.failed(error, peer, duplicate);
  };
  const refuse = ({ reason, duplicate = false }: Refusal): void => {
    if (over) return;
    connection.send(encodeControl(duplicate ? { k: 'bye', reason, duplicate } : { k: 'bye', reason }));
    fail(new TesseraError('peer_unreachable', `refused ${connection.remote}: ${reason}`), duplicate);
  };

  const receiveHello = (hello: Hello): void => {
    if (hellos) throw new TesseraError('protocol_violation', 'hello was sent twice');
    const reason = helloRefusal(identity, hello);
    if (reason !== undefined) {
      refuse({ reason });
      return;
    }
    hellos = side === 'dialer' ? { dialer: own, listener: hello } : { dialer: hello, listener: own };
    connection.send(encodeControl(createProof(identity, side, hellos.dialer, hellos.listener)));
  };

  const receiveProof = (proof: Proof): void => {
    if (!hellos || peer) throw new TesseraError('protocol_violation', 'proof came out of turn');
    const { dialer, listener } = hellos;
    if (!verifyProof(proof, otherSide, dialer, listener)) {
      refuse({ reason: 'the signature does not prove the node key: the handshake was altered or is not yours' });
      return;
    }
    const trusted = verifySecret(proof, otherSide, dialer, listener, identity.secret);
    const hello = hellos[otherSide];
    const proven: PeerIdentity = { role: hello.role, address: hello.address, nodeKey: hello.node_key, trusted };
    if (!trusted && needsTrust(identity.role, hello.role)) {
      refuse({ reason: secretRefusal(identity, proof) });
      return;
    }
    peer = proven;
    const refusal = options.admit(proven);
    if (refusal) refuse(refusal);
    else connection.send(encodeControl({ k: 'ready' }));
  };

  const receiveReady = (): void => {
    if (!peer) throw new TesseraError('protocol_violation', 'ready came out of turn');
    over = true;
    connection.liftGuard();
    outcome.done(peer);
  };

  const receive = (frame: Frame): void => {
    if (over) return;
    try {
      if (typeof frame !== 'string')
        throw new TesseraError('protocol_violation', 'a message came before the handshake was done');
      const control = decodeControl(frame);
      if (control.k === 'hello') receiveHello(control);
      else if (control.k === 'proof') receiveProof(control);
      else if (control.k === 'ready') receiveReady();
      else if (control.k === 'bye') {
        const text = `${connection.remote} refused the link: ${control.reason}`;
        fail(new TesseraError('peer_unreachable', text), control.duplicate ?? false);
      } else throw new TesseraError('protocol_violation', `${control.k} came before the handshake was done`);
    } catch (error) {
      if (!isTesseraError(error)) throw error;
      refuse({ reason: error.message });
    }
  };

  connection.onClose((reason) =>
    fail(new TesseraError('peer_unreachable', `${connection.remote} left during the handshake: ${reason}`)),
  );
  connection.send(encodeControl(own));
  connection.onMessage(receive);
  return (reason) => refuse({ reason });
}

/** Mempool and storage hand each other blocks: a link between them is of use only within one operator. */
function needsTrust(a: NodeRole, b: NodeRole): boolean {
  return (a === 'mempool' && b === 'storage') || (a === 'storage' && b === 'mempool');
}

function helloRefusal(identity: Identity, hello: Hello): string | undefined {
  if (hello.network !== identity.network) {
    return `this node is on network "${identity.network}", the other on "${hello.network}": set the same network.name on both`;
  }
  if (hello.node_key === toHex(identity.nodeKey.publicKey)) {
    return 'the two ends have the same node key: take a node out of its own list of peers, and give each node a data directory of its own';
  }
  return undefined;
}

function secretRefusal(identity: Identity, proof: Proof): string {
  if (identity.secret === undefined)
    return 'this node has no network.secret: set the same network.secret on both nodes';
  if (proof.mac === undefined) return 'the other node has no network.secret: set the same network.secret on both nodes';
  return 'the two nodes have different values of network.secret: set the same on both';
}
