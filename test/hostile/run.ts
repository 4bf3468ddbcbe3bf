/**
 * `npm run test:hostile -- --scale N`: every attack of `attacks/` against four real processes that make blocks meanwhile.
 * `--only A,B` takes those whose names have one of the texts, `--short` those of the test suite. The columns are the worst
 * of all nodes: how late /livez came, growth of memory, open files, looks at /readyz that failed.
 */

import { parseArgs } from 'node:util';
import { startArena } from './arena.js';
import { ATTACKS } from './attacks/index.js';
import { battle, tableHead, tableLine } from './battle.js';

const { values } = parseArgs({
  options: {
    scale: { type: 'string', default: '4' },
    only: { type: 'string', default: '' },
    short: { type: 'boolean', default: false },
  },
});
const say = (text: string): void => void process.stdout.write(`${text}\n`);

const wanted = values.only.split(',');
const attacks = ATTACKS.filter(
  ({ name, byHand }) => !(values.short && byHand === true) && wanted.some((text) => name.includes(text)),
);
const { network, arena } = await startArena(Number(values.scale));
try {
  say(tableHead());
  const outcomes = await battle(arena, attacks, (outcome) => say(tableLine(outcome)));
  const failed = outcomes.filter(({ damage }) => damage !== null).length;
  say(`${outcomes.length - failed} passed, ${failed} failed`);
  process.exitCode = failed === 0 && outcomes.length > 0 ? 0 : 1;
} finally {
  await network.stopAll();
}
