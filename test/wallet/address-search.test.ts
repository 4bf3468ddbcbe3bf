/** Which keys of the words are in use, from what the chain has paid. */

import { describe, expect, it } from 'vitest';
import { AddressSearch } from '../../src/wallet/keys/address-search.js';
import { type Account, DerivedKeys } from '../../src/wallet/keys/derived-keys.js';
import { parseWords } from '../../src/wallet/keys/words.js';

const keys = await DerivedKeys.of(parseWords(`${'abandon '.repeat(11)}about`));
const at = (account: Account, index: number): string => keys.address({ account, index });

/** Shows all addresses until nothing is news. */
function showAll(search: AddressSearch, addresses: readonly string[]): readonly string[] {
  while (addresses.map((address) => search.note(address)).includes(true));
  return search.found.map(({ account, index }) => `${account} ${index}`).sort();
}

describe('the search for used addresses', () => {
  it('follows each account up to the gap, in whatever order they were paid', () => {
    const paid = [at('change', 41), at('receive', 2), at('change', 21), at('rewards', 0), at('change', 1)];
    const found = showAll(new AddressSearch(keys, 20), paid);
    const expected = [
      ...Array.from({ length: 42 }, (_, index) => `change ${index}`),
      'receive 0',
      'receive 1',
      'receive 2',
      'rewards 0',
    ];
    expect(found).toEqual(expected.sort());
  });

  it('ends where as many in a row as the gap were never paid', () => {
    expect(showAll(new AddressSearch(keys, 20), [at('receive', 20)])).toEqual([]);
    expect(showAll(new AddressSearch(keys, 21), [at('receive', 20)])).toHaveLength(21);
  });

  it('finds nothing among the addresses of others', () => {
    const search = new AddressSearch(keys, 20);
    expect(search.note('0'.repeat(64))).toBe(false);
    expect(search.found).toEqual([]);
    expect(search.watched).toHaveLength(80);
  });
});
