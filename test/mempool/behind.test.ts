/**
 * A mempool node that is behind the journal it shares refuses nothing by its old state that is valid by a newer one, and what it
 * refuses is refused for certain (docs/adr/0041-several-mempool-nodes.md#a-follower-that-is-behind).
 */

import { describe, expect, it } from 'vitest';
import { transactionToCreateJson } from '../../src/chain/create-transaction.js';
import type { Transaction } from '../../src/chain/types.js';
import { forgotten, type Journal, type Leadership } from '../../src/journal/journal.js';
import { createDeferred, type Deferred } from '../../src/lib/deferred.js';
import { TesseraError } from '../../src/lib/errors.js';
import { stringifyExact } from '../../src/lib/json.js';
import { openApp } from '../support/api/app.js';
import { journalWith, openJournal } from '../support/journal.js';
import { settle } from '../support/manual-clock.js';
import { MemoryKv } from '../support/memory-kv.js';
import { genesisOut, pay, payment } from '../support/mempool.js';
import { createBed } from '../support/peers.js';
import { alice, atEnd, bob, newFolder, type Setup, send, setUp, stored } from './running.js';

const follower: Leadership = { leads: false, problem: null, changed: { on: () => () => undefined } };

interface Behind {
  readonly leader: Setup;
  readonly late: Setup;
  /** While it is set, the late node gets nothing from the journal until it is resolved. */
  held: Deferred<void> | undefined;
  /** Questions of the late node where the journal ends. */
  syncs: number;
  /** What they are answered with, in place of the end. */
  syncFails: TesseraError | undefined;
  /** Ends the delivery to the late node with an error. */
  end: (error: unknown) => void;
  /** Why the journal cannot be used, as the late node sees it. */
  problem: string | null;
}

/** Two nodes at one journal; block 0 is stored. */
async function behind(): Promise<Behind> {
  const bed = createBed('memory');
  const journal = await openJournal(new MemoryKv());
  const state = { held: undefined, syncs: 0, syncFails: undefined, problem: null } as unknown as {
    -readonly [K in keyof Behind]: Behind[K];
  };
  const lateJournal: Journal = journalWith(journal, {
    isShared: true,
    sync: async () => {
      state.syncs++;
      if (state.syncFails !== undefined) throw state.syncFails;
      return journal.head;
    },
    subscribe: (from, deliver, onError) => {
      state.end = onError;
      return journal.subscribe(
        from,
        async (entries) => {
          await state.held?.promise;
          await deliver(entries);
        },
        onError,
      );
    },
  });
  Object.defineProperty(lateJournal, 'problem', { get: () => state.problem });
  const shared = journalWith(journal, { isShared: true });
  state.leader = await setUp({ folder: await newFolder(), bed, name: 'leader', wrapJournal: () => shared });
  const late = { folder: await newFolder(), bed, name: 'late', miners: [], storage: false, leadership: follower };
  state.late = await setUp({ ...late, wrapJournal: () => lateJournal });
  await Promise.all([stored(state.leader.mempool, 0), stored(state.late.mempool, 0)]);
  return state;
}

/** Alice spends her first output; bob spends what he gets. */
const parent = send(alice, 0, bob);
const rival = send(alice, 0, bob, 2);

/** Why a mempool node cannot go on. */
const ENDS = [
  ['another state than the others', new TesseraError('state_diverged', 'the state differs')],
  ['an etcd of an older copy', new TesseraError('data_corrupt', 'etcd was restored from an older copy')],
  ['a fault of the program', new TypeError('undefined is not a function')],
] as const;

describe('a mempool node that is behind the journal', () => {
  it('admits what spends a transaction of another node that it has not read yet', async () => {
    const all = await behind();
    all.held = createDeferred<void>();
    const [{ hash = '' } = {}] = await all.leader.mempool.submit([parent]);
    const child = payment({
      from: bob,
      inputs: [{ tHash: hash, n: 0 }],
      outputs: [pay(alice, 999_999n)],
    });
    const submitted = all.late.mempool.submit([child]);
    await expect.poll(() => all.syncs).toBe(1);
    all.held.resolve();
    all.held = undefined;
    expect(await submitted).toHaveLength(1);
  });

  it('refuses a second spend that it has not read of, when it has', async () => {
    const all = await behind();
    all.held = createDeferred<void>();
    await all.leader.mempool.submit([parent]);
    // Its input is spent by one that waits, or that is in a block by then.
    const refused = expect(all.late.mempool.submit([rival])).rejects.toThrow(/is refused/);
    // By its own state it is valid, so the journal decides.
    await settle();
    all.held.resolve();
    all.held = undefined;
    await refused;
  });

  it('asks once for many refusals, and nobody when nothing is refused', async () => {
    const all = await behind();
    await all.late.mempool.submit([parent]);
    expect(all.syncs).toBe(0);
    const unknown = Array.from({ length: 20 }, (_, i) =>
      payment({ from: alice, inputs: [genesisOut(90 + i)], outputs: [pay(bob, 1n)] }),
    );
    const refusals = unknown.map((tx) => all.late.mempool.submit([tx]).catch((error: TesseraError) => error.code));
    expect(new Set(await Promise.all(refusals))).toEqual(new Set(['unknown_input']));
    expect(all.syncs).toBeLessThanOrEqual(4);
  });

  it('says nothing definite when it cannot ask', async () => {
    const all = await behind();
    await all.leader.mempool.submit([parent]);
    await stored(all.late.mempool, 1);
    all.syncFails = new TesseraError('mempool_unreachable', 'etcd does not answer; try again');
    await expect(all.late.mempool.submit([rival])).rejects.toMatchObject({ code: 'mempool_unreachable' });
  });

  it('answers in time what it cannot read back, as something that may be taken, and that is', async () => {
    const all = await behind();
    all.held = createDeferred<void>();
    const answer = all.late.mempool.submit([parent]).then(
      () => 'taken',
      (error: TesseraError) => error,
    );
    await settle();
    all.problem = 'the journal waits for etcd';
    const given = async (): Promise<unknown> => {
      await all.late.bed.clock.advance(1_000);
      return Promise.race([answer, undefined]);
    };
    await expect
      .poll(given, { timeout: 60_000 })
      .toMatchObject({ code: 'mempool_unreachable', details: { mayBeTaken: true } });
    all.problem = null;
    all.held.resolve();
    all.held = undefined;
    await stored(all.late.mempool, 1);
  });

  it('says of what it has appended that it may be taken, when the journal has gone on without it', async () => {
    const all = await behind();
    all.held = createDeferred<void>();
    const answer = all.late.mempool.submit([parent]).catch((error: TesseraError) => error);
    // The leader has read it.
    await stored(all.leader.mempool, 1);
    all.end(forgotten(7, 9));
    expect(await answer).toMatchObject({ code: 'mempool_unreachable', details: { mayBeTaken: true } });
    await expect(all.late.mempool.failed).rejects.toMatchObject({ details: { isForgotten: true } });
    // What comes now is in no journal.
    const more = all.late.mempool.submit([send(bob, 1, alice)]);
    await expect(more).rejects.toMatchObject({ code: 'mempool_unreachable', details: { mayBeTaken: false } });
    all.held.resolve();
    all.held = undefined;
  });

  it.each(ENDS)('answers what clients know while it ends for %s', async (_what, error) => {
    const all = await behind();
    all.held = createDeferred<void>();
    const appended = all.late.mempool.submit([parent]).catch((refusal: unknown) => refusal);
    await stored(all.leader.mempool, 1);
    all.end(error);
    const code = 'mempool_unreachable';
    // The others may apply it, and this node will not say.
    expect(await appended).toMatchObject({ code, details: { mayBeTaken: true } });
    const more = all.late.mempool.submit([send(bob, 1, alice)]);
    await expect(more).rejects.toMatchObject({ code, details: { mayBeTaken: false } });
    await expect(all.late.mempool.failed).rejects.toBe(error);
    all.held.resolve();
    all.held = undefined;
  });

  it.each(ENDS)('answers no post with internal_error while it ends for %s', async (_what, error) => {
    const all = await behind();
    const app = await openApp('mempool', { modules: { mempool: all.late.mempool } });
    const post = async (transaction: Transaction, url = '/v1/transactions') => {
      const list = [transactionToCreateJson(transaction)];
      const payload = stringifyExact(url === '/v1/transactions' ? { transactions: list } : list);
      const headers = { 'content-type': 'application/json' };
      const { statusCode, body } = await app.inject({ method: 'POST', url, headers, payload });
      return { statusCode, ...(JSON.parse(body) as { code?: string; reason?: string }) };
    };
    const held = createDeferred<void>();
    all.held = held;
    atEnd(async () => held.resolve());
    const appended = post(parent);
    await stored(all.leader.mempool, 1);
    all.end(error);
    expect(await appended).toMatchObject({ statusCode: 500, code: 'outcome_unknown' });
    const more = send(bob, 1, alice);
    expect(await post(more)).toMatchObject({ statusCode: 500, code: 'mempool_unreachable' });
    expect(await post(parent)).toMatchObject({ statusCode: 500, code: 'mempool_unreachable' });
    expect((await post(more, '/create_transactions')).reason).toMatch(/this mempool node cannot go on/);
    await expect(all.late.mempool.failed).rejects.toBe(error);
    expect(await post(more)).toMatchObject({ statusCode: 500, code: 'mempool_unreachable' });
  });

  it('says of what it has appended that it may be taken, when it stops', async () => {
    const all = await behind();
    all.held = createDeferred<void>();
    const appended = all.late.mempool.submit([parent]).catch((refusal: unknown) => refusal);
    await stored(all.leader.mempool, 1);
    const stopping = all.late.mempool.stop();
    all.held.resolve();
    all.held = undefined;
    await stopping;
    const answer = await appended;
    if (!Array.isArray(answer)) expect(answer).toMatchObject({ details: { mayBeTaken: true } });
  });
});
