/** The phases of a network under load: orders to its load generator, and what each process took meanwhile. */

import { devAccounts } from '../../src/config/dev-accounts.js';
import { beginPhase, type ProcessUse, type Watched } from './figures.js';
import type { LoadProcess } from './load.js';
import type { LoadAnswer } from './orders.js';
import { type Phase, printPhase } from './tables.js';

/** Payments a second that are signed in advance for a phase; what is left serves the next one. */
const PREPARED_PER_SECOND = 6_000;
const READ_CONNECTIONS = 4;
const READ_ADDRESSES = 10;

/** A network with its load generator. */
export interface Loaded {
  readonly watched: readonly Watched[];
  readonly load: LoadProcess;
}

export interface PhaseOptions {
  readonly seconds: number;
  readonly connections: number;
  /** Payments of one post. */
  readonly batch: number;
  /** Payments a second; as many as the answers allow without one. */
  readonly rate?: number;
  readonly reads?: boolean;
}

type Drained = Extract<LoadAnswer, { kind: 'drained' }>;
type Posted = Extract<LoadAnswer, { kind: 'posted' }>;

export async function phase(
  network: Loaded,
  name: string,
  work: () => Promise<Omit<Phase, 'name' | 'processes'>>,
): Promise<Phase> {
  const end = await beginPhase(network.watched);
  const figures = await work();
  const processes: readonly ProcessUse[] = await end();
  const done = { name, ...figures, processes };
  printPhase(done);
  return done;
}

export async function prepare(
  network: Loaded,
  { seconds, batch, rate = PREPARED_PER_SECOND }: PhaseOptions,
): Promise<void> {
  await network.load.order({ kind: 'prepare', count: Math.ceil(rate * seconds), batch });
}

export const perSecond = (count: number, ms: number): number => (1_000 * count) / ms;

/** Posts, and waits until all of it is confirmed; at a rate, or as fast as the answers come. */
export async function confirmAll(network: Loaded, name: string, options: PhaseOptions): Promise<Phase> {
  const { seconds, connections, rate, reads } = options;
  await prepare(network, options);
  return phase(network, name, async () => {
    const post = { kind: 'post' as const, seconds, connections, ...(rate === undefined ? {} : { rate }) };
    const addresses = devAccounts()
      .accounts.slice(0, READ_ADDRESSES)
      .map(({ address }) => address);
    const reading = reads
      ? network.load.order<'read'>({ kind: 'read', seconds, connections: READ_CONNECTIONS, addresses })
      : undefined;
    const posted = await network.load.order<'posted'>(post);
    const drained = await network.load.order<'drained'>({ kind: 'drain' });
    const answers = await reading;
    return {
      count: drained.count,
      admitted: admittedOf(posted),
      confirmed: confirmedOf(posted, drained),
      ...(answers && { reads: { storage: answers.storage, mempool: answers.mempool } }),
    };
  });
}

export function admittedOf(posted: Posted): NonNullable<Phase['admitted']> {
  const { admitted, admitMs, answerP50: p50, answerP99: p99, tooMany, isUsedUp } = posted;
  return { rate: perSecond(admitted, admitMs), p50, p99, tooMany, isUsedUp };
}

function confirmedOf(
  { beganAt }: Posted,
  { count, lastAt, p50, p99, max, blocks }: Drained,
): NonNullable<Phase['confirmed']> {
  return { rate: perSecond(count, lastAt - beganAt), p50, p99, max, blocks };
}
