/** A link of a stranger done by hand, frame by frame, so that it can break every rule. */

import { createDeferred } from '../../src/lib/deferred.js';
import { systemRandom } from '../../src/lib/random.js';
import type { NodeRole } from '../../src/lib/roles.js';
import { decodeControl } from '../../src/peers/link/frames.js';
import { createHello, createProof, type Identity } from '../../src/peers/link/handshake.js';
import type { Connection, Frame } from '../../src/peers/transport/transport.js';
import { WebSocketTransport } from '../../src/peers/transport/websocket-transport.js';
import { publicIdentity } from './stranger.js';

export interface RawLink {
  readonly connection: Connection;
  /** What the handshake sent, for a replay. */
  readonly sent: readonly string[];
  /** Resolves with the reason when the connection has ended. */
  readonly ended: Promise<string>;
  /** Frames received after the handshake. */
  readonly received: { count: number; bytes: number };
}

export function connect(address: string): Promise<Connection> {
  return new WebSocketTransport().dial(address, new AbortController().signal);
}

/**
 * A link that answers no ping and reads what comes. `behind` is sent in the same turn as the end of the handshake. Throws
 * with the reason when the node refuses it.
 */
export async function openRawLink(address: string, role: NodeRole, behind?: Uint8Array): Promise<RawLink> {
  const identity = await publicIdentity(role);
  const connection = await connect(address);
  const sent: string[] = [];
  const send = (text: string): void => {
    sent.push(text);
    connection.send(text);
  };
  const ended = createDeferred<string>();
  const ready = createDeferred<void>();
  const received = { count: 0, bytes: 0 };
  const hello = createHello(identity, systemRandom);
  let farewell = '';
  connection.guard(() => undefined);
  // First: the node's own hello may be waiting already.
  send(JSON.stringify(hello));
  connection.onClose((reason) => {
    ended.resolve(farewell || reason);
    ready.reject(new Error(farewell || reason));
  });
  connection.onMessage((frame: Frame) => {
    received.count += 1;
    received.bytes += frame.length;
    if (typeof frame !== 'string') return;
    const control = decodeControl(frame);
    if (control.k === 'hello') {
      send(JSON.stringify(createProof(identity as Identity, 'dialer', { dialer: hello, listener: control })));
    } else if (control.k === 'ready') {
      send('{"k":"ready"}');
      if (behind !== undefined) connection.send(behind);
      ready.resolve();
    } else if (control.k === 'bye') farewell = control.reason;
  });
  await ready.promise;
  return { connection, sent, ended: ended.promise, received };
}

/** The bytes of a message frame, whatever they say. */
export function messageFrame(envelope: unknown, attachment: Uint8Array = new Uint8Array(0)): Uint8Array {
  const json = Buffer.from(JSON.stringify(envelope), 'utf8');
  const length = Buffer.alloc(4);
  length.writeUInt32LE(json.length);
  return Buffer.concat([length, json, attachment]);
}
