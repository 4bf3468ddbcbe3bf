/** The journal of a mempool node, as its configuration has it. */

import { readFile } from 'node:fs/promises';
import type { Config } from '../config/schema.js';
import { EtcdJournal, type EtcdJournalModules } from '../journal/etcd/etcd-journal.js';
import type { Journal } from '../journal/journal.js';
import { LocalJournal } from '../journal/local-journal.js';
import { toHex } from '../lib/bytes.js';
import { systemRandom } from '../lib/random.js';
import type { RoleContext } from './role.js';

/** Bytes of the name of a process: nobody guesses or repeats it. */
const PROCESS_NAME_BYTES = 12;
/** Calls to etcd, one after the other, that fit into the time limit of an entry. */
const CALLS_PER_TIMEOUT = 3;

export async function openJournal(context: RoleContext): Promise<Journal> {
  const { config, dataDir, nodeKey } = context;
  if (config.journal.kind === 'local') return LocalJournal.open({}, { ...context, kv: await dataDir.open('journal') });
  return etcdJournal(config, toHex(nodeKey.publicKey), { ...context, logger: context.logger('journal') });
}

/** The journal in etcd, for this replica. It is not started. */
export async function etcdJournal(config: Config, replica: string, modules: EtcdJournalModules): Promise<EtcdJournal> {
  const { endpoints, prefix, timeoutMs, user, password, tls } = config.journal;
  const [ca, cert, key] = await Promise.all([tls.caFile, tls.certFile, tls.keyFile].map(contentOf));
  const etcd = {
    endpoints,
    tls: { ca, cert, key },
    user: user === undefined || password === undefined ? undefined : { name: user, password },
    callTimeout: timeoutMs / CALLS_PER_TIMEOUT,
  };
  const options = {
    etcd,
    prefix: `${prefix}/${config.network.name}/`,
    replica,
    process: toHex(systemRandom.bytes(PROCESS_NAME_BYTES)),
    timeout: timeoutMs,
  };
  return new EtcdJournal(options, modules);
}

async function contentOf(file: string | undefined): Promise<Buffer | undefined> {
  return file === undefined ? undefined : readFile(file);
}
