/**
 * The journal and what the mempool node has made of it. Every record has a checksum, so bytes that nobody wrote never get
 * here: what does is of another program, another version, or of a mistake. It is `data_corrupt` or it is what was written.
 */

import { encodeTransaction } from '../../../src/chain/codec.js';
import { keys as journalKeys, LocalJournal } from '../../../src/journal/local-journal.js';
import { concatBytes } from '../../../src/lib/bytes.js';
import { systemClock } from '../../../src/lib/clock.js';
import { atOnce } from '../../../src/lib/pieces.js';
import type { TxStatus } from '../../../src/mempool/service.js';
import { type Command, decodeCommand, encodeCommand } from '../../../src/mempool/state/commands.js';
import type { PooledTx } from '../../../src/mempool/state/pool.js';
import * as records from '../../../src/mempool/state/records.js';
import type { Round } from '../../../src/mempool/state/round.js';
import { noMetrics } from '../../../src/observability/metrics.js';
import * as arbitraries from '../../support/arbitraries.js';
import { MemoryKv } from '../../support/memory-kv.js';
import { fc } from '../../support/property.js';
import { type Codec, codecOf, codecTarget, textCodecOf } from '../codecs.js';

const count = fc.nat();
const text = fc.string({ maxLength: 40 });
const bytes = fc.uint8Array({ maxLength: 40 });
const list = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T[]> => fc.array(arbitrary, { maxLength: 3 });

const command: fc.Arbitrary<Command> = fc.oneof(
  fc.record({ kind: fc.constant('transactions' as const), time: count, groups: list(list(bytes)) }),
  fc.record({ kind: fc.constant('cut-block' as const), time: count, miners: list(text) }),
  fc.record({ kind: fc.constant('cut-block' as const), time: count, miners: list(text), height: count }),
  fc.record({ kind: fc.constant('proof' as const), height: count, miner: text, nonce: bytes, coinbase: bytes }),
  fc.record({ kind: fc.constant('close-block' as const), height: count }),
  fc.record({ kind: fc.constant('block-stored' as const), height: count, hash: text }),
) as fc.Arbitrary<Command>;

const pooled: fc.Arbitrary<PooledTx> = fc.record({
  hash: text,
  bytes: arbitraries.transaction.map(encodeTransaction),
  arrival: fc.constant(1),
  time: count,
  unit: count,
  operations: fc.constant(0),
  fault: fc.constant(null),
  height: count,
});

const status: fc.Arbitrary<TxStatus> = fc.record({
  status: fc.constantFrom('Pending' as const, 'Confirmed' as const, 'Rejected' as const),
  timestamp: count,
  additionalInfo: text,
});

const head: fc.Arbitrary<records.HeadRecord> = fc.record({
  seq: count,
  id: text,
  cluster: text,
  arrivals: count,
  head: fc.record({
    height: count,
    hash: fc.option(text),
    timestamp: count,
    issued: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
    asertHashes: count,
    participants: list(text),
    proofHashes: list(text),
  }),
  digest: text,
});

const proof = fc.record({ miner: text, nonce: bytes, coinbase: bytes, hash: text });

const round: fc.Arbitrary<Round> = fc.record({
  height: count,
  header: arbitraries.header,
  reward: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  draw: text,
  participants: list(text),
  transactions: list(
    fc.record({
      hash: text,
      bytes,
      arrival: fc.constant(0),
      time: count,
      unit: fc.constant(0),
      operations: fc.constant(0),
      fault: fc.constant(null),
      height: fc.constant(0),
    }),
  ),
  proofs: list(proof),
  winner: fc.option(fc.nat(5)),
});

const facts = fc.record({ participants: list(text), proofHashes: list(text), asertHashes: count });

/** The journal itself: the number that it begins with, and one entry, as they come back from disk. */
const journal: Codec = {
  name: 'journal',
  sample: () => Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 1),
  async again(base) {
    const kv = new MemoryKv();
    await kv.write(kv.batch().put(journalKeys.base, base).put(journalKeys.entry(1), base), { sync: true });
    const opened = await LocalJournal.open({}, { kv, clock: systemClock, metrics: noMetrics });
    await opened.close();
    return base;
  },
};

/** What came through the pool is found there by its number. */
const inPool = (arrival: number): PooledTx => ({
  hash: '',
  bytes: new Uint8Array(),
  arrival,
  time: 0,
  unit: 0,
  operations: 0,
  fault: null,
  height: 0,
});

const encodePooled = (tx: PooledTx): Uint8Array => Uint8Array.from(records.viewPooled(tx));

const encodeKept = (record: records.KeptRecord): Uint8Array => concatBytes(...records.encodeKept(record));

const encodeRound = (round: Round): Uint8Array => atOnce(records.encodeRoundPieces(round));

const CODECS: readonly Codec[] = [
  codecOf('command', command, encodeCommand, decodeCommand),
  codecOf('pooled', pooled, encodePooled, (record) => records.decodePooled(1, record)),
  codecOf('status', status, records.encodeStatus, records.decodeStatus),
  codecOf('hashes', list(text), records.encodeHashes, records.decodeHashes),
  textCodecOf('head', head, records.encodeHead, records.decodeHead),
  codecOf('round', round, encodeRound, (record) => records.decodeRound(record, inPool)),
  codecOf('proof', proof, records.encodeProof, records.decodeProof),
  codecOf('winner', count, records.encodeWinner, records.decodeWinner),
  codecOf('coins', list(fc.tuple(arbitraries.outPoint, arbitraries.txOut)), records.encodeCoins, records.decodeCoins),
  codecOf('kept', fc.record({ bytes, facts }), encodeKept, records.decodeKept),
  codecOf(
    'kept names',
    list(fc.record({ height: count, hash: text, size: count })),
    records.encodeKeptNames,
    records.decodeKeptNames,
  ),
  journal,
];

export const journalRecords = codecTarget('journal', CODECS, ['data_corrupt']);
