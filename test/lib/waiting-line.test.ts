import { describe, expect } from 'vitest';
import { type Place, WaitingLine } from '../../src/lib/waiting-line.js';
import { fc, test } from '../support/property.js';

const TOTAL = 8;
const SHARE = 5;
const MAX_WAITING = 20;
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** What came to a line: one of a party, and what became of it. */
interface Came {
  readonly party: string;
  readonly size: number;
  readonly place: Place;
  state: 'waits' | 'goes' | 'refused' | 'gone';
}

/** What a size counts in the budget. */
const counted = ({ size }: Came): number => Math.min(size, TOTAL);
const sumOf = (list: readonly Came[]): number => list.reduce((sum, one) => sum + counted(one), 0);

describe('a line of those who wait for a budget', () => {
  test.prop([
    fc.array(
      fc.tuple(
        fc.constantFrom('a', 'b', 'c'),
        fc.integer({ min: 1, max: 10 }),
        fc.option(fc.nat(60), { nil: undefined }),
      ),
      { maxLength: 50 },
    ),
  ])(
    'lets nobody wait for whom there is room, each party in its order, and drops of whoever has most',
    async (steps) => {
      const line = new WaitingLine({
        total: [TOTAL],
        share: [SHARE],
        maxWaiting: MAX_WAITING,
        refuse: () => new Error('full'),
      });
      const all: Came[] = [];
      const inState = (state: Came['state'], party?: string): Came[] =>
        all.filter((one) => one.state === state && (party === undefined || one.party === party));
      for (const [party, size, leaving] of steps) {
        const place = line.enter(party, size);
        const came: Came = { party, size, place, state: place.ready === undefined ? 'goes' : 'waits' };
        all.push(came);
        place.ready?.then(
          () => {
            came.state = 'goes';
          },
          () => {
            if (came.state === 'waits') came.state = 'refused';
          },
        );
        await settled();
        const one = leaving === undefined ? undefined : all[leaving % all.length];
        if (one !== undefined) {
          if (one.state !== 'refused') one.state = 'gone';
          one.place.leave();
          one.place.leave();
          await settled();
        }
        expect(sumOf(inState('goes'))).toBeLessThanOrEqual(TOTAL);
        expect(inState('waits').reduce((sum, { size: bytes }) => sum + bytes, 0)).toBeLessThanOrEqual(MAX_WAITING);
        // The first of each party waits only for its share, or for the total.
        const firsts = ['a', 'b', 'c'].flatMap((name) => inState('waits', name).slice(0, 1));
        const mayGo = firsts.filter((first) => {
          const own = sumOf(inState('goes', first.party));
          return own === 0 || own + counted(first) <= SHARE;
        });
        if (mayGo.length > 0) expect(Math.max(...mayGo.map(counted)) + sumOf(inState('goes'))).toBeGreaterThan(TOTAL);
        // Of a party, what came later never goes while what came earlier waits.
        for (const first of firsts) {
          const later = all.slice(all.indexOf(first) + 1).filter((other) => other.party === first.party);
          expect(later.filter(({ state }) => state === 'goes')).toEqual([]);
        }
      }
      for (let going = inState('goes'); going.length > 0; going = inState('goes')) {
        for (const one of going) {
          one.state = 'gone';
          one.place.leave();
        }
        await settled();
      }
      expect(inState('waits')).toEqual([]);
    },
  );

  test.prop([fc.integer({ min: 1, max: 40 })])(
    'serves a newcomer after one of the party that waits, however many that brought',
    async (count) => {
      const line = new WaitingLine({ total: [1], maxWaiting: 32, refuse: () => new Error('full') });
      const served: string[] = [];
      const enter = async (party: string): Promise<void> => {
        const place = line.enter(party, 1);
        try {
          await place.ready;
          served.push(party);
        } catch {
          served.push(`${party} refused`);
        } finally {
          place.leave();
        }
      };
      await Promise.all([...Array.from({ length: count }, () => 'flood'), 'honest'].map(enter));
      expect(served.filter((name) => name !== 'flood refused').slice(0, 3)).toContain('honest');
    },
  );
});
