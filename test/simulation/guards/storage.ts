/** Guards of storage nodes, and of what all nodes have: records, links, miners. */

import { type Guard, guard } from './guard.js';

export const OF_STORAGE_NODES: readonly Guard[] = [
  guard(
    'power',
    'a block is not synced',
    'storage/segments/segments.ts',
    "await file.datasync();\n      failpoint('segment.sync.after', BLOCKS);",
    '',
  ),
  guard(
    'power',
    'storage confirms before it has stored',
    'storage/blocks/block-receiver.ts',
    'if (height === archive.nextHeight) await archive.store(full, certificate, round);',
    "if (height === archive.nextHeight) {\n        archive.store(full, certificate, round).catch(() => undefined);\n        return { type: 'block.stored', body: { block_num: height, hash } };\n      }",
    // A mempool node has the last blocks too, and sends them once more.
    {
      file: 'mempool/state/rounds.ts',
      find: 'while (names.length > MAX_KEPT_BLOCKS ||',
      put: 'while (names.length > 0 ||',
    },
  ),
  guard(
    'alone',
    'storage confirms another block than it has',
    'storage/blocks/block-receiver.ts',
    'if (known === hash) {',
    'if (known !== undefined) {',
    // A mempool node sends a block to nobody who has one of that number.
    {
      file: 'mempool/blocks/block-sender.ts',
      find: "relation === 'even' && !this.#refusing.has(link)",
      put: "(relation === 'even' || relation === 'ahead') && !this.#refusing.has(link)",
    },
  ),
  guard(
    'disks',
    'a record is not held against its checksum',
    'db/record.ts',
    'return asBuffer(record).readUInt32LE(length) === checksum(key, value) ? value : undefined;',
    'return value;',
  ),
  guard(
    'power',
    'a silent link is kept',
    'peers/link/heartbeat.ts',
    'if (this.#quiet >= missedHeartbeats * LOOKS) {',
    'if (this.#quiet >= 1_000 * missedHeartbeats * LOOKS) {',
    // Who is silent reads nothing either, and the pings wait.
    {
      file: 'peers/link/heartbeat.ts',
      find: '} else if (this.#slow >= missedHeartbeats) {',
      put: '} else if (this.#slow >= 1_000 * missedHeartbeats) {',
    },
  ),
  guard(
    'links',
    'a link is not opened again',
    'peers/link/dialer.ts',
    'stableAfterMs) peer.failures = 0;\n      this.#retry(peer);',
    'stableAfterMs) peer.failures = 0;',
  ),
  guard(
    'power',
    'a miner does not join again',
    'miner/miner.ts',
    'for (const link of network.links) joinMempool(link);',
    'for (const off of this.#unsubscribe.splice(0, 1)) off();\n    for (const link of network.links) joinMempool(link);',
  ),
  guard(
    'copies',
    'storage does not catch up',
    'storage/blocks/catch-up.ts',
    'if (this.#running !== undefined || this.#isStopping || this.#sources().length === 0) return;',
    'if (this.#sources().length >= 0) return;',
  ),
  guard(
    'indexed',
    'the index notes how far it is before it has the changes',
    'storage/chain-index/step.ts',
    'this.#batch.put(TIP_KEY, encodeTip(tip));',
    'await this.#kv.write(this.#kv.batch().put(TIP_KEY, encodeTip(tip)), { sync: false });',
    // A start looks for the last block.
    {
      file: 'storage/chain-index/chain-index.ts',
      find: 'if (height >= 0 && hash !== (await archive.hashAt(height)))',
      put: 'if (height < 0 && hash !== (await archive.hashAt(height)))',
    },
  ),
  guard(
    'indexed',
    'a damaged index is not made again',
    'storage/chain-index/chain-index.ts',
    'if (this.#isDamage(error)) this.#repair(kv, error);',
    '',
  ),
];
