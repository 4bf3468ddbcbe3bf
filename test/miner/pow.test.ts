import type { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, it } from 'vitest';
import { decodeHeader } from '../../src/chain/codec.js';
import { proofOfWorkFault } from '../../src/chain/pow.js';
import { silentLogger } from '../../src/lib/logger.js';
import { NONCE_LENGTH, NonceSearcher, ORIGINAL_NONCE_LENGTH, searchJobOf } from '../../src/miner/nonce-search.js';
import { PowPool } from '../../src/miner/pow-pool.js';
import { SettlingClock, settle } from '../support/manual-clock.js';
import { IMPOSSIBLE, TWO_BYTES, templateHeader } from '../support/miner.js';

const HEADER = { ...templateHeader(5), miningTxHash: `g${'1'.repeat(31)}` };

describe('the nonce search', () => {
  it('changes nothing of the header but the nonce', () => {
    const { header, nonceOffset } = searchJobOf(HEADER);
    header.fill(0xab, nonceOffset, nonceOffset + NONCE_LENGTH);
    expect(decodeHeader(header)).toEqual({ ...HEADER, nonce: new Uint8Array(NONCE_LENGTH).fill(0xab) });
  });

  it.each([
    ['no target', HEADER],
    ['a compact target', { ...HEADER, difficulty: TWO_BYTES }],
  ])('finds what chain/pow accepts for %s', async (_what, header) => {
    const searcher = await NonceSearcher.create();
    const { nonce } = searcher.search(searchJobOf(header), 0, () => false);
    expect(proofOfWorkFault({ ...header, nonce: nonce ?? new Uint8Array(0) })).toBeNull();
  });

  it('keeps ranges apart: a nonce begins with its range', async () => {
    const searcher = await NonceSearcher.create();
    for (const range of [0, 1, 258]) {
      const { nonce } = searcher.search(searchJobOf(HEADER), range, () => false);
      expect([...(nonce ?? [])].slice(0, 2)).toEqual([range & 0xff, range >> 8]);
    }
  });

  it('has 4 bytes where original nodes are in the network, and ranges of their own there', async () => {
    const searcher = await NonceSearcher.create();
    for (const range of [0, 7]) {
      const { nonce = new Uint8Array(0) } = searcher.search(
        searchJobOf(HEADER, ORIGINAL_NONCE_LENGTH),
        range,
        () => false,
      );
      expect([nonce.length, nonce[0]]).toEqual([4, range]);
      expect(proofOfWorkFault({ ...HEADER, nonce })).toBeNull();
    }
  });

  it('ends when it is told to, with the hashes it made', async () => {
    const searcher = await NonceSearcher.create();
    const job = searchJobOf({ ...HEADER, difficulty: IMPOSSIBLE });
    const { nonce, hashes } = searcher.search(job, 0, (done) => done >= 4_000);
    expect(nonce).toBeUndefined();
    expect(hashes).toBe(4_096);
  });
});

describe('the pool of threads', () => {
  const clock = new SettlingClock();
  const threads: Worker[] = [];
  const remember = (worker: Worker): void => void threads.push(worker);
  let pool: PowPool;

  const start = async (count: number): Promise<void> => {
    process.on('worker', remember);
    pool = new PowPool({ threads: count }, { clock, logger: silentLogger });
    await pool.start();
  };

  afterEach(async () => {
    await pool.stop();
    process.off('worker', remember);
    threads.length = 0;
  });

  it('abandons a search for the next header', async () => {
    await start(2);
    const hopeless = pool.search({ ...HEADER, difficulty: IMPOSSIBLE });
    const nonce = await pool.search(HEADER);
    expect(await hopeless).toBeNull();
    expect(proofOfWorkFault({ ...HEADER, nonce: nonce ?? new Uint8Array(0) })).toBeNull();
  });

  it('abandons a search when told to, and works on the next', async () => {
    await start(1);
    const hopeless = pool.search({ ...HEADER, difficulty: IMPOSSIBLE });
    pool.abandon();
    expect(await hopeless).toBeNull();
    expect(await pool.search(HEADER)).not.toBeNull();
  });

  it('refuses a malformed difficulty and keeps its search', async () => {
    await start(1);
    const hopeless = pool.search({ ...HEADER, difficulty: IMPOSSIBLE });
    await expect(pool.search({ ...HEADER, difficulty: new Uint8Array(3) })).rejects.toThrow(/0 or 4 bytes/);
    await pool.stop();
    expect(await hopeless).toBeNull();
  });

  it('leaves its threads idle when a search is abandoned', async () => {
    await start(1);
    void pool.search({ ...HEADER, difficulty: IMPOSSIBLE });
    pool.abandon();
    const [thread] = threads;
    // A thread that still searched would not read this. 0 is what the flag shows when there is nothing to search.
    const answer = new Promise((resolve) => thread?.once('message', resolve));
    thread?.postMessage({ job: 0, search: searchJobOf(HEADER) });
    expect(await answer).toMatchObject({ job: 0 });
  });

  it('replaces a thread that died, and gives it what is searched', async () => {
    await start(1);
    const [thread] = threads;
    await thread?.terminate();
    await settle();
    expect(pool.threads).toBe(0);
    const nonce = pool.search(HEADER);
    await clock.advance(1_000);
    expect(pool.threads).toBe(1);
    expect(await nonce).not.toBeNull();
  });

  it('has no thread left when it is stopped, and searches no more', async () => {
    await start(2);
    const hopeless = pool.search({ ...HEADER, difficulty: IMPOSSIBLE });
    await pool.stop();
    expect(await hopeless).toBeNull();
    expect(pool.threads).toBe(0);
    expect(await pool.search(HEADER)).toBeNull();
  });
});
