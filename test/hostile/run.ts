/**
 * `npm run test:hostile -- --scale N`: every attack of `attacks/` against four real processes that make blocks meanwhile.
 * With `--scale 10` there are 2,000 half-open handshakes and 10,000 idle connections: `ulimit -n` has to allow them here
 * and for each node. The run ends in its time, whatever an attack does: the nodes are ended, the table is printed.
 */

import { parseArgs } from 'node:util';
import { createNetwork } from '../support/processes.js';
import { startArena } from './arena.js';
import { ATTACKS } from './attacks/index.js';
import { battle, type Outcome, tableHead, tableLine } from './battle.js';
import { within } from './time-limit.js';

const HELP = `npm run test:hostile -- [options]
  --scale N           size of the attacks, from 1 on (4)
  --only A,B          attacks whose names have one of the texts
  --short             those of the test suite only
  --attack-seconds N  how long one attack may take (600): one that does not end has failed, and ends the run
  --minutes N         how long the whole run may take (60)
  --help              this text`;

const { values } = parseArgs({
  options: {
    scale: { type: 'string', default: '4' },
    only: { type: 'string', default: '' },
    short: { type: 'boolean', default: false },
    'attack-seconds': { type: 'string', default: '600' },
    minutes: { type: 'string', default: '60' },
    help: { type: 'boolean', default: false },
  },
});
const say = (text: string): void => void process.stdout.write(`${text}\n`);

function positive(name: 'attack-seconds' | 'minutes'): number {
  const value = Number(values[name]);
  if (!Number.isFinite(value) || value <= 0) throw new Error(`--${name} must be a number above 0`);
  return value;
}

async function run(): Promise<boolean> {
  const scale = Number(values.scale);
  if (!Number.isSafeInteger(scale) || scale < 1) throw new Error('--scale must be a whole number from 1 on');
  const attackMs = 1_000 * positive('attack-seconds');
  const runMs = 60_000 * positive('minutes');
  const deadline = performance.now() + runMs;
  const wanted = values.only.split(',');
  const attacks = ATTACKS.filter(
    ({ name, byHand }) => !(values.short && byHand === true) && wanted.some((text) => name.includes(text)),
  );
  const outcomes: Outcome[] = [];
  const network = await createNetwork();
  say(tableHead());
  try {
    const arena = await within(runMs, 'the start of the nodes', startArena(network, scale));
    await battle(arena, attacks, { attackMs, deadline }, (outcome) => {
      outcomes.push(outcome);
      say(tableLine(outcome));
    });
  } catch (error) {
    say(`\n${error instanceof Error ? error.stack : String(error)}`);
  } finally {
    await within(60_000, 'the end of the nodes', network.stopAll()).catch((error: unknown) => say(String(error)));
  }
  const damaged = outcomes.filter(({ damage }) => damage !== null);
  say('');
  for (const { name, damage } of damaged) say(`${name}: ${damage}`);
  for (const { name } of attacks.slice(outcomes.length)) say(`${name}: not run`);
  const passed = outcomes.length - damaged.length;
  say(`${passed} passed, ${attacks.length - passed} failed`);
  return passed === attacks.length && passed > 0;
}

if (values.help) say(HELP);
else process.exitCode = (await run()) ? 0 : 1;
// What an attack has left behind ends with this process, and so do the nodes that it started.
process.exit();
