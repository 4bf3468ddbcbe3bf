/** Figures of each node, minute by minute, and how fast they grow after the warm-up. */

import type { NodeProcess } from '../support/processes.js';
import { growthPerMinute } from './growth.js';
import type { Inspector, V8Memory } from './inspector.js';
import { folderBytes, type ProcessFigures, processFigures } from './process-figures.js';

const MIB = 1024 * 1024;

export interface SoakedNode {
  readonly process: NodeProcess;
  readonly inspector: Inspector;
}

export interface Sample {
  readonly node: string;
  readonly minute: number;
  readonly process: ProcessFigures;
  /** Height of the chain. */
  readonly height: number;
  /** What V8 says at the time of `process`, garbage included. */
  readonly v8: V8Memory;
  /** After a garbage collection; absent where none was asked for. */
  readonly live?: V8Memory;
  readonly disk: number;
}

/** What is held against a bound: the name of a column and its bytes in a sample. */
export const MEASURES = {
  /** Objects and buffers that are alive. */
  live: ({ live }: Sample): number | undefined => live && live.heapUsed + live.external,
  /** Memory without a file behind it: what a process has for itself. */
  anonymous: ({ process }: Sample): number => process.anonymous,
  rss: ({ process }: Sample): number => process.rss,
  disk: ({ disk }: Sample): number => disk,
  /** Open files and pipes, without sockets. */
  files: ({ process: { descriptors } }: Sample): number => (descriptors.all - descriptors.sockets) * MIB,
} as const;

export class Sampler {
  readonly samples: Sample[] = [];
  readonly #nodes: readonly SoakedNode[];
  readonly #began = performance.now();

  constructor(nodes: readonly SoakedNode[]) {
    this.#nodes = nodes;
  }

  /** `collect`: garbage is collected after the look at the process, to see what is alive. */
  async sample(height: number, collect: boolean): Promise<readonly Sample[]> {
    const minute = (performance.now() - this.#began) / 60_000;
    const samples = await Promise.all(
      this.#nodes.map(async ({ process, inspector }): Promise<Sample> => {
        const figures = await processFigures(process.pid);
        const v8 = await inspector.memory();
        const disk = await folderBytes(process.folder);
        const live = collect ? { live: await inspector.liveMemory() } : {};
        return { node: process.role, minute, height, process: figures, v8, disk, ...live };
      }),
    );
    this.samples.push(...samples);
    return samples;
  }

  /** MiB (or files) a minute from minute `from` on. */
  growth(node: string, measure: keyof typeof MEASURES, from: number): number {
    const points = this.samples
      .filter((sample) => sample.node === node && sample.minute >= from)
      .flatMap((sample) => {
        const value = MEASURES[measure](sample);
        return value === undefined ? [] : [{ minute: sample.minute, value: value / MIB }];
      });
    return growthPerMinute(points);
  }
}

const COLUMNS: readonly [string, (sample: Sample) => string][] = [
  ['min', ({ minute }) => minute.toFixed(1)],
  ['node', ({ node }) => node],
  ['height', ({ height }) => String(height)],
  ['live heap', ({ live }) => mib(live?.heapUsed)],
  ['heap', ({ v8 }) => mib(v8.heapTotal)],
  ['external', ({ v8 }) => mib(v8.external)],
  ['buffers', ({ v8 }) => mib(v8.arrayBuffers)],
  ['arena', ({ process }) => mib(process.mainArena)],
  ['arenas', ({ process }) => mib(process.otherArenas)],
  ['anon', ({ process }) => mib(process.anonymous)],
  ['mapped', ({ process }) => mib(process.mapped)],
  ['rss', ({ process }) => mib(process.rss)],
  ['threads', ({ process }) => String(process.threads)],
  ['files', ({ process }) => String(process.descriptors.all)],
  ['tables', ({ process }) => String(process.descriptors.tables)],
  ['sockets', ({ process }) => String(process.descriptors.sockets)],
  ['disk', ({ disk }) => mib(disk)],
];
const WIDTH = 10;

export const sampleHeader = (): string => COLUMNS.map(([name]) => name.padStart(WIDTH)).join('');

export const sampleLine = (sample: Sample): string => COLUMNS.map(([, show]) => show(sample).padStart(WIDTH)).join('');

function mib(bytes: number | undefined): string {
  return bytes === undefined ? '-' : (bytes / MIB).toFixed(1);
}
