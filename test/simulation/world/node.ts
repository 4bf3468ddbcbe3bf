/**
 * A machine of a world that runs a node: its role as `src/node` composes it, on the machine's disk, network and clock. The node can be
 * killed, suspended, stopped, and lose its power; then it is started again on what is on the disk.
 */

import type { Genesis } from '../../../src/chain/genesis.js';
import { createConfig } from '../../../src/config/load.js';
import type { Config } from '../../../src/config/schema.js';
import type { KeyPair } from '../../../src/crypto/ed25519.js';
import { fileError } from '../../../src/db/database-error.js';
import { endlessRoom } from '../../../src/db/disk-room.js';
import type { Kv } from '../../../src/db/kv.js';
import { LogKv } from '../../../src/db/log-kv.js';
import { errorMessage } from '../../../src/lib/errors.js';
import type { Logger } from '../../../src/lib/logger.js';
import type { NodeRole } from '../../../src/lib/roles.js';
import { SignalSource } from '../../../src/lib/signal.js';
import { networkRules } from '../../../src/node/network-rules.js';
import { producersOf } from '../../../src/node/producers.js';
import type { Role, RoleContext, RoleServices } from '../../../src/node/roles/role.js';
import { DEFINITIONS } from '../../../src/node/roles/roles.js';
import { Progress } from '../../../src/observability/progress.js';
import { LinkNetwork } from '../../../src/peers/link-network.js';
import { keyOf } from '../../support/peers.js';
import { Disk } from './disk.js';
import { copyBelow, losePowerBelow, putBack, putOn, wipe } from './files.js';
import { Gauges } from './gauges.js';
import { Luck } from './luck.js';
import type { Wires } from './wires.js';
import type { Process, World } from './world.js';

/** Milliseconds that a node has for its stop, before it is killed. */
const STOP_MS = 10_000;
const PEER_PORT = 12_000;
const JOURNAL = 'journal';

export interface MachineOptions {
  readonly name: string;
  readonly role: NodeRole;
  readonly host: string;
  readonly genesis: Genesis;
  readonly settings: Readonly<Record<string, unknown>>;
}

export interface MachineModules {
  readonly world: World;
  readonly wires: Wires;
  /** Told why a node has ended by itself. */
  readonly onFailed: (machine: Machine, error: unknown) => void;
  /** Hears its warnings and errors. */
  readonly onSaid: (machine: Machine, line: string) => void;
}

export class Machine {
  readonly name: string;
  readonly role: NodeRole;
  readonly host: string;
  readonly disk: Disk;
  readonly key: KeyPair;
  config: Config;
  readonly #options: MachineOptions;
  readonly #modules: MachineModules;
  #process: Process | undefined;
  #running: Role | undefined;
  #stopping = new AbortController();
  #network: LinkNetwork | undefined;
  #isUp = false;
  #journal: { readonly owner: Process; readonly kv: LogKv } | undefined;
  #hasJournal = false;
  #gauges = new Gauges();
  /** Name of the node in histories of reads: another one when it has an older disk. */
  alias: string;
  #copies = 0;
  #holds = 0;
  /** Number of starts so far. */
  starts = 0;
  /** What its clock is wrong by, over restarts. */
  offset = 0;
  rate = 1;

  constructor(options: MachineOptions, modules: MachineModules) {
    const { name, role, host, settings } = options;
    this.name = name;
    this.alias = name;
    this.role = role;
    this.host = host;
    this.#options = options;
    this.#modules = modules;
    this.key = keyOf(name);
    this.disk = new Disk(modules.world, new Luck(`${modules.world.seed}/disk of ${name}`));
    this.config = this.#configWith(settings);
    putOn(this.folder, this.disk);
  }

  get genesis(): Genesis {
    return this.#options.genesis;
  }

  /** The files of its node. */
  get folder(): string {
    return this.config.node.dataDir;
  }

  static addressOf(host: string): string {
    return `${host}:${PEER_PORT}`;
  }

  get process(): Process | undefined {
    return this.#process?.isAlive ? this.#process : undefined;
  }

  /** Undefined while it does not serve. */
  get services(): RoleServices | undefined {
    return this.#isUp && this.process !== undefined ? this.#running?.services : undefined;
  }

  /** The same as soon as they are there: the API is served while a node starts. */
  get anyServices(): RoleServices | undefined {
    return this.process === undefined ? undefined : this.#running?.services;
  }

  get isSuspended(): boolean {
    return this.process?.held !== undefined;
  }

  /** Why it is not ready; empty when it is. */
  get problems(): readonly string[] {
    if (this.process === undefined) return ['it does not run'];
    if (!this.#isUp) return ['it is starting', ...(this.#running?.readiness() ?? [])];
    return this.#running?.readiness() ?? [];
  }

  get isReady(): boolean {
    return this.services !== undefined && this.problems.length === 0;
  }

  /** Whether it would make blocks now, by its own clock. */
  get leads(): boolean {
    return this.services !== undefined && this.#gauges.read('tessera_mempool_leads') === 1;
  }

  /** Starts the node, if it does not run. */
  start(): void {
    if (this.process !== undefined) return;
    const { world } = this.#modules;
    this.starts++;
    const process = world.process(this.name);
    process.host = this.host;
    process.offset = this.offset;
    process.rate = this.rate;
    this.#process = process;
    this.#isUp = false;
    this.#running = undefined;
    this.#gauges = new Gauges();
    process.onDeath(() => {
      this.#isUp = false;
      this.disk.processEnded();
    });
    world.later(process, 0, () => {
      this.#open(process).catch((error: unknown) => this.#end(process, error));
    });
  }

  /** It stays down until what is given is called. */
  hold(): () => void {
    this.#holds++;
    return () => void this.#holds--;
  }

  get isHeld(): boolean {
    return this.#holds > 0;
  }

  /** Changes options of its next start. */
  change(settings: MachineOptions['settings']): void {
    this.config = this.#configWith({ ...this.#options.settings, ...settings });
  }

  /** The process ends at once, as by kill -9. */
  kill(): void {
    this.process?.kill();
  }

  /** The machine ends at once: what is not on its disk is gone, and nobody is told. */
  losePower(): number {
    const { wires } = this.#modules;
    for (const wire of wires.wires) {
      if (wire.dialerOwner === this.#process) wire.dialer.vanish();
      if (wire.listenerOwner === this.#process) wire.listener.vanish();
    }
    this.process?.kill();
    losePowerBelow(this.folder, this.disk.luck);
    return this.disk.powerLost();
  }

  /** The machine gets a new disk: what it had is gone. */
  loseDisk(): void {
    this.losePower();
    this.disk.wipe();
    wipe(this.folder);
    this.#hasJournal = false;
  }

  /** Changes a database of a node that does not run. */
  async changeDatabase<T>(name: string, hand: Process, change: (kv: Kv) => Promise<T>): Promise<T> {
    const kv = this.disk.open(name, hand);
    try {
      return await change(kv);
    } finally {
      await kv.close();
    }
  }

  /** Copies its disk, as it is in this moment; gives what puts the copy in the place of the disk. */
  copyDisk(): () => void {
    const [databases, files, hasJournal] = [this.disk.copy(), copyBelow(this.folder), this.#hasJournal];
    return () => {
      this.losePower();
      this.alias = `${this.name} with older copy ${++this.#copies}`;
      this.disk.putBack(databases);
      wipe(this.folder);
      putBack(files);
      this.#hasJournal = hasJournal;
    };
  }

  /** Ends it as an operator does, or its supervisor. */
  stop(): void {
    const { process } = this;
    const role = this.#running;
    if (process === undefined) return;
    const { world } = this.#modules;
    world.later(process, STOP_MS, () => process.kill());
    world.later(process, 0, () => {
      this.#isUp = false;
      this.#stopping.abort();
      const stopped = Promise.resolve(role?.stop()).then(() => this.#network?.stop());
      stopped.catch(() => undefined).finally(() => world.later(process, 0, () => process.kill()));
    });
  }

  #configWith(settings: MachineOptions['settings']): Config {
    return createConfig(this.role, {
      'node.data_dir': `/world/${this.name}`,
      'node.name': this.name,
      'peers.host': this.host,
      'peers.port': PEER_PORT,
      'metrics.enabled': false,
      ...settings,
    });
  }

  async #open(process: Process): Promise<void> {
    this.#stopping = new AbortController();
    const context = this.#contextFor(process);
    const role = await DEFINITIONS[this.role].open(context);
    this.#running = role;
    role.failed.catch((error: unknown) => this.#end(process, error));
    context.network.failed.catch((error: unknown) => this.#end(process, error));
    await role.load();
    await context.network.start();
    await role.start();
    this.#isUp = true;
    this.#modules.world.note(`${this.name} is up`);
  }

  /** The node ends by itself: its process is gone, and its supervisor starts another. */
  #end(process: Process, thrown: unknown): void {
    // As a node names it.
    const error = fileError(thrown);
    // What it waited for while it was stopped has failed.
    if (!process.isAlive || this.#stopping.signal.aborted) return;
    const { world, onFailed } = this.#modules;
    world.note(`${this.name} ends: ${errorMessage(error)}`);
    onFailed(this, error);
    // As the program does: it stops what it can, and ends.
    this.stop();
  }

  #contextFor(process: Process): RoleContext {
    const { wires } = this.#modules;
    const { config } = this;
    const { genesis, host } = this.#options;
    const logger = this.#logger(process);
    const { metrics } = this.#gauges;
    const network = new LinkNetwork(
      {
        network: config.network.name,
        role: this.role,
        rules: networkRules(config, genesis),
        version: '0',
        nodeKey: this.key,
        listen: { host, port: PEER_PORT },
        peers: [...config.peers.mempool, ...config.peers.storage],
        ...(config.network.secret === undefined ? {} : { secret: config.network.secret }),
        limits: {
          maxLinks: config.peers.maxLinks,
          maxLinksPerAddress: config.peers.maxLinksPerAddress,
          dialTimeoutMs: config.peers.dialTimeoutMs,
          heartbeatMs: config.peers.heartbeatMs,
          reconnectMaxMs: config.peers.reconnectMaxMs,
        },
      },
      {
        transport: wires.transport(process, host),
        clock: process.clock,
        random: process.luck,
        logger,
        metrics,
      },
    );
    this.#network = network;
    const { disk } = this;
    const dataDir = {
      path: this.folder,
      open: async (name: string) => (name === JOURNAL ? this.#openJournal(process) : disk.open(name, process)),
      openDerived: async (name: string) => disk.open(name, process),
      adopt: () => undefined,
      removeDerived: async (name: string) => disk.remove(name),
      putAside: async (name: string) => disk.remove(name),
      problems: [],
      recover: async () => {
        if (this.#journal?.owner === process) await this.#journal.kv.recover();
      },
      close: async () => undefined,
    };
    return {
      config,
      genesis,
      // As much of it as roles use.
      dataDir: dataDir as unknown as RoleContext['dataDir'],
      nodeKey: this.key,
      producers: producersOf(config, genesis),
      network,
      // What listens to it ends with the world.
      room: { ...endlessRoom, ranLow: new SignalSource(), isBack: new SignalSource() },
      clock: process.clock,
      random: process.luck,
      stopping: this.#stopping.signal,
      keepsPassphrase: true,
      logger: () => logger,
      metrics,
      progress: (_name, options) => new Progress(options, { clock: process.clock }),
    };
  }

  /** The journal of one node is in files of its own, which the program writes itself. */
  async #openJournal(owner: Process): Promise<LogKv> {
    const kv = await LogKv.open(`${this.folder}/db-${JOURNAL}`, { createIfMissing: !this.#hasJournal });
    this.#hasJournal = true;
    this.#journal = { owner, kv };
    return kv;
  }

  /** Warnings and errors are in the trace. */
  #logger(process: Process): Logger {
    const { world, onSaid } = this.#modules;
    const line = (fields: object, message: string): void => {
      const { err } = fields as { readonly err?: unknown };
      const why = err === undefined || message.includes(errorMessage(err)) ? '' : ` (${errorMessage(err)})`;
      if (!process.isAlive) return;
      world.note(`${this.name}: ${message}${why}`);
      onSaid(this, message);
    };
    return { debug: () => undefined, info: verbose ? line : () => undefined, warn: line, error: line };
  }
}

const verbose = process.env.SIMULATION_LOG === 'info';
