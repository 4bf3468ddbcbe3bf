/** The keys of the journal in etcd, as they are listed. */

import { expect, it } from 'vitest';
import { namesBelow } from '../../src/journal/etcd/entries.js';
import { logKeys } from '../../src/journal/etcd/history.js';
import { compareBytes, utf8 } from '../../src/lib/bytes.js';

it('lists each key once, a bounded page at a time, with nothing that makes etcd read the whole range', async () => {
  const keys = Array.from({ length: 2_500 }, (_, n) => utf8(`p/log/one-${String(n).padStart(12, '0')}`));
  const asked: (readonly string[])[] = [];
  const call = async (_: unknown, query: { readonly key: Uint8Array; readonly limit: bigint }) => {
    asked.push(Object.keys(query).toSorted());
    const from = keys.filter((key) => compareBytes(key, query.key) >= 0);
    const kvs = from.slice(0, Number(query.limit)).map((key) => ({ key }));
    return { kvs, more: from.length > kvs.length };
  };
  const listed: Uint8Array[] = [];
  for await (const { kvs } of logKeys({ call } as never, namesBelow('p/'))) listed.push(...kvs.map(({ key }) => key));
  expect(listed).toEqual(keys);
  expect(asked).toEqual(Array(3).fill(['key', 'keysOnly', 'limit', 'rangeEnd']));
});
