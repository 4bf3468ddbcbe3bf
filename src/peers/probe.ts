/** A probe of one peer: connection and handshake as for a link. The connection is closed as soon as both sides have agreed. */

import type { HasRandom } from '../observability/modules.js';
import { Handshake, type Identity, type PeerIdentity } from './link/handshake.js';
import type { Transport } from './transport/transport.js';

export interface ProbeModules extends HasRandom {
  readonly transport: Transport;
}

export interface ProbeResult {
  /** Identity of the peer; undefined when the peer has refused before it proved its key. */
  readonly peer: PeerIdentity | undefined;
  /** True when the peer has a link to a node with this key already: that node runs. */
  readonly isLinked: boolean;
}

/** Probes a peer. Throws `peer_unreachable` with the reason, `invalid_socket_address`, or `aborted` by the signal. */
export async function probePeer(
  address: string,
  identity: Identity,
  { transport, random }: ProbeModules,
  signal: AbortSignal,
): Promise<ProbeResult> {
  const connection = await transport.dial(address, signal);
  try {
    return await new Promise<ProbeResult>((resolve, reject) => {
      const handshake = new Handshake(
        connection,
        { identity, side: 'dialer', random, admit: () => null },
        {
          done: (peer) => resolve({ peer, isLinked: false }),
          failed(error, peer, isDuplicate) {
            if (isDuplicate) resolve({ peer, isLinked: true });
            else reject(error);
          },
        },
      );
      signal.addEventListener('abort', () => handshake.cancel('the time for the check is over'), { once: true });
      handshake.start();
    });
  } finally {
    connection.close();
  }
}
