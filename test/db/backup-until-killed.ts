/** Child process of backup.test.ts: takes a backup, and tells how far it is until it is killed. */

import { BackupStore } from '../../src/db/backup/backup-store.js';
import { takeBackup } from '../../src/db/backup/take-backup.js';
import { systemRandom } from '../../src/lib/random.js';

const [, , dataDir = '', backups = '', now = '0'] = process.argv;
const owner = { role: 'mempool', networkName: 'test' };
const options = { ...owner, isSealed: false, passphrase: async () => '' };
const store = await BackupStore.openToWrite(backups, options, { random: systemRandom });
const onProgress = (done: number, total: number): void => void process.send?.(done / total);
const signal = new AbortController().signal;
await takeBackup(
  { dataDir, ...owner, lastDatabase: 'ledger', program: '0', now: Number(now), signal, onProgress },
  store,
);
await store.close();
process.disconnect();
