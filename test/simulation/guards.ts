/**
 * Guards of the program that a hunt takes out, one at a time, to see that the judge notices. Each is a change of one place of the
 * sources, or of two where a second guard stands behind the first.
 */

import type { Edit } from './bundle.js';
import type { ThemeName } from './story.js';

export interface Guard {
  readonly name: string;
  /** Stories of this theme are the ones in which it is missed. */
  readonly theme: ThemeName;
  readonly edits: readonly Edit[];
}

/** The themes of guards that are about something else than kills and power. */
const THEMES_OF: Readonly<Record<string, ThemeName>> = {
  'an output is claimed twice': 'calm',
  'a known transaction is taken again': 'behind',
  'more is paid than there is': 'calm',
  'a coin is spent by another key': 'calm',
  'a late copy of a trade has the last word': 'late',
  'states that are ahead of the journal are a majority': 'stale',
  'a node that comes late and differs pushes out what others have said': 'damaged',
  'a state from blocks takes from the journal what its blocks have': 'stale',
  'a node that is behind refuses by what it has': 'behind',
  'signatures are not checked': 'calm',
  'a leader does not look at its lease': 'lease',
  'a leader never gives way': 'lease',
  'the lease of another is taken': 'lease',
  'a lease is not renewed': 'calm',
  'a write is repeated without a look whether it was done': 'behind',
  'a failed write to the journal in etcd is not repeated': 'behind',
  'a reader takes entries twice': 'watches',
  'a reader does not list what was compacted': 'compacted',
  'the journal forgets what another node wants': 'behind',
  'a node goes on with a journal that lacks what it has': 'restored',
  'a closed block is sent once only': 'links',
  'a block is cut before storage has the last': 'calm',
  'a trade waits for ever': 'calm',
  'half a trade goes into a block': 'calm',
  'a record is not held against its checksum': 'disks',
  'a link is not opened again': 'links',
  'storage does not catch up': 'copies',
  'a wallet is not synced before its payment is sent': 'wallets',
  'coins of a payment that is being made are given to another': 'wallets',
  'a payment is made again for the same key': 'wallets',
  'a payment that was queued is not sent after a restart': 'wallets',
  'the index notes how far it is before it has the changes': 'indexed',
  'a damaged index is not made again': 'indexed',
  'a block may have any time': 'clocks',
  'an image is finished in the middle of a command': 'named',
  'a block is adopted beside the own round': 'alone',
  'storage confirms another block than it has': 'alone',
  'what changes after an image is not noted': 'images',
};

const guard = (name: string, file: string, find: string, put: string, ...behind: readonly Edit[]): Guard => ({
  name,
  theme: THEMES_OF[name] ?? 'power',
  edits: [{ file, find, put }, ...behind],
});

export const GUARDS: readonly Guard[] = [
  guard(
    'the journal is not synced',
    'journal/local-journal.ts',
    '      }\n      await this.#kv.write(batch, { sync: true });',
    '      }\n      await this.#kv.write(batch, { sync: false });',
  ),
  guard(
    'a block is not synced',
    'storage/segments/segments.ts',
    "await file.datasync();\n      failpoint('segment.sync.after', BLOCKS);",
    '',
  ),
  guard(
    'the state is not synced before the journal forgets',
    'mempool/state/retention.ts',
    'const isOnDisk = await store.write(batch, { sync: true });',
    'const isOnDisk = await store.write(batch, { sync: false });',
  ),
  guard(
    'an answer does not wait for the journal',
    'mempool/state/applier.ts',
    '      await durable;\n',
    '      durable.catch(() => undefined);\n      if (command.kind === "transactions") return command.groups.map(() => null) as never;\n',
  ),
  guard(
    'an output is claimed twice',
    'mempool/state/coins.ts',
    'if (place !== undefined && !place.table.isClaimed(place.slot)) {',
    'if (place !== undefined) {',
  ),
  guard(
    'a known transaction is taken again',
    'mempool/state/acceptance.ts',
    'if (group.length === 1 && first !== undefined) return this.#chain.isPending(first.hash) ? [] : group;',
    'if (group.length === 1 && first !== undefined) return group;',
  ),
  // The queue of the journal asks the same question once more.
  guard(
    'a node that is behind refuses by what it has',
    'mempool/admission/admission.ts',
    'return isByState && (await catchUp.isNewer(seq)) ? this.#verdict(candidate, submission) : first;',
    'return isByState ? first : first;',
    {
      file: 'mempool/admission/journal-queue.ts',
      find: 'const isNewer = await catchUp?.isNewer();',
      put: 'const isNewer = false;',
    },
  ),
  guard(
    'a spent output stays in the database',
    'mempool/state/rounds.ts',
    'for (const outPoint of spentOutPoints(tx)) spent.push([outPoint, this.#coins.spend(outPoint, batch)]);',
    'for (const outPoint of spentOutPoints(tx)) spent.push([outPoint, this.#coins.spend(outPoint, { del: () => batch } as never)]);',
  ),
  guard(
    'signatures are not checked',
    'ledger/verifier/verifier.ts',
    'this.#decide(task, runCheck(task.check));',
    'this.#decide(task, runCheck(task.check) || true);',
  ),
  guard(
    'more is paid than there is',
    'chain/validation.ts',
    'return paid.equals(spent) ? null : AMOUNTS_DIFFER;',
    'return paid.equals(spent) ? null : null;',
  ),
  // The address of the key itself is looked at behind it.
  guard(
    'a coin is spent by another key',
    'chain/validation.ts',
    'if (parts === undefined || parts.address !== address || parts.data !== signable) return undefined;',
    'if (parts === undefined || parts.data !== signable) return undefined;',
    {
      file: 'chain/validation.ts',
      find: 'if (addressOf(parts.publicKey, parts.version) !== address) return undefined;',
      put: '',
    },
  ),
  guard(
    'a late copy of a trade has the last word',
    'mempool/state/applier.ts',
    'await keepConfirmed(this.#modules.state.statuses, this.#modules.store, batch);',
    'if (batch === undefined) await keepConfirmed(this.#modules.state.statuses, this.#modules.store, batch);',
  ),
  guard(
    'states that are ahead of the journal are a majority',
    'mempool/replicas/shared-digests.ts',
    'if (own === undefined || own.height > told.height) return;',
    'if (own === undefined) return;',
  ),
  guard(
    'a node that comes late and differs pushes out what others have said',
    'mempool/replicas/shared-digests.ts',
    'this.#told = [...this.#told, told].sort((a, b) => a.seq - b.seq).slice(-KEPT_STATES);\n    if (!this.#told.includes(told)) return;',
    'this.#told = [...this.#told, told].slice(-KEPT_STATES);',
  ),
  guard(
    'a state from blocks takes from the journal what its blocks have',
    'mempool/replicas/ahead-of-journal.ts',
    'const rest = group.filter((candidate) => heightOf(candidate) <= at);',
    'const rest = group.filter((candidate) => heightOf(candidate) <= at || true);',
    // What it spends is spent, so it is refused; and what is confirmed stays so.
    {
      file: 'mempool/state/applier.ts',
      find: 'await keepConfirmed(this.#modules.state.statuses, this.#modules.store, batch);',
      put: 'if (batch === undefined) await keepConfirmed(this.#modules.state.statuses, this.#modules.store, batch);',
    },
  ),
  guard(
    'a leader does not look at its lease',
    'journal/etcd/lease-leadership.ts',
    'return !this.#stopped && this.#modules.clock.monotonic() < this.#until;',
    'return !this.#stopped && this.#isTaken;',
  ),
  guard(
    'a leader never gives way',
    'journal/etcd/lease-leadership.ts',
    'return !this.#stopped && this.#modules.clock.monotonic() < this.#until;',
    'return !this.#stopped && this.#until > 0;',
  ),
  guard(
    'the lease of another is taken',
    'journal/etcd/etcd-lease.ts',
    'if (kv !== undefined && fromUtf8(kv.value) !== this.#replica) return undefined;',
    '',
  ),
  guard(
    'a lease is not renewed',
    'journal/etcd/lease-leadership.ts',
    'return this.#ms / RENEWALS;',
    'return this.#ms * RENEWALS;',
  ),
  guard(
    'a write is repeated without a look whether it was done',
    'journal/etcd/etcd-writer.ts',
    "compare: [{ target: CREATE_REVISION, key, targetUnion: { case: 'createRevision', value: 0n } }, ...condition],",
    'compare: [],',
  ),
  guard(
    'a failed write to the journal in etcd is not repeated',
    'journal/etcd/patience.ts',
    'this.#note(waiter, errorMessage(error));',
    "throw new TesseraError('database_failed', errorMessage(error));",
  ),
  guard(
    'a reader takes entries twice',
    'journal/etcd/etcd-reader.ts',
    'const fresh = entries.filter(({ seq }) => seq >= this.#next);',
    'const fresh = entries;',
    // A watch that goes on where the last one ended repeats one group, whose commands change nothing the second time.
    {
      file: 'journal/etcd/etcd-reader.ts',
      find: 'startRevision: BigInt(Math.max(1, revisionOf(this.#next))),',
      put: 'startRevision: BigInt(Math.max(1, revisionOf(this.#next) - 20)),',
    },
  ),
  guard(
    'a reader does not list what was compacted',
    'journal/etcd/etcd-reader.ts',
    'if (error instanceof Compacted) await this.#until(() => this.#list());',
    'if (error instanceof Compacted) this.#next = seqOf(BigInt(revisionOf(this.#next)) + 8n, 0);',
  ),
  guard(
    'the journal forgets what another node wants',
    'journal/etcd/marks.ts',
    'from: isCounted ? Math.min(...marks.map(({ wants }) => wants)) : 0,',
    'from: isCounted ? Math.max(...marks.map(({ wants }) => wants)) : 0,',
  ),
  // A write looks for the last entry too, and a start whether the journal ends before it.
  guard(
    'a node goes on with a journal that lacks what it has',
    'journal/etcd/history.ts',
    'if (!isForgotten || (before ?? cluster) !== cluster) throw lost({ seq, id, cluster: before }, cluster, revision);',
    'if (!isForgotten && false) throw lost({ seq, id, cluster: before }, cluster, revision);',
    {
      file: 'journal/etcd/history.ts',
      find: 'if (id === undefined) return [];\n    const targetUnion',
      put: 'if (id === undefined || seq > 0) return [];\n    const targetUnion',
    },
    {
      file: 'journal/etcd/etcd-journal.ts',
      find: 'if (reader.wanted > this.head + 1) {',
      put: 'if (reader.wanted > this.head + Number.MAX_SAFE_INTEGER) {',
    },
  ),
  guard(
    'a closed block is sent once only',
    'mempool/blocks/block-sender.ts',
    '      this.#retryTimer = undefined;\n      this.#resting.clear();',
    '      this.#retryTimer = undefined;',
  ),
  guard(
    'storage confirms before it has stored',
    'storage/blocks/block-receiver.ts',
    'if (height === archive.nextHeight) await archive.store(full, certificate, round);',
    "if (height === archive.nextHeight) {\n        archive.store(full, certificate, round).catch(() => undefined);\n        return { type: 'block.stored', body: { block_num: height, hash } };\n      }",
  ),
  guard(
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
    'a block is cut before storage has the last',
    'mempool/state/rounds.ts',
    'return this.#rounds.length < ROUND_SLOTS.length && this.#rounds.every((round) => round.isClosed);',
    'return this.#rounds.length < ROUND_SLOTS.length;',
    // The node that makes the blocks waits for the round by itself.
    {
      file: 'mempool/blocks/block-maker.ts',
      find: 'if (round.winner !== null) return;\n    this.#sendTemplates(round);',
      put: 'if (round.winner !== null) return;\n    if (round.proofs.length > 0 && this.#modules.clock.monotonic() - this.#lastCut > 50) void this.#cut();\n    this.#sendTemplates(round);',
    },
  ),
  guard(
    'a trade waits for ever',
    'mempool/state/acceptance.ts',
    'for (const set of this.#druids.olderThan(height)) {',
    'for (const set of this.#druids.olderThan(height - 10_000)) {',
  ),
  // The rules of a set find that the other half is missing.
  guard(
    'half a trade goes into a block',
    'mempool/state/acceptance.ts',
    'return membersOf(plan) < plan.participants;',
    'return membersOf(plan) < 1n;',
    {
      file: 'mempool/state/acceptance.ts',
      find: '  return druidSetFault(\n',
      put: '  return true ? null : druidSetFault(\n',
    },
  ),
  guard(
    'a record is not held against its checksum',
    'db/record.ts',
    'return asBuffer(record).readUInt32LE(length) === checksum(key, value) ? value : undefined;',
    'return value;',
  ),
  guard(
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
    'a link is not opened again',
    'peers/link/dialer.ts',
    'stableAfterMs) peer.failures = 0;\n      this.#retry(peer);',
    'stableAfterMs) peer.failures = 0;',
  ),
  guard(
    'a miner does not join again',
    'miner/miner.ts',
    'for (const link of network.links) joinMempool(link);',
    'for (const off of this.#unsubscribe.splice(0, 1)) off();\n    for (const link of network.links) joinMempool(link);',
  ),
  guard(
    'storage does not catch up',
    'storage/blocks/catch-up.ts',
    'if (this.#running !== undefined || this.#isStopping || this.#sources().length === 0) return;',
    'if (this.#sources().length >= 0) return;',
  ),
  guard(
    'the state does not note how far it is',
    'mempool/state/applier.ts',
    '    this.#modules.state.seal(seq, batch, { id: String(id), cluster: this.#modules.journal.cluster });',
    '    if (seq % 7 !== 0) this.#modules.state.seal(seq, batch, { id: String(id), cluster: this.#modules.journal.cluster });',
  ),
  guard(
    'the state at a restart is not read from the journal',
    'mempool/state/applier.ts',
    '      seq + 1,\n      (entries)',
    '      head + 1,\n      (entries)',
  ),
  guard(
    'an image is finished in the middle of a command',
    'mempool/image/output-image.ts',
    'const isOnDisk = await applier.betweenCommands(() => this.#put(store, name));',
    'const isOnDisk = await this.#put(store, name);',
  ),
  guard(
    'what changes after an image is not noted',
    'mempool/image/output-image.ts',
    '    const changes = yield* noteChanged(batch, seq);',
    '    const changes = seq % 3 === 0 ? 0 : yield* noteChanged(batch, seq);',
  ),
  guard(
    'a block is adopted beside the own round',
    'mempool/state/state.ts',
    '    this.#rounds.endAll(batch);\n    this.#adoptions++;\n    return true;',
    '    this.#adoptions++;\n    return true;',
  ),
  guard(
    'a wallet is not synced before its payment is sent',
    'wallet/write-buffer.ts',
    'await this.#kv.write(batch, { sync: true });',
    'await this.#kv.write(batch, { sync: false });',
  ),
  // A wallet makes one payment after the other besides.
  guard(
    'coins of a payment that is being made are given to another',
    'wallet/coins/coin-store.ts',
    "for (const coin of coins) this.#index.move(coin, 'reserved', null);",
    '',
    {
      file: 'wallet/coins/coin-store.ts',
      find: 'return coins.every((coin) => this.#isReserved(coin));',
      put: 'return coins.length > 0;',
    },
    {
      file: 'wallet/payments/payments.ts',
      find: 'return this.release(await this.#building.run(() => this.#buildPayment(order)));',
      put: 'return this.release(await this.#buildPayment(order));',
    },
  ),
  guard(
    'a payment is made again for the same key',
    'wallet/idempotency-keys.ts',
    'let kept = await this.#find(id);',
    'let kept = id === "" ? await this.#find(id) : undefined;',
  ),
  guard(
    'a payment that was queued is not sent after a restart',
    'wallet/payments/outgoing.ts',
    "if (entry.state === 'queued') outgoing.#queued.add(entry.hash);",
    '',
  ),
  guard(
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
    'a damaged index is not made again',
    'storage/chain-index/chain-index.ts',
    'if (this.#isDamage(error)) this.#repair(kv, error);',
    '',
  ),
  guard(
    'a block may have any time',
    'mempool/blocks/chain-sync.ts',
    "relation === 'even') && this.clocks.mayCut();",
    "relation === 'even');",
  ),
];
