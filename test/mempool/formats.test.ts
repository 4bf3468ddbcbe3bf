/**
 * Data folders of earlier versions open, and stand where they stood. The folder in the fixtures was written by the first
 * version of format 1: two blocks of two miners, a payment, an item, a refusal, a transaction in the pool, and one that
 * waits for the other of its DRUID.
 */

import { chmod, cp, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { DataDir } from '../../src/db/data-dir.js';
import type { TxStatus } from '../../src/mempool/service.js';
import { loadMempoolState } from '../../src/mempool/state/load.js';
import { MempoolState } from '../../src/mempool/state/state.js';
import { openJournal } from '../support/journal.js';
import { MemoryKv } from '../support/memory-kv.js';
import { account, applierOf, rulesFor } from '../support/mempool.js';
import { alice, atEnd, bob, newFolder, setUp, stored } from './running.js';

const FIXTURE = fileURLToPath(new URL('../fixtures/mempool-folder/', import.meta.url));
const rules = rulesFor([alice, bob, account('carol')]);
const blocks = { instant: false, blockInterval: 10_000, proofWindow: 500, minMiners: 1, partitionSize: 10 };

interface Expected {
  readonly digest: string;
  readonly seq: number;
  readonly height: number;
  readonly statuses: Readonly<Record<string, TxStatus>>;
}

const expected = JSON.parse(await readFile(`${FIXTURE}expected.json`, 'utf8')) as Expected;

async function copyOfFixture(): Promise<string> {
  const folder = await newFolder();
  await cp(`${FIXTURE}data`, folder, { recursive: true });
  await chmod(folder, 0o700);
  return folder;
}

describe('a data folder of the first version', () => {
  it('opens with the same state, digest and statuses, and goes on making blocks', async () => {
    const { mempool, bed } = await setUp({ folder: await copyOfFixture(), mempool: { rules, blocks } });
    expect(mempool.digest()).toBe(expected.digest);
    expect(mempool.figures()).toMatchObject({ seq: expected.seq, height: expected.height, waitingCount: 2 });
    expect(Object.fromEntries(await mempool.statuses(Object.keys(expected.statuses)))).toEqual(expected.statuses);
    const next = stored(mempool, expected.height + 1);
    await bed.clock.advance(10_000);
    await next;
    expect(mempool.figures().waitingCount).toBe(1);
  });

  it('has a journal that leads to the same state from nothing (rule P2)', async () => {
    const dataDir = await DataDir.open(await copyOfFixture(), { role: 'mempool', networkName: 'test' });
    atEnd(() => dataDir.close());
    const journal = await openJournal(await dataDir.open('journal'));
    const kv = new MemoryKv();
    const state = new MempoolState(rules);
    const applier = applierOf(journal, kv, state);
    await applier.start();
    expect({ digest: state.digest(), seq: state.seq }).toEqual({ digest: expected.digest, seq: expected.seq });
    await applier.stop();
    await journal.close();
    expect((await loadMempoolState(kv, rules, { hashKey: new Uint8Array(8) })).digest()).toBe(expected.digest);
  });
});
