/** The role mempool: journal and state in databases of their own. */

import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import type { Kv } from '../../db/kv.js';
import type { EtcdJournal } from '../../journal/etcd/etcd-journal.js';
import { type Journal, type LastEntry, type Leadership, soleLeader } from '../../journal/journal.js';
import { LocalJournal } from '../../journal/local-journal.js';
import { HASH_KEY_BYTES } from '../../ledger/utxo/keyed-hash.js';
import { Failure, type Service } from '../../lib/service.js';
import type { Signer } from '../../mempool/blocks/signer.js';
import { Mempool } from '../../mempool/mempool.js';
import type { MempoolModules } from '../../mempool/options.js';
import type { MempoolProgress } from '../../mempool/state/applier.js';
import type { Progress } from '../../observability/progress.js';
import { readGenesis } from '../genesis-file.js';
import { createPassOn } from '../import/pass-on.js';
import { missingPeer } from '../node-links.js';
import { signerOf, unsignedWarning } from '../producers.js';
import { FromStorage } from './mempool/from-storage.js';
import { Joining } from './mempool/joining.js';
import { mempoolOptions, unicornSource } from './mempool/options.js';
import type { Role, RoleContext, RoleDefinition, RoleServices } from './role.js';

/** Folder below the data directory for files that can be made again, so that backups leave it out. */
const IMAGE_FOLDER = 'image';

export const mempool: RoleDefinition = {
  open: (context) => MempoolRole.open(context),
  verify: async (data) => (await import('../verify/verify-mempool.js')).verifyMempool(data),
  holdAgainst: async (...args) => (await import('../verify/verify-mempool.js')).holdMempoolAgainst(...args),

  async rebuild(options) {
    const { rebuildMempool } = await import('../rebuild/rebuild-mempool.js');
    const genesis = await readGenesis(options.config.network.genesisFile);
    const { height, carried, problems, aside } = await rebuildMempool({ ...options, genesis });
    const blocks = height < 0 ? 'no blocks yet' : `the blocks up to ${height}`;
    const kept = aside === undefined ? '' : `; the old databases are in ${aside}`;
    return {
      text: `rebuilt with ${blocks} and ${carried} groups of transactions to be submitted again${kept}`,
      report: { block_num: height, submitted_again: carried, kept: aside ?? null },
      problems,
    };
  },
};

class MempoolRole implements Role {
  readonly services: RoleServices;
  readonly #mempool: Mempool;
  readonly #journal: OpenJournal['journal'];
  readonly #leadership: OpenJournal['leadership'];
  readonly #joining: Joining | undefined;
  readonly #fromStorage: FromStorage | undefined;
  readonly #failure = new Failure();
  readonly failed = this.#failure.promise;
  readonly #links: RoleContext['network']['links'];
  readonly #loading: Progress;
  readonly #replaying: Progress;
  readonly #adopting: Progress;
  readonly #stopping: AbortSignal;
  #isLoaded = false;
  #stopped: Promise<void> | undefined;

  /** Opens journal and state; `load` reads the state. Throws `invalid_config` when no node would accept its blocks. */
  static async open(context: RoleContext): Promise<MempoolRole> {
    const { config, genesis, nodeKey, dataDir } = context;
    // Several threads that collect young objects cost more than they save (docs/results/cost.md).
    setFlagsFromString('--no-parallel-scavenge');
    const signer = signerOf(config, genesis, nodeKey);
    if (signer === undefined) context.logger('mempool').warn({}, unsignedWarning(config, nodeKey));
    // The database may be gone: the journal, other nodes and storage have what was in it.
    const kv = await dataDir.open('mempool', { mayBeGone: config.journal.kind === 'etcd' });
    return new MempoolRole(context, kv, await openJournal(context), signer);
  }

  private constructor(context: RoleContext, kv: Kv, opened: OpenJournal, signer: Signer | undefined) {
    const { journal, leadership, shared, rebuilding } = opened;
    this.#loading = context.progress('load', { task: 'reading the unspent outputs', unit: 'outputs' });
    this.#replaying = context.progress('replay', { task: 'applying the journal', unit: 'commands' });
    this.#adopting = context.progress('adopt', { task: 'fetching blocks from storage', unit: 'blocks' });
    this.#stopping = context.stopping;
    this.#links = context.network.links;
    this.#journal = journal;
    this.#leadership = leadership;
    if (shared !== undefined) {
      const onProgress = (done: number, total: number): void => this.#adopting.update(done, total);
      this.#fromStorage = fromStorage(context, kv, { ...opened, shared }, onProgress);
      this.#joining = joining(context, kv, shared, this.#fromStorage);
    }
    const modules = {
      ...context,
      kv,
      journal,
      leadership,
      replica: shared && context.network.nodeKey,
      logger: context.logger('mempool'),
      unicorn: unicornSource(context.config),
      signer,
      passOn: passOn(context),
      progress: this.#progress(),
      image: { folder: join(context.dataDir.path, IMAGE_FOLDER), minOutputs: context.config.mempool.imageOutputs },
    };
    this.#mempool = new Mempool(mempoolOptions(context), modules);
    this.services = { mempool: this.#mempool };
    this.#failure.follow(this.#mempool);
    this.#failure.follow(leadership);
    if (rebuilding !== undefined) this.#failure.follow(rebuilding);
  }

  async load(): Promise<void> {
    // A stop ends the wait for an event that may never come.
    const giveUp = (): void => void this.stop().catch(this.#failure.report);
    this.#stopping.addEventListener('abort', giveUp);
    await this.#load().finally(() => this.#stopping.removeEventListener('abort', giveUp));
  }

  async start(): Promise<void> {
    // From here on the other nodes take this state, or find that there is a leader.
    const settle = (): void => {
      if (this.#leadership.leads) this.#fromStorage?.stop().catch(this.#failure.report);
    };
    this.#leadership.changed.on(settle);
    settle();
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #load(): Promise<void> {
    await (this.#joining?.run() ?? this.#journal.start());
    await this.#mempool.start();
    await this.#joining?.done();
    // A node that may lead must have the state.
    await this.#leadership.start();
    for (const progress of [this.#adopting, this.#loading, this.#replaying]) progress.end();
    this.#isLoaded = true;
  }

  async #stop(): Promise<void> {
    this.#joining?.stop();
    await this.#fromStorage?.stop();
    await this.#leadership.stop();
    // Closing the journal ends all that waits for it, also while the node loads.
    if (!this.#isLoaded) await this.#journal.close();
    await this.#mempool.stop();
    await this.#journal.close();
  }

  readiness(): readonly string[] {
    if (!this.#isLoaded)
      return [
        this.#replaying.current ??
          this.#loading.current ??
          this.#adopting.current ??
          this.#journal.problem ??
          this.#joining?.problem ??
          'the mempool is reading its state',
      ];
    const { height, miners, isFollowed, apart, notStored, notVerified, clockOff } = this.#mempool.figures();
    const storages = [...this.#links].filter((link) => link.role === 'storage' && link.trusted);
    const missing = missingPeer('storage node with the same network.secret', storages);
    const hasStorage = missing === null;
    const reasons = [
      // Only the node that makes the blocks needs miners.
      ...(miners === 0 && !isFollowed && this.#leadership.leads ? ['no miner has joined: no block can be made'] : []),
      ...(hasStorage ? [] : [`${missing}: no block can be kept`]),
      ...(hasStorage && apart !== null ? [apart] : []),
      ...(hasStorage && notStored !== null ? [notStored] : []),
      ...(notVerified === null ? [] : [notVerified]),
      ...(clockOff === null ? [] : [clockOff]),
      ...(this.#journal.problem === null ? [] : [this.#journal.problem]),
    ];
    return reasons.length === 0 && height < 0 ? ['block 0 is not stored yet: there is no output to spend'] : reasons;
  }

  #progress(): MempoolProgress {
    const adopting = this.#adopting;
    return {
      adopting: (done, total) => adopting.update(done, total),
      adopted: () => adopting.end(),
      get adoptingNow() {
        return adopting.current;
      },
      loading: (outputs) => this.#loading.update(outputs),
      replaying: (done, total) => {
        this.#loading.end();
        this.#replaying.update(done, total);
      },
    };
  }
}

/** The function that passes transactions on; undefined where no node for them is configured. */
function passOn({ config, stopping }: RoleContext): MempoolModules['passOn'] {
  const { passOn: urls } = config.mempool;
  if (urls.length === 0) return undefined;
  return createPassOn(urls, stopping);
}

/** Takes the state of another mempool node when the own one is behind the journal. */
function joining(context: RoleContext, kv: Kv, shared: EtcdJournal, storage: FromStorage): Joining {
  const { config, network, clock, logger } = context;
  const join = async (last: LastEntry): Promise<{ base: number; last: LastEntry }> => {
    // The journal may have grown while a state was taken.
    await shared.start(last);
    return { base: await shared.base(), last: shared.last };
  };
  return new Joining(config.peers.mempool, { kv, join, network, storage, clock, logger: logger('join') });
}

/** Makes a state from the blocks of storage where there is no other mempool node. */
function fromStorage(
  context: RoleContext,
  kv: Kv,
  { shared, rebuilding = soleLeader }: OpenJournal & { readonly shared: EtcdJournal },
  onProgress: (done: number, total: number) => void,
): FromStorage {
  const { config, network, clock, random, logger } = context;
  const { rules, chain, verifyThreads } = mempoolOptions(context);
  const hashKey = random.bytes(HASH_KEY_BYTES);
  const options = { rules, chain: chain.rules, verifyThreads, hashKey, clock };
  const modules = { kv, journal: shared, turn: rebuilding, network, logger: logger('join'), onProgress };
  return new FromStorage(config.peers.storage, options, modules);
}

interface OpenJournal {
  readonly journal: Journal;
  readonly shared?: EtcdJournal;
  /** Leadership of the journal; started once the state is loaded. */
  readonly leadership: Leadership & Service;
  /** Turn of the one node that makes its state anew from storage; where several share the journal. */
  readonly rebuilding?: Leadership & Service;
}

async function openJournal(context: RoleContext): Promise<OpenJournal> {
  if (context.config.journal.kind === 'local') {
    const kv = await context.dataDir.open('journal');
    const journal = await LocalJournal.open({}, { ...context, kv });
    return { journal, leadership: soleLeader };
  }
  return (await import('./mempool/etcd-journal.js')).openEtcdJournal(context);
}
