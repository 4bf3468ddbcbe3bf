/** The figures of the network benchmark as text, and what follows from them. */

import { VERIFICATION_THERE } from '../verification.js';
import type { ProcessUse } from './figures.js';
import type { ReadsResult } from './orders.js';

export interface Phase {
  readonly name: string;
  /** Payments that were admitted or confirmed; what processes took is divided by it. */
  readonly count: number;
  readonly admitted?: {
    readonly rate: number;
    readonly p50: number;
    readonly p99: number;
    readonly tooMany: number;
    readonly isUsedUp: boolean;
  };
  /** Milliseconds from the post to the confirmed block. */
  readonly confirmed?: {
    readonly rate: number;
    readonly p50?: number;
    readonly p99?: number;
    readonly max?: number;
    readonly blocks: readonly number[];
  };
  readonly reads?: ReadsResult;
  readonly processes: readonly ProcessUse[];
}

export interface Summary {
  /** A second, medians of the rounds. */
  readonly alone: number;
  readonly confirmed: number;
  /** Seconds of processor time for each payment, of all processes. */
  readonly cpuAlone: number;
  readonly cpuConfirmed: number;
  /** µs of a verification in this process, measured beside the rounds. */
  readonly verification: number;
}

export interface Report {
  readonly date: string;
  readonly machine: object;
  readonly settings: { readonly intervalMs: number };
  readonly phases: readonly Phase[];
  readonly summary: Summary;
}

const MIB = 1024 * 1024;
const say = (text = ''): void => void process.stdout.write(`${text}\n`);
const whole = (value: number): string => Math.round(value).toLocaleString('en-US');

export function printPhase({ name, count, admitted, confirmed, reads, processes }: Phase): void {
  say(`\n${name}: ${whole(count)} payments`);
  if (admitted !== undefined) {
    const { rate, p50, p99, tooMany, isUsedUp } = admitted;
    const more = `${tooMany > 0 ? `, ${tooMany} answers 429 or 503` : ''}${isUsedUp ? ', all that were prepared' : ''}`;
    say(`  admitted   ${whole(rate)} a second; answers p50 ${whole(p50)} ms, p99 ${whole(p99)} ms${more}`);
  }
  if (confirmed !== undefined) {
    const { rate, p50, p99, max, blocks } = confirmed;
    const times = [p50, p99, max].map((ms) => (ms === undefined ? '-' : whole(ms)));
    const latency = p50 === undefined ? '' : `; after p50 ${times[0]} ms, p99 ${times[1]} ms, at most ${times[2]} ms`;
    say(
      `  confirmed  ${whole(rate)} a second${latency}; ${blocks.length} blocks of up to ${whole(Math.max(0, ...blocks))}`,
    );
  }
  for (const [node, read] of Object.entries(reads ?? {})) {
    const times = `p50 ${read.p50.toFixed(1)} ms, p99 ${read.p99.toFixed(1)} ms`;
    say(
      `  reads      ${whole(read.rate)} a second of ${node}; ${times}${read.others > 0 ? `; ${read.others} failed` : ''}`,
    );
  }
  say(`  ${HEADER}`);
  for (const use of processes) say(`  ${line(use, count)}`);
}

const COLUMNS: readonly [title: string, show: (use: ProcessUse, count: number) => string][] = [
  ['process', ({ name }) => name],
  ['CPU s', ({ cpu }) => cpu.toFixed(1)],
  ['µs/tx', ({ cpu }, count) => whole((1e6 * cpu) / Math.max(1, count))],
  ['main µs/tx', ({ mainCpu }, count) => whole((1e6 * mainCpu) / Math.max(1, count))],
  ['MiB', ({ rss }) => whole(rss / MIB)],
  ['peak', ({ peakRss }) => whole(peakRss / MIB)],
  ['late p99', ({ lateP99 }) => (lateP99 === undefined ? '-' : `${lateP99.toFixed(0)} ms`)],
  ['late max', ({ lateMax }) => (lateMax === undefined ? '-' : `${lateMax.toFixed(0)} ms`)],
  ['turn (CPU)', ({ longestTurn }) => (longestTurn === undefined ? '-' : `${longestTurn.toFixed(0)} ms`)],
  ['B/tx disk', ({ disk }, count) => (disk === undefined ? '-' : whole(disk / Math.max(1, count)))],
];
const WIDTH = 11;
const HEADER = COLUMNS.map(([title]) => title.padStart(WIDTH)).join('');
const line = (use: ProcessUse, count: number): string =>
  COLUMNS.map(([, show]) => show(use, count).padStart(WIDTH)).join('');

/** Medians over the rounds of the two phases that take turns. */
export function summaryOf(phases: readonly Phase[], verifications: readonly number[]): Summary {
  const admittedAlone = phases.filter(({ admitted, confirmed }) => admitted !== undefined && confirmed === undefined);
  const together = phases.filter(({ name }) => name === 'posted and confirmed');
  const cpuOf = ({ processes, count }: Phase): number => processes.reduce((sum, { cpu }) => sum + cpu, 0) / count;
  return {
    alone: median(admittedAlone.map(({ admitted }) => admitted?.rate ?? 0)),
    confirmed: median(together.map(({ confirmed }) => confirmed?.rate ?? 0)),
    cpuAlone: median(admittedAlone.map(cpuOf)),
    cpuConfirmed: median(together.map(cpuOf)),
    verification: median(verifications),
  };
}

export function printSummary({ summary, phases, settings: { intervalMs } }: Report): void {
  const { alone, confirmed, cpuAlone, cpuConfirmed, verification } = summary;
  const steady = phases.at(-1)?.confirmed?.p99 ?? 0;
  say(
    `\nconfirmed ${whole(confirmed)} a second, ${(confirmed / alone).toFixed(2)} of admitted alone (${whole(alone)})`,
  );
  say(
    `processor time of all: ${whole(1e6 * cpuConfirmed)} µs for each confirmed payment, ${whole(1e6 * cpuAlone)} µs for each ` +
      `admitted alone; their ratio is what processors that are used up allow: ${(cpuAlone / cpuConfirmed).toFixed(2)}`,
  );
  const times = verification / VERIFICATION_THERE;
  say(
    `a verification took ${verification.toFixed(0)} µs between the rounds, ${times.toFixed(2)} times what it took where the original node was measured: ` +
      `scaled by it, confirmed ${whole(confirmed * times)} a second, ${whole((1e6 * cpuConfirmed) / times)} µs for each`,
  );
  say(`p99 at the steady load: ${(steady / intervalMs).toFixed(1)} intervals`);
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)] ?? 0;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[sorted.length / 2 - 1] ?? 0)) / 2;
}
