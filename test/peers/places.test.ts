/** The places of strangers: by address, with room for a newcomer, and never at the cost of those who are vouched for. */

import { describe, expect, it } from 'vitest';
import { isFault } from '../../src/lib/fault.js';
import { addressGroup } from '../../src/lib/ip-address.js';
import { createPass, isValidPass } from '../../src/peers/link/link-opener.js';
import {
  HandshakePool,
  type PendingHandshake,
  type Stranger,
  StrangerPlaces,
} from '../../src/peers/link/stranger-places.js';
import { ManualClock } from '../support/manual-clock.js';
import { createSeededRandom } from '../support/peers.js';

describe('the pool of handshakes', () => {
  const evicted: string[] = [];
  const pool = (
    max: number,
    maxPerGroup: number,
  ): ((name: string, group: string, more?: object) => PendingHandshake) => {
    evicted.length = 0;
    const handshakes = new HandshakePool({ max, maxPerGroup, onEvicted: () => undefined });
    return (name, group, more = {}) => {
      const handshake = { group, hasPass: false, hasProven: false, cancel: () => void evicted.push(name), ...more };
      handshakes.add(handshake);
      return handshake;
    };
  };

  it('ends the oldest of an address that has its share', () => {
    const add = pool(10, 2);
    add('a1', 'a');
    add('b1', 'b');
    add('a2', 'a');
    add('a3', 'a');
    expect(evicted).toEqual(['a1']);
  });

  it('ends the oldest of the address that has most when all places are taken', () => {
    const add = pool(3, 3);
    add('b1', 'b');
    add('a1', 'a');
    add('a2', 'a');
    add('c1', 'c');
    expect(evicted).toEqual(['a1']);
  });

  it('ends one that has proven its key last', () => {
    const add = pool(2, 2);
    const first = add('a1', 'a');
    first.hasProven = true;
    add('a2', 'a');
    add('a3', 'a');
    expect(evicted).toEqual(['a2']);
  });

  it('has places that strangers cannot take for those who show a pass', () => {
    const add = pool(2, 2);
    add('own', 'a', { hasPass: true });
    for (let i = 0; i < 100; i++) add(`a${i}`, 'a');
    expect(evicted).not.toContain('own');
  });
});

describe('the places of links', () => {
  const create = (limits: object = {}) => {
    const clock = new ManualClock();
    const closed: string[] = [];
    const places = new StrangerPlaces(
      { maxLinks: 8, maxLinksPerAddress: 4, tenureMs: 1_000, onEvicted: () => undefined, ...limits },
      clock,
    );
    const take = (name: string, host: string): Stranger | string => {
      const place = places.take(host, addressGroup(host));
      if (isFault(place)) return place.message;
      place.close = () => void closed.push(name);
      return place;
    };
    return { clock, closed, take, places };
  };

  it('are bounded for one address, and no newcomer turns out what has only just come', () => {
    const { take, closed } = create();
    for (let i = 0; i < 4; i++) take(`a${i}`, '192.0.2.1');
    expect(take('a4', '192.0.2.1')).toMatch(/your address has its 4 links/);
    expect(take('b0', '192.0.2.2')).toBeTypeOf('object');
    expect(closed).toEqual([]);
  });

  it('go from the link of least use to a newcomer; the oldest links are spared', () => {
    const { clock, take, closed } = create();
    const links = Array.from({ length: 4 }, (_, i) => take(`a${i}`, '192.0.2.1'));
    clock.advance(2_000);
    const [, second] = links;
    if (typeof second === 'object') second.usefulAt = clock.monotonic();
    take('new', '192.0.2.1');
    expect(closed).toEqual(['a2']);
  });

  it('go from the address that has most when all are taken', () => {
    const { clock, take, closed } = create({ maxLinks: 5 });
    for (let i = 0; i < 4; i++) take(`a${i}`, '192.0.2.1');
    take('b0', '198.51.100.1');
    clock.advance(2_000);
    take('c0', '203.0.113.1');
    expect(closed).toEqual(['a1']);
  });

  it('of loopback are bounded with all others only: a whole network may live on one machine', () => {
    const { take } = create();
    for (let i = 0; i < 8; i++) expect(take(`l${i}`, '127.0.0.1')).toBeTypeOf('object');
    expect(take('l8', '127.0.0.1')).toMatch(/this node has its 8 links/);
  });

  it('are free again when given back', () => {
    const { take, places } = create({ maxLinks: 1 });
    const place = take('a', '192.0.2.1');
    if (typeof place === 'object') places.release(place);
    expect(take('b', '192.0.2.2')).toBeTypeOf('object');
  });
});

describe('a pass', () => {
  const clock = new ManualClock();
  const known = { network: 'test', secret: 'a secret of this operator' };
  const pass = createPass(known, { clock, random: createSeededRandom('pass') });

  it('is valid for who knows the same secret of the same network, while it is fresh', () => {
    expect(isValidPass(pass, known, clock)).toBe(true);
    expect(isValidPass(pass, { ...known, secret: 'another secret of others' }, clock)).toBe(false);
    expect(isValidPass(pass, { ...known, network: 'other' }, clock)).toBe(false);
    const later = new ManualClock();
    later.advance(301_000);
    expect(isValidPass(pass, known, later)).toBe(false);
  });

  it.each(['', '.', '..', 'a.b.c', `${pass}.x`, pass.replace(/^\d+/, '1'), pass.slice(0, -1), pass.toUpperCase()])(
    'is not "%s"',
    (text) => {
      expect(isValidPass(text, known, clock)).toBe(text === pass);
    },
  );
});
