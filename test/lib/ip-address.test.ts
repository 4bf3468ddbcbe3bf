import { describe, expect, it } from 'vitest';
import { addressGroup, isAddressOrNetwork, isLoopback, LOOPBACK_GROUP } from '../../src/lib/ip-address.js';

describe('isLoopback', () => {
  it.each(['127.0.0.1', '127.1.2.3', '::1', '[::1]', '::ffff:127.0.0.1', '[::ffff:127.0.0.1]', 'localhost'])(
    'knows %s',
    (host) => expect(isLoopback(host)).toBe(true),
  );
  it.each(['0.0.0.0', '::', '10.0.0.1', '128.0.0.1', '127.0.0.1.example', 'localhost.example', ''])(
    'is not %j',
    (host) => expect(isLoopback(host)).toBe(false),
  );
});

describe('addressGroup', () => {
  it.each([
    ['10.1.2.3', '10.1.2.3'],
    ['::ffff:10.1.2.3', '10.1.2.3'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::1', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['::1', LOOPBACK_GROUP],
    ['::ffff:127.0.0.1', '127.0.0.1'],
  ])('%s counts as %s', (address, group) => expect(addressGroup(address)).toBe(group));
});

describe('isAddressOrNetwork', () => {
  const GOOD = '10.0.0.9 10.0.0.0/8 0.0.0.0/1 10.0.0.9/32 ::1 2001:db8::/64 2001:db8::1/128 ::ffff:10.0.0.9';
  const BAD =
    '10.0.0 10.0.0.256 010.0.0.1 10.0.0.0/ 10.0.0.0/0 10.0.0.0/08 10.0.0.0/33 10.0.0.0/8/8 10.0.0.0/-8 10.0.0.0/255.0.0.0 ' +
    '/8 ::/0 2001:db8::/129 loopback localhost true 1';
  it.each(GOOD.split(' '))('knows %s', (text) => expect(isAddressOrNetwork(text)).toBe(true));
  it.each([...BAD.split(' '), '', '10.0.0.0/8 '])('is not %j', (text) => expect(isAddressOrNetwork(text)).toBe(false));
});
