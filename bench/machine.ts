/** Says which machine a benchmark ran on, and what else kept it busy. */

import { availableParallelism, cpus, loadavg, release, totalmem } from 'node:os';

export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGib: number;
  readonly os: string;
  readonly node: string;
  /** Processes that wanted a core, on average over the last minute before the run. */
  readonly load: number;
}

export function thisMachine(): Machine {
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryGib: Math.round(totalmem() / 2 ** 30),
    os: `${process.platform} ${process.arch} ${release()}`,
    node: process.version,
    load: Math.round(10 * (loadavg()[0] ?? 0)) / 10,
  };
}

export function describeMachine({ cpu, cores, memoryGib, os, node, load }: Machine): string {
  const busy = load > cores / 2 ? ': other work keeps it busy, so trust ratios and processor time, not rates' : '';
  return `${cpu}, ${cores} cores, ${memoryGib} GiB, ${os}, Node.js ${node}, load ${load}${busy}`;
}

/** Whether absolute figures of two runs can be compared. */
export function isSameMachine(a: Machine, b: Machine): boolean {
  return a.cpu === b.cpu && a.cores === b.cores && a.node === b.node;
}
