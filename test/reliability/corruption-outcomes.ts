/** Runs the cases of corruption and counts how they ended, role by role. */

import { NODE_ROLES, type NodeRole } from '../../src/lib/roles.js';
import { Chance } from './chance.js';
import { type Ages, type Case, Corruption, type Verdict } from './corruption.js';
import { outcomeLine } from './report.js';
import type { Outcome } from './round.js';

const PART = 'corruption';
const PROGRESS_EVERY = 100;
/** Cases at once: each spends most of its time waiting for files. */
const AT_ONCE = 8;
const SEEDS = 2 ** 31;

export interface CorruptionOptions {
  /** Cases: a case is a node that is started on a damaged folder. */
  readonly count: number;
  readonly chance: Chance;
  /** Is told of each case that went wrong, and now and then how many are done. */
  readonly say: (line: string) => void;
  readonly isStopped: () => boolean;
}

export async function corruptionOutcomes(
  ages: Ages,
  { count, chance, say, isStopped }: CorruptionOptions,
): Promise<Outcome[]> {
  const corruption = await Corruption.prepare(ages);
  try {
    const begun = performance.now();
    const verdicts: Verdict[] = [];
    let left: Case[] = [];
    let taken = 0;
    const lane = async (): Promise<void> => {
      while (taken < count && !isStopped()) {
        const one = left.pop();
        if (one === undefined) {
          left = corruption.cases(chance);
          continue;
        }
        taken++;
        // Each has chances of its own: what becomes of it does not depend on those beside it.
        const verdict = await corruption.run(one, new Chance(chance.below(SEEDS)));
        if (verdict === undefined) {
          taken--;
          continue;
        }
        verdicts.push(verdict);
        if (verdict.ending === undefined) say(outcomeLine(failureOf(verdict)));
        if (verdicts.length % PROGRESS_EVERY === 0) say(`${verdicts.length} of ${count} damaged files`);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, lane));
    const seconds = (performance.now() - begun) / 1_000;
    const wrong = verdicts.filter(({ ending }) => ending === undefined);
    return [...NODE_ROLES.map((role) => countOf(role, verdicts, seconds)), ...wrong.map(failureOf)];
  } finally {
    await corruption.remove();
  }
}

/** `312 cases: 120 healed, 192 refused: data_corrupt` */
function countOf(role: NodeRole, verdicts: readonly Verdict[], seconds: number): Outcome {
  const own = verdicts.filter((verdict) => verdict.role === role);
  const endings = new Map<string, number>();
  for (const { ending = 'WRONG' } of own) endings.set(ending, (endings.get(ending) ?? 0) + 1);
  const list = [...endings].sort(([a], [b]) => (a < b ? -1 : 1)).map(([ending, times]) => `${times} ${ending}`);
  return {
    part: PART,
    name: `${role}: ${own.length} cases`,
    result: endings.has('WRONG') ? 'failed' : 'passed',
    detail: list.join(', '),
    seconds: (seconds * own.length) / Math.max(1, verdicts.length),
  };
}

function failureOf({ role, file, damage, wrong }: Verdict): Outcome {
  return { part: PART, name: `${role}: ${file} ${damage}`, result: 'failed', detail: wrong, seconds: 0 };
}
