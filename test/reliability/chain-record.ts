/**
 * The chain as storage has shown it so far: every block by number, with what it said. A block that changes, a gap, a broken
 * link and a transaction in two blocks are faults; so is an acknowledged transaction that is in none.
 */

import { createHash } from 'node:crypto';
import type { NodeClient } from '../../src/client/client.js';
import { isTesseraError } from '../../src/lib/errors.js';
import { stringifyExact } from '../../src/lib/json.js';

export interface RecordedBlock {
  readonly height: number;
  readonly hash: string;
  readonly previousHash: string | null;
  /** Hashes of its transactions in order, without the coinbase. */
  readonly transactions: readonly string[];
  /** Of everything that storage says about it. */
  readonly digest: string;
}

/** Answers that say nothing about a disk: a block that was shown is missing, or nobody knows why. */
const UNNAMED: ReadonlySet<string> = new Set(['block_not_found', 'not_found', 'internal_error']);

export class ChainRecord {
  readonly #blocks: RecordedBlock[] = [];
  readonly #heights = new Map<string, number>();

  /** Number of the block that comes next. */
  get next(): number {
    return this.#blocks.length;
  }

  /** All blocks, by number. */
  get blocks(): readonly RecordedBlock[] {
    return this.#blocks;
  }

  /** The block that holds the transaction. */
  heightOf(hash: string): number | undefined {
    return this.#heights.get(hash);
  }

  /** Takes in what a node says of a block; what is wrong with it, in words. */
  note(block: RecordedBlock): string[] {
    const known = this.#blocks[block.height];
    if (known !== undefined) return known.digest === block.digest ? [] : [`block ${block.height} has changed`];
    if (block.height !== this.next) return [`block ${block.height} came where block ${this.next} must be`];
    const faults = this.#repeated(block);
    if (block.previousHash !== (this.#blocks.at(-1)?.hash ?? null)) {
      faults.push(`block ${block.height} does not follow the block before it`);
    }
    this.#blocks.push(block);
    for (const hash of block.transactions) this.#heights.set(hash, block.height);
    return faults;
  }

  /** The hashes that no block holds. */
  missing(hashes: Iterable<string>): string[] {
    return [...hashes].filter((hash) => !this.#heights.has(hash));
  }

  #repeated({ height, transactions }: RecordedBlock): string[] {
    const own = new Set<string>();
    return transactions.flatMap((hash) => {
      const before = own.has(hash) ? height : this.#heights.get(hash);
      own.add(hash);
      return before === undefined ? [] : [`${hash} is in block ${before} and in block ${height}`];
    });
  }
}

/** Reads the blocks that are new, or all of them (`whole`), and holds them against the record; the faults. */
export async function readChain(record: ChainRecord, storage: NodeClient, whole = false): Promise<string[]> {
  const { block: latest } = await storage.api.getLatestBlock();
  const height = Number(latest.block.header.b_num);
  const faults: string[] = [];
  if (height < record.next - 1) faults.push(`storage ends at block ${height}, and has shown block ${record.next - 1}`);
  for (let num = whole ? 0 : record.next; num <= height; num++)
    faults.push(...record.note(await readBlock(storage, num)));
  return faults;
}

/** Blocks of a sample. */
const SAMPLE = 12;

/** Reads some of the recorded blocks: each is as it was, or the node says by name why it does not show it. */
export async function readSample(record: ChainRecord, storage: NodeClient): Promise<string[]> {
  const faults: string[] = [];
  const step = Math.max(1, Math.floor(record.next / SAMPLE));
  for (let num = 0; num < record.next; num += step) {
    try {
      faults.push(...record.note(await readBlock(storage, num)));
    } catch (error) {
      const code = isTesseraError(error) ? error.code : String(error);
      if (UNNAMED.has(code)) faults.push(`block ${num}: ${code}`);
    }
  }
  return faults;
}

async function readBlock(storage: NodeClient, num: number): Promise<RecordedBlock> {
  const entry = await storage.api.getBlock({ params: { num } });
  const { block } = entry.data as {
    block: { header: { b_num: number; previous_hash: string | null }; transactions: string[] };
  };
  return {
    height: Number(block.header.b_num),
    hash: entry.key,
    previousHash: block.header.previous_hash,
    transactions: block.transactions,
    digest: createHash('sha256').update(stringifyExact(entry)).digest('hex'),
  };
}
