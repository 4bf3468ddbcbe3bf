/**
 * The mempool of a node: builds its parts bottom-up, starts them, and offers `MempoolService`. While it starts, or when it
 * cannot go on, every method answers `mempool_unreachable` (decision V24).
 */

import { createItemFromSignature } from '../chain/builders.js';
import { TOTAL_TOKENS } from '../chain/constants.js';
import { transactionHash } from '../chain/hash.js';
import type { Unicorn } from '../chain/unicorn.js';
import type { Kv } from '../db/kv.js';
import type { Journal } from '../journal/journal.js';
import type { Clock } from '../lib/clock.js';
import { TesseraError } from '../lib/errors.js';
import type { Logger } from '../lib/logger.js';
import type { Random } from '../lib/random.js';
import { createSignal, type Signal } from '../lib/signal.js';
import type { PeerNetwork } from '../peers/network.js';
import { type Admission, type AdmissionOptions, createAdmission } from './admission/admission.js';
import { createVerifier, type Verifier } from './admission/verifier.js';
import { type BlockMaker, type BlockMakerOptions, createBlockMaker } from './blocks/block-maker.js';
import { type BlockSender, createBlockSender } from './blocks/block-sender.js';
import { createGateway, type Gateway } from './gateway.js';
import type { MempoolObserver, MempoolProgress } from './observer.js';
import type { ItemCreation, MempoolService } from './service.js';
import { type Applier, createApplier } from './state/applier.js';
import { loadMempoolState } from './state/load.js';
import { closedHash } from './state/round.js';
import type { MempoolState, RejectedTx, StateRules } from './state/state.js';
import { StateStore } from './state/state-store.js';
import { Statuses, type StatusesOptions } from './state/statuses.js';
import { balancesOf } from './utxo/balances.js';

export interface MempoolOptions {
  readonly rules: StateRules;
  readonly pool: AdmissionOptions;
  readonly blocks: BlockMakerOptions;
  readonly statuses: StatusesOptions;
  /** Threads that verify signatures beside the main one. */
  readonly verifyThreads: number;
}

export interface MempoolModules {
  readonly kv: Kv;
  readonly journal: Journal;
  readonly network: PeerNetwork;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly unicorn: (seed: bigint) => Promise<Unicorn> | Unicorn;
  readonly observer?: MempoolObserver | undefined;
  readonly progress?: MempoolProgress | undefined;
}

/** A block that storage has confirmed. */
export interface ConfirmedBlock {
  readonly height: number;
  readonly hash: string;
  /** Hashes of its transactions, the mining transaction left out. */
  readonly transactions: readonly string[];
}

/** Numbers for metrics and health. */
export interface MempoolFigures {
  readonly height: number;
  readonly waitingCount: number;
  readonly waitingBytes: number;
  readonly utxos: number;
  readonly utxoBytes: number;
  readonly miners: number;
  readonly druidSets: number;
  /** Signature and script checks run so far, by where. */
  readonly checks: { readonly worker: number; readonly main: number };
  /** Number of the last command applied. */
  readonly seq: number;
  /** What the chain waits for; empty when nothing is wrong. */
  readonly waitsFor: string;
  /** Why storage does not keep the closed block; empty when nothing is wrong. */
  readonly notStored: string;
}

export interface Mempool extends MempoolService {
  /** Loads, replays the journal, and starts making blocks. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Rejects when the mempool must not go on. */
  readonly failed: Promise<never>;
  readonly blockConfirmed: Signal<ConfirmedBlock>;
  /** Hashes of transactions that entered the pool. */
  readonly transactionsAdmitted: Signal<readonly string[]>;
  /** A transaction that a rule refuses, at once or after it has waited for others. */
  readonly transactionRejected: Signal<RejectedTx>;
  figures(): MempoolFigures;
  /** Digest of the whole state, equal on replicas that have applied the same commands. */
  digest(): string;
}

interface Parts {
  readonly state: MempoolState;
  readonly applier: Applier;
  readonly statuses: Statuses;
  readonly verifier: Verifier;
  readonly admission: Admission;
  readonly maker: BlockMaker;
  readonly blockSender: BlockSender;
  readonly gateway: Gateway;
}

export function createMempool(options: MempoolOptions, modules: MempoolModules): Mempool {
  const { logger, network, progress } = modules;
  const blockConfirmed = createSignal<ConfirmedBlock>();
  const transactionsAdmitted = createSignal<readonly string[]>();
  const transactionRejected = createSignal<RejectedTx>();
  let failMempool: (error: unknown) => void = () => undefined;
  const failed = new Promise<never>((_, reject) => {
    failMempool = reject;
  });
  failed.catch(() => undefined);
  let parts: Parts | undefined;

  function up(): Parts {
    if (parts === undefined) throw new TesseraError('mempool_unreachable', 'the mempool is not up yet; try again');
    return parts;
  }

  async function build(): Promise<Parts> {
    const salt = Buffer.from(modules.random.bytes(4)).readUInt32LE();
    const onProgress = (outputs: number): void => progress?.loading(outputs);
    const state = await loadMempoolState(modules.kv, options.rules, { salt, onProgress });
    const store = new StateStore(modules.kv);
    store.failed.catch(failMempool);
    const applier = createApplier({ ...modules, store, state });
    await applier.start();
    applier.admitted.on(transactionsAdmitted.emit);
    applier.rejected.on(transactionRejected.emit);
    const statuses = new Statuses(options.statuses, { ...modules, store, state });
    const verifier = createVerifier({ threads: options.verifyThreads });
    const admission = createAdmission(options.pool, {
      ...modules,
      state,
      applier,
      statuses,
      verifier,
      refused: transactionRejected.emit,
    });
    const maker = createBlockMaker(options.blocks, { ...modules, state, applier });
    const blockSender = createBlockSender({ ...modules, state, applier });
    const gateway = createGateway({ ...modules, state, applier, statuses, admission });
    applier.failed.catch(failMempool);
    applier.confirmed.on((round) => {
      const hash = closedHash(round);
      logger.info({ height: round.height, hash }, `block ${round.height} stored`);
      blockConfirmed.emit({ height: round.height, hash, transactions: round.transactions.map((tx) => tx.hash) });
    });
    return { state, applier, statuses, verifier, admission, maker, blockSender, gateway };
  }

  function waitsFor({ state, maker }: Parts): string {
    if (state.round?.winner !== null && state.round !== null) {
      const linked = [...network.links].some((link) => link.role === 'storage' && link.trusted);
      return linked ? '' : `a storage node to take block ${state.round.height}`;
    }
    return maker.miners.length === 0 ? 'a miner' : '';
  }

  return {
    failed,
    blockConfirmed,
    transactionsAdmitted,
    transactionRejected,
    async start() {
      parts = await build();
      parts.gateway.start();
      parts.blockSender.start();
      parts.maker.start();
    },
    async stop() {
      const running = parts;
      parts = undefined;
      if (running === undefined) return;
      running.maker.stop();
      running.blockSender.stop();
      running.gateway.stop();
      await running.applier.stop();
      await running.statuses.stop();
      await running.verifier.close();
    },
    submit: async (transactions) => up().admission.submit(transactions),
    async createItem(request: ItemCreation) {
      const { admission, state } = up();
      const tx = createItemFromSignature(
        {
          bNum: BigInt(Math.max(0, state.head.height)),
          amount: request.amount,
          spec: request.spec,
          metadata: request.metadata,
        },
        { address: request.scriptPublicKey, publicKey: request.publicKey, signature: request.signature },
      );
      const txHash = transactionHash(tx);
      await admission.submit([tx]);
      const value = tx.outputs[0]?.value;
      if (value?.kind !== 'item') throw new Error('broken invariant: an item creation without an item');
      return {
        asset: { ...value, genesisHash: value.genesisHash ?? txHash },
        toAddress: request.scriptPublicKey,
        txHash,
      };
    },
    balances: (addresses) => balancesOf(up().state.utxos, addresses),
    supply: () => ({ total: TOTAL_TOKENS, issued: up().state.head.issued }),
    statuses: async (hashes) => up().statuses.get(hashes),
    figures() {
      const running = up();
      const { state, maker, verifier, blockSender } = running;
      return {
        height: state.head.height,
        waitingCount: state.waiting.count,
        waitingBytes: state.waiting.bytes,
        utxos: state.utxos.size,
        utxoBytes: state.utxos.bytes,
        miners: maker.miners.length,
        druidSets: state.waiting.druidSets,
        checks: verifier.ran,
        seq: state.seq,
        waitsFor: waitsFor(running),
        notStored: blockSender.problem,
      };
    },
    digest: () => up().state.digest(),
  };
}
