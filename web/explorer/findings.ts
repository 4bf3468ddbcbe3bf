/**
 * What a page can examine of its node from outside, in the form of `tessera doctor`: readiness, pace, links, clock, index. Disk,
 * files and certificates only the command sees, on the machine itself.
 */

import type { ChainIndexResponse, DebugData, HealthResponse } from '../../src/sdk/client.js';
import { duration } from './figures.js';

export interface Finding {
  readonly check: string;
  readonly verdict: 'ok' | 'warn' | 'fail';
  readonly found: string;
  readonly advice?: string;
}

/** What there is to judge by; undefined is not known yet, or not served here. */
export interface Observed {
  readonly health: HealthResponse | undefined;
  /** The clock of the node minus that of this browser, in seconds. */
  readonly clock: number | undefined;
  readonly peers: DebugData['node_peers'] | undefined;
  readonly version: string;
  /** Seconds since the last block, and what is usual between two. */
  readonly age: number | undefined;
  readonly usual: number | undefined;
  readonly waiting: bigint | undefined;
  readonly index: ChainIndexResponse | undefined;
}

/** Seconds by which two clocks may differ, as for `tessera doctor`. */
const APART = 5;
const FAR_APART = 60;
/** So many times the usual time, and at least so many seconds: then a block is late. */
const LATE = 10;
const LATE_SECONDS = 60;

export function findings({ health, clock, peers, version, age, usual, waiting, index }: Observed): readonly Finding[] {
  return [
    ...(health === undefined ? [] : readiness(health)),
    ...(age === undefined || usual === undefined ? [] : [pace(age, usual, waiting ?? 0n)]),
    ...(peers ?? []).map((peer) => link(peer, version)),
    ...(clock === undefined ? [] : [clockFinding(clock)]),
    ...(index === undefined ? [] : [indexFinding(index)]),
  ];
}

function readiness({ status, reasons }: HealthResponse): readonly Finding[] {
  if (reasons.length === 0) return [{ check: 'node', verdict: 'ok', found: 'runs and is ready' }];
  const verdict = status === 'degraded' ? 'warn' : 'fail';
  const advice = 'wait if it has just started; else look the words up in docs/operations.md';
  return reasons.map((found) => ({ check: 'node', verdict, found, advice }));
}

function pace(age: number, usual: number, waiting: bigint): Finding {
  const found = `the last one is ${duration(age)} old, ${duration(usual)} are usual`;
  // Where blocks come on request, none comes while nothing waits.
  if (waiting === 0n || age < Math.max(LATE_SECONDS, LATE * usual)) return { check: 'blocks', verdict: 'ok', found };
  const advice = 'transactions wait: see whether miners are linked, and whether storage is ready';
  return { check: 'blocks', verdict: 'warn', found, advice };
}

function link({ address, node_type, version: theirs }: DebugData['node_peers'][number], own: string): Finding {
  const [check, found] = [`peer ${address}`, `a ${node_type.toLowerCase()} node, linked`];
  if (theirs === own) return { check, verdict: 'ok', found: `${found}, of the same version` };
  const advice = 'update the older of both';
  return { check, verdict: 'warn', found: `${found}, version ${theirs ?? 'unknown'}, and this is ${own}`, advice };
}

function clockFinding(seconds: number): Finding {
  const apart = Math.abs(Math.round(seconds));
  if (apart <= APART) return { check: 'clock', verdict: 'ok', found: `within ${APART} s of this browser` };
  const found = `${apart} s ${seconds < 0 ? 'behind' : 'ahead of'} this browser`;
  return { check: 'clock', verdict: apart > FAR_APART ? 'fail' : 'warn', found, advice: 'set both clocks by NTP' };
}

function indexFinding({ state, block_num, blocks, problem }: ChainIndexResponse): Finding {
  if (problem !== null) {
    return { check: 'index', verdict: 'fail', found: problem, advice: 'see docs/operations.md, or tessera rebuild' };
  }
  if (state !== 'building') return { check: 'index', verdict: 'ok', found: state };
  const found = `building, ${(block_num ?? -1n) + 1n} of ${blocks} blocks`;
  return { check: 'index', verdict: 'warn', found, advice: 'wait: search and addresses lack the rest until then' };
}
