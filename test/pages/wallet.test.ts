/** What the pages of the wallet are sure of without a browser: orders, the key, the history, amounts, QR codes. */

import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import decodeQR from 'qr/decode.js';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { isPayableAddress } from '../../src/chain/address.js';
import { createClient, type ErrorCode, isTesseraError, type MovementsResponse } from '../../src/sdk/client.js';
import { keyFault } from '../../web/wallet/api-key.js';
import { countToRead, EMPTY_LOG, type Movement, withNewest, withOlder } from '../../web/wallet/movement-log.js';
import { newOrder, type Order, OrderSender, sendOrder } from '../../web/wallet/order.js';
import { parsePayee } from '../../web/wallet/payee.js';
import { qrPath } from '../../web/wallet/qr-path.js';
import { lostAnswer, refusal } from '../support/node-errors.js';
import { fc, test } from '../support/property.js';

const WEB = fileURLToPath(new URL('../../web/', import.meta.url));
const ADDRESS = 'a5684800b1fb871d78120745ca82847810763fdb6ffaed3f8a72a4ce5d4bb14d';

describe('an order (docs/wallet.md#paid-exactly-once)', () => {
  /** A node that does what it is asked, once for each key; the answers are lost until `lost` is used up. */
  const setUp = (lost: readonly Error[], now = Date.now) => {
    const paid = new Map<string, number>();
    const seen: string[] = [];
    const failures = [...lost];
    const order = newOrder('/v1/payments', { amount: 1n });
    let repeats = 0;
    const sender = new OrderSender<number>(order, {
      send: async ({ idempotencyKey }: Order) => {
        seen.push(idempotencyKey);
        // What a node refuses it has not done.
        const [next] = failures;
        if (isTesseraError(next) && next.code !== 'node_unreachable') throw failures.shift() as Error;
        const number = paid.get(idempotencyKey) ?? paid.size + 1;
        paid.set(idempotencyKey, number);
        const failure = failures.shift();
        if (failure !== undefined) throw failure;
        return number;
      },
      onRepeat: () => repeats++,
      pause: async () => undefined,
      now,
    });
    return { sender, paid, seen, order, repeats: () => repeats };
  };

  it('waits as long as a node may take for it: half a minute for a wrong passphrase, and 15 s for a peer', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    let asked: RequestInit = {};
    let finish = (_: Response): void => undefined;
    const fetching = vi.spyOn(globalThis, 'fetch').mockImplementation((_, init = {}) => {
      asked = init;
      return new Promise((resolve, reject) => {
        finish = resolve;
        init.signal?.addEventListener('abort', () => reject(new Error('aborted')));
      });
    });
    onTestFinished(() => fetching.mockRestore());
    const order = newOrder('/v1/payments', { amount: 1n });
    const answer = sendOrder(createClient({ url: 'http://node', retryForMs: 0 }), order, 'a passphrase');
    await vi.advanceTimersByTimeAsync(50_000);
    finish(new Response('{"tx_hash":"g1"}'));
    expect(await answer).toEqual({ tx_hash: 'g1' });
    expect(asked).toMatchObject({ method: 'POST', body: '{"amount":1,"passphrase":"a passphrase"}' });
    expect(asked.headers).toMatchObject({ 'idempotency-key': order.idempotencyKey });
  });

  it('is sent once however often somebody clicks, while it runs and afterwards', async () => {
    const { sender, paid, seen } = setUp([]);
    const outcomes = await Promise.all([sender.submit('a'), sender.submit('a'), sender.submit('b')]);
    expect(outcomes).toEqual(Array(3).fill({ kind: 'done', answer: 1 }));
    expect(await sender.submit('a')).toEqual({ kind: 'done', answer: 1 });
    expect([seen.length, paid.size]).toEqual([1, 1]);
  });

  it('whose answer is lost, by the node or by what is before it, is repeated with the same key', async () => {
    const { sender, paid, seen, order, repeats } = setUp([
      lostAnswer(),
      refusal('node_unreachable', 'bad gateway', 502),
      lostAnswer(),
    ]);
    expect(await sender.submit('')).toEqual({ kind: 'done', answer: 1 });
    expect(seen).toEqual(Array(4).fill(order.idempotencyKey));
    expect([paid.size, repeats()]).toEqual([1, 3]);
  });

  it('that never gets an answer says so, and the next click goes on with the same key', async () => {
    const { sender, paid } = setUp(Array.from({ length: 8 }, () => lostAnswer()));
    expect(await sender.submit('')).toEqual({ kind: 'unanswered', message: '' });
    expect(await sender.submit('')).toEqual({ kind: 'done', answer: 1 });
    expect(paid.size).toBe(1);
  });

  it('that the node refuses is not repeated by itself, and may be sent again', async () => {
    const { sender, paid, seen } = setUp([refusal('wrong_passphrase', 'wrong', 401)]);
    expect(await sender.submit('x')).toEqual({ kind: 'refused', message: 'wrong', code: 'wrong_passphrase' });
    expect([seen.length, paid.size]).toEqual([1, 0]);
    expect(await sender.submit('y')).toEqual({ kind: 'done', answer: 1 });
    expect(new Set(seen).size).toBe(1);
  });

  it('whose answer is lost may be done, whatever else the node refuses afterwards', async () => {
    const { sender, paid, seen } = setUp([
      lostAnswer(),
      refusal('rate_limited', 'wait', 429),
      refusal('shutting_down', 'wait', 503),
      refusal('wrong_passphrase', 'wrong', 401),
      refusal('invalid_api_key', 'no key', 401),
    ]);
    // A 401 says nothing about the attempt before it: whoever took it for the end would pay again.
    expect(await sender.submit('')).toEqual({ kind: 'unanswered', message: 'wrong' });
    expect(await sender.submit('')).toEqual({ kind: 'unanswered', message: 'no key' });
    expect(await sender.submit('')).toEqual({ kind: 'done', answer: 1 });
    expect([new Set(seen).size, paid.size]).toEqual([1, 1]);
  });

  it.each<ErrorCode>(['internal_error', 'outcome_unknown'])(
    'whose answer is lost (%s) is not done when a node that knows its key says so',
    async (code) => {
      const { sender } = setUp([
        refusal(code, 'broken', 500),
        refusal('insufficient_funds', 'too little', 422),
        refusal('wrong_passphrase', 'wrong', 401),
      ]);
      expect(await sender.submit('')).toEqual({ kind: 'refused', message: 'too little', code: 'insufficient_funds' });
      expect(await sender.submit('')).toEqual({ kind: 'refused', message: 'wrong', code: 'wrong_passphrase' });
    },
  );

  it('over which the page fails may be done, and can be sent again', async () => {
    const { sender, paid } = setUp([new TypeError('a fault')]);
    await expect(sender.submit('')).rejects.toThrow('a fault');
    expect(await sender.submit('')).toEqual({ kind: 'done', answer: 1 });
    expect(paid.size).toBe(1);
  });

  it('that the node may have forgotten is not sent again', async () => {
    let now = Date.now();
    const { sender, paid, seen } = setUp(
      Array.from({ length: 8 }, () => lostAnswer()),
      () => now,
    );
    expect(await sender.submit('')).toEqual({ kind: 'unanswered', message: '' });
    now += 21 * 3_600_000;
    expect(await sender.submit('')).toEqual({ kind: 'stale' });
    // Nor can anybody tell how old it is when the clock was set back.
    now -= 42 * 3_600_000;
    expect(await sender.submit('')).toEqual({ kind: 'stale' });
    expect([seen.length, paid.size]).toEqual([8, 1]);
  });

  it('has a key of its own for each confirmed form, and no passphrase in it', () => {
    const orders = Array.from({ length: 100 }, () => newOrder('/v1/payments', { amount: 1 }));
    expect(new Set(orders.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(100);
    for (const { idempotencyKey } of orders) expect(idempotencyKey).toMatch(/^[0-9a-f]{32}$/);
    expect(JSON.stringify(orders)).not.toContain('passphrase');
  });
});

describe('the API key', () => {
  it('is nothing that a header cannot hold', () => {
    for (const text of ['', 'a b', 'ключ', 'a\n', 'x'.repeat(1_025)]) expect(keyFault(text), text).toBeDefined();
    expect(keyFault('f'.repeat(64))).toBeUndefined();
  });

  it('goes nowhere: the pages of the wallet store nothing but orders without an answer', () => {
    const names = readdirSync(WEB, { recursive: true, encoding: 'utf8' });
    const uses = (word: RegExp) =>
      names.filter((name) => /\.tsx?$/.test(name) && word.test(readFileSync(`${WEB}${name}`, 'utf8')));
    expect(uses(/localStorage/)).toEqual(['shared/theme.ts']);
    expect(uses(/\bsessionStorage\b/)).toEqual(['wallet/kept-orders.ts']);
    expect(uses(/indexedDB|document\.cookie|\bcaches\b|serviceWorker|innerHTML/)).toEqual([]);
  });
});

describe('the history', () => {
  const movement = (number: bigint, state = 'confirmed'): Movement => ({ number, state }) as Movement;
  const page = (first: number, last: number, state?: string): MovementsResponse => ({
    movements: Array.from({ length: first - last + 1 }, (_, at) => movement(BigInt(first - at), state)),
    next: last === 0 ? null : BigInt(last),
  });
  const numbers = ({ movements }: { readonly movements: readonly Movement[] }) =>
    movements.map(({ number }) => Number(number));

  it('keeps what was read when newer movements come, and takes the newest state', () => {
    let log = withNewest(EMPTY_LOG, page(9, 5, 'sent'));
    log = withOlder(log, 5n, page(4, 0));
    log = withNewest(log, page(11, 7));
    expect(numbers(log)).toEqual([11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]);
    expect(log.movements.map(({ state }) => state).slice(4, 7)).toEqual(['confirmed', 'sent', 'sent']);
    expect(log.next).toBeNull();
  });

  it('is read again as far as states may change, and no further', () => {
    const long = withOlder(withNewest(EMPTY_LOG, page(9_999, 9_900)), 9_900n, page(9_899, 5_000));
    expect(countToRead(EMPTY_LOG)).toBe(100);
    expect(countToRead(long)).toBe(25);
    const waiting = (number: number) => ({
      ...long,
      movements: long.movements.map((one) =>
        one.number === BigInt(number) ? { ...one, state: 'sent' as const } : one,
      ),
    });
    // Of 425 read again, the one that waits is among them also when 24 others have come.
    expect(countToRead(waiting(9_600))).toBe(425);
    expect(countToRead(waiting(8_000))).toBe(25);
    expect(countToRead(waiting(9_001))).toBe(1_000);
  });

  it('begins anew when more have come than a page holds, and never shows a gap', () => {
    const log = withOlder(withNewest(EMPTY_LOG, page(9, 5)), 5n, page(4, 0));
    const fresh = withNewest(log, page(30, 26));
    expect(numbers(fresh)).toEqual([30, 29, 28, 27, 26]);
    expect(fresh.next).toBe(26n);
    expect(withOlder(fresh, 5n, page(4, 0))).toBe(fresh);
  });

  test.prop([fc.array(fc.oneof(fc.integer({ min: 0, max: 9 }), fc.constant('older' as const)), { maxLength: 40 })])(
    'is without gaps and without doubles, whatever comes when',
    (steps) => {
      let count = 3;
      let log = withNewest(EMPTY_LOG, page(count - 1, 0));
      for (const step of steps) {
        if (step === 'older') {
          const { next } = log;
          if (next != null) log = withOlder(log, next, page(Number(next) - 1, Math.max(0, Number(next) - 5)));
        } else {
          count += step;
          log = withNewest(log, page(count - 1, Math.max(0, count - 5)));
        }
        const shown = numbers(log);
        expect(shown).toEqual(Array.from({ length: shown.length }, (_, at) => count - 1 - at));
        expect(log.next).toBe(shown.at(-1) === 0 ? null : BigInt(shown.at(-1) ?? 0));
      }
    },
  );
});

describe('what the owner types', () => {
  it('is an address, or a node, or nobody', () => {
    expect(parsePayee(` ${ADDRESS}\n`)).toEqual({ kind: 'address', address: ADDRESS });
    expect(parsePayee('127.0.0.1:12360')).toEqual({ kind: 'ip', address: '127.0.0.1:12360' });
    expect(parsePayee('[::1]:12360')).toEqual({ kind: 'ip', address: '[::1]:12360' });
    for (const text of [
      '',
      'me',
      `${ADDRESS}0`,
      ADDRESS.slice(1),
      `H${ADDRESS}`,
      ADDRESS.toUpperCase(),
      'example.org:80',
      '127.0.0.1',
    ]) {
      expect(parsePayee(text), text).toBeUndefined();
    }
  });

  test.prop([fc.stringMatching(/^H?[0-9a-fA-F]{31,65}$/)])(
    'is an address exactly where the node takes it for one',
    (text) => {
      expect(parsePayee(text)?.kind === 'address').toBe(isPayableAddress(text));
    },
  );
});

describe('the QR code', () => {
  it('reads as the address', () => {
    const { size, path } = qrPath(ADDRESS);
    const scale = 4;
    const side = size * scale;
    const data = new Uint8Array(side * side * 4).fill(255);
    for (const [, x = '', y = '', width = ''] of path.matchAll(/M(\d+) (\d+)h(\d+)v1H\d+z/g)) {
      for (let dy = 0; dy < scale; dy++) {
        for (let dx = 0; dx < Number(width) * scale; dx++) {
          const at = ((Number(y) * scale + dy) * side + Number(x) * scale + dx) * 4;
          data.fill(0, at, at + 3);
        }
      }
    }
    expect(decodeQR({ width: side, height: side, data })).toBe(ADDRESS);
  });
});
