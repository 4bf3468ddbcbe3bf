/** What is done once for an idempotency key (docs/wallet.md#paid-exactly-once). */

import { afterAll, describe, expect, it } from 'vitest';
import { prefixRange } from '../../src/db/keys.js';
import type { Kv } from '../../src/db/kv.js';
import { silentLogger } from '../../src/lib/logger.js';
import { IdempotencyKeys, type KeyedRequest } from '../../src/wallet/idempotency-keys.js';
import { PREFIX } from '../../src/wallet/layout.js';
import { WriteBuffer } from '../../src/wallet/write-buffer.js';
import { ManualClock } from '../support/manual-clock.js';
import { MemoryKv } from '../support/memory-kv.js';
import { fc, test } from '../support/property.js';
import { until } from '../support/user.js';
import {
  fund,
  NOBODY,
  newWallet,
  type OpenWallet,
  type OpenWalletOptions,
  openWallet,
  removeFolders,
} from '../support/wallet-fixtures.js';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

afterAll(removeFolders);

/** A request of a caller: to pay so much. */
const requestOf = (key: string, amount: bigint): KeyedRequest => ({
  scope: 'api',
  key,
  request: ['pay', String(amount)],
});

async function payOnce({ wallet }: OpenWallet, key: string, amount = 1n): Promise<string> {
  return wallet.idempotencyKeys.once(requestOf(key, amount), async (keep) => {
    const { hash } = await wallet.payments.pay({ address: NOBODY, amount, locktime: 0n, keep });
    return hash;
  });
}

async function rich(options: OpenWalletOptions = {}): Promise<OpenWallet> {
  const open = await newWallet(options);
  await fund(open.wallet, new Array<bigint>(10).fill(100n));
  return open;
}

const hashesOf = async ({ wallet }: OpenWallet): Promise<readonly string[]> =>
  (await wallet.outgoing.latest()).map(({ hash }) => hash);

const keptIn = async (kv: Kv): Promise<number> => {
  let count = 0;
  for await (const _ of kv.entries(prefixRange(PREFIX.idempotencyKey))) count += 1;
  return count;
};

describe('a key', () => {
  it('names its movement in the history, and no other', async () => {
    const { wallet, close } = await rich();
    const page = { limit: 10, newestFirst: true };
    const hash = await payOnce({ wallet } as OpenWallet, 'a');
    await payOnce({ wallet } as OpenWallet, 'b', 2n);
    const { movements, next } = await wallet.history.movements({ ...page, idempotencyKey: 'a' });
    expect([movements.map((one) => [one.hash, one.amount]), next]).toEqual([[[hash, 1n]], null]);
    for (const query of [{ idempotencyKey: 'c' }, { idempotencyKey: 'a', state: 'confirmed' as const }]) {
      expect(await wallet.history.movements({ ...page, ...query })).toEqual({ movements: [], next: null });
    }
    await close();
  });

  it('stands for one payment, also over a restart', async () => {
    const first = await rich();
    const hash = await payOnce(first, 'a');
    expect(await payOnce(first, 'a')).toBe(hash);
    await first.close();
    const second = await openWallet(first.folder);
    expect(await payOnce(second, 'a')).toBe(hash);
    expect(await payOnce(second, 'b')).not.toBe(hash);
    expect(await hashesOf(second)).toHaveLength(2);
  });

  it('is refused with another request, and nothing is paid', async () => {
    const open = await rich();
    const hash = await payOnce(open, 'a', 1n);
    await expect(payOnce(open, 'a', 2n)).rejects.toMatchObject({ code: 'idempotency_key_reused' });
    const [first, other] = await Promise.allSettled([payOnce(open, 'b', 1n), payOnce(open, 'b', 2n)]);
    expect(first?.status).toBe('fulfilled');
    expect(other).toMatchObject({ status: 'rejected', reason: { code: 'idempotency_key_reused' } });
    expect(await hashesOf(open)).toHaveLength(2);
    expect(await payOnce(open, 'a', 1n)).toBe(hash);
  });

  it('makes one payment of fifty requests at once, and all get its hash', async () => {
    const open = await rich();
    const hashes = await Promise.all(Array.from({ length: 50 }, () => payOnce(open, 'a')));
    expect(new Set(hashes).size).toBe(1);
    expect(await hashesOf(open)).toEqual([hashes[0]]);
  });

  it('is free again when the payment could not be made', async () => {
    const open = await newWallet();
    const both = await Promise.allSettled([payOnce(open, 'a', 5n), payOnce(open, 'a', 5n)]);
    for (const one of both) expect(one).toMatchObject({ reason: { code: 'insufficient_funds' } });
    await fund(open.wallet, [5n]);
    expect(await payOnce(open, 'a', 5n)).toBe((await hashesOf(open))[0]);
  });

  it('is on disk with its payment or not at all', async () => {
    const first = await rich();
    await first.close();
    let isBroken = false;
    let batches = 0;
    const wrap = (kv: Kv): Kv =>
      new Proxy(kv, {
        get(target, name) {
          const member: unknown = Reflect.get(target, name);
          if (typeof member !== 'function') return member;
          if (name !== 'write') return member.bind(target);
          return (...args: unknown[]) => {
            batches += 1;
            return isBroken ? Promise.reject(new Error('disk full')) : member.apply(target, args);
          };
        },
      });
    const open = await openWallet(first.folder, { wrap });
    batches = 0;
    const hash = await payOnce(open, 'a');
    expect(batches).toBe(1);
    isBroken = true;
    await expect(payOnce(open, 'b')).rejects.toMatchObject({ code: 'wallet_write_failed' });
    isBroken = false;
    expect(await hashesOf(open)).toEqual([hash]);
    const again = await payOnce(open, 'b');
    expect(await hashesOf(open)).toEqual([hash, again]);
    expect(await keptIn(open.kv)).toBe(2);
  });

  it('is kept until the end of the next day (UTC), then dropped from the disk', async () => {
    const clock = new ManualClock(Date.UTC(2026, 0, 1, 23, 59));
    const open = await rich({ clock });
    const hash = await payOnce(open, 'a');
    clock.advance(DAY);
    await payOnce(open, 'b');
    expect(await payOnce(open, 'a')).toBe(hash);
    clock.advance(2 * 60_000);
    expect(await payOnce(open, 'a')).not.toBe(hash);
    // The old one of 'a' goes; its new one and 'b' stay.
    await until(async () => (await keptIn(open.kv)) === 2);
    await open.close();
    clock.advance(3 * DAY);
    const later = await openWallet(open.folder, { clock });
    await until(async () => (await keptIn(later.kv)) === 0);
  });

  it('is known when the clock of the machine has gone back', async () => {
    const clock = new ManualClock(Date.UTC(2026, 0, 5));
    const open = await rich({ clock });
    const hash = await payOnce(open, 'a');
    await open.close();
    const earlier = await openWallet(open.folder, { clock: new ManualClock(Date.UTC(2026, 0, 1)) });
    expect(await payOnce(earlier, 'a')).toBe(hash);
  });

  it('is refused beyond the bound, and never given up for another before its time', async () => {
    const clock = new ManualClock(Date.UTC(2026, 0, 1));
    const open = await rich({ clock, maxIdempotencyKeys: 2 });
    const hash = await payOnce(open, 'a');
    await payOnce(open, 'b');
    await expect(payOnce(open, 'c')).rejects.toMatchObject({ code: 'overloaded' });
    expect(await payOnce(open, 'a')).toBe(hash);
    clock.advance(2 * DAY);
    await payOnce(open, 'c');
    expect(await hashesOf(open)).toHaveLength(3);
  });
});

type Step =
  | { readonly kind: 'ask'; readonly key: string; readonly amount: bigint; readonly times: number }
  | { readonly kind: 'failing ask'; readonly key: string; readonly amount: bigint }
  | { readonly kind: 'wait'; readonly hours: number }
  | { readonly kind: 'restart' };

const key = fc.constantFrom('a', 'b', 'c');
const amount = fc.bigInt({ min: 1n, max: 2n });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('ask' as const), key, amount, times: fc.nat(3) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('failing ask' as const), key, amount }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('wait' as const), hours: fc.integer({ min: 1, max: 30 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('restart' as const) }) },
);

/** What a key must give, by the rule: the first request that was done, until the end of the next day. */
class Model {
  readonly #kept = new Map<string, { readonly amount: bigint; readonly name: string; readonly until: number }>();
  made = 0;

  find(key: string, now: number): { readonly amount: bigint; readonly name: string } | undefined {
    const kept = this.#kept.get(key);
    return kept !== undefined && now < kept.until ? kept : undefined;
  }

  make(key: string, amount: bigint, now: number): void {
    this.made += 1;
    this.#kept.set(key, { amount, name: `made ${this.made}`, until: (Math.floor(now / DAY) + 2) * DAY });
  }
}

describe('any order of requests, repetitions, failures, hours and restarts', () => {
  test.prop([fc.array(step, { maxLength: 40, size: 'max' })])('does each thing once', async (steps) => {
    const clock = new ManualClock();
    const kv = new MemoryKv();
    const model = new Model();
    const open = (): Promise<IdempotencyKeys> => IdempotencyKeys.open({}, { kv, writes, clock, logger: silentLogger });
    const writes = new WriteBuffer(kv);
    let keys = await open();
    let made = 0;
    const ask = (key: string, amount: bigint, fails: boolean): Promise<string> =>
      keys.once(requestOf(key, amount), async (keep) => {
        if (fails) throw new Error('as the test wants');
        made += 1;
        const name = `made ${made}`;
        keep(name);
        await writes.flush();
        return name;
      });
    for (const one of steps) {
      if (one.kind === 'wait') clock.advance(one.hours * HOUR);
      else if (one.kind === 'restart') {
        await keys.close();
        keys = await open();
      } else {
        const fails = one.kind === 'failing ask';
        const known = model.find(one.key, clock.now());
        if (known === undefined && !fails) model.make(one.key, one.amount, clock.now());
        const expected = model.find(one.key, clock.now());
        const count = 'times' in one ? one.times + 1 : 1;
        const answers = await Promise.allSettled(Array.from({ length: count }, () => ask(one.key, one.amount, fails)));
        for (const answer of answers) {
          if (expected === undefined) expect(answer).toMatchObject({ reason: { message: 'as the test wants' } });
          else if (expected.amount === one.amount)
            expect(answer).toEqual({ status: 'fulfilled', value: expected.name });
          else expect(answer).toMatchObject({ reason: { code: 'idempotency_key_reused' } });
        }
      }
      expect(made).toBe(model.made);
    }
    await keys.close();
    await kv.close();
  });
});
