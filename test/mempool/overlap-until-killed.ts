/**
 * Child process of overlap-kill.e2e.test.ts: takes commands from a file, those of four blocks in each cycle, until a failpoint ends it.
 * It begins with the cycle in which its folder is, and with the first command of that, whatever the folder has already. Tells the
 * digest of its state at the end.
 */

import { readFileSync } from 'node:fs';
import { DataDir } from '../../src/db/data-dir.js';
import { armFailpoint } from '../../src/lib/failpoints.js';
import { decodeCommand } from '../../src/mempool/state/commands.js';
import { loadMempoolState } from '../../src/mempool/state/load.js';
import { splitBlocks } from '../../src/peers/messages.js';
import { openJournal } from '../support/journal.js';
import { applierOf } from '../support/mempool.js';
import { BLOCKS_IN_CYCLE, OVERLAP_RULES } from './overlap-rules.js';

const [, , folder = '', file = '', ...counts] = process.argv;
const [count = 0, first = 0, inCycle = 0] = counts.map(Number);
process.on('disconnect', () => process.exit());
const dataDir = await DataDir.open(folder, { role: 'mempool', networkName: 'test' });
const kv = await dataDir.open('mempool');
const journal = await openJournal(await dataDir.open('journal'));
const state = await loadMempoolState(kv, OVERLAP_RULES, { hashKey: new Uint8Array(8).fill(3) });
const applier = applierOf(journal, kv, state);
await applier.start();
armFailpoint(process.env);
const { height } = state.head;
const from = height < BLOCKS_IN_CYCLE ? 0 : first + inCycle * Math.floor(height / BLOCKS_IN_CYCLE);
for (const bytes of splitBlocks(readFileSync(file), count).slice(from)) await applier.submit(decodeCommand(bytes));
const digest = state.digest();
await applier.stop();
await journal.close();
await dataDir.close();
process.send?.(digest, () => process.exit());
