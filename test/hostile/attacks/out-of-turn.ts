/** Says what only others may say: every message that SECURITY.md gives to nodes with the secret, or to other roles. */

import type { NodeRole } from '../../../src/lib/roles.js';
import { MESSAGES, type MessageType } from '../../../src/peers/messages.js';
import { needsSecret, PERMISSIONS, type Permission } from '../../../src/peers/permissions.js';
import type { NodeProcess } from '../../support/processes.js';
import type { Arena } from '../arena.js';
import { type Attack, mustBe } from '../attack.js';
import { sleep } from '../node-watch.js';
import { messageFrame, openRawLink } from '../raw-link.js';

/** Milliseconds for a link to end: a node under attack may be slow. */
const PATIENCE_MS = 30_000;
/** Links at once: of more from one address the newer handshakes take the place of the older. */
const AT_ONCE = 16;
/** A body for each of these messages that its schema allows, so that nothing but the sender is wrong. */
const HASH = `b${'0'.repeat(64)}`;
const BODIES: { readonly [T in MessageType]?: object } = {
  'mining.template': { block_num: 1, reward: '1' },
  'mining.stop': { block_num: 1 },
  'mining.verdict': { accepted: true, reason: '' },
  'mining.proof': { block_num: 1, nonce: '00' },
  'block.deliver': { block_num: 1, hash: HASH },
  'block.stored': { block_num: 1_000_000, hash: HASH },
  'block.refused': { block_num: 1, next: 1_000_000, reason: '' },
  'chain.tip': { next: 1_000_000, hash: HASH },
  'headers.get': { from: 0, count: 1 },
  headers: { from: 0, count: 0 },
  'blocks.get': { from: 0, count: 1 },
  blocks: { from: 0, count: 0 },
  'snapshot.get': { part: 0 },
  'snapshot.part': { transfer: '0'.repeat(32), part: 0 },
  'transactions.result': { accepted: true, code: '', detail: '' },
  'utxos.get': { addresses: [] },
  utxos: { block_num: -1, hash: null },
  'statuses.get': { hashes: [] },
  statuses: { statuses: [] },
  'block.mined': { block_num: 1, hash: HASH },
  address: { address: 'a' },
  'donation.request': { address: 'a' },
  'donation.reply': { accepted: true, reason: '' },
  'trade.offer': { document: '{}' },
  'trade.accept': { document: '{}' },
  'trade.confirm': { document: '{}' },
};
const TYPES = (Object.keys(MESSAGES) as MessageType[]).filter((type) => type !== 'error');

/** True when a stranger of the one role may say it to the other. */
function mayStranger(type: MessageType, from: NodeRole, to: NodeRole): boolean {
  const permissions: readonly Permission[] = PERMISSIONS[type];
  return permissions.some((one) => one.standing === 'stranger' && one.from.includes(from) && one.to.includes(to));
}

async function speak(node: NodeProcess, as: NodeRole, type: MessageType): Promise<void> {
  const link = await openRawLink(node.peerAddress, as);
  link.connection.send(messageFrame({ t: type, id: 1, b: BODIES[type] ?? {} }));
  const reason = await Promise.race([link.ended, sleep(PATIENCE_MS).then(() => '')]);
  link.connection.cut('the attack is over');
  mustBe(reason !== '', `the ${node.role} node took ${type} from a ${as} node without the secret`);
}

/** Wallets and miners choose the nodes that they believe: one that comes to them gets no link, whatever it would say. */
async function comeUncalled(node: NodeProcess, as: NodeRole): Promise<void> {
  const answer = await openRawLink(node.peerAddress, as).then(
    () => 'a link',
    (error: unknown) => String(error),
  );
  mustBe(answer.includes('takes no links from'), `a ${as} node that came to the ${node.role} node got ${answer}`);
}

const ROLES = ['storage', 'miner', 'user'] as const;

/** In the short form one role says each message that it may not say to a node: all of them are in test/peers/permissions.test.ts. */
async function speakOutOfTurn({ storage, mempool, miner, user, scale }: Arena): Promise<void> {
  for (const node of [storage, mempool, miner, user]) {
    const strangers = ROLES.filter((as) => !needsSecret(as, node.role));
    const isUncalled = (as: NodeRole) => as === 'storage' && (node.role === 'miner' || node.role === 'user');
    const talking = strangers.filter((as) => !isUncalled(as));
    for (const as of strangers.filter(isUncalled)) await comeUncalled(node, as);
    const said = TYPES.flatMap((type, i) => {
      const forbidden = talking.filter((as) => !mayStranger(type, as, node.role));
      const by = scale > 1 ? forbidden : forbidden.filter((_, at) => at === i % forbidden.length);
      return by.map((as) => ({ as, type }));
    });
    for (let at = 0; at < said.length; at += AT_ONCE)
      await Promise.all(said.slice(at, at + AT_ONCE).map(({ as, type }) => speak(node, as, type)));
  }
}

export const outOfTurn: Attack = {
  name: 'every message that a stranger may not send, at every role',
  run: speakOutOfTurn,
};
