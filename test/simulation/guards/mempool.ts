/** Guards of mempool nodes: what they accept, their journal, states, images and blocks. */

import { type Guard, guard } from './guard.js';

export const OF_MEMPOOL_NODES: readonly Guard[] = [
  guard(
    'power',
    'the state is not synced before the journal forgets',
    'mempool/state/retention.ts',
    'const isOnDisk = await store.write(batch, { sync: true });',
    'const isOnDisk = await store.write(batch, { sync: false });',
  ),
  guard(
    'power',
    'an answer does not wait for the journal',
    'mempool/state/applier.ts',
    '      await durable;\n',
    '      durable.catch(() => undefined);\n      if (command.kind === "transactions") return command.groups.map(() => null) as never;\n',
  ),
  guard(
    'calm',
    'an output is claimed twice',
    'mempool/state/coins.ts',
    'if (place !== undefined && !place.table.isClaimed(place.slot)) {',
    'if (place !== undefined) {',
  ),
  guard(
    'behind',
    'a known transaction is taken again',
    'mempool/state/acceptance.ts',
    'if (group.length === 1 && first !== undefined) return this.#chain.isPending(first.hash) ? [] : group;',
    'if (group.length === 1 && first !== undefined) return group;',
  ),
  // The queue of the journal asks the same question once more.
  guard(
    'behind',
    'a node that is behind refuses by what it has',
    'mempool/admission/admission.ts',
    'return isByState && (await catchUp.isNewer(seq)) ? this.#verdict(candidate, submission) : first;',
    'return isByState ? first : first;',
    {
      file: 'mempool/admission/journal-queue.ts',
      find: 'const isNewer = !isCaughtUp && (await this.#modules.catchUp?.isNewer());',
      put: 'const isNewer = false;',
    },
  ),
  guard(
    'power',
    'a spent output stays in the database',
    'mempool/state/rounds.ts',
    'for (const outPoint of spentOutPoints(tx)) spent.push([outPoint, this.#coins.spend(outPoint, batch)]);',
    'for (const outPoint of spentOutPoints(tx)) spent.push([outPoint, this.#coins.spend(outPoint, { del: () => batch } as never)]);',
  ),
  guard(
    'calm',
    'signatures are not checked',
    'ledger/verifier/verifier.ts',
    'this.#decide(task, runCheck(task.check));',
    'this.#decide(task, runCheck(task.check) || true);',
  ),
  guard(
    'calm',
    'more is paid than there is',
    'chain/validation.ts',
    'return paid.equals(spent) ? null : AMOUNTS_DIFFER;',
    'return paid.equals(spent) ? null : null;',
  ),
  // The address of the key itself is looked at behind it.
  guard(
    'calm',
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
    'late',
    'a late copy of a trade has the last word',
    'mempool/state/applier.ts',
    'await keepConfirmed(this.#modules.state.statuses, this.#modules.store, batch);',
    'if (batch === undefined) await keepConfirmed(this.#modules.state.statuses, this.#modules.store, batch);',
  ),
  guard(
    'stale',
    'states that are ahead of the journal are a majority',
    'mempool/replicas/shared-digests.ts',
    'if (own === undefined || own.height > told.height) return;',
    'if (own === undefined) return;',
  ),
  guard(
    'damaged',
    'a node that comes late and differs pushes out what others have said',
    'mempool/replicas/shared-digests.ts',
    'this.#told = [...this.#told, told].sort((a, b) => a.seq - b.seq).slice(-KEPT_STATES);\n    if (!this.#told.includes(told)) return;',
    'this.#told = [...this.#told, told].slice(-KEPT_STATES);',
  ),
  guard(
    'damaged',
    'a node that was outvoted is believed when it leads',
    'mempool/replicas/shared-digests.ts',
    'const first = told.votes.find(({ replica }) => !outvoted.has(replica));',
    'const [first] = outvoted.size < 0 ? [] : told.votes;',
  ),
  guard(
    'stale',
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
    'links',
    'a closed block is sent once only',
    'mempool/blocks/block-sender.ts',
    '      this.#retryTimer = undefined;\n      this.#resting.clear();',
    '      this.#retryTimer = undefined;',
  ),
  guard(
    'calm',
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
    'calm',
    'a trade waits for ever',
    'mempool/state/acceptance.ts',
    'for (const set of this.#druids.olderThan(height)) {',
    'for (const set of this.#druids.olderThan(height - 10_000)) {',
  ),
  // The rules of a set find that the other half is missing.
  guard(
    'calm',
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
    'power',
    'the state does not note how far it is',
    'mempool/state/applier.ts',
    '    this.#modules.state.seal(seq, batch, { id: String(id), cluster: this.#modules.journal.cluster });',
    '    if (seq % 7 !== 0) this.#modules.state.seal(seq, batch, { id: String(id), cluster: this.#modules.journal.cluster });',
  ),
  guard(
    'power',
    'the state at a restart is not read from the journal',
    'mempool/state/applier.ts',
    '      seq + 1,\n      (entries)',
    '      head + 1,\n      (entries)',
  ),
  guard(
    'named',
    'an image is finished in the middle of a command',
    'mempool/image/output-image.ts',
    'const isOnDisk = await applier.betweenCommands(() => this.#put(store, name));',
    'const isOnDisk = await this.#put(store, name);',
  ),
  guard(
    'images',
    'what changes after an image is not noted',
    'mempool/image/output-image.ts',
    '    const changes = yield* noteChanged(batch, seq);',
    '    const changes = seq % 3 === 0 ? 0 : yield* noteChanged(batch, seq);',
  ),
  guard(
    'alone',
    'a block is adopted beside the own round',
    'mempool/state/state.ts',
    '    this.#rounds.endAll(batch);\n    this.#adoptions++;\n    return true;',
    '    this.#adoptions++;\n    return true;',
  ),
  guard(
    'clocks',
    'a block may have any time',
    'mempool/blocks/chain-sync.ts',
    "relation === 'even') && this.clocks.mayCut();",
    "relation === 'even');",
  ),
];
