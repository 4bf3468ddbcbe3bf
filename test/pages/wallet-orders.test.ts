/** The orders of the wallet page: none is made twice, and none without an answer is forgotten. */

import { describe, expect, it, vi } from 'vitest';
import { isTesseraError, NoAnswer } from '../../src/sdk/client.js';
import { keepOrders, keptOrders, type TabStorage } from '../../web/wallet/kept-orders.js';
import { newOrder, type Order } from '../../web/wallet/order.js';
import { OrderDesk, type Step } from '../../web/wallet/order-desk.js';
import { lostAnswer, refusal } from '../support/node-errors.js';

const PAYMENT = { kind: 'address', address: 'ab'.repeat(32), amount: 2n ** 62n };
const PASSPHRASE = 'correct horse battery staple';

function tab(): TabStorage & { readonly kept: Map<string, string> } {
  const kept = new Map<string, string>();
  return {
    kept,
    getItem: (name) => kept.get(name) ?? null,
    setItem: (name, value) => void kept.set(name, value),
    removeItem: (name) => void kept.delete(name),
  };
}

/** A node that pays each key once. Each answer is lost, refused, or given, as the list says; then all are given. */
function node(answers: readonly (Error | undefined)[] = []) {
  const left = [...answers];
  const paid = new Map<string, unknown>();
  const send = async ({ idempotencyKey, body }: Order): Promise<unknown> => {
    const failure = left.shift();
    if (isTesseraError(failure) && !(failure instanceof NoAnswer)) throw failure;
    paid.set(idempotencyKey, body.amount);
    if (failure !== undefined) throw failure;
    return { tx_hash: idempotencyKey };
  };
  return { paid, send };
}

const open = (send: (order: Order) => Promise<unknown>, storage: TabStorage) =>
  new OrderDesk({ send, storage, pause: async () => undefined, now: Date.now });

const never = (count = 8) => Array.from({ length: count }, lostAnswer);
const steps = (desk: OrderDesk): Step[] => desk.orders.map(({ step }) => step);

describe('the orders of the wallet page (docs/wallet-page.md#paid-once)', () => {
  it('are kept without the passphrase while there is no answer, and no longer', async () => {
    const storage = tab();
    const { send, paid } = node([...never(), undefined]);
    const desk = open(send, storage);
    const order = desk.take('/v1/payments', PAYMENT);
    expect(storage.kept.size).toBe(0);
    await desk.submit(order, PASSPHRASE);
    expect(steps(desk)).toEqual(['unanswered']);
    const text = [...storage.kept.values()].join();
    expect(text).toContain(order.idempotencyKey);
    expect(text).not.toContain(PASSPHRASE);
    await desk.submit(order, PASSPHRASE);
    expect(desk.stateOf(order)).toMatchObject({ step: 'done', answer: { tx_hash: order.idempotencyKey } });
    expect([storage.kept.size, paid.size]).toEqual([0, 1]);
  });

  it('are there again when the page is loaded again in the middle, and paid once', async () => {
    const storage = tab();
    const { send, paid } = node();
    const first = open(() => new Promise(() => undefined), storage);
    const order = first.take('/v1/payments', PAYMENT);
    void first.submit(order, PASSPHRASE);
    await send(order);

    const second = open(send, storage);
    expect(steps(second)).toEqual(['unanswered']);
    const again = second.take('/v1/payments', { ...PAYMENT });
    expect(again).toEqual(order);
    await second.submit(again, PASSPHRASE);
    expect([...paid.values()]).toEqual([PAYMENT.amount]);
  });

  it('that were kept are not done because the node refuses what is asked now', async () => {
    const storage = tab();
    keepOrders([newOrder('/v1/payments', PAYMENT)], storage);
    const { send } = node([refusal('wrong_passphrase', 'wrong', 401)]);
    const desk = open(send, storage);
    await desk.submit(desk.take('/v1/payments', PAYMENT), '');
    expect(desk.orders).toMatchObject([{ step: 'unanswered', message: 'wrong' }]);
    expect(keptOrders(storage)).toHaveLength(1);
  });

  it('for the same are one while the first has no answer: going back and confirming again pays once', async () => {
    const { send, paid } = node(never());
    const desk = open(send, tab());
    const order = desk.take('/v1/payments', PAYMENT);
    await desk.submit(order, '');
    expect(desk.take('/v1/payments', PAYMENT)).toBe(order);
    const other = desk.take('/v1/payments', { ...PAYMENT, amount: 2n ** 62n + 1n });
    expect(other.idempotencyKey).not.toBe(order.idempotencyKey);
    await desk.submit(order, '');
    expect(paid.size).toBe(1);
    // Once there is an answer, the same may be paid once more.
    expect(desk.take('/v1/payments', PAYMENT).idempotencyKey).not.toBe(order.idempotencyKey);
  });

  it.each<[state: 'sent' | 'rejected', step: Step]>([
    ['sent', 'done'],
    ['rejected', 'refused'],
  ])(
    'whose answer is lost are what the history of the node has: %s is %s, and nothing is sent any more',
    async (state, step) => {
      const storage = tab();
      const { send, paid } = node(never());
      let finish = (): void => undefined;
      const waiting = new Promise<void>((resolve) => {
        finish = resolve;
      });
      const desk = new OrderDesk({ send, storage, pause: () => waiting, now: Date.now });
      const order = desk.take('/v1/payments', PAYMENT);
      const idle = desk.take('/v1/payments', { ...PAYMENT, amount: 1n });
      const asked: Order[] = [];
      const submitted = desk.submit(order, '');
      await vi.waitUntil(() => steps(desk)[0] === 'repeating');
      await desk.look(async (one) => void asked.push(one));
      expect(steps(desk)).toEqual(['repeating', 'ready']);
      await desk.look(async () => ({ tx_hash: 'g1', state, reason: state === 'sent' ? null : 'spent' }));
      finish();
      await submitted;
      await desk.submit(order, '');
      expect([asked, steps(desk), paid.size]).toEqual([[order], [step, 'ready'], 1]);
      expect(desk.stateOf(order)).toMatchObject(
        state === 'sent' ? { answer: { tx_hash: 'g1' } } : { message: 'spent' },
      );
      expect(keptOrders(storage)).toEqual([]);
      desk.forget(idle);
    },
  );

  it('are looked for when they were kept, also when they are too old to be sent again', async () => {
    const storage = tab();
    keepOrders([{ ...newOrder('/v1/payments', PAYMENT), madeAt: 1 }], storage);
    const desk = open(node().send, storage);
    await desk.submit(desk.take('/v1/payments', PAYMENT), '');
    expect(steps(desk)).toEqual(['stale']);
    await desk.look(async () => ({ tx_hash: 'g1', state: 'confirmed', reason: null }));
    expect(steps(desk)).toEqual(['done']);
  });

  it('go on when the owner looks elsewhere, and say what came of them', async () => {
    const { send } = node([lostAnswer(), refusal('insufficient_funds', 'too little', 422)]);
    const desk = open(send, tab());
    const order = desk.take('/v1/payments', PAYMENT);
    const leave = desk.show(order);
    const sent = desk.submit(order, '');
    leave();
    expect(desk.stateOf(order)).toMatchObject({ step: 'sending', isShown: false });
    await sent;
    expect(desk.stateOf(order)).toMatchObject({ step: 'refused', message: 'too little', isShown: false });
    // What was never sent is gone with its page.
    desk.show(desk.take('/v1/items', { item_amount: 1n }))();
    expect(desk.orders).toHaveLength(1);
  });

  it('are forgotten with the API key, also by an answer that comes later', async () => {
    const storage = tab();
    const { send } = node(never());
    const desk = open(send, storage);
    const sent = desk.submit(desk.take('/v1/payments', PAYMENT), '');
    desk.forgetAll();
    await sent;
    expect([desk.orders, storage.kept.size]).toEqual([[], 0]);
  });

  it('without an answer are no more than an owner can look at', async () => {
    const { send, paid } = node(never(8 * 20));
    const desk = open(send, tab());
    for (let amount = 1n; amount <= 20n; amount++)
      await desk.submit(desk.take('/v1/payments', { ...PAYMENT, amount }), '');
    const order = desk.take('/v1/payments', PAYMENT);
    for (let times = 0; times < 2; times++) await desk.submit(order, '');
    expect(desk.stateOf(order)).toMatchObject({ step: 'refused', message: expect.stringContaining('20 requests') });
    expect(paid.size).toBe(20);
  });

  it('are read exactly, and nothing else is: whatever is in the storage of the tab', () => {
    const storage = tab();
    const order = newOrder('/v1/payments', PAYMENT);
    keepOrders([order], storage);
    expect(keptOrders(storage)).toEqual([order]);
    const [name = ''] = storage.kept.keys();
    const text = storage.kept.get(name) ?? '';
    const wrong = [
      '',
      '{}',
      '[null, 1, "x", {}, []]',
      text.replace('/v1/payments', '/v1/elsewhere'),
      text.replace('4611686018427387904', '"many"'),
      text.replace('"kind":"address",', ''),
      text.replace(order.idempotencyKey, 'mine'),
      text.slice(1),
    ];
    for (const one of wrong) {
      storage.setItem(name, one);
      expect(keptOrders(storage), one).toEqual([]);
    }
  });
});
