/** What `npm run bench` is asked for: its options and its help. */

import { parseArgs } from 'node:util';
import { errorMessage } from '../src/lib/errors.js';
import { readSizes } from './sizes.js';

/** Benchmarks with a short form. */
const SHORT: readonly string[] = ['signatures', 'api'];

export interface BenchArguments {
  /** The benchmarks to run. */
  readonly wanted: readonly string[];
  readonly short: boolean;
  /** Where the figures are written. */
  readonly json: string;
  /** The file of an earlier run. */
  readonly compare: string | undefined;
  /** The folder of another checkout. */
  readonly against: string | undefined;
  /** The program of the node that Tessera replaces. */
  readonly original: string | undefined;
  readonly sizes: readonly number[] | undefined;
}

/** What is said in place of a run, and the exit status. */
export interface Said {
  readonly text: string;
  readonly status: 0 | 2;
}

/** Reads the arguments; `names` are the benchmarks that there are. */
export function readArguments(args: readonly string[], names: readonly string[]): BenchArguments | Said {
  try {
    const { positionals, values } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        help: { type: 'boolean', default: false },
        against: { type: 'string' },
        short: { type: 'boolean', default: false },
        json: { type: 'string', default: 'bench.json' },
        compare: { type: 'string' },
        original: { type: 'string' },
        sizes: { type: 'string' },
      },
    });
    const { help, short, json, compare, against, original, sizes } = values;
    if (help) return { text: helpOf(names), status: 0 };
    const unknown = positionals.filter((name) => !names.includes(name));
    if (unknown.length > 0) return wrong(`No benchmark ${unknown.join(', ')}; there are ${names.join(', ')}.`);
    const wanted = positionals.length > 0 ? positionals : short ? SHORT : names;
    return {
      wanted,
      short,
      json,
      compare,
      against,
      original,
      sizes: sizes === undefined ? undefined : readSizes(sizes),
    };
  } catch (error) {
    return wrong(errorMessage(error));
  }
}

function wrong(fault: string): Said {
  return { text: `${fault}\nnpm run bench -- --help shows the options.`, status: 2 };
}

function helpOf(names: readonly string[]): string {
  return `npm run bench -- [name ...] [options]
  runs the benchmarks, or those named, one after the other:
    ${names.join(', ')}
  --short         seconds instead of minutes; without names ${SHORT.join(' and ')}
  --sizes N,N     how large tables, wallets and archives are, where that is what is measured
  --json FILE     where the figures are written (bench.json)
  --compare FILE  what is slower, or faster, than in the run that wrote this file
  --against DIR   another checkout, built, whose API is measured beside this one (api)
  --original FILE the node that Tessera replaces, its program built in release mode of Network 1.1.2: it is measured beside ours (cost, confirmed)
  --help          shows this`;
}
