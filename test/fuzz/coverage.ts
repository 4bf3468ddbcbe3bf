/** Which code of `src/` has run, by the counters of V8 itself: how the fuzzer knows that an input reached something new. */

import { type Profiler, Session } from 'node:inspector';

export class Coverage {
  /** One for all: to begin costs V8 a walk over everything in memory. */
  static #begun: Session | undefined;
  /** For each function that ran, which of its characters did. */
  readonly #seen = new Map<string, Uint8Array>();

  readonly #session = Coverage.#sessionOfAll();

  constructor() {
    // What ran before is no news.
    take(this.#session);
  }

  static #sessionOfAll(): Session {
    if (Coverage.#begun === undefined) {
      Coverage.#begun = new Session();
      Coverage.#begun.connect();
      Coverage.#begun.post('Profiler.enable');
      Coverage.#begun.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
    }
    return Coverage.#begun;
  }

  /** Functions seen so far. */
  get size(): number {
    return this.#seen.size;
  }

  /** True when code has run since the last call that had not run before; it is new the next time too, unless `learns`. */
  hasNews(learns: boolean): boolean {
    let hasNews = false;
    for (const [name, ran] of take(this.#session)) {
      const seen = this.#seen.get(name);
      if (seen !== undefined && !ran.some((is, at) => is === 1 && seen[at] === 0)) continue;
      hasNews = true;
      if (learns) this.#seen.set(name, seen === undefined ? ran : ran.map((is, at) => is | (seen[at] ?? 0)));
    }
    return hasNews;
  }

  /** Lets V8 count no more; for what runs in this process later. */
  static stop(): void {
    Coverage.#begun?.disconnect();
    Coverage.#begun = undefined;
  }
}

/** What ran since the last call. */
function take(session: Session): [name: string, ran: Uint8Array][] {
  // A session of the own thread answers before `post` returns.
  let scripts: Profiler.ScriptCoverage[] = [];
  session.post('Profiler.takePreciseCoverage', (error, taken) => {
    if (error !== null) throw error;
    scripts = taken.result;
  });
  return scripts
    .filter(({ url }) => url.includes('/src/') && !url.includes('/node_modules/'))
    .flatMap(({ url, functions }) => functions.flatMap((one) => ranIn(url, one)));
}

/** The characters of a function that ran; nothing when none did. */
function ranIn(url: string, { ranges }: Profiler.FunctionCoverage): [name: string, ran: Uint8Array][] {
  const [whole] = ranges;
  if (whole === undefined || whole.count === 0) return [];
  const { startOffset: start, endOffset: end } = whole;
  const ran = new Uint8Array(end - start);
  // Inner ranges follow the outer ones.
  for (const range of ranges) ran.fill(range.count > 0 ? 1 : 0, range.startOffset - start, range.endOffset - start);
  return [[`${url} ${start} ${end}`, ran]];
}
