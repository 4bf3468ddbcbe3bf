/**
 * The long form of schemathesis.e2e.test.ts: every phase, on a network at one address and on the address of each role, each time on
 * a new network. `npm run test:schemathesis -- --examples N --only ROLE`
 */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { NODE_ROLES } from '../../src/lib/roles.js';
import { DevNetwork } from '../../src/node/dev-network.js';
import { NodeLogger } from '../../src/observability/logger.js';
import { findTool, missingTools } from '../support/tools.js';
import { documentedExceptions, runSchemathesis, unexpected } from './schemathesis.js';

const PLACES = ['network', ...NODE_ROLES] as const;
/** In ms, for one place. */
const PATIENCE = 3_600_000;

const HELP = `npm run test:schemathesis -- [options]
  --examples N   requests of each operation and phase at most (25)
  --only PLACE   one of ${PLACES.join(', ')}`;

const { values } = parseArgs({
  options: {
    examples: { type: 'string', default: '25' },
    only: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});
const say = (text: string): void => void process.stdout.write(`${text}\n`);

async function tryOut(program: string, place: (typeof PLACES)[number]): Promise<number> {
  const dataDir = await mkdtemp(join(tmpdir(), 'tessera-schemathesis-'));
  const logger = NodeLogger.create({ level: 'silent', format: 'json' });
  const network = new DevNetwork({ dataDir, ports: 'any' }, { logger });
  await network.start();
  try {
    const started = Date.now();
    const { findings, cases, operations, followed } = await runSchemathesis({
      program,
      url: place === 'network' ? (network.url ?? '') : network.urls[place],
      phases: ['examples', 'coverage', 'fuzzing', 'stateful'],
      examples: Number(values.examples),
      patience: PATIENCE,
    });
    const faults = unexpected(findings, await documentedExceptions());
    say(
      `${place}: ${cases} requests of ${operations.size} operations, ${followed} links followed, ` +
        `${findings.length - faults.length} documented exceptions, ${faults.length} faults, ` +
        `${Math.round((Date.now() - started) / 1_000)} s`,
    );
    for (const { check, operation, status, detail } of faults) say(`  ${check} ${operation} ${status} ${detail}`);
    return faults.length;
  } finally {
    await network.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
}

const program = findTool('schemathesis');
if (values.help) {
  say(HELP);
} else if (program === undefined) {
  say(missingTools().join('\n'));
  process.exitCode = 1;
} else {
  for (const place of PLACES) {
    if (values.only !== undefined && values.only !== place) continue;
    if ((await tryOut(program, place)) > 0) process.exitCode = 1;
  }
}
