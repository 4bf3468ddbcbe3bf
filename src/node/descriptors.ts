/** Shares of this process in files and sockets: databases first, since connections can be refused. */

import { readFileSync } from 'node:fs';
import { whyNoSodium } from '../crypto/ed25519-backend.js';
import { TesseraError } from '../lib/errors.js';
import type { Logger } from '../lib/logger.js';

export interface DescriptorPlan {
  /** Number of files and sockets that the process may have open. */
  readonly limit: number;
  readonly peerSockets: number;
  readonly apiSockets: number;
  /** A warning for the operator; undefined when there are enough descriptors. */
  readonly warning: string | undefined;
}

/** Descriptors reserved for the databases and the program itself. */
const RESERVE = 2_200;
/** Minimum of descriptors for a node. */
const LEAST = 256;
/** Number of descriptors that is enough for every share of a node, and for the nodes of a small network. */
const ENOUGH = 8_192;
const MAX_PEER_SOCKETS = 2_048;
const MAX_API_SOCKETS = 16_384;

/** The plan of each of the nodes that share the limit. Throws `invalid_config` when the limit is too low to run them. */
export function planDescriptors(limit: number, nodes = 1): DescriptorPlan {
  const share = Math.floor(limit / nodes);
  if (share < LEAST) {
    const who = nodes === 1 ? `a node needs ${LEAST}` : `its ${nodes} nodes need ${LEAST * nodes}`;
    throw new TesseraError(
      'invalid_config',
      `this process may open ${limit} files and sockets, and ${who}: raise the limit (ulimit -n ${ENOUGH})`,
    );
  }
  const sockets = share - Math.min(RESERVE, Math.floor(share / 2));
  const peerSockets = Math.min(MAX_PEER_SOCKETS, Math.floor(sockets / 2));
  const apiSockets = Math.min(MAX_API_SOCKETS, sockets - peerSockets);
  const warning =
    limit >= ENOUGH
      ? undefined
      : `this process may open ${limit} files and sockets, of which ${peerSockets} are for links and ${apiSockets} for the API${nodes === 1 ? '' : ' of each of its nodes'}: raise the limit (ulimit -n ${ENOUGH})`;
  return { limit, peerSockets, apiSockets, warning };
}

/** The current limit of this process; infinite if there is none, or the system does not tell. */
export function descriptorLimit(): number {
  return linuxLimit() ?? reportedLimit() ?? Number.POSITIVE_INFINITY;
}

function linuxLimit(): number | undefined {
  try {
    const soft = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined;
  }
}

/** The limit from a report of the process: slower, but it works on every system with such a limit. */
function reportedLimit(): number | undefined {
  const report = process.report?.getReport() as { userLimits?: { open_files?: { soft?: unknown } } } | undefined;
  const soft = report?.userLimits?.open_files?.soft;
  return typeof soft === 'number' ? soft : undefined;
}

/** Warns of few descriptors, and of signatures without libsodium. */
export function warnOfMachine({ warning }: DescriptorPlan, logger: Logger): void {
  if (warning !== undefined) logger.warn({}, warning);
  const reason = whyNoSodium();
  if (reason === null) return;
  logger.warn({ reason }, 'signatures are verified without libsodium, in 1.6 times the time, and made in twice');
}
