/**
 * `npm run test:hostile -- --scale N`: every attack of `attacks/` against four real processes that make blocks meanwhile.
 * `--only A,B` takes those whose names have one of the texts, `--short` those of the test suite. With `--scale 10` there are
 * 2,000 half-open handshakes and 10,000 idle connections: `ulimit -n` has to allow them here and for each node.
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
const scale = Number(values.scale);
if (!Number.isSafeInteger(scale) || scale < 1) throw new Error('--scale must be a whole number from 1 on');

const { network, arena } = await startArena(scale);
try {
  say(tableHead());
  const outcomes = await battle(arena, attacks, (outcome) => say(tableLine(outcome)));
  const damaged = outcomes.filter(({ damage }) => damage !== null);
  say('');
  for (const { name, damage } of damaged) say(`${name}: ${damage}`);
  say(`${outcomes.length - damaged.length} passed, ${damaged.length} failed`);
  process.exitCode = damaged.length === 0 && outcomes.length > 0 ? 0 : 1;
} finally {
  await network.stopAll();
}
