/** The journal of a mempool node, as its configuration has it. */

import { readFile } from 'node:fs/promises';
import { EtcdJournal } from '../journal/etcd/etcd-journal.js';
import type { Journal } from '../journal/journal.js';
import { LocalJournal } from '../journal/local-journal.js';
import { toHex } from '../lib/bytes.js';
import type { RoleContext } from './role.js';

/** Bytes of the name of a process: nobody guesses or repeats it. */
const PROCESS_NAME_BYTES = 12;
/** Calls to etcd, one after the other, that fit into the time limit of an entry. */
const CALLS_PER_TIMEOUT = 3;

export async function openJournal(context: RoleContext): Promise<Journal> {
  const { config, dataDir, nodeKey, random } = context;
  const { kind, endpoints, prefix, timeoutMs, user, password, tls } = config.journal;
  if (kind === 'local') return LocalJournal.open({}, { ...context, kv: await dataDir.open('journal') });
  const [ca, cert, key] = await Promise.all([tls.caFile, tls.certFile, tls.keyFile].map(contentOf));
  const options = {
    etcd: {
      endpoints,
      tls: { ca, cert, key },
      user: user === undefined || password === undefined ? undefined : { name: user, password },
      callTimeout: timeoutMs / CALLS_PER_TIMEOUT,
    },
    prefix: `${prefix}/${config.network.name}/`,
    replica: toHex(nodeKey.publicKey),
    process: toHex(random.bytes(PROCESS_NAME_BYTES)),
    timeout: timeoutMs,
  };
  return new EtcdJournal(options, { ...context, logger: context.logger('journal') });
}

async function contentOf(file: string | undefined): Promise<Buffer | undefined> {
  return file === undefined ? undefined : readFile(file);
}
