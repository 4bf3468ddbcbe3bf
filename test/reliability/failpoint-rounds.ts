/** A round for each failpoint: the node that passes it is started with it armed and led there, and must have ended there. */

import { chmod, readdir, readFile, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DEFAULT_GENESIS_HASH } from '../../src/chain/constants.js';
import type { NodeRole } from '../../src/lib/roles.js';
import { type MessageType, PERMISSIONS, type Permission } from '../../src/peers/permissions.js';
import { messageFrame, openRawLink } from '../hostile/raw-link.js';
import { createPeer, OPERATOR_SECRET } from '../hostile/stranger.js';
import { type NodeProcess, until } from '../support/processes.js';
import type { Chance } from './chance.js';
import type { FailpointName } from './failpoint-names.js';
import type { FourNodes } from './four-nodes.js';
import { type Round, sleep } from './round.js';

/** Milliseconds that a node has to come to its failpoint; some are passed once in hundreds of commands. */
const PATIENCE_MS = 240_000;
/** Milliseconds between two attempts to lead it there. */
const AGAIN_MS = 400;
/** Milliseconds that writers go on while the node is away. */
const AWAY_MS = 200;
/** Writes that pass a failpoint before the one that ends there: up to so many. */
const SPREAD = 12;

/** Blocks of an archive that is damaged, at least. */
const DAMAGED_BLOCKS = 20;

/** How a node is led to a failpoint, beside the load: tried again and again. */
type Lead = (four: FourNodes, armed: NodeProcess) => Promise<void>;

interface Way {
  readonly node: (four: FourNodes, chance: Chance) => NodeProcess;
  readonly lead?: Lead;
  /** The node is a guest: it begins with an empty folder, and is removed in the end. */
  readonly isGuest?: boolean;
  /** A place at which the node has ended before, in a start of its own. */
  readonly after?: string;
  /** What is done before it is started with the failpoint armed, and when it is up again after that. */
  readonly prepare?: Lead;
  readonly check?: Lead;
  /** The place is passed so often that any of the first `SPREAD` times is as good. */
  readonly isFrequent?: boolean;
}

const OWNERS: Readonly<Record<string, readonly NodeRole[]>> = {
  archive: ['storage'],
  blocks: ['storage'],
  journal: ['mempool'],
  mempool: ['mempool'],
  wallet: ['user', 'miner'],
};

/** The guest whose new folder gets the database. */
function guestWith(four: FourNodes, database: string): NodeProcess {
  if (database === 'archive') return four.guestStorage;
  return database === 'wallet' ? four.guestUser : four.guestMempool;
}

const ignore = (): undefined => undefined;

/** A new storage node fetches the blocks from the first one. It is given the time for that before the next attempt. */
const startGuestStorage: Lead = async (four, armed) => {
  const guest = await four.freshGuest(four.guestStorage);
  await guest.start();
  await until('the blocks at the new storage node, or the end of the armed one', async () =>
    !armed.isRunning || (await fetch(`${guest.apiUrl}/readyz`)).status === 200 ? true : undefined,
  );
};

/** The user node pays the miner by its peer address. */
const payPeer: Lead = async (four) => {
  await four.client('user').api.createPayment({
    body: { kind: 'ip', address: four.nodes.miner.peerAddress, amount: 1_000n, passphrase: '' },
  });
};

const askDonation: Lead = async (four) => {
  await four.client('user').api.requestDonation({ body: { address: four.nodes.miner.peerAddress } });
};

/** The user offers the miner tokens for an item, and the miner accepts. */
const tradeWithMiner: Lead = async (four) => {
  const [user, miner] = [four.client('user').api, four.client('miner').api];
  await miner.createItem({ body: { genesis_hash_spec: 'Default', item_amount: 5 } });
  const { offer } = await user.offerTrade({
    body: {
      give: { kind: 'token', amount: 1_000n },
      want: { kind: 'item', amount: 1, genesis_hash: DEFAULT_GENESIS_HASH },
      peer: four.nodes.miner.peerAddress,
      passphrase: '',
    },
  });
  await miner.acceptTrade({ body: { offer, passphrase: '' } });
};

/** The wallet asks about payments that are under way when it finds a mempool node. */
const payWithoutMempool: Lead = async (four) => {
  await four.nodes.mempool.kill();
  await sleep(AGAIN_MS);
  await four.nodes.mempool.start();
  await until('the wallet in step, or its end', async () =>
    !four.nodes.user.isRunning || (await fetch(`${four.nodes.user.apiUrl}/readyz`)).status === 200 ? true : undefined,
  );
};

/** A page that cannot be: the mempool node answers that it cannot. */
const askNonsense: Lead = async ({ nodes }) => {
  const { connection } = await openRawLink(nodes.mempool.peerAddress, 'user');
  const body = { addresses: ['0'.repeat(64)], after: { t_hash: 'nowhere', n: 0 } };
  connection.send(messageFrame({ t: 'utxos.get', id: 1, b: body }));
  await sleep(AGAIN_MS);
  connection.close();
};

/** A mempool node of the same operator delivers what is no block. */
const deliverNonsense: Lead = async ({ nodes }) => {
  const peer = await createPeer('mempool', { secret: OPERATOR_SECRET });
  try {
    const link = await peer.dial(nodes.storage.peerAddress, { timeoutMs: PATIENCE_MS });
    const body = { block_num: 1, hash: `b${'0'.repeat(64)}` };
    await link.request('block.deliver', body, { attachment: Uint8Array.of(0), timeoutMs: AGAIN_MS });
  } finally {
    await peer.stop();
  }
};

/** A storage node that has blocks is killed, a segment of it damaged, and half of its log is gone: the next start heals. */
const damageArchive: Lead = async (four, node) => {
  const last = Math.min(await four.height(), DAMAGED_BLOCKS);
  await node.start();
  await until(`block ${last} at the new storage node`, async () =>
    (await fetch(`${node.apiUrl}/v1/blocks/${last}`)).status === 200 ? true : undefined,
  );
  await node.kill();
  const folder = join(node.folder, 'db', 'archive');
  for (const name of await readdir(folder)) {
    const file = join(folder, name);
    if (name.endsWith('.log')) await truncate(file, Math.floor((await stat(file)).size / 2));
  }
  const segments = join(node.folder, 'segments');
  const [first = ''] = (await readdir(segments)).sort();
  const bytes = await readFile(join(segments, first));
  const middle = bytes.length >> 1;
  bytes[middle] = (bytes[middle] ?? 0) ^ 1;
  await chmod(join(segments, first), 0o600);
  await writeFile(join(segments, first), bytes);
};

/** The archive has what it had. */
const isHealed: Lead = async (_four, node) => {
  await until('the healed node to be in step', async () =>
    (await fetch(`${node.apiUrl}/readyz`)).status === 200 ? true : undefined,
  );
};

/** Storage takes its time with a block, so that the next one is made meanwhile; its links stay. */
const slowStorage: Lead = async ({ nodes: { storage } }) => {
  storage.suspend();
  await sleep(AGAIN_MS);
  storage.resume();
};

const stopIt: Lead = async (_four, armed) => {
  await armed.stop();
};

const MESSAGE_WAYS: Partial<Record<MessageType, Partial<Way>>> = {
  // A storage node that is behind asks for the tip, the headers and the blocks.
  'block.refused': { node: ({ nodes }) => nodes.storage, lead: deliverNonsense },
  'blocks.get': { node: (four) => four.guestStorage, isGuest: true },
  'chain.tip.get': { node: (four) => four.guestStorage, isGuest: true },
  'headers.get': { node: (four) => four.guestStorage, isGuest: true },
  headers: { node: ({ nodes }) => nodes.storage, lead: startGuestStorage },
  blocks: { node: ({ nodes }) => nodes.storage, lead: startGuestStorage },
  'chain.tip': { node: ({ nodes }) => nodes.storage, lead: startGuestStorage },
  'transactions.submit': { node: ({ nodes }) => nodes.user },
  'utxos.get': { node: ({ nodes }) => nodes.user },
  'producer.get': { node: ({ nodes }) => nodes.user, lead: payWithoutMempool },
  'statuses.get': { node: ({ nodes }) => nodes.user, lead: payWithoutMempool },
  'address.get': { node: ({ nodes }) => nodes.user, lead: payPeer },
  address: { node: ({ nodes }) => nodes.miner, lead: payPeer },
  'payment.sent': { node: ({ nodes }) => nodes.user, lead: payPeer },
  'donation.request': { node: ({ nodes }) => nodes.user, lead: askDonation },
  'donation.reply': { node: ({ nodes }) => nodes.miner, lead: askDonation },
  'trade.offer': { node: ({ nodes }) => nodes.user, lead: tradeWithMiner },
  'trade.listed': { node: ({ nodes }) => nodes.miner, lead: tradeWithMiner },
  'trade.accept': { node: ({ nodes }) => nodes.miner, lead: tradeWithMiner },
  'trade.confirm': { node: ({ nodes }) => nodes.user, lead: tradeWithMiner },
  error: { node: ({ nodes }) => nodes.mempool, lead: askNonsense },
};

function wayTo({ place, subject }: FailpointName): Way {
  if (place.startsWith('send.')) {
    const permissions: readonly Permission[] = PERMISSIONS[subject as MessageType];
    const [sender = 'mempool'] = permissions[0]?.from ?? [];
    return { node: ({ nodes }) => nodes[sender], ...MESSAGE_WAYS[subject as MessageType] };
  }
  if (place === 'folder.locked') return { node: ({ nodes }) => nodes[subject as NodeRole] };
  if (place === 'folder.database.made') return { node: (four) => guestWith(four, subject), isGuest: true };
  // Files are made in a new folder.
  if (place.startsWith('file.')) return { node: (four) => four.guestUser, isGuest: true };
  if (place === 'segment.replaced') {
    return { node: (four) => four.guestStorage, isGuest: true, prepare: damageArchive, check: isHealed };
  }
  // Images are made again and again, because `four-nodes.ts` asks for one of few outputs.
  if (place.startsWith('image.')) return { node: ({ nodes }) => nodes.mempool };
  if (place.startsWith('overlap.')) return { node: ({ nodes }) => nodes.mempool, lead: slowStorage };
  const node: Way['node'] = ({ nodes }, chance) => nodes[chance.pick(OWNERS[subject] ?? [])];
  // Files are put back when an opening was interrupted.
  if (place.startsWith('db.put-back.')) return { node, after: `db.open.after:${subject}` };
  if (place.startsWith('db.close.')) return { node, lead: stopIt };
  // The database of the mempool is rarely synced.
  return { node, isFrequent: place.startsWith('db.write.') && `${place}:${subject}` !== 'db.write.sealed:mempool' };
}

export function failpointRound(point: FailpointName): Round {
  return {
    part: 'failpoints',
    name: point.text,
    async run(four, chance) {
      const way = wayTo(point);
      const node = way.node(four, chance);
      const times = way.isFrequent ? 1 + chance.below(SPREAD) : 1;
      if (way.isGuest) await four.freshGuest(node);
      else await node.kill();
      try {
        await way.prepare?.(four, node);
        if (way.after !== undefined) await endThere(four, node, way.after, undefined);
        await endThere(four, node, `${point.text}@${times}`, way.lead);
        await until(`the node to end at ${point.text}`, async () =>
          node.log().includes(`failpoint ${point.text} reached`) ? true : undefined,
        );
        await sleep(AWAY_MS);
      } finally {
        await node.kill();
        await node.start();
        await way.check?.(four, node);
        for (const guest of four.guests) await four.freshGuest(guest);
      }
      return times === 1 ? 'ended there' : `ended there the ${times}th time`;
    },
  };
}

/** Starts the node with the failpoint armed and leads it there; throws when it does not end. */
async function endThere(four: FourNodes, node: NodeProcess, text: string, lead: Lead | undefined): Promise<void> {
  const started = node.start({ NODE_ENV: 'test', TESSERA_FAILPOINT: text });
  started.catch(ignore);
  let isOver = false;
  const ended = node.ended().then(() => {
    isOver = true;
  });
  const leading = started.then(async () => {
    while (!isOver && lead !== undefined) {
      await lead(four, node).catch(ignore);
      await sleep(AGAIN_MS);
    }
  });
  leading.catch(ignore);
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${text} was never reached`)), PATIENCE_MS);
  });
  try {
    await Promise.race([ended, late]);
  } finally {
    isOver = true;
    clearTimeout(timer);
  }
  await leading.catch(ignore);
}
