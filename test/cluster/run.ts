/**
 * `npm run test:cluster -- --faults N --seed S`: several mempool nodes at one journal in a real etcd, on machines that can be
 * cut off from each other, written to without a pause, and one fault after the other. After each, a history checker holds what
 * clients were told against what is there. docs/reliability.md#several-mempool-nodes has the promises.
 */

import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { errorMessage } from '../../src/lib/errors.js';
import { outcomeLine, summary, writeReport } from '../reliability/report.js';
import { hasEtcd } from '../support/etcd.js';
import { Campaign } from './campaign.js';
import { LEASE_SECONDS, machinesOf } from './cluster.js';
import { endWithStarter, enterNamespace, missingForNamespaces, oneMachine, startMachines } from './machines.js';
import type { FaultOutcome } from './stage.js';

const HELP = `npm run test:cluster -- [options]
  --faults N     how many, each kind once before any comes again (100)
  --seed N       chooses their order and all that is left to chance (from the clock)
  --only TEXT    faults whose name has it, or one of several texts separated by |
  --storages N   storage nodes (2)
  --rate N       payments in a second, about, of all writers together (16)
  --keep FOLDER  where logs and history are put when a cluster is not sound
  --one-machine  everything on loopback; nothing is cut off
  --out FILE     writes all outcomes as JSON`;
const INSIDE = '--inside';

const { values } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    faults: { type: 'string', default: '100' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    only: { type: 'string' },
    storages: { type: 'string', default: '2' },
    rate: { type: 'string', default: '16' },
    keep: { type: 'string' },
    'one-machine': { type: 'boolean', default: false },
    out: { type: 'string' },
    inside: { type: 'boolean', default: false },
  },
});
const say = (text: string): void => void process.stdout.write(`${text}\n`);

async function main(): Promise<number> {
  if (values.help) {
    say(HELP);
    return 0;
  }
  if (!hasEtcd) {
    say('etcd is not installed (apt-get install etcd-server, or set ETCD_PATH)\n\n0 passed, 1 failed');
    return 1;
  }
  if (values.inside) {
    endWithStarter();
    return run(true);
  }
  const lack = values['one-machine'] ? '--one-machine was asked for' : missingForNamespaces();
  if (lack === undefined) return enterNamespace(fileURLToPath(import.meta.url), [...process.argv.slice(2), INSIDE]);
  say(`all on one machine, and nothing is cut off: ${lack}`);
  return run(false);
}

async function run(canCut: boolean): Promise<number> {
  const [faults, seed, storages, rate] = [values.faults, values.seed, values.storages, values.rate].map(Number);
  const facts = { date: new Date().toISOString(), seed: seed ?? 0, faults: faults ?? 0, storages: storages ?? 0 };
  say(`seed ${facts.seed}, ${facts.faults} faults, ${facts.storages} storage nodes`);
  const machines = canCut ? await startMachines(machinesOf(facts.storages)) : oneMachine;
  const outcomes: FaultOutcome[] = [];
  try {
    const { only, keep } = values;
    const campaign = new Campaign({ machines, ...facts, rate: rate ?? 0, only, keep, say });
    process.once('SIGINT', () => campaign.stop());
    const tell = (outcome: FaultOutcome): void => {
      outcomes.push(outcome);
      say(outcomeLine(outcome));
    };
    await campaign.run(tell);
  } catch (error) {
    say(`FAILED: ${errorMessage(error)}`);
    outcomes.push({ part: 'campaign', name: 'start', result: 'failed', detail: errorMessage(error), seconds: 0 });
  } finally {
    machines.end();
  }
  if (values.out !== undefined) await writeReport(values.out, facts, outcomes);
  say(`\n${summary(outcomes)}\n${standstill(outcomes)}\n`);
  const failed = outcomes.filter(({ result }) => result === 'failed').length;
  say(`${outcomes.length - failed} passed, ${failed} failed`);
  return failed === 0 && outcomes.length > 0 ? 0 : 1;
}

function standstill(outcomes: readonly FaultOutcome[]): string {
  const most = (of: 'posts' | 'blocks'): string =>
    Math.max(0, ...outcomes.map(({ gaps }) => gaps?.[of] ?? 0)).toFixed(1);
  return `longest time without an accepted post ${most('posts')} s, without a new block ${most('blocks')} s; twice the lease is ${LEASE_SECONDS * 2} s`;
}

process.exit(await main());
