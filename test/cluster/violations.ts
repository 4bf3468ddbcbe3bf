/** Ways to make a right history wrong, one for each rule that the checker has, or more. */

import type { Chance } from '../reliability/chance.js';
import type { RuleName } from './check-history.js';
import type { EndBlock, Operation, Post, StatusRead } from './history.js';
import type { MadeHistory } from './made-history.js';

export interface Wrong {
  readonly name: string;
  /** The rule that must find it; others may as well. */
  readonly rule: RuleName;
  /** The history made wrong; undefined where it has nothing of the kind. */
  make(right: MadeHistory, chance: Chance): MadeHistory | undefined;
}

const LATER = 1_000_000;

function posts({ operations }: MadeHistory, answer: Post['answer']): Post[] {
  return operations.flatMap((one) => (one.kind === 'post' && one.answer === answer ? [one] : []));
}

function blocksOf({ end }: MadeHistory): readonly EndBlock[] {
  return [...end.chains.values()][0] ?? [];
}

/** With these blocks at every storage node. */
function withBlocks(right: MadeHistory, blocks: readonly EndBlock[]): MadeHistory {
  const chains = new Map([...right.end.chains.keys()].map((node) => [node, blocks]));
  return { ...right, end: { ...right.end, chains } };
}

/** With the transaction in the last block. */
function withMined(right: MadeHistory, hash: string): MadeHistory {
  const blocks = blocksOf(right);
  const last = blocks.at(-1);
  if (last === undefined) return right;
  return withBlocks(right, [...blocks.slice(0, -1), { ...last, transactions: [...last.transactions, hash] }]);
}

function withMore(right: MadeHistory, ...more: readonly Operation[]): MadeHistory {
  return { ...right, operations: [...right.operations, ...more] };
}

function without(right: MadeHistory, hash: string): MadeHistory {
  const blocks = blocksOf(right).map((block) => ({
    ...block,
    transactions: block.transactions.filter((one) => one !== hash),
  }));
  return withBlocks(right, blocks);
}

/** One of them, if there is any. */
function anyOf<T>(list: readonly T[], chance: Chance): T | undefined {
  return list.length === 0 ? undefined : chance.pick(list);
}

const readOf = ({ hash, node }: Post, more: Pick<StatusRead, 'status' | 'height'>): StatusRead => {
  const times = { began: LATER, ended: LATER + 1 };
  return { kind: 'status', client: 'late', node, hash, ...times, ...more };
};

/** A transaction of a block that was told to be there, and is not there any more. */
function lose(right: MadeHistory, chance: Chance): MadeHistory | undefined {
  const accepted = anyOf(posts(right, 'accepted'), chance);
  return accepted && without(right, accepted.hash);
}

function repeat(right: MadeHistory, chance: Chance): MadeHistory | undefined {
  const mined = anyOf(
    blocksOf(right).flatMap(({ transactions }) => transactions),
    chance,
  );
  return mined === undefined ? undefined : withMined(right, mined);
}

function skip(right: MadeHistory, chance: Chance): MadeHistory | undefined {
  const blocks = blocksOf(right);
  const left = anyOf(blocks.slice(0, -1), chance);
  return (
    left &&
    withBlocks(
      right,
      blocks.filter((block) => block !== left),
    )
  );
}

function differ(right: MadeHistory, chance: Chance): MadeHistory | undefined {
  const blocks = blocksOf(right);
  const other = anyOf(blocks, chance);
  const rival = blocks.map((block) => (block === other ? { ...block, hash: `${block.hash}, another one` } : block));
  return { ...right, end: { ...right.end, chains: new Map(right.end.chains).set('second', rival) } };
}

function fallShort(right: MadeHistory): MadeHistory {
  return { ...right, end: { ...right.end, chains: new Map(right.end.chains).set('second', blocksOf(right).slice(1)) } };
}

function mineRival(right: MadeHistory, chance: Chance): MadeHistory | undefined {
  const accepted = anyOf(posts(right, 'accepted'), chance);
  const rival = accepted && { ...accepted, hash: 'rival', answer: 'unknown' as const };
  return rival && withMined(withMore(right, rival), rival.hash);
}

function acceptRival(right: MadeHistory, chance: Chance): MadeHistory | undefined {
  const accepted = anyOf(posts(right, 'accepted'), chance);
  return accepted && withMore(right, { ...accepted, hash: 'rival' });
}

function mineRefused(right: MadeHistory, chance: Chance): MadeHistory | undefined {
  const refused = anyOf(posts(right, 'refused'), chance);
  return refused && withMined(right, refused.hash);
}

function mineRejected(right: MadeHistory, chance: Chance): MadeHistory | undefined {
  const accepted = anyOf(posts(right, 'accepted'), chance);
  return accepted && withMore(right, readOf({ ...accepted, node: 'three' }, { status: 'Rejected', height: null }));
}

function mineTurnedAway(right: MadeHistory, chance: Chance): MadeHistory | undefined {
  const [turnedAway] = posts(right, 'turned away');
  const spends = [`coin of nobody ${chance.next()}`];
  const alone = turnedAway && { ...turnedAway, hash: 'alone', spends, parents: [] };
  return alone && withMined(withMore(right, alone), alone.hash);
}

/** By a node that is behind: nothing else spends its input, and its parent was accepted long ago. */
function refuseWithoutReason(right: MadeHistory, chance: Chance): MadeHistory | undefined {
  const parent = anyOf(posts(right, 'accepted'), chance);
  if (parent === undefined) return undefined;
  const child = { hash: 'child', spends: [`${parent.hash}:7`], parents: [parent.hash] };
  const times = { began: LATER, ended: LATER + 1 };
  return withMore(right, { ...parent, ...child, ...times, answer: 'refused', code: 'unknown_input' });
}

function forget(right: MadeHistory, chance: Chance): MadeHistory | undefined {
  const accepted = anyOf(posts(right, 'accepted'), chance);
  return accepted && withMore(right, readOf(accepted, { status: 'absent', height: null }));
}

function goBack(right: MadeHistory, chance: Chance): MadeHistory | undefined {
  const confirmed = right.operations.flatMap((one) =>
    one.kind === 'status' && one.status === 'Confirmed' ? [one] : [],
  );
  const read = anyOf(confirmed, chance);
  const times = { began: LATER, ended: LATER + 1 };
  return read && withMore(right, { ...read, ...times, status: 'Pending', height: null });
}

function countBack(right: MadeHistory, chance: Chance): MadeHistory | undefined {
  const counts = right.operations.flatMap((one) => (one.kind === 'count' && one.value > 0n ? [one] : []));
  const read = anyOf(counts, chance);
  return read && withMore(right, { ...read, began: LATER, ended: LATER + 1, value: read.value - 1n });
}

function confirmElsewhere(right: MadeHistory, chance: Chance): MadeHistory | undefined {
  const accepted = anyOf(posts(right, 'accepted'), chance);
  return accepted && withMore(right, readOf(accepted, { status: 'Confirmed', height: 4_711 }));
}

function confirmUnmined(right: MadeHistory, chance: Chance): MadeHistory | undefined {
  const refused = anyOf(posts(right, 'refused'), chance);
  return refused && withMore(right, readOf(refused, { status: 'Confirmed', height: 0 }));
}

function changeState(more: Partial<MadeHistory['end']['states'][number]>) {
  return (right: MadeHistory, chance: Chance): MadeHistory => {
    const { states } = right.end;
    const which = chance.below(states.length);
    const changed = states.map((state, i) => (i === which ? { ...state, ...more } : state));
    return { ...right, end: { ...right.end, states: changed } };
  };
}

export const WRONGS: readonly Wrong[] = [
  { name: 'an accepted transaction that is in no block', rule: 'nothingLost', make: lose },
  { name: 'a transaction that is in a block twice', rule: 'chainIsSound', make: repeat },
  { name: 'a block that is missing', rule: 'chainIsSound', make: skip },
  { name: 'two storage nodes with different blocks', rule: 'chainsAreEqual', make: differ },
  { name: 'a storage node that lacks blocks', rule: 'chainsAreEqual', make: fallShort },
  { name: 'two transactions in blocks that spend one output', rule: 'noDoubleSpend', make: mineRival },
  { name: 'two accepted transactions that spend one output', rule: 'noDoubleSpend', make: acceptRival },
  { name: 'a refused transaction that is in a block', rule: 'refusalsHold', make: mineRefused },
  { name: 'a rejected status of what is in a block', rule: 'refusalsHold', make: mineRejected },
  {
    name: 'a transaction that was only turned away and is in a block',
    rule: 'turnedAwayIsNotTaken',
    make: mineTurnedAway,
  },
  { name: 'a refusal by a node that is behind', rule: 'refusalsHaveReasons', make: refuseWithoutReason },
  { name: 'a node that does not know what it accepted', rule: 'nodesKnowWhatTheyAccepted', make: forget },
  { name: 'a confirmed transaction that waits again', rule: 'readsDoNotGoBack', make: goBack },
  { name: 'a height that goes back', rule: 'readsDoNotGoBack', make: countBack },
  { name: 'confirmed in another block', rule: 'confirmedIsInItsBlock', make: confirmElsewhere },
  { name: 'confirmed and in no block', rule: 'confirmedIsInItsBlock', make: confirmUnmined },
  { name: 'a node with another state', rule: 'digestsAreEqual', make: changeState({ digest: 'another' }) },
  { name: 'coins that are lost', rule: 'supplyIsConserved', make: changeState({ held: 999n }) },
  { name: 'coins out of nothing', rule: 'supplyIsConserved', make: changeState({ held: 1_001n }) },
];
