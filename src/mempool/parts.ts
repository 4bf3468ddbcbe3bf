/** The parts of a mempool, put together bottom-up once its state is loaded and the journal is replayed. */

import { eraAt } from '../chain/eras.js';
import { endlessRoom } from '../db/disk-room.js';
import { soleLeader } from '../journal/journal.js';
import { HASH_KEY_BYTES } from '../ledger/utxo/keyed-hash.js';
import { Verifier } from '../ledger/verifier/verifier.js';
import type { Failure } from '../lib/service.js';
import { Admission, type AdmissionModules } from './admission/admission.js';
import { BlockMaker } from './blocks/block-maker.js';
import { BlockSender } from './blocks/block-sender.js';
import { ChainSync } from './blocks/chain-sync.js';
import { Resignation } from './blocks/resignation.js';
import { StorageTips } from './blocks/storage-tips.js';
import { CarriedOver } from './carried-over.js';
import { Gateway } from './gateway.js';
import { OutputImage } from './image/output-image.js';
import type { MempoolModules, MempoolOptions } from './options.js';
import { DigestTeller } from './replicas/digest-teller.js';
import { SharedDigests } from './replicas/shared-digests.js';
import { CatchUp } from './replicas/shared-journal.js';
import { SnapshotServer } from './replicas/snapshot-server.js';
import { Applier, lacksNames } from './state/applier.js';
import { keys } from './state/layout.js';
import { loadMempoolState } from './state/load.js';
import { StateStore } from './state/state-store.js';
import { Statuses } from './state/statuses.js';

export type Parts = Awaited<ReturnType<typeof openParts>>;

/** Parts that are made first, so that a stop need not wait for the replay. */
export interface EarlyParts {
  applier?: Applier;
  image?: OutputImage;
  verifier?: Verifier;
}

/** Host that opens the parts. */
export interface PartsHost {
  readonly early: EarlyParts;
  readonly failure: Failure;
  /** Throws `shutting_down` when the mempool is being stopped. */
  readonly assertRunning: () => void;
  /** Called when the journal is replayed, before anything new is applied. */
  readonly onReplayed: (applier: Applier) => void;
  readonly onRefused: AdmissionModules['onRefused'];
}

const MADE_BY_EARLIER =
  'whoever posts a transaction of original nodes again may stop this chain: run tessera rebuild --role mempool';

export async function openParts(options: MempoolOptions, given: MempoolModules, host: PartsHost) {
  const { kv, random, progress, logger, room = endlessRoom, leadership = soleLeader, replica } = given;
  const { early, failure } = host;
  const onProgress = (outputs: number): void => {
    host.assertRunning();
    progress?.loading(outputs);
  };
  const image = given.image && (await OutputImage.open(given.image, given));
  if (image !== undefined) early.image = image;
  const verifier = new Verifier({ threads: options.verifyThreads }, given);
  early.verifier = verifier;
  const state = await loadMempoolState(kv, options.rules, { hashKey: random.bytes(HASH_KEY_BYTES), onProgress, image });
  const store = new StateStore(kv, given.clock);
  const digests = replica === undefined ? undefined : new SharedDigests(replica, await store.get(keys.digests));
  const modules = { ...given, logger, state, store, room, leadership, digests, image };
  const applier = new Applier(modules);
  early.applier = applier;
  failure.follow(applier);
  host.assertRunning();
  await applier.start();
  if (await lacksNames(state, store)) logger.warn({}, MADE_BY_EARLIER);
  image?.start({ state, store, applier });
  if (image !== undefined) failure.follow(image);
  host.onReplayed(applier);
  const statuses = new Statuses(options.statuses, { ...modules, isClockOff: () => sync.clocks.problem !== null });
  const tips = new StorageTips(modules);
  const sync = new ChainSync(options.chain, { ...modules, applier, verifier, tips });
  failure.follow(sync);
  const isFollowed = (): boolean => eraAt(options.rules.eras, state.closedHeight + 1).isOriginal;
  const admission = new Admission(options.pool, {
    ...modules,
    isFollowed,
    applier,
    catchUp: given.journal.isShared ? new CatchUp({ ...modules, applied: applier.applied }) : undefined,
    statuses,
    verifier,
    assertNotBehind: sync.assertNotBehind,
    onRefused: host.onRefused,
  });
  const maker = new BlockMaker(options.blocks, { ...modules, applier, sync, isFollowed });
  const sender = new BlockSender({ ...modules, applier, tips });
  const unready = (): string | null => given.journal.problem ?? leadership.problem ?? applier.problem ?? sync.lag;
  return {
    isFollowed,
    state,
    applier,
    statuses,
    verifier,
    admission,
    maker,
    sender,
    resignation: new Resignation({ ...modules, applier, maker, tips, sync, sender, isFollowed }),
    teller: digests && new DigestTeller({ ...modules, applier, digests }),
    snapshots: replica === undefined ? undefined : new SnapshotServer(modules),
    tips,
    sync,
    carried: new CarriedOver({ state, applier, store, admission, sync, room, logger }),
    gateway: new Gateway({ ...modules, applier, sync, statuses, admission, unready }),
  };
}
