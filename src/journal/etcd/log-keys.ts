/** The keys of the journal's groups in etcd, without their values. */

import { concatBytes, utf8 } from '../../lib/bytes.js';
import { endOf, type Names } from './entries.js';
import type { EtcdClient } from './etcd-client.js';
import { KV, type RangeResponse } from './generated/etcd-pb.js';

const KEYS_AT_ONCE = 1_000;

/**
 * The keys in their own order, a page at a time. Sorted by revision, or filtered by one, etcd would read the whole range with
 * all values for each answer; so who needs that does it here.
 */
export async function* logKeys(client: Pick<EtcdClient, 'call'>, { log }: Names): AsyncGenerator<RangeResponse> {
  let key = utf8(log);
  for (;;) {
    const query = { key, rangeEnd: endOf(log), keysOnly: true, limit: BigInt(KEYS_AT_ONCE) };
    const page = await client.call(KV.method.range, query);
    yield page;
    const last = page.kvs.at(-1);
    if (!page.more || last === undefined) return;
    key = concatBytes(last.key, Uint8Array.of(0));
  }
}
