/** Runs four nodes of one network in this process (decision V25), for `tessera dev` and for tests of a whole network. */

import type { DevFacts } from '../api/routes/dev/service.js';
import { type DevAccounts, type DevAccountsOptions, devAccounts } from '../config/dev-accounts.js';
import { type DevConfigOptions, devAddressConfig, devConfig } from '../config/dev-config.js';
import { type FlagValue, IN_CODE } from '../config/sources.js';
import { sha3Bytes } from '../crypto/sha3.js';
import { makeFolder } from '../db/write-file-durable.js';
import { concatBytes } from '../lib/bytes.js';
import { createDeferred } from '../lib/deferred.js';
import { isTesseraError, TesseraError } from '../lib/errors.js';
import { type Random, systemRandom } from '../lib/random.js';
import { factsOf, NODE_ROLES, type NodeRole, perRole, STAGES } from '../lib/roles.js';
import { Failure, type Service } from '../lib/service.js';
import type { NodeLogger } from '../observability/logger.js';
import { DevClock, DevControl, type DevNodes, type StopOptions } from './dev/dev-control.js';
import { DevRecord, hasChain } from './dev/dev-record.js';
import { copyChain } from './dev/fork.js';
import { IMPERSONATING_NETWORK } from './dev/impersonation.js';
import { Snapshots } from './dev/snapshots.js';
import { readState, type StateFacts, writeState } from './dev/state-file.js';
import { JointApi } from './joint-api.js';
import { Node } from './node.js';

/** Milliseconds between attempts to listen again on a port that another program took for a moment, and their number. */
const PORT_PAUSE_MS = 200;
const PORT_ATTEMPTS = 50;
/** Milliseconds between looks at the wallets of a copied chain. */
const LOOK_EVERY_MS = 20;

export interface DevNetworkOptions extends Omit<DevConfigOptions, 'genesisFile' | 'peers'> {
  /** The accounts of a new chain; a continued chain has those that it began with. */
  readonly accounts?: DevAccountsOptions;
  /** Base URL of the API of a node or network whose chain a new chain begins as a copy of. */
  readonly fork?: string;
  /** The chain begins with the contents of this file, if it exists, and is saved in it at the end. */
  readonly stateFile?: string;
  /** False when blocks are made only when somebody asks for them, until `DevControl.setAutomine`. */
  readonly automine?: boolean;
  /** True where every address can be spent from without its key: another network, whose blocks no other node takes. */
  readonly impersonates?: boolean;
  /** Unix seconds at which the clock stands until it is set, so that equal commands make equal hashes. */
  readonly clockAt?: number;
  /** False when nodes have no addresses of their own beside that of the network, which starts quicker. */
  readonly haveNodesAddresses?: boolean;
}

export class DevNetwork implements Service {
  readonly #options: DevNetworkOptions;
  readonly #logger: NodeLogger;
  readonly #clock = new DevClock();
  readonly #randoms: Readonly<Record<NodeRole, Random>>;
  /** The one address of the network; undefined when it has none. */
  readonly #joint: JointApi | undefined;
  readonly #started = new Map<NodeRole, Node>();
  /** Options that keep a node at the ports that it had before its stop. */
  readonly #places = new Map<NodeRole, Readonly<Record<string, number>>>();
  readonly #failure = new Failure();
  readonly failed = this.#failure.promise;
  #record: DevRecord | undefined;
  #control: DevControl | undefined;
  readonly #stopping = new AbortController();
  /** Number of the last block while the nodes are stopped. */
  #heightAtRest: number | undefined;
  #isStopping = false;
  #isMiningHeld = false;
  #hasFailed = false;
  #isSaved = false;

  constructor(options: DevNetworkOptions, modules: { readonly logger: NodeLogger }) {
    this.#options = { ...options, flags: [...(options.flags ?? []), ...ownFlags(options)] };
    this.#logger = modules.logger;
    const isRepeatable = options.clockAt !== undefined;
    if (isRepeatable) this.#clock.stand();
    this.#randoms = perRole((_, role) => (isRepeatable ? new RepeatableRandom(role) : systemRandom));
    this.#isMiningHeld = options.automine === false;
    this.failed.catch(() => {
      this.#hasFailed = true;
    });
    const config = devAddressConfig(options);
    const common = {
      roles: NODE_ROLES,
      folder: options.dataDir,
      portOption: '--port',
      listenOn: options.host,
      // Each node of a dev network plans as if alone: they make do with what there is, as on a small machine.
      nodes: 1,
    };
    this.#joint =
      config &&
      new JointApi(
        { ...common, config },
        { logger: this.#logger.child('network'), clock: this.#clock, dev: () => this.#control },
      );
  }

  /** Base URL of the API of the whole network, once started; undefined when it has none. */
  get url(): string | undefined {
    return this.#joint?.url;
  }

  get nodes(): Readonly<Record<NodeRole, Node>> {
    return perRole((_, role) => this.#node(role));
  }

  /** Base URL of each node's API, once started; that of the network for nodes without an address of their own. */
  get urls(): Readonly<Record<NodeRole, string>> {
    return perRole((_, role) => {
      const { apiUrl } = this.#node(role);
      return apiUrl === '' ? (this.url ?? '') : apiUrl;
    });
  }

  get accounts(): DevAccounts {
    return this.#chain.accounts;
  }

  /** The words that the keys of the accounts come from; null for the published keys. */
  get mnemonic(): string | null {
    return this.#chain.mnemonic;
  }

  get control(): DevControl {
    if (this.#control === undefined) throw new Error('the network is not started');
    return this.#control;
  }

  /** True when the network was up and is to be saved in a file, but the contents of its folder are not in the file yet. */
  get isUnsaved(): boolean {
    return this.#options.stateFile !== undefined && this.#control !== undefined && !this.#isSaved;
  }

  /** Resolves when every node is up and block 0 is stored. */
  async start(): Promise<void> {
    await this.#joint?.start();
    this.#joint?.hold();
    const { dataDir, accounts, stateFile } = this.#options;
    if (stateFile !== undefined) await readState(stateFile, dataDir);
    await this.#copyFork();
    this.#record = await DevRecord.open(dataDir, accounts);
    const snapshots = await Snapshots.open(dataDir, this.#record);
    this.#clock.restore(this.#record.clockAhead, this.#options.clockAt ?? 0);
    await this.#startNodes();
    this.#joint?.release();
    this.#control = new DevControl({
      nodes: this.#forControl(),
      clock: this.#clock,
      record: this.#record,
      snapshots,
      facts: () => this.#facts(),
      faucetAddress: () => this.accounts.miner.address,
      impersonates: this.#options.impersonates === true,
      state: stateFile === undefined ? undefined : { file: stateFile, folder: dataDir },
    });
  }

  /** Copies the chain that a fork begins with, if the network has no chain yet. */
  async #copyFork(): Promise<void> {
    const { dataDir: folder, accounts = {}, fork: url } = this.#options;
    if (url === undefined) return;
    if (hasChain(folder)) {
      const { fork } = await DevRecord.open(folder);
      if (fork?.url === url) return;
      throw new TesseraError('data_dir_invalid', `the folder ${folder} has a chain already: --fork begins a new one`);
    }
    await makeFolder(folder);
    const copied = await copyChain({
      url,
      folder,
      storage: devConfig('storage', this.#options),
      mempool: devConfig('mempool', this.#options),
      accounts: devAccounts(accounts),
      impersonates: this.#options.impersonates === true,
      signal: this.#stopping.signal,
      onProgress: (done, total) => this.#logger.info({ done, total }, `${done} of ${total} blocks of ${url} copied`),
    });
    await DevRecord.ofCopy(folder, accounts, copied);
    await copied.finish();
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#stopping.abort(new TesseraError('aborted', 'the network is stopping'));
    await this.#control?.stop();
    await this.#joint?.stop();
    const facts = this.#stateAtEnd();
    await this.#stopNodes();
    const { dataDir, stateFile } = this.#options;
    if (facts === undefined || stateFile === undefined) return;
    await writeState(stateFile, dataDir, facts);
    this.#isSaved = true;
  }

  /** Facts for the state file; undefined for a network that is not saved: it has failed, or never was up. */
  #stateAtEnd(): StateFacts | undefined {
    if (this.#options.stateFile === undefined || this.#control === undefined || this.#hasFailed) return undefined;
    return { height: this.#heightAtRest ?? this.#height, time: this.#control.time() };
  }

  async #startNodes(): Promise<void> {
    // Stages are started in turn: a node that dials another one before it listens would wait until it dials again.
    for (const roles of STAGES) await Promise.all(roles.map((role) => this.#startNode(role)));
    await Promise.race([this.#allBlocks(), this.failed]);
    if (this.#chain.fork !== undefined) await Promise.race([this.#walletsInStep(), this.failed]);
  }

  async #stopNodes(): Promise<void> {
    for (const role of STAGES.flat().reverse()) await this.#started.get(role)?.stop();
  }

  async #startNode(role: NodeRole): Promise<void> {
    const dialed = factsOf(role).dials.map((other) => [other, [this.#node(other).peerAddress]] as const);
    const peers = Object.fromEntries(dialed);
    const modules = {
      logger: this.#logger.child(role),
      clock: this.#clock,
      random: this.#randoms[role],
      impersonates: this.#options.impersonates === true,
      joint: this.#joint,
      hasOwnApi: this.#options.haveNodesAddresses ?? true,
      isRevertible: true,
      // A dev network opens its wallets many times, and has nobody to ask.
      keepsPassphrase: true,
      isMiningHeld: () => this.#isMiningHeld,
    };
    for (let attempt = 1; ; attempt++) {
      const node = await Node.create(this.#configOf(role, { peers }), modules);
      this.#started.set(role, node);
      try {
        await node.start();
        this.#failure.follow(node);
        return;
      } catch (error) {
        const isAgain = this.#places.has(role) && isTesseraError(error, 'port_in_use') && attempt < PORT_ATTEMPTS;
        if (!isAgain || this.#isStopping) throw error;
        await node.stop();
        await new Promise((resolve) => setTimeout(resolve, PORT_PAUSE_MS));
      }
    }
  }

  #configOf(role: NodeRole, more: Pick<DevConfigOptions, 'peers'> = {}) {
    const { flags = [] } = this.#options;
    const { genesisFile } = this.#chain;
    const places = Object.entries(this.#places.get(role) ?? {});
    return devConfig(role, {
      ...this.#options,
      ...more,
      ...(genesisFile === undefined ? {} : { genesisFile }),
      flags: [...flags, ...places.map(([option, value]) => ({ option, value, flag: IN_CODE }))],
    });
  }

  #forControl(): DevNodes {
    const servicesOf = (role: NodeRole) => this.#node(role).services;
    return {
      get mempool() {
        return present(servicesOf('mempool').mempool);
      },
      get payer() {
        return present(servicesOf('miner').user);
      },
      lastBlockTime: async () =>
        Number((await present(servicesOf('storage').storage).latest())?.block().header.timestamp),
      whileStopped: (work, options) => this.#whileStopped(work, options),
      holdMining: (isHeld) => {
        this.#isMiningHeld = isHeld;
        if (!isHeld) present(servicesOf('mempool').mempool).resumeMining();
      },
    };
  }

  /** Does work while the nodes are stopped. A failure in between ends the network: the next start finishes the work. */
  async #whileStopped<T>(work: () => Promise<T>, { heightAfter }: StopOptions<T> = {}): Promise<T> {
    this.#heightAtRest = this.#height;
    for (const role of NODE_ROLES) this.#places.set(role, portsOf(this.#node(role)));
    this.#joint?.hold();
    try {
      await this.#stopNodes();
      const result = await work();
      if (heightAfter !== undefined) this.#heightAtRest = heightAfter(result);
      if (this.#isStopping) return result;
      if (heightAfter !== undefined) this.#joint?.forgetAnswers();
      await this.#startNodes();
      this.#joint?.release();
      this.#heightAtRest = undefined;
      if (heightAfter !== undefined) this.#joint?.startOver();
      return result;
    } catch (error) {
      this.#failure.report(error);
      throw error;
    }
  }

  #facts(): DevFacts {
    const { accounts, user, miner } = this.accounts;
    const numbered = accounts.map((owner, index) => [String(index + 1), owner] as const);
    const all = [...numbered, ['user', user] as const, ['miner', miner] as const];
    return {
      accounts: all.map(([account, { address, outputs, outputAmount }]) => ({
        account,
        address,
        tokens: outputAmount * BigInt(outputs.length),
      })),
      urls: this.urls,
      intervalMs: this.#options.intervalMs ?? null,
      automine: !this.#isMiningHeld,
    };
  }

  /** Resolves when the mempool node has all blocks of storage, and at least block 0. */
  async #allBlocks(): Promise<void> {
    const { mempool } = this.#node('mempool').services;
    const stored = (await this.#node('storage').services.storage?.latest())?.height ?? 0;
    if (mempool === undefined || mempool.figures().height >= stored) return;
    const there = createDeferred<void>();
    const off = mempool.blockConfirmed.on(({ height }) => height >= stored && there.resolve());
    if (mempool.figures().height < stored) await there.promise;
    off();
  }

  /** Resolves when the wallets have read the chain, which was there before them. */
  async #walletsInStep(): Promise<void> {
    const users = [this.#node('user'), this.#node('miner')].map(({ services }) => services.user);
    while (!this.#isStopping && users.some((user) => user?.inStep === false)) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
  }

  /** Number of the last block, by the running mempool node. */
  get #height(): number {
    return present(this.#node('mempool').services.mempool).figures().height;
  }

  get #chain(): DevRecord {
    if (this.#record === undefined) throw new Error('the network is not started');
    return this.#record;
  }

  #node(role: NodeRole): Node {
    const node = this.#started.get(role);
    if (node === undefined) throw new Error(`the ${role} node is not started`);
    return node;
  }
}

/** Options of a node that follow from those of the network. */
function ownFlags({ impersonates, clockAt }: DevNetworkOptions): readonly FlagValue[] {
  const own = {
    ...(impersonates === true && { 'network.name': IMPERSONATING_NETWORK }),
    // Of several threads the first one to find a nonce would decide the hash of the block.
    ...(clockAt !== undefined && { 'mining.threads': 1 }),
  };
  return Object.entries(own).map(([option, value]) => ({ option, value, flag: IN_CODE }));
}

/** Options that keep the ports of a running node for its API and its metrics. Its links are found by the other nodes. */
function portsOf({ apiUrl, metricsUrl }: Node): Readonly<Record<string, number>> {
  const ports = { 'api.port': apiUrl, 'metrics.port': metricsUrl };
  const known = Object.entries(ports).filter(([, url]) => url !== '');
  return Object.fromEntries(known.map(([option, url]) => [option, Number(new URL(url).port)]));
}

function present<T>(service: T | undefined): T {
  if (service === undefined) throw new TesseraError('overloaded', 'The network is not up yet; try again.');
  return service;
}

const HASH_BYTES = 32;

class RepeatableRandom implements Random {
  readonly #seed: string;
  #count = 0;

  constructor(seed: string) {
    this.#seed = seed;
  }

  bytes(length: number): Uint8Array {
    const hashes = Array.from({ length: Math.ceil(length / HASH_BYTES) }, () =>
      sha3Bytes(`tessera dev random ${this.#seed} ${this.#count++}`),
    );
    return concatBytes(...hashes).slice(0, length);
  }
}
