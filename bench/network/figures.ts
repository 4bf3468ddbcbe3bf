/** What a phase of the network benchmark took of each process: processor time, memory, the event loop, disk. */

import { readFile } from 'node:fs/promises';
import { folderBytes } from '../../test/soak/process-figures.js';
import type { NodeProcess } from '../../test/support/processes.js';

/** The kernel counts processor time in these, on every architecture of Linux that Node.js runs on. */
const TICKS_PER_SECOND = 100;
const KIB = 1024;

/** Of one process during one phase. */
export interface ProcessUse {
  readonly name: string;
  /** Seconds of processor time, of all threads, and of the first of them. */
  readonly cpu: number;
  readonly mainCpu: number;
  /** Bytes at the end, and the most since the process began. */
  readonly rss: number;
  readonly peakRss: number;
  /** Milliseconds that the event loop was late, as the node's metrics say; absent for what is no node. */
  readonly lateP99?: number;
  readonly lateMax?: number;
  /** Milliseconds of processor time of the longest turn of the event loop. */
  readonly longestTurn?: number;
  /** Bytes that the data folder has grown by. */
  readonly disk?: number;
}

/** A process to be watched; `node` where it is one, with the file that its turns are written to. */
export interface Watched {
  readonly name: string;
  readonly pid: () => number;
  readonly node?: NodeProcess;
  readonly turns?: string;
}

interface Mark {
  readonly pid: number;
  readonly cpu: number;
  readonly mainCpu: number;
  readonly disk: number;
}

/** Begins a phase; the result ends it. A process that was started again meanwhile counts from its start. */
export async function beginPhase(watched: readonly Watched[]): Promise<() => Promise<readonly ProcessUse[]>> {
  const beganAt = Date.now();
  const marks = await Promise.all(
    watched.map(async ({ pid, node }): Promise<Mark> => {
      // The scrape begins a new measurement of how late the loop is.
      if (node?.isRunning) await lateness(node);
      return { pid: pid(), ...(await cpuSeconds(pid())), disk: node ? await folderBytes(node.folder) : 0 };
    }),
  );
  return () => Promise.all(watched.map((one, i) => useOf(one, marks[i], beganAt)));
}

async function useOf({ name, pid, node, turns }: Watched, mark: Mark | undefined, from: number): Promise<ProcessUse> {
  const now = await cpuSeconds(pid());
  const memory = await memoryOf(pid());
  const isSame = mark?.pid === pid();
  const cpu = now.cpu - (isSame ? mark.cpu : 0);
  const mainCpu = now.mainCpu - (isSame ? mark.mainCpu : 0);
  if (node === undefined || !node.isRunning) return { name, cpu, mainCpu, ...memory };
  const late = await lateness(node);
  const disk = (await folderBytes(node.folder)) - (mark?.disk ?? 0);
  const longestTurn = turns === undefined ? 0 : await longestOf(turns, from);
  return { name, cpu, mainCpu, ...memory, lateP99: late.p99, lateMax: late.max, longestTurn, disk };
}

export async function cpuSeconds(pid: number): Promise<{ readonly cpu: number; readonly mainCpu: number }> {
  const read = async (file: string): Promise<number> => {
    const text = await readFile(file, 'utf8').catch(() => '');
    // Behind the name in brackets, which may hold blanks: state, ten numbers, user time, system time.
    const fields = text.replace(/^.*\) /, '').split(' ');
    return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) / TICKS_PER_SECOND;
  };
  return { cpu: await read(`/proc/${pid}/stat`), mainCpu: await read(`/proc/${pid}/task/${pid}/stat`) };
}

export async function memoryOf(pid: number): Promise<{ readonly rss: number; readonly peakRss: number }> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const field = (name: string): number => KIB * Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0);
  return { rss: field('VmRSS'), peakRss: field('VmHWM') };
}

/** Milliseconds since it was last asked. */
async function lateness({ metricsUrl }: NodeProcess): Promise<{ readonly p99: number; readonly max: number }> {
  const page = await (await fetch(`${metricsUrl}/metrics`)).text();
  const at = (quantile: string): number => {
    const line = new RegExp(`^tessera_event_loop_delay_seconds\\{.*quantile="${quantile}".*\\} (\\S+)$`, 'm');
    return 1_000 * Number(line.exec(page)?.[1] ?? 0);
  };
  return { p99: at('0.99'), max: at('1') };
}

/** The longest turn that was written down since a time, in ms. */
async function longestOf(file: string, from: number): Promise<number> {
  const text = await readFile(file, 'utf8').catch(() => '');
  const lines = text.split('\n').map((line) => line.split(' ').map(Number));
  return lines.reduce((most, [at = 0, ms = 0]) => (at > from ? Math.max(most, ms) : most), 0);
}
