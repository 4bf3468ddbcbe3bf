/** `tessera dev --watch FILE`: a script that runs after each start, and on a clean chain again whenever its file changes. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { unwatchFile, watchFile } from 'node:fs';
import type { DevService } from '../api/routes/dev/service.js';
import type { NodeRole } from '../lib/roles.js';

/** Milliseconds between two looks at the file: editors replace it, and events of that are told differently by each system. */
const LOOK_EACH_MS = 300;
/** Milliseconds that a script may take to end. The network ends after it, within five seconds. */
const PATIENCE_MS = 1_000;

export interface WatchedScriptOptions {
  readonly file: string;
  readonly env: NodeJS.ProcessEnv;
  /** Shared address of the network, for `TESSERA_URL`; `urls` has those of its nodes, for `TESSERA_MEMPOOL_URL` and so on. */
  readonly url: string | undefined;
  readonly urls: Readonly<Record<NodeRole, string>>;
  readonly control: Pick<DevService, 'takeSnapshot' | 'revert'>;
  /** Descriptor that the script prints to. */
  readonly output: number;
  readonly say: (line: string) => void;
}

export class WatchedScript {
  readonly #options: WatchedScriptOptions;
  #child: ChildProcess | undefined;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(options: WatchedScriptOptions) {
    this.#options = options;
  }

  /** Takes a snapshot of the new chain, which later runs go back to, and runs the script. */
  start(): void {
    const { control, file } = this.#options;
    const begun = control.takeSnapshot();
    this.#inTurn(async () => {
      await begun;
      this.#run();
    });
    watchFile(file, { interval: LOOK_EACH_MS }, (now, before) => {
      if (now.mtimeMs === before.mtimeMs || now.mtimeMs === 0) return;
      this.#inTurn(async () => {
        await this.#end();
        await control.revert((await begun).id);
        this.#run();
      });
    });
  }

  async stop(): Promise<void> {
    unwatchFile(this.#options.file);
    await this.#turn;
    await this.#end();
  }

  #inTurn(work: () => Promise<void>): void {
    const { say, file } = this.#options;
    this.#turn = this.#turn.then(work).catch((error: unknown) => say(`${file} was not run: ${String(error)}`));
  }

  #run(): void {
    const { file, url, urls, env, output, say } = this.#options;
    const named = Object.entries(urls).map(([role, of]) => [`TESSERA_${role.toUpperCase()}_URL`, of]);
    say(`running ${file}`);
    const child = spawn(process.execPath, [file], {
      env: { ...env, ...Object.fromEntries(named), ...(url !== undefined && { TESSERA_URL: url }) },
      stdio: ['ignore', output, 'inherit'],
    });
    this.#child = child;
    child.on('error', (error) => say(`${file} was not run: ${error.message}`));
    child.on('close', (code, signal) => {
      this.#child = undefined;
      if (code !== null) say(`${file} ended with status ${code}`);
      else if (signal !== 'SIGTERM') say(`${file} was ended by ${signal}`);
    });
  }

  async #end(): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    const ended = once(child, 'close');
    child.kill();
    const timer = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS);
    await ended;
    clearTimeout(timer);
  }
}
