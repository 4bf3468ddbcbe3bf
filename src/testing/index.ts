/**
 * `tessera-node/testing`: a dev network for tests of programs. It runs in a process of its own, out of reach of fake
 * timers and sandboxes, and ends with the test runner.
 */

import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { programFile } from '../lib/program-files.js';
import type {
  Answer,
  CommandName,
  Commands,
  DevAccount,
  DevNetworkOptions,
  NetworkFacts,
  Request,
} from './messages.js';

export type { DevAccount, DevNetworkOptions } from './messages.js';

const PROGRAM = fileURLToPath(programFile('network-process.js'));
/** Amount that the faucet pays by default: 1,000 display units. */
const FAUCET_AMOUNT = 72_072_000_000n;
const LAST_WORDS = 4_000;

/** Refusal of a network, with the code that the API has for it. */
export class DevNetworkError extends Error {
  override readonly name = 'DevNetworkError';
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** A running network. */
export interface DevNetwork {
  /** Base URL of all routes. */
  readonly url: string;
  /** Base URL of each node, with `nodeAddresses`; otherwise all are `url`. */
  readonly urls: Readonly<Record<'mempool' | 'storage' | 'miner' | 'user', string>>;
  /** The accounts by number, then the wallets of the user and the miner. */
  readonly accounts: readonly DevAccount[];
  /** Makes blocks now, even if they are empty; resolves with their numbers when they are stored. */
  mine(count?: number): Promise<readonly number[]>;
  /** Pays raw units (1,000 display units by default). Resolves with the hash and the number of the block, null if it is not awaited. */
  faucet(address: string, amount?: bigint): Promise<{ readonly txHash: string; readonly height: number | null }>;
  /** With false, blocks are made only by `mine` from now on. With true, waiting transactions come into a block. */
  setAutomine(isOn: boolean): Promise<void>;
  /** Unix seconds on the clock of the chain. */
  time(): Promise<number>;
  /** Sets the clock (Unix seconds, or a date), which goes on from there; never to before the last block. */
  setTime(time: number | Date): Promise<number>;
  /** Moves the clock on by so many seconds. */
  advanceTime(seconds: number): Promise<number>;
  /** Keeps chain, wallets and clock as they are; resolves with the number of the snapshot. */
  snapshot(): Promise<number>;
  /** Goes back to a snapshot, which can be used again. */
  revert(snapshot: number): Promise<void>;
  /** Resolves when the process is gone, and the chain with it unless `dataDir` keeps it. */
  stop(): Promise<void>;
}

/** Starts a network; resolves when block 0 is stored. Rejects with `DevNetworkError`. */
export async function startDevNetwork(options: DevNetworkOptions = {}): Promise<DevNetwork> {
  const program = new NetworkProcess();
  const { url, urls, accounts } = await program.start(options);
  const advanceTime = async (seconds: number): Promise<number> =>
    program.ask('setTime', (await program.ask('time')) + seconds);
  return {
    url,
    urls,
    accounts,
    mine: (count = 1) => program.ask('mine', count),
    faucet: (address, amount = FAUCET_AMOUNT) => program.ask('faucet', { address, amount: BigInt(amount) }),
    setAutomine: async (isOn) => void (await program.ask('setAutomine', isOn)),
    time: () => program.ask('time'),
    setTime: (time) => program.ask('setTime', typeof time === 'number' ? time : Math.ceil(time.getTime() / 1_000)),
    advanceTime,
    snapshot: async () => (await program.ask('takeSnapshot')).id,
    revert: async (snapshot) => void (await program.ask('revert', snapshot)),
    stop: () => program.stop(),
  };
}

interface Waiting {
  resolve(result: unknown): void;
  reject(error: Error): void;
}

class NetworkProcess {
  readonly #child: ChildProcess;
  readonly #exited: Promise<void>;
  readonly #waiting = new Map<number, Waiting>();
  #lastWords = '';
  #questions = 0;
  #hasEnded = false;

  constructor() {
    // Flags of the runner, for its own loaders, are none for the network; nor are options of a node.
    const own = Object.entries(process.env).filter(([name]) => name !== 'NODE_OPTIONS' && !name.startsWith('TESSERA_'));
    this.#child = fork(PROGRAM, [], {
      execArgv: [],
      env: Object.fromEntries(own),
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    const { stderr } = this.#child;
    stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#lastWords = (this.#lastWords + text).slice(-LAST_WORDS);
    });
    this.#exited = new Promise((resolve) => {
      this.#child.once('close', () => {
        this.#hasEnded = true;
        this.#failAll(new DevNetworkError('node_unreachable', `the dev network has ended: ${this.#lastWords.trim()}`));
        resolve();
      });
    });
    this.#child.on('error', (error) => this.#failAll(error));
    this.#child.on('message', (answer: Answer) => this.#take(answer));
    this.#keepsRunnerAlive(false);
  }

  start(options: DevNetworkOptions): Promise<NetworkFacts> {
    // Number 0 is the start; questions begin at 1.
    return this.#send(0, { start: options }) as Promise<NetworkFacts>;
  }

  ask<C extends CommandName>(command: C, ...args: Parameters<Commands[C]>): Promise<ReturnType<Commands[C]>> {
    const id = ++this.#questions;
    return this.#send(id, { id, command, args }) as Promise<ReturnType<Commands[C]>>;
  }

  async stop(): Promise<void> {
    if (this.#hasEnded) return;
    this.#keepsRunnerAlive(true);
    // The network may end before it has answered.
    await this.ask('stop').catch(() => undefined);
    await this.#exited;
  }

  #send(id: number, request: Request): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      if (this.#waiting.size === 1) this.#keepsRunnerAlive(true);
      this.#child.send(request, (error) => error !== null && this.#settle(id, ({ reject }) => reject(error)));
    });
  }

  #take(answer: Answer): void {
    if ('ready' in answer) this.#settle(0, ({ resolve }) => resolve(answer.ready));
    else if ('result' in answer) this.#settle(answer.id, ({ resolve }) => resolve(answer.result));
    else {
      const error = new DevNetworkError(answer.error.code, answer.error.message);
      if (answer.id === null) this.#failAll(error);
      else this.#settle(answer.id, ({ reject }) => reject(error));
    }
  }

  #settle(id: number, end: (waiting: Waiting) => void): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    this.#waiting.delete(id);
    if (this.#waiting.size === 0) this.#keepsRunnerAlive(false);
    end(waiting);
  }

  #failAll(error: Error): void {
    for (const id of [...this.#waiting.keys()]) this.#settle(id, ({ reject }) => reject(error));
  }

  /** Sets whether the network keeps the runner alive: only while an answer is due, so that tests may forget to stop it. */
  #keepsRunnerAlive(does: boolean): void {
    const { stderr, channel } = this.#child;
    const handles = [this.#child, channel, stderr as unknown as { ref?(): void; unref?(): void } | null];
    for (const handle of handles) does ? handle?.ref?.() : handle?.unref?.();
  }
}
