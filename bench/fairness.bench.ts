/**
 * How long an honest sender waits while others send the largest lists again and again, each of a thousand payments with signatures of
 * their own, the last of them wrong; and whether two such floods get the same.
 */

import type { Transaction } from '../src/chain/types.js';
import { isTesseraError } from '../src/lib/errors.js';
import { printRow, printSection } from './report.js';
import { badlySigned, createBed, fresh, payment } from './submission.bench.js';

const LIST = 1_000;
const LISTS = 8;
/** Lists that a flood has under way at once. */
const AT_ONCE = 2;
const HONEST = 150;
/** Milliseconds until a flood that is refused as too much tries again. */
const PAUSE_MS = 5;

type Bed = Awaited<ReturnType<typeof createBed>>;

function lists(): Transaction[][] {
  return Array.from({ length: LISTS }, () => {
    const list = Array.from({ length: LIST - 1 }, () => payment(fresh(1), 1));
    return [...list, badlySigned(payment(fresh(1), 1))];
  });
}

/** Sends until told to stop; the lists that got a verdict. */
function flood({ admission }: Bed, sender: string, ofSender: Transaction[][]) {
  let running = true;
  let judged = 0;
  const send = async (): Promise<void> => {
    for (let list = ofSender.pop(); running && list !== undefined; ) {
      const code = await admission.submit(list, sender).then(
        () => '',
        (error) => (isTesseraError(error) ? error.code : 'unknown'),
      );
      if (code === 'overloaded') await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      else {
        judged++;
        list = ofSender.pop();
      }
    }
  };
  const done = Promise.all(Array.from({ length: AT_ONCE }, send));
  return {
    get judged() {
      return judged;
    },
    get isOver() {
      return ofSender.length === 0;
    },
    async stop() {
      running = false;
      await done;
    },
  };
}

export async function fairnessBench(): Promise<void> {
  printSection(
    'A sender of single payments beside floods of lists of 1,000 (one verify thread): its wait for each answer',
  );
  for (const floods of [0, 1, 2, 4]) {
    const bed = await createBed();
    const honest = Array.from({ length: HONEST }, () => payment(fresh(1), 2));
    const prepared = Array.from({ length: floods }, lists);
    const running = prepared.map((ofSender, i) => flood(bed, `flood ${i}`, ofSender));
    const waits: number[] = [];
    for (const tx of honest) {
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      if (floods > 0 && running.some(({ isOver }) => isOver)) break;
      const begun = performance.now();
      await bed.admission.submit([tx], 'honest');
      waits.push(performance.now() - begun);
    }
    const judged = running.map((one) => one.judged);
    await Promise.all(running.map((one) => one.stop()));
    waits.sort((a, b) => a - b);
    const late = waits[Math.floor(waits.length * 0.95)] ?? 0;
    const note = `95 % within ${late.toFixed(0)} ms, all within ${(waits.at(-1) ?? 0).toFixed(0)} ms, of ${waits.length}; lists judged: ${judged.join(', ') || 'none'}`;
    printRow({ name: `${floods} floods: median`, value: waits[waits.length >> 1] ?? 0, unit: 'ms', note });
    await bed.stop();
  }
}
