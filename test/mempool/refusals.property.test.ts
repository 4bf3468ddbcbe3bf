/**
 * What a node has refused by a rule is in no block, and what it has accepted is in one: whoever leads, whoever is behind, and whatever
 * comes into the journal later than the node that appended it has told its client (docs/reliability.md#several-mempool-nodes).
 */

import { expect, it } from 'vitest';
import { transactionHash } from '../../src/chain/hash.js';
import type { FullBlock, Transaction } from '../../src/chain/types.js';
import type { Journal, Leadership } from '../../src/journal/journal.js';
import { createDeferred, type Deferred } from '../../src/lib/deferred.js';
import { isTesseraError, TesseraError } from '../../src/lib/errors.js';
import { SignalSource } from '../../src/lib/signal.js';
import { journalWith, openJournal } from '../support/journal.js';
import { settle } from '../support/manual-clock.js';
import { MemoryKv } from '../support/memory-kv.js';
import { type Account, genesisOut, pay, payment } from '../support/mempool.js';
import { createBed } from '../support/peers.js';
import { fc, test } from '../support/property.js';
import { addMiner, addStorage, alice, bob, newFolder, type Setup, setUp, stored } from './running.js';

const REFUSED: ReadonlySet<string> = new Set(['double_spend', 'unknown_input', 'transaction_rejected']);

class Lead implements Leadership {
  readonly changed = new SignalSource<void>();
  readonly problem = null;
  leads = false;

  set(leads: boolean): void {
    this.leads = leads;
    this.changed.emit();
  }
}

/** A node whose journal tells it of no append that is `late`, until `release`, and delivers nothing while it is `held`. */
interface Place {
  readonly setup: Setup;
  readonly leader: Lead;
  isLate: boolean;
  held: Deferred<void> | undefined;
  release(): void;
}

async function place(name: string, shared: Journal, bed: ReturnType<typeof createBed>): Promise<Place> {
  const leader = new Lead();
  const late: Uint8Array[] = [];
  const state = { leader, isLate: false, held: undefined as Deferred<void> | undefined };
  let lost = 0;
  const journal = journalWith(shared, {
    isShared: true,
    append(payload) {
      if (!state.isLate) return shared.append(payload);
      late.push(payload);
      const unknown = new TesseraError('mempool_unreachable', 'it may be taken yet', { details: { mayBeTaken: true } });
      return { id: `late ${lost++}`, durable: Promise.reject(unknown) };
    },
    subscribe: (from, deliver, onError) =>
      shared.subscribe(
        from,
        async (entries) => {
          await state.held?.promise;
          await deliver(entries);
        },
        onError,
      ),
  });
  const setup = await setUp({
    bed,
    name,
    folder: await newFolder(),
    leadership: leader,
    miners: [],
    storage: false,
    wrapJournal: () => journal,
  });
  return Object.assign(state, {
    setup,
    release() {
      for (const payload of late.splice(0)) void shared.append(payload).durable;
    },
  });
}

async function twoPlaces() {
  const bed = createBed('memory');
  const shared = await openJournal(new MemoryKv());
  const places = [await place('one', shared, bed), await place('two', shared, bed)] as const;
  const blocks: FullBlock[] = [];
  const storage = await addStorage(bed, places[0].setup.network, blocks);
  await storage.dial(places[1].setup.network.address, { timeoutMs: 5_000 });
  for (const { setup } of places) await addMiner(bed, setup.network, 'm1');
  places[0].leader.set(true);
  await Promise.all(places.map(({ setup }) => stored(setup.mempool, 0)));
  return { bed, places, blocks };
}

const step = fc.record({
  /** Who leads from now on. */
  leads: fc.nat(1),
  /** The nodes that the payment is posted at, one after the other until one accepts or refuses. */
  at: fc.array(fc.nat(1), { minLength: 1, maxLength: 4 }),
  /** What each of them does not tell. */
  late: fc.tuple(fc.boolean(), fc.boolean()),
  /** The node that is behind meanwhile. */
  behind: fc.option(fc.nat(1)),
  /** Another payment of the same output, posted at that node beside the first. */
  rival: fc.option(fc.nat(1)),
  /** What was not told comes before the next step, or behind it. */
  release: fc.boolean(),
});

test.prop([fc.array(step, { minLength: 3, maxLength: 8, size: 'max' })], { numRuns: 12, endOnFailure: true })(
  'what a node refuses is in no block, and what it accepts is in one',
  async (steps) => {
    const { bed, places, blocks } = await twoPlaces();
    const told = new Map<string, string>();
    const post = async (tx: Transaction, at: number): Promise<string> => {
      const answer = await places[at as 0 | 1].setup.mempool.submit([tx]).then(
        () => 'accepted',
        (error: unknown) => (isTesseraError(error) && REFUSED.has(error.code) ? 'refused' : 'unknown'),
      );
      if (answer !== 'unknown') told.set(`${transactionHash(tx)} ${at}`, answer);
      return answer;
    };
    const pays = (from: Account, outPoint: { tHash: string; n: number }, rest: bigint): Transaction =>
      payment({
        from,
        inputs: [outPoint],
        outputs: [pay(from, 1_000_000n - rest), ...(rest > 0n ? [pay(bob, rest)] : [])],
      });
    for (const [i, { leads, at, late, behind, rival, release }] of steps.entries()) {
      for (const [n, { leader }] of places.entries()) leader.set(n === leads);
      for (const [n, one] of places.entries()) one.isLate = late[n] === true && n !== leads;
      const slow = behind === null ? undefined : places[behind as 0 | 1];
      if (slow !== undefined) slow.held = createDeferred<void>();
      const tx = pays(alice, genesisOut(i), 0n);
      const others = rival === null ? undefined : post(pays(alice, genesisOut(i), 1n), rival);
      const paying = (async (): Promise<void> => {
        for (const node of at) if ((await post(tx, node)) !== 'unknown') break;
      })();
      await settle();
      if (release) for (const one of places) one.release();
      await settle();
      slow?.held?.resolve();
      if (slow !== undefined) slow.held = undefined;
      await paying;
      await others;
      for (const one of places) one.isLate = false;
      if (!release) for (const one of places) one.release();
    }
    const last = payment({ from: alice, inputs: [genesisOut(50)], outputs: [pay(bob, 1_000_000n)] });
    await post(last, 0);
    const open = async (): Promise<number> => {
      await bed.clock.advance(1_000);
      const hashes = [...told].flatMap(([name, answer]) => (answer === 'accepted' ? [name.split(' ')[0] ?? ''] : []));
      const known = await places[0].setup.mempool.statuses(hashes);
      return [...known.values()].filter(({ status }) => status !== 'Confirmed').length;
    };
    await expect.poll(open, { timeout: 60_000 }).toBe(0);
    const mined = new Set(blocks.flatMap(({ transactions }) => transactions.map(transactionHash)));
    for (const [name, answer] of told)
      expect(`${name} ${answer} ${mined.has(name.split(' ')[0] ?? '')}`).toBe(
        `${name} ${answer} ${answer === 'accepted'}`,
      );
  },
);

it('a refusal says what the journal has: an input that another request may yet bring is not there', async () => {
  const { places } = await twoPlaces();
  const [one, two] = places;
  const parent = payment({ from: alice, inputs: [genesisOut(0)], outputs: [pay(bob, 1_000_000n)] });
  const input = { tHash: transactionHash(parent), n: 0 };
  const child = payment({ from: bob, inputs: [input], outputs: [pay(alice, 1_000_000n)] });
  two.isLate = true;
  const unknown = { details: { mayBeTaken: true } };
  await expect(two.setup.mempool.submit([parent])).rejects.toMatchObject(unknown);
  await expect(one.setup.mempool.submit([child])).rejects.toMatchObject({ code: 'unknown_input' });
  two.release();
  await stored(one.setup.mempool, 1);
  expect(await one.setup.mempool.submit([child])).toHaveLength(1);
});
