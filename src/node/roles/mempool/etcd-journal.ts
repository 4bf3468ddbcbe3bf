/** The journal in etcd, and the lease of the leader among the nodes that share it. Loaded only where it is used: it brings gRPC. */

import type { Config } from '../../../config/schema.js';
import { namesBelow } from '../../../journal/etcd/entries.js';
import { EtcdLogin, type EtcdOptions } from '../../../journal/etcd/etcd-client.js';
import { EtcdJournal, type EtcdJournalModules } from '../../../journal/etcd/etcd-journal.js';
import { EtcdLease } from '../../../journal/etcd/etcd-lease.js';
import { LeaseLeadership } from '../../../journal/etcd/lease-leadership.js';
import type { SharedRules } from '../../../journal/etcd/marks.js';
import { toHex } from '../../../lib/bytes.js';
import { silentLogger } from '../../../lib/logger.js';
import { systemRandom } from '../../../lib/random.js';
import { journalRules } from '../../network-rules.js';
import { readPem } from '../../tls-files.js';
import type { RoleContext } from '../role.js';

/** Bytes of the name of a process: enough that none is guessed or repeated. */
const PROCESS_NAME_BYTES = 12;
const SECONDS_PER_MINUTE = 60;
/** Successive calls to etcd that fit into the time limit of an entry. */
const CALLS_PER_TIMEOUT = 3;

/** Seconds of silence after which another node may lead. */
const LEASE_SECONDS = 5;
/** Successive calls to etcd that fit into the time of the lease. */
const CALLS_PER_LEASE = 5;

/** The journal of this node, and its candidacy. Neither is started. */
export async function openEtcdJournal(context: RoleContext) {
  const { config, nodeKey, genesis, clock } = context;
  const replica = toHex(nodeKey.publicKey);
  const logger = context.logger('journal');
  const options = etcdOptions(config);
  const journal = etcdJournal(
    config,
    replica,
    { ...context, logger },
    { etcd: options, rules: journalRules(config, genesis) },
  );
  const etcd = { ...options, callTimeout: (LEASE_SECONDS * 1_000) / CALLS_PER_LEASE };
  const lease = (key: string): EtcdLease => new EtcdLease({ etcd, key, replica, seconds: LEASE_SECONDS });
  const { leader, rebuilding } = namesBelow(prefixOf(config));
  return {
    journal,
    shared: journal,
    leadership: new LeaseLeadership({ lease: lease(leader), clock, logger }),
    rebuilding: new LeaseLeadership({ lease: lease(rebuilding), clock, logger: silentLogger }),
  };
}

/** The journal in etcd, for this replica. It is not started. Without `rules`, they are not compared. */
export function etcdJournal(
  config: Config,
  replica: string,
  modules: EtcdJournalModules,
  { etcd = etcdOptions(config), rules }: { readonly etcd?: EtcdOptions; readonly rules?: SharedRules } = {},
): EtcdJournal {
  const options = {
    etcd,
    prefix: prefixOf(config),
    replica,
    process: toHex(systemRandom.bytes(PROCESS_NAME_BYTES)),
    timeout: config.journal.timeoutMs,
    lifetime: config.journal.replicaLifetimeMinutes * SECONDS_PER_MINUTE,
    rules,
  };
  return new EtcdJournal(options, modules);
}

function etcdOptions({ journal }: Config): EtcdOptions {
  const { endpoints, timeoutMs, user, password, tls } = journal;
  const [ca, cert, key] = [tls.caFile, tls.certFile, tls.keyFile].map(contentOf);
  return {
    endpoints,
    tls: { ca, cert, key },
    user: user === undefined || password === undefined ? undefined : new EtcdLogin(user, password),
    callTimeout: timeoutMs / CALLS_PER_TIMEOUT,
  };
}

/** Content of a configured file. Throws `invalid_config` naming the file. */
function contentOf(file: string | undefined): Buffer | undefined {
  return file === undefined ? undefined : readPem(file);
}

function prefixOf({ journal, network }: Config): string {
  return `${journal.prefix}/${network.name}/`;
}
