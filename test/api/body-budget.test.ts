/** Large bodies that come at once: one address does not keep the others out (rule P6). */

import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { BodyBudget } from '../../src/api/http/shared.js';

const MIB = 1024 * 1024;
const FLOOD = '198.51.100.7';
const HONEST = '203.0.113.9';

/** A body that was brought to the budget. */
class Body {
  readonly response = new EventEmitter();
  state = 'waits';

  constructor(budget: BodyBudget, address: string, bytes = MIB) {
    const taken = budget.take(bytes, this.response as unknown as ServerResponse, address);
    (taken ?? Promise.resolve()).then(
      () => {
        this.state = 'at work';
      },
      (error: { readonly code: string }) => {
        this.state = error.code;
      },
    );
  }

  /** The answer is out, or the client gone. */
  end(): void {
    this.response.emit('close');
  }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const bodies = (count: number, budget: BodyBudget, address: string): Body[] =>
  Array.from({ length: count }, () => new Body(budget, address));
const inState = (list: readonly Body[], state: string): Body[] => list.filter((body) => body.state === state);

describe('bodies that are worked on', () => {
  it('are those of several addresses, however much one of them brings', async () => {
    const budget = new BodyBudget();
    const flood = bodies(30, budget, FLOOD);
    await settled();
    expect(inState(flood, 'at work')).toHaveLength(2);
    const honest = new Body(budget, HONEST);
    await settled();
    expect(honest.state).toBe('at work');
  });

  it('may all be of one address that a proxy can stand behind', async () => {
    const budget = new BodyBudget();
    const all = bodies(30, budget, '127.0.0.1');
    await settled();
    expect(inState(all, 'at work')).toHaveLength(4);
  });

  it('are taken in turn from the addresses that wait', async () => {
    const budget = new BodyBudget();
    const flood = bodies(20, budget, '::1');
    const honest = bodies(3, budget, HONEST);
    await settled();
    expect(inState(honest, 'waits')).toHaveLength(3);
    for (const body of inState(flood, 'at work')) body.end();
    await settled();
    expect(inState(honest, 'at work')).toHaveLength(2);
  });

  it('count until their answers are out, and their clients may go before', async () => {
    const budget = new BodyBudget();
    const all = bodies(12, budget, FLOOD);
    await settled();
    all[11]?.end();
    await settled();
    expect(all[11]?.state).toBe('aborted');
    for (let [body] = inState(all, 'at work'); body !== undefined; [body] = inState(all, 'at work')) {
      body.state = 'done';
      body.end();
      await settled();
    }
    expect(inState(all, 'done')).toHaveLength(11);
  });
});

describe('bodies that wait', () => {
  it('are refused from the address that has most of them, and not from others', async () => {
    const budget = new BodyBudget();
    const flood = bodies(100, budget, FLOOD);
    await settled();
    expect(inState(flood, 'overloaded')).toHaveLength(100 - 2 - 32);
    // With all of the room for work taken too.
    const second = bodies(2, budget, '192.0.2.1');
    const honest = bodies(5, budget, HONEST);
    await settled();
    expect(inState(second, 'at work')).toHaveLength(2);
    expect(inState(honest, 'waits')).toHaveLength(5);
    expect(inState(flood, 'overloaded')).toHaveLength(100 - 2 - 32 + 5);
    expect(inState(flood, 'waits').at(-1)).toBe(flood[28]);
  });

  it('of an IPv6 network are those of one address', async () => {
    const budget = new BodyBudget();
    const flood = Array.from({ length: 100 }, (_, i) => new Body(budget, `2001:db8::${i.toString(16)}`));
    await settled();
    expect(inState(flood, 'at work')).toHaveLength(2);
    const honest = new Body(budget, '2001:db8:0:1::1');
    await settled();
    expect(honest.state).toBe('at work');
  });
});
