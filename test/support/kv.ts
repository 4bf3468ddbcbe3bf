/** A store in front of another one, for tests that delay, count or break its writes. */

import type { Kv } from '../../src/db/kv.js';

export function withWrite(kv: Kv, write: Kv['write']): Kv {
  return {
    get: (key) => kv.get(key),
    getMany: (keys) => kv.getMany(keys),
    batch: () => kv.batch(),
    write,
    entries: (range) => kv.entries(range),
    close: () => kv.close(),
  };
}
