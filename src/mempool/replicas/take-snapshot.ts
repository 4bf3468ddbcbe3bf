/** Takes the state of another mempool node into this database. Its digest is checked by whoever reads it (`state/load.ts`). */

import { createHash } from 'node:crypto';
import type { Kv } from '../../db/kv.js';
import { isTesseraError, TesseraError } from '../../lib/errors.js';
import type { Link, Message } from '../../peers/network.js';
import { beginTaking, isCopied, RecordReader } from './snapshot-records.js';

/** Milliseconds that the other node has for a part: it reads a megabyte from its disk. */
const PART_MS = 30_000;
/** Links that may break in a row before the transfer begins anew. */
const MAX_BROKEN = 5;

export interface SnapshotSource {
  /** Gives a link to the other node: the open one, or a new one. */
  link(): Promise<Link>;
  readonly signal: AbortSignal;
  readonly onProgress: (bytes: number) => void;
}

/** Replaces the database by a snapshot. After an error (`peer_unreachable` and the like) it may be incomplete (`isBeingTaken`). */
export async function takeSnapshot(kv: Kv, source: SnapshotSource): Promise<void> {
  const hash = createHash('sha256');
  const records = new RecordReader();
  let transfer: string | undefined;
  let bytes = 0;
  for (let part = 0; ; part++) {
    const { body, attachment } = await askFor(source, { part, ...(transfer !== undefined && { transfer }) });
    if (body.part !== part || (transfer !== undefined && body.transfer !== transfer))
      throw wrong('another part than asked for');
    if (part === 0) await beginTaking(kv);
    transfer = body.transfer;
    const batch = kv.batch();
    for (const [key, value] of records.read(attachment)) {
      if (!isCopied(key)) throw wrong('a record that no snapshot has');
      batch.put(key, value);
    }
    hash.update(attachment);
    bytes += attachment.length;
    await kv.write(batch, { sync: body.sha256 !== undefined });
    source.onProgress(bytes);
    if (body.sha256 === undefined) continue;
    if (!records.isAtEnd || hash.digest('hex') !== body.sha256)
      throw wrong('a snapshot that does not have its checksum');
    return;
  }
}

/** Asks for a part, over a new link when one breaks: the other node still has the same view. */
async function askFor(
  { link, signal }: SnapshotSource,
  question: { readonly part: number; readonly transfer?: string },
): Promise<Message<'snapshot.part'>> {
  for (let broken = 1; ; broken++) {
    try {
      const reply = await (await link()).request('snapshot.get', question, { timeoutMs: PART_MS, signal });
      if (reply.type !== 'snapshot.part') throw wrong(reply.type);
      return reply as Message<'snapshot.part'>;
    } catch (error) {
      const mayGoOn =
        question.transfer !== undefined && broken < MAX_BROKEN && isTesseraError(error, 'peer_unreachable');
      if (!mayGoOn || signal.aborted) throw error;
    }
  }
}

function wrong(what: string): TesseraError {
  return new TesseraError('protocol_violation', `the other mempool node answered with ${what}`);
}
