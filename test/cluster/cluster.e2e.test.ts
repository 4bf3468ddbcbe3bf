/**
 * The short form of `npm run test:cluster`: a sample of its faults, by a seed that stands here or `CLUSTER_SEED`, in a process
 * of its own, since it takes that into namespaces of its own.
 */

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { builtScript } from '../support/built-script.js';
import { hasEtcd } from '../support/etcd.js';

const SEED = process.env.CLUSTER_SEED ?? '20261122';
/** Those that cost most are left to the long form. */
const FAULTS = 'leader|etcd|cut off';
/** Ends the run before the time of the test is over, so that nothing of it is left. */
const TIME_LIMIT_MS = 840_000;
const SIZE = ['--faults', '2', '--storages', '1', '--rate', '4'];

it.runIf(hasEtcd)(
  'several mempool nodes lose nothing, spend nothing twice and stay equal, whatever is killed, held or cut off (rules P1, P4, P7)',
  async () => {
    const words = [await builtScript(new URL('run.ts', import.meta.url)), ...SIZE, '--seed', SEED, '--only', FAULTS];
    const run = promisify(execFile)(process.execPath, words, { timeout: TIME_LIMIT_MS });
    const { stdout } = await run.catch((error: { readonly stdout: string }) => error);
    expect(stdout).toMatch(/^[1-9]\d* passed, 0 failed$/m);
  },
  900_000,
);
