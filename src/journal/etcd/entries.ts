/**
 * Keys of the journal in etcd, below its prefix:
 *
 *   log/ID          → the entries that were appended together, or the number of parts of an entry that is in parts
 *   part/ID/N       → part N of such an entry
 *   head            → how many entries the last group has; written with it
 *   passed/REPLICA  → the number of the first entry that this replica still wants, its process, and unix seconds
 *   joined          → the replica that has joined last: when it changes, marks that were read before may not be all
 *   base            → the number below which entries are forgotten
 *   whole           → facts for a state without the forgotten entries: the base when every transaction that waited for a block came
 *                     behind it, the number of blocks in storage, and the last block stored by an entry below the base (-1: none), if known
 *   leader          → the replica that makes the blocks, as long as its lease lives
 *   rebuilding      → the replica that makes its state anew from storage, as long as its lease lives
 *   rules           → the rules that the state of every replica follows
 *
 * ID is the id of the group's first entry: a name of the process that appended it, and a count. etcd gives each write a
 * revision, and a group is one write; so the number of an entry is made of the revision and its place in the group.
 */

import { sealRecord, unsealRecord } from '../../db/record.js';
import { asBuffer, concatBytes, utf8 } from '../../lib/bytes.js';
import { TesseraError } from '../../lib/errors.js';
import type { JournalEntry } from '../journal.js';

/** Entries of one group; also the distance of the numbers of two revisions. */
export const MAX_GROUP_ENTRIES = 1_024;
/** Most bytes of one value. etcd takes requests of 1.5 MiB unless it is configured otherwise. */
export const MAX_VALUE_BYTES = 1024 * 1024;

const LENGTH_BYTES = 4;
const IN_PARTS = 1;
const COUNT_DIGITS = 12;

export interface Names {
  readonly log: string;
  readonly part: string;
  readonly head: string;
  readonly passed: string;
  readonly base: string;
  readonly whole: string;
  readonly joined: string;
  readonly leader: string;
  readonly rebuilding: string;
  readonly rules: string;
}

export function namesBelow(prefix: string): Names {
  return {
    log: `${prefix}log/`,
    part: `${prefix}part/`,
    head: `${prefix}head`,
    passed: `${prefix}passed/`,
    base: `${prefix}base`,
    whole: `${prefix}whole`,
    joined: `${prefix}joined`,
    leader: `${prefix}leader`,
    rebuilding: `${prefix}rebuilding`,
    rules: `${prefix}rules`,
  };
}

/** The id of an entry; `count` numbers the entries of one process. */
export function entryId(process: string, count: number): string {
  return `${process}-${String(count).padStart(COUNT_DIGITS, '0')}`;
}

/** Parts of an `entryId`. */
export function partsOfId(id: string): { readonly process: string; readonly count: number } {
  const dash = id.lastIndexOf('-');
  return { process: id.slice(0, dash), count: Number(id.slice(dash + 1)) };
}

/** The key of the group that has the entry. */
export function groupKey({ log }: Names, seq: number, id: string): string {
  const { process, count } = partsOfId(id);
  return log + entryId(process, count - (seq % MAX_GROUP_ENTRIES));
}

export function partName(names: Names, id: string, n: number): string {
  return `${names.part}${id}/${String(n).padStart(COUNT_DIGITS, '0')}`;
}

/** The number of an entry. */
export function seqOf(revision: bigint, place: number): number {
  return Number(revision) * MAX_GROUP_ENTRIES + place;
}

export function revisionOf(seq: number): number {
  return Math.floor(seq / MAX_GROUP_ENTRIES);
}

/** Bytes that an entry takes in a group. */
export function sizeInGroup(payload: Uint8Array): number {
  return LENGTH_BYTES + payload.length;
}

/** The value of a group, at its key. */
export function encodeGroup(key: Uint8Array, payloads: readonly Uint8Array[]): Uint8Array {
  const parts: Uint8Array[] = [Uint8Array.of(0)];
  for (const payload of payloads) parts.push(u32(payload.length), payload);
  return sealRecord(key, concatBytes(...parts));
}

/** The value at the key of an entry that is in so many parts. */
export function encodeInParts(key: Uint8Array, parts: number): Uint8Array {
  return sealRecord(key, concatBytes(Uint8Array.of(IN_PARTS), u32(parts)));
}

/** Number of parts of an entry; undefined for a group. Throws `data_corrupt`. */
export function partsOf(key: Uint8Array, value: Uint8Array): number | undefined {
  const content = opened(key, value);
  return content[0] === IN_PARTS ? asBuffer(content).readUInt32BE(1) : undefined;
}

/** The entries of a group. Throws `data_corrupt`. */
export function decodeGroup(key: Uint8Array, value: Uint8Array, { log }: Names, revision: bigint): JournalEntry[] {
  const content = asBuffer(opened(key, value));
  const entries: JournalEntry[] = [];
  const { process, count } = partsOfId(asBuffer(key).toString().slice(log.length));
  for (let at = 1; at < content.length; ) {
    const place = entries.length;
    const start = at + LENGTH_BYTES;
    at = start + content.readUInt32BE(at);
    const payload = content.subarray(start, at);
    entries.push({ seq: seqOf(revision, place), id: entryId(process, count + place), payload });
  }
  return entries;
}

/** The value of a part, as it was sealed at its key. Throws `data_corrupt`. */
function opened(key: Uint8Array, value: Uint8Array): Uint8Array {
  try {
    return unsealRecord(key, value);
  } catch (cause) {
    throw new TesseraError('data_corrupt', `the value of ${asBuffer(key).toString()} in etcd fails its checksum`, {
      cause,
    });
  }
}

/** The end of the range of all keys that begin with `prefix`. */
export function endOf(prefix: string): Uint8Array {
  const end = utf8(prefix).slice();
  end[end.length - 1] = (end.at(-1) ?? 0) + 1;
  return end;
}

function u32(value: number): Uint8Array {
  const bytes = Buffer.allocUnsafe(LENGTH_BYTES);
  bytes.writeUInt32BE(value);
  return bytes;
}
