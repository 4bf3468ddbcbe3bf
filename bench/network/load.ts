/** The load generator as its parent has it: a process that obeys one order after the other. */

import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Watched } from './figures.js';
import type { LoadAnswer, LoadOrder } from './orders.js';

export class LoadProcess {
  readonly watched: Watched;
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, (answer: LoadAnswer) => void>();
  #orders = 0;

  constructor() {
    this.#child = fork(fileURLToPath(new URL('./load-process.ts', import.meta.url)), { execArgv: ['--import', 'tsx'] });
    this.#child.on('message', ({ id, answer }: { readonly id: number; readonly answer: LoadAnswer }) => {
      this.#waiting.get(id)?.(answer);
      this.#waiting.delete(id);
    });
    this.watched = { name: 'load', pid: () => this.#child.pid ?? 0 };
  }

  /** Its answer. Rejects when it ends. */
  async order<K extends LoadAnswer['kind']>(order: LoadOrder): Promise<Extract<LoadAnswer, { kind: K }>> {
    const id = ++this.#orders;
    const answer = await new Promise<LoadAnswer>((resolve, reject) => {
      const onExit = (): void => reject(new Error('the load generator has ended'));
      this.#child.once('exit', onExit);
      this.#waiting.set(id, (given) => {
        this.#child.off('exit', onExit);
        resolve(given);
      });
      this.#child.send({ id, order });
    });
    return answer as Extract<LoadAnswer, { kind: K }>;
  }

  end(): void {
    this.#child.removeAllListeners('exit');
    this.#child.kill();
  }
}
