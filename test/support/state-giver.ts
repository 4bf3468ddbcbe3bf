/** Two mempool nodes on a network in memory, of which one gives its state to those that ask. */

import type { Kv } from '../../src/db/kv.js';
import { silentLogger } from '../../src/lib/logger.js';
import { SnapshotServer } from '../../src/mempool/replicas/snapshot-server.js';
import type { Link, Message, PeerNetwork } from '../../src/peers/network.js';
import { type Bed, createBed, createSeededRandom, SECRET } from './peers.js';

export interface StateGiver {
  readonly bed: Bed;
  readonly giver: PeerNetwork;
  readonly taker: PeerNetwork;
  stop(): Promise<void>;
}

export interface StateGiverOptions {
  /** What the taker knows. */
  readonly secret?: string;
  readonly store?: { readonly problem: string | null; readonly refusals: number; flush(): Promise<boolean> };
  /** Is asked before each answer of the giver; what it throws is the answer. */
  readonly before?: (message: Message) => void;
}

export async function createStateGiver(
  kv: Kv,
  {
    secret = SECRET,
    store = { problem: null, refusals: 0, flush: async () => true },
    before = () => undefined,
  }: StateGiverOptions = {},
): Promise<StateGiver> {
  const bed = createBed('memory');
  const giver = bed.node('giver', { role: 'mempool', secret: SECRET });
  const taker = bed.node('taker', { role: 'mempool', secret });
  const handle: PeerNetwork['handle'] = (type, handler) =>
    giver.handle(type, (link: Link, message) => {
      before(message);
      return handler(link, message);
    });
  const server = new SnapshotServer({
    kv,
    store,
    network: { handle },
    clock: bed.clock,
    random: createSeededRandom('snapshot'),
    logger: silentLogger,
  });
  server.start();
  await giver.start();
  return {
    bed,
    giver,
    taker,
    async stop() {
      await bed.stop();
      await server.stop();
    },
  };
}
