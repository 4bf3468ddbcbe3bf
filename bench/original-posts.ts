/** What posts cost the node that Tessera replaces, whose program is given by its path. */

import { readdir, readFile } from 'node:fs/promises';
import { load, once } from './load.js';
import { originalPost } from './network/dialects.js';
import { OriginalNetwork } from './network/original.js';
import { benchPayments } from './payments.js';

/** Milliseconds in which it is looked at without work, before the posts; and after them, when it has taken them into its pool. */
const REST_MS = 1_000;

/** Posts of one round. */
export interface PostsOfRound {
  /** Transactions, and how many a post has. */
  readonly count: number;
  readonly size: number;
  readonly connections: number;
  /** Posts a second; as many as it takes by default. */
  readonly pace?: number;
}

export interface Posted {
  /** µs of processor time for a transaction. */
  readonly cost: number;
  /** Transactions a second. */
  readonly rate: number;
}

/** It is started anew, since it gets slower with what waits in its pool. What it takes at rest is not counted. */
export async function postOriginal(program: string, { count, size, connections, pace }: PostsOfRound): Promise<Posted> {
  const network = await OriginalNetwork.start(program, count);
  try {
    await network.endMiner();
    const payments = benchPayments(0, count);
    const requests = Array.from({ length: count / size }, (_, i) =>
      originalPost(network.mempool, payments.slice(i * size, (i + 1) * size)),
    );
    const pid = network.watched.find(({ name }) => name === 'mempool')?.pid() ?? 0;
    const during = async (work: () => Promise<unknown>): Promise<{ readonly used: number; readonly ms: number }> => {
      const [from, begun] = [await threadTime(pid), performance.now()];
      await work();
      return { used: (await threadTime(pid)) - from, ms: performance.now() - begun };
    };
    const rest = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, REST_MS));
    const idle = await during(rest);
    const options = {
      url: network.mempool,
      connections,
      next: once(requests),
      ...(pace === undefined ? {} : { pace }),
    };
    let rate = 0;
    const { used, ms } = await during(async () => {
      const answers = await load(options);
      rate = answers.rate;
      await rest();
      if (answers.statuses.get(200) !== requests.length)
        throw new Error(`the original answered ${JSON.stringify([...answers.statuses])}`);
    });
    return { cost: (used - (idle.used * ms) / idle.ms) / count, rate: rate * size };
  } finally {
    await network.end();
  }
}

/** µs of processor time of all threads that a process has: finer than the ticks of its own line. */
async function threadTime(pid: number): Promise<number> {
  const threads = await readdir(`/proc/${pid}/task`);
  const times = await Promise.all(threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/schedstat`, 'latin1')));
  return times.reduce((sum, text) => sum + Number(text.split(' ')[0]) / 1_000, 0);
}
