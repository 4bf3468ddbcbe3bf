import { describe, expect, it } from 'vitest';
import { addressGroup, isLoopback } from '../../src/lib/ip-address.js';

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
  ])('%s counts as %s', (address, group) => expect(addressGroup(address)).toBe(group));
});
