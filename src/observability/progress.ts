/** Progress of a long task: a bar on a terminal, lines elsewhere, and a text and a share for health and metrics. Updates are cheap. */

import type { HasClock } from './modules.js';

/** Milliseconds between two drawings of the bar, and between two lines. */
const TERMINAL_MS = 100;
const LINE_MS = 5_000;
const BAR_WIDTH = 24;
const CLEAR_LINE = '\r\u001b[K';

export interface ProgressOptions {
  /** Name of the task, such as `reading blocks`. */
  readonly task: string;
  /** Name of the things that are counted, in the plural. */
  readonly unit: string;
}

export interface ProgressModules extends HasClock {
  /** A terminal to draw on; without one, lines go to `line`. */
  readonly terminal?: { write(text: string): unknown } | undefined;
  readonly line?: ((text: string) => void) | undefined;
  /** Called with the share that is done, 0 to 1, where the total is known. */
  readonly share?: ((share: number) => void) | undefined;
}

export class Progress {
  readonly #task: string;
  readonly #unit: string;
  readonly #modules: ProgressModules;
  readonly #pauseMs: number;
  #begun: { readonly at: number; readonly done: number } | undefined;
  #shownAt = 0;
  #isDrawn = false;
  #done = 0;
  #total: number | undefined;

  constructor({ task, unit }: ProgressOptions, modules: ProgressModules) {
    this.#task = task;
    this.#unit = unit;
    this.#modules = modules;
    this.#pauseMs = modules.terminal === undefined ? LINE_MS : TERMINAL_MS;
  }

  /** Progress as text, such as `catching up: 40 %, 400 of 1000 blocks`; undefined while nothing is under way. */
  get current(): string | undefined {
    return this.#begun && amountText(this.#task, this.#unit, this.#done, this.#total);
  }

  /** Notes the progress; `total` is undefined while unknown. Counts may begin anew for another round of the same task. */
  update(done: number, total?: number): void {
    const now = this.#modules.clock.monotonic();
    if (this.#begun === undefined || done < this.#done) {
      this.#begun = { at: now, done };
      this.#shownAt = now;
    }
    this.#done = done;
    this.#total = total;
    if (total !== undefined) this.#modules.share?.(shareOf(done, total));
    if (now - this.#shownAt < this.#pauseMs) return;
    this.#shownAt = now;
    this.#show(now, this.#begun);
  }

  /** Ends the task: takes the bar away; `current` is undefined from now on. */
  end(): void {
    if (this.#begun === undefined) return;
    this.#begun = undefined;
    this.#modules.share?.(1);
    if (this.#isDrawn) this.#modules.terminal?.write(CLEAR_LINE);
    this.#isDrawn = false;
  }

  #show(now: number, begun: { readonly at: number; readonly done: number }): void {
    const { terminal, line } = this.#modules;
    const [unit, done, total] = [this.#unit, this.#done, this.#total];
    const rate = (done - begun.done) / Math.max((now - begun.at) / 1_000, 0.001);
    const text = `${amountText(this.#task, unit, done, total)}, ${paceText(unit, rate, done, total)}`;
    if (terminal === undefined) {
      line?.(text);
      return;
    }
    this.#isDrawn = true;
    terminal.write(`${CLEAR_LINE}${total === undefined ? '' : `${bar(shareOf(done, total))} `}${text}`);
  }
}

function shareOf(done: number, total: number): number {
  return total <= 0 ? 1 : Math.min(1, Math.max(0, done / total));
}

function bar(share: number): string {
  const full = Math.floor(share * BAR_WIDTH);
  return `[${'#'.repeat(full)}${'-'.repeat(BAR_WIDTH - full)}]`;
}

function amountText(task: string, unit: string, done: number, total: number | undefined): string {
  if (total === undefined) return `${task}: ${done} ${unit}`;
  return `${task}: ${Math.floor(100 * shareOf(done, total))} %, ${done} of ${total} ${unit}`;
}

function paceText(unit: string, rate: number, done: number, total: number | undefined): string {
  const pace = `${Math.round(rate)} ${unit}/s`;
  if (total === undefined || rate <= 0) return pace;
  return `${pace}, ${Math.ceil(Math.max(0, total - done) / rate)} s left`;
}
