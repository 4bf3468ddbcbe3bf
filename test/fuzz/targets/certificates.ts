/**
 * What proves something on a link: certificates of blocks and of nodes as messages bring them, and the handshake of a
 * dialer. An input is a kind and JSON texts. A proof that was changed in any way proves nothing; what is no proof is refused
 * as a violation of the protocol.
 */

import {
  type BlockPlace,
  blockCertificateFault,
  type Certificate,
  certifyBlock,
  certifyNode,
  nodeCertificateFault,
} from '../../../src/chain/certificate.js';
import { toHex } from '../../../src/lib/bytes.js';
import { decodeMessage } from '../../../src/peers/link/frames.js';
import {
  createHello,
  createProof,
  Handshake,
  type Identity,
  type PeerIdentity,
} from '../../../src/peers/link/handshake.js';
import type { MessageBody } from '../../../src/peers/messages.js';
import type { Connection, Frame } from '../../../src/peers/transport/transport.js';
import { createSeededRandom, keyOf, rawMessage, SECRET } from '../../support/peers.js';
import { Choices, changeValue, textOf } from '../choices.js';
import type { Dice } from '../dice.js';
import { documented, type FuzzTarget, mustBe } from '../target.js';

const CHAIN = 'a chain';
const PRODUCERS = ['producer 1', 'producer 2'].map(keyOf);
const NAMED = { chain: CHAIN, keys: PRODUCERS.map(({ publicKey }) => toHex(publicKey)) };
const NODE_KEYS = ['node 1', 'node 2'].map((name) => toHex(keyOf(name).publicKey));
const STRANGER = keyOf('no producer');
const HEIGHTS = 4;
const CODES = ['protocol_violation'];
/** Characters of a text that is changed as JSON. */
const MAX_READ = 10_000;

const placeAt = (height: number): BlockPlace => ({ height, hash: `b${String(height).repeat(64)}` });
const same = (a: Certificate, b: Certificate): boolean => a.key === b.key && a.signature === b.signature;

/** Every certificate that a producer has ever signed here. */
const SIGNED_BLOCKS = Array.from({ length: HEIGHTS }, (_, height) => placeAt(height)).flatMap((place) =>
  PRODUCERS.map((producer) => ({ place, certificate: certifyBlock(producer, CHAIN, place) })),
);
const SIGNED_NODES = NODE_KEYS.flatMap((nodeKey) =>
  PRODUCERS.map((producer) => ({ nodeKey, certificate: certifyNode(producer, CHAIN, nodeKey) })),
);

/** Sound, or of somebody else, of another place or another chain. */
function tipOf(dice: Dice): object {
  const place = placeAt(dice.below(HEIGHTS));
  const certificate = dice.pick([
    certifyBlock(dice.pick(PRODUCERS), CHAIN, place),
    certifyBlock(dice.pick(PRODUCERS), CHAIN, placeAt(dice.below(HEIGHTS))),
    certifyBlock(dice.pick(PRODUCERS), 'another chain', place),
    certifyBlock(STRANGER, CHAIN, place),
    certifyNode(dice.pick(PRODUCERS), CHAIN, place.hash),
  ]);
  return { next: place.height + 1, hash: place.hash, certificate };
}

function producerOf(dice: Dice): object {
  const nodeKey = dice.pick(NODE_KEYS);
  const certificate = dice.pick([
    certifyNode(dice.pick(PRODUCERS), CHAIN, nodeKey),
    certifyNode(STRANGER, CHAIN, nodeKey),
    certifyBlock(dice.pick(PRODUCERS), CHAIN, placeAt(0)),
  ]);
  return { certificate };
}

const victim = identityOf('victim', 'mempool');
const dialer = identityOf('dialer', 'storage');
const victimHello = createHello(victim, createSeededRandom('victim'));
const dialerHello = createHello(dialer, createSeededRandom('dialer'));
const dialerProof = createProof(dialer, 'dialer', { dialer: dialerHello, listener: victimHello });
const HANDSHAKE = [dialerHello, dialerProof, { k: 'ready' }];

function identityOf(name: string, role: Identity['role']): Identity {
  const rules = { 'chain.constants': 'the same' };
  return { network: 'test', role, address: '127.0.0.1:9', nodeKey: keyOf(name), secret: SECRET, rules };
}

/** The victim's end: what the dialer says is given to it, and what it says is dropped. */
class Wire implements Connection {
  readonly remote = '127.0.0.1:9';
  readonly remoteHost = '127.0.0.1';
  readonly pass = undefined;
  readonly bufferedAmount = 0;
  readonly bytesReceived = 0;
  deliver: (frame: Frame) => void = () => undefined;
  onMessage(listener: (frame: Frame) => void): void {
    this.deliver = listener;
  }
  send(): void {}
  onClose(): void {}
  guard(): void {}
  sendPlain(): void {}
  pause(): void {}
  resume(): void {}
  close(): void {}
  cut(): void {}
}

function shakeHands(texts: readonly string[]): string {
  const wire = new Wire();
  let ending = 'waits';
  const options = {
    identity: victim,
    side: 'listener' as const,
    random: createSeededRandom('victim'),
    admit: () => null,
  };
  const outcome = {
    done(peer: PeerIdentity): void {
      mustBe(peer.nodeKey === dialerHello.node_key && peer.role === 'storage', 'a handshake proved another node');
      mustBe(peer.address === dialerHello.address && peer.trusted, 'a handshake that was changed was taken');
      const said = JSON.parse(texts[0] ?? '') as typeof dialerHello;
      mustBe(said.nonce === dialerHello.nonce && said.protocol === dialerHello.protocol, 'a hello was changed');
      ending = 'link';
    },
    failed(): void {
      ending = 'refused';
    },
  };
  new Handshake(wire, options, outcome).start();
  for (const text of texts) wire.deliver(text);
  return ending;
}

async function readTip(text: string): Promise<string> {
  const route = { from: 'storage', to: 'storage', standing: 'stranger' } as const;
  const decoded = await documented(() => decodeMessage(rawMessage(`{"t":"chain.tip","b":${text}}`), route), CODES);
  if ('code' in decoded) return 'no tip';
  const { next, hash, certificate } = decoded.value.message.body as MessageBody<'chain.tip'>;
  const place = { height: next - 1, hash: hash ?? '' };
  if (blockCertificateFault(NAMED, place, certificate) !== null) return 'tip refused';
  const isSigned = SIGNED_BLOCKS.some(
    (one) =>
      one.place.height === place.height &&
      one.place.hash === place.hash &&
      certificate !== undefined &&
      same(one.certificate, certificate),
  );
  mustBe(isSigned, 'a certificate that nobody signed proves a block');
  return 'tip';
}

async function readProducer(text: string): Promise<string> {
  const route = { from: 'mempool', to: 'user', standing: 'chosen' } as const;
  const decoded = await documented(() => decodeMessage(rawMessage(`{"t":"producer","b":${text}}`), route), CODES);
  if ('code' in decoded) return 'no producer';
  const { certificate } = decoded.value.message.body as MessageBody<'producer'>;
  const vouched = NODE_KEYS.filter((nodeKey) => nodeCertificateFault(NAMED, nodeKey, certificate) === null);
  for (const nodeKey of vouched) {
    const isSigned = SIGNED_NODES.some(
      (one) => one.nodeKey === nodeKey && certificate !== undefined && same(one.certificate, certificate),
    );
    mustBe(isSigned, 'a certificate that nobody signed vouches for a node');
  }
  return vouched.length > 0 ? 'producer' : 'producer refused';
}

const inputOf = (kind: number, records: readonly unknown[]): Uint8Array =>
  Buffer.concat([Uint8Array.of(kind), Buffer.from(records.map(textOf).join('\n'))]);

/** The texts of an input after its kind. */
const textsOf = (input: Uint8Array): string[] => Buffer.from(input.subarray(1)).toString('utf8').split('\n');

export const certificates: FuzzTarget = {
  name: 'certificates',
  seed: (dice) =>
    dice.pick([() => inputOf(0, [tipOf(dice)]), () => inputOf(1, [producerOf(dice)]), () => inputOf(2, HANDSHAKE)])(),
  change(input, dice) {
    const choices = new Choices(dice.bytes(32));
    const records = textsOf(input).map(readJson);
    const at = dice.below(records.length);
    return inputOf(
      input[0] ?? 0,
      records.map((record, i) => (i === at ? changeValue(record, choices) : record)),
    );
  },
  run(input) {
    const [text = '', ...more] = textsOf(input);
    const kind = (input[0] ?? 0) % 3;
    if (kind === 0) return readTip(text);
    if (kind === 1) return readProducer(text);
    return shakeHands([text, ...more]);
  },
};

/** What is no JSON, or too deep to be written again, as it is. */
function readJson(text: string): unknown {
  try {
    return text.length > MAX_READ ? text : JSON.parse(text);
  } catch {
    return text;
  }
}
