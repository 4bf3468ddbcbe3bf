/**
 * Links without a wire: what one node sends arrives at the other's handler on a microtask. Answers can be taken away or
 * changed, and requests end by a timeout of the clock, as with a real network.
 */

import type { Clock } from '../../../src/lib/clock.js';
import { TesseraError } from '../../../src/lib/errors.js';
import type { NodeRole } from '../../../src/lib/roles.js';
import { SignalSource } from '../../../src/lib/signal.js';
import type { MessageType } from '../../../src/peers/messages.js';
import type { Link, Message, PeerNetwork, Reply } from '../../../src/peers/network.js';

type Handler = (link: Link, message: Message) => Promise<Reply | undefined> | Reply | undefined;
/** What arrives in place of an answer; undefined for silence. */
export type Tamper = (reply: Reply, question: MessageType) => Reply | undefined;

export interface FakeNode {
  readonly network: PeerNetwork;
  readonly name: string;
  readonly role: NodeRole;
  readonly handlers: Map<MessageType, Handler>;
  /** Every message that arrived, in order. */
  readonly received: { readonly type: MessageType; readonly body: unknown }[];
  /** Changes the answers that this node gives. */
  tamper: Tamper;
  attach(link: Link): void;
  detach(link: Link, reason: string): void;
}

export function createFakeNode(name: string, role: NodeRole): FakeNode {
  const links = new Set<Link>();
  const linkUp = new SignalSource<Link>();
  const linkDown = new SignalSource<{ link: Link; reason: string }>();
  const handlers = new Map<MessageType, Handler>();
  const network: PeerNetwork = {
    failed: new Promise(() => undefined),
    start: async () => undefined,
    stop: async () => undefined,
    address: name,
    nodeKey: name,
    links,
    linkUp,
    linkDown,
    handle: (type, handler) => {
      // The map forgets which message a handler is for; `dispatch` looks it up by the message's type.
      handlers.set(type, (link, message) => handler(link, message as never));
    },
    broadcast: (to, type, body, attachment) => [...to].filter((link) => !link.send(type, body, attachment)),
    dial: () => Promise.reject(new TesseraError('peer_unreachable', 'not in this test')),
  };
  return {
    network,
    name,
    role,
    handlers,
    received: [],
    tamper: (reply) => reply,
    attach(link) {
      links.add(link);
      linkUp.emit(link);
    },
    detach(link, reason) {
      if (links.delete(link)) linkDown.emit({ link, reason });
    },
  };
}

/** Links two nodes; gives both ends, `a` being the one that node `a` holds. */
export function connect(a: FakeNode, b: FakeNode, clock: Clock, trusted = true): { a: Link; b: Link } {
  let closed = false;
  /** Ends the requests under way. */
  const waiting = new Set<() => void>();
  const ends: { a?: Link; b?: Link } = {};

  const close = (reason: string): void => {
    if (closed) return;
    closed = true;
    for (const fail of [...waiting]) fail();
    if (ends.a) a.detach(ends.a, reason);
    if (ends.b) b.detach(ends.b, reason);
  };
  const dispatch = async (to: FakeNode, link: Link | undefined, message: Message): Promise<Reply | undefined> => {
    await Promise.resolve();
    to.received.push({ type: message.type, body: message.body });
    return link && to.handlers.get(message.type)?.(link, message);
  };
  const makeEnd = (to: FakeNode, other: () => Link | undefined): Link => ({
    id: `${a.name}-${b.name}`,
    role: to.role,
    address: to.name,
    nodeKey: to.name,
    trusted,
    version: undefined,
    sender: to.name,
    isSilent: false,
    send(type, body, attachment = new Uint8Array(0)) {
      if (closed) return false;
      void dispatch(to, other(), { type, body, attachment } as Message);
      return true;
    },
    request(type, body, options = {}) {
      const message = { type, body, attachment: options.attachment ?? new Uint8Array(0) } as Message;
      return new Promise<Message>((resolve, reject) => {
        const silent = new TesseraError('peer_unreachable', `${to.name} does not answer`);
        if (closed) return reject(silent);
        const fail = (): void => end(() => reject(silent));
        const abort = (): void => end(() => reject(new TesseraError('aborted', 'cancelled')));
        const timer = clock.after(options.timeoutMs ?? 5_000, fail);
        const end = (settle: () => void): void => {
          timer.cancel();
          options.signal?.removeEventListener('abort', abort);
          waiting.delete(fail);
          settle();
        };
        options.signal?.addEventListener('abort', abort);
        waiting.add(fail);
        dispatch(to, other(), message).then((reply) => {
          const answer = reply && to.tamper(reply, type);
          if (answer) end(() => resolve({ attachment: new Uint8Array(0), ...answer } as Message));
        }, fail);
      });
    },
    close,
  });
  ends.a = makeEnd(b, () => ends.b);
  ends.b = makeEnd(a, () => ends.a);
  a.attach(ends.a);
  b.attach(ends.b);
  return { a: ends.a, b: ends.b };
}
