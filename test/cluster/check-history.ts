/**
 * Holds a history against what is there at its end. The promises that it checks are in docs/reliability.md#several-mempool-nodes:
 * one order of everything (etcd's), every answer a statement about that order, reads that may be old at another node but never
 * go back at one. Each rule gives its violations in words, the same for the same history.
 */

import { ChainRecord } from '../reliability/chain-record.js';
import type { CountRead, End, EndBlock, Operation, Post, ReadStatus, StatusRead } from './history.js';

/** Violations of one rule that are told; the others are counted. */
const MAX_TOLD = 3;
/** A transaction that a node knows does not become less known there. */
const RANKS: Readonly<Record<Exclude<ReadStatus, 'Rejected'>, number>> = { absent: 0, Pending: 1, Confirmed: 2 };
/** Refusals that say that the transaction spends what is not there for it. */
const FOR_ITS_INPUTS: ReadonlySet<string> = new Set(['double_spend', 'unknown_input']);

/** The history with what the rules look up in it. */
interface Case {
  readonly posts: readonly Post[];
  readonly statuses: readonly StatusRead[];
  readonly counts: readonly CountRead[];
  readonly end: End;
  /** The longest chain of those that storage nodes have. */
  readonly chain: readonly EndBlock[];
  /** The block of each transaction. */
  readonly heights: ReadonlyMap<string, number>;
  /** Posts of each transaction. */
  readonly byHash: ReadonlyMap<string, readonly Post[]>;
  /** Transactions that were posted, by an output that they spend. */
  readonly spenders: ReadonlyMap<string, ReadonlySet<string>>;
}

type Rule = (of: Case) => string[];

export type RuleName = keyof typeof RULES;

export interface Violation {
  readonly rule: RuleName;
  /** What is wrong, the first few, and how many there are. */
  readonly detail: string;
}

/** An accepted transaction is in a block. */
const nothingLost: Rule = ({ posts, heights }) =>
  posts
    .filter(({ answer, hash }) => answer === 'accepted' && !heights.has(hash))
    .map(({ hash, node, ended }) => `${hash}, accepted by ${node} at ${ended.toFixed()} ms, is in no block`);

/** Blocks follow each other, and no transaction is in two. */
const chainIsSound: Rule = ({ chain }) => {
  const record = new ChainRecord();
  return chain.flatMap((block) => record.note({ ...block, digest: block.hash }));
};

/** All storage nodes have the same blocks. */
const chainsAreEqual: Rule = ({ chain, end }) =>
  [...end.chains].flatMap(([node, blocks]) => {
    if (blocks.length !== chain.length)
      return [`${node} has ${blocks.length} blocks, and another node ${chain.length}`];
    const other = blocks.find((block, i) => block.hash !== chain[i]?.hash);
    return other === undefined ? [] : [`${node} has another block ${other.height}`];
  });

/** No output is spent by two transactions of blocks, nor by two that were accepted. */
const noDoubleSpend: Rule = ({ spenders, heights, byHash }) =>
  [...spenders].flatMap(([output, hashes]) => {
    const mined = [...hashes].filter((hash) => heights.has(hash));
    const accepted = [...hashes].filter((hash) => byHash.get(hash)?.some(({ answer }) => answer === 'accepted'));
    return [
      ...(mined.length > 1 ? [`${output} is spent by ${mined.join(' and ')}, which are in blocks`] : []),
      ...(accepted.length > 1 ? [`${output} is spent by ${accepted.join(' and ')}, which were accepted`] : []),
    ];
  });

/** What was refused for good, at any time and by any node, is in no block. */
const refusalsHold: Rule = ({ posts, statuses, heights }) => {
  const refused = posts.filter(({ answer }) => answer === 'refused');
  const rejected = statuses.filter(({ status }) => status === 'Rejected');
  return [...refused, ...rejected].flatMap(({ hash, node }) =>
    heights.has(hash) ? [`${hash} was refused by ${node} and is in block ${heights.get(hash)}`] : [],
  );
};

/** What was only turned away is in no block: those requests have taken nothing. */
const turnedAwayIsNotTaken: Rule = ({ byHash, heights }) =>
  [...byHash].flatMap(([hash, posts]) => {
    const isTaken = heights.has(hash) && posts.every(({ answer }) => answer === 'turned away');
    return isTaken ? [`${hash} was turned away (${posts[0]?.code}) and is in block ${heights.get(hash)}`] : [];
  });

/**
 * A refusal because of inputs has a reason: another transaction that spends one of them and is not refused itself, or a parent
 * that was not accepted by anyone yet. A node that is behind the others has none.
 */
const refusalsHaveReasons: Rule = ({ posts, byHash, spenders, heights }) => {
  const isAlive = (hash: string): boolean =>
    heights.has(hash) ||
    (byHash.get(hash)?.some(({ answer }) => answer === 'accepted' || answer === 'unknown') ?? false);
  const acceptedAt = firstAcceptances(posts);
  return posts.flatMap(({ answer, code, hash, node, began, spends, parents }) => {
    if (answer !== 'refused' || !FOR_ITS_INPUTS.has(code)) return [];
    if (!parents.every((parent) => (acceptedAt.get(parent) ?? Number.POSITIVE_INFINITY) <= began)) return [];
    const rivals = spends.flatMap((output) => [...(spenders.get(output) ?? [])]).filter((other) => other !== hash);
    return rivals.some(isAlive)
      ? []
      : [`${hash} was refused by ${node} with ${code}, and nothing else spends its inputs`];
  });
};

/** A node shows what it has accepted, whoever asks later. */
const nodesKnowWhatTheyAccepted: Rule = ({ posts, statuses }) => {
  const acceptedAt = firstAcceptances(posts, atNode);
  return statuses.flatMap((read) => {
    const { hash, node, began, status } = read;
    const isKnown = status === 'Pending' || status === 'Confirmed';
    const accepted = acceptedAt.get(atNode(read));
    if (isKnown || accepted === undefined || accepted > began) return [];
    return [
      `${hash} was accepted by ${node} at ${accepted.toFixed()} ms, and ${status} there at ${began.toFixed()} ms`,
    ];
  });
};

/** Reads at one node do not go back: not the status of a transaction, not heights, not the supply. */
const readsDoNotGoBack: Rule = ({ statuses, counts }) => {
  const ranked = statuses.flatMap((read) =>
    read.status === 'Rejected'
      ? []
      : [{ ...read, subject: atNode(read), value: RANKS[read.status], said: read.status }],
  );
  const counted = counts.map((read) => ({
    ...read,
    subject: `${read.what} of ${read.node}`,
    value: read.value,
    said: `${read.what} ${read.value}`,
  }));
  return [...goingBack(ranked), ...goingBack(counted)];
};

/** Confirmed in a block means: in that block. */
const confirmedIsInItsBlock: Rule = ({ statuses, heights }) =>
  statuses.flatMap(({ hash, node, status, height }) => {
    const there = heights.get(hash);
    if (status !== 'Confirmed' || there === height) return [];
    return [
      `${hash} was Confirmed in block ${height} at ${node}, and is in ${there === undefined ? 'none' : `block ${there}`}`,
    ];
  });

/** All mempool nodes have the same state. */
const digestsAreEqual: Rule = ({ end: { states } }) => {
  const [first] = states;
  return states.flatMap(({ node, digest }) =>
    digest === first?.digest ? [] : [`${node} has the state ${digest}, and ${first?.node} ${first?.digest}`],
  );
};

/** What is unspent is what was issued. */
const supplyIsConserved: Rule = ({ end: { states } }) =>
  states.flatMap(({ node, held, issued }) =>
    held === issued ? [] : [`at ${node} all coins together are ${held}, and ${issued} were issued`],
  );

const RULES = {
  nothingLost,
  chainIsSound,
  chainsAreEqual,
  noDoubleSpend,
  refusalsHold,
  turnedAwayIsNotTaken,
  refusalsHaveReasons,
  nodesKnowWhatTheyAccepted,
  readsDoNotGoBack,
  confirmedIsInItsBlock,
  digestsAreEqual,
  supplyIsConserved,
} as const satisfies Record<string, Rule>;

/** The rules that the history breaks. */
export function violationsOf(operations: readonly Operation[], end: End): Violation[] {
  const of = caseOf(operations, end);
  return (Object.keys(RULES) as RuleName[]).flatMap((rule) => {
    const found = RULES[rule](of);
    if (found.length === 0) return [];
    const more = found.length > MAX_TOLD ? `; and ${found.length - MAX_TOLD} more` : '';
    return [{ rule, detail: found.slice(0, MAX_TOLD).join('; ') + more }];
  });
}

function caseOf(operations: readonly Operation[], end: End): Case {
  const posts: Post[] = [];
  const statuses: StatusRead[] = [];
  const counts: CountRead[] = [];
  const byHash = new Map<string, Post[]>();
  const spenders = new Map<string, Set<string>>();
  for (const operation of operations) {
    if (operation.kind === 'status') statuses.push(operation);
    if (operation.kind === 'count') counts.push(operation);
    if (operation.kind !== 'post') continue;
    posts.push(operation);
    byHash.set(operation.hash, [...(byHash.get(operation.hash) ?? []), operation]);
    for (const output of operation.spends) {
      spenders.set(output, (spenders.get(output) ?? new Set()).add(operation.hash));
    }
  }
  const [chain = []] = [...end.chains.values()].toSorted((a, b) => b.length - a.length);
  const heights = new Map(
    chain.flatMap(({ height, transactions }) => transactions.map((hash) => [hash, height] as const)),
  );
  return { posts, statuses, counts, end, chain, heights, byHash, spenders };
}

const atNode = ({ hash, node }: { readonly hash: string; readonly node: string }): string => `${hash} at ${node}`;

/** When each transaction was accepted first. */
function firstAcceptances(posts: readonly Post[], nameOf = ({ hash }: Post): string => hash): Map<string, number> {
  const first = new Map<string, number>();
  for (const post of posts) {
    if (post.answer !== 'accepted') continue;
    const name = nameOf(post);
    first.set(name, Math.min(first.get(name) ?? Number.POSITIVE_INFINITY, post.ended));
  }
  return first;
}

interface ValueRead {
  readonly subject: string;
  readonly began: number;
  readonly ended: number;
  readonly value: number | bigint;
  readonly said: string;
}

/** Reads that show less than one that had ended before they began. */
function goingBack(reads: readonly ValueRead[]): string[] {
  const bySubject = new Map<string, ValueRead[]>();
  for (const read of reads) {
    const own = bySubject.get(read.subject);
    if (own === undefined) bySubject.set(read.subject, [read]);
    else own.push(read);
  }
  return [...bySubject].flatMap(([subject, own]) => {
    const byEnd = own.toSorted((a, b) => a.ended - b.ended);
    let next = 0;
    let most: ValueRead | undefined;
    return own
      .toSorted((a, b) => a.began - b.began)
      .flatMap((read) => {
        for (let seen = byEnd[next]; seen !== undefined && seen.ended <= read.began; seen = byEnd[++next]) {
          if (most === undefined || seen.value > most.value) most = seen;
        }
        if (most === undefined || read.value >= most.value) return [];
        return [
          `${subject}: ${most.said} at ${most.ended.toFixed()} ms, and ${read.said} at ${read.began.toFixed()} ms`,
        ];
      });
  });
}
