/**
 * What the network has acknowledged during a run, and whether it kept its word: each acknowledged transaction is in exactly
 * one stored block (rule P1), and all outputs together are the supply (rule P4).
 */

import type { NodeClient } from '../../src/client/client.js';

const BATCH = 1_000;
/** Milliseconds between two looks at transactions that are not confirmed yet. */
const LOOK_EVERY = 500;

export interface Acknowledged {
  readonly hash: string;
  /** Who took it. */
  readonly by: string;
  /** Milliseconds since the run began. */
  readonly at: number;
}

/** A transaction that was acknowledged and is not confirmed. */
export interface Lost extends Acknowledged {
  readonly status: string;
  readonly info: string;
}

export class Ledger {
  readonly #acknowledged = new Map<string, Acknowledged>();
  /** Attempts that were not acknowledged, by what was said instead. */
  readonly refusals = new Map<string, number>();

  get count(): number {
    return this.#acknowledged.size;
  }

  /** Hashes of everything acknowledged. */
  get hashes(): Iterable<string> {
    return this.#acknowledged.keys();
  }

  get refused(): number {
    return [...this.refusals.values()].reduce((sum, count) => sum + count, 0);
  }

  acknowledge(entry: Acknowledged): void {
    this.#acknowledged.set(entry.hash, entry);
  }

  refuse(reason: string): void {
    this.refusals.set(reason, (this.refusals.get(reason) ?? 0) + 1);
  }

  /** Waits until every acknowledged transaction is Confirmed; resolves with those that are not after `patience` ms. */
  async settled(mempool: NodeClient, patience: number): Promise<readonly Lost[]> {
    const deadline = performance.now() + patience;
    let open = [...this.#acknowledged.values()];
    for (;;) {
      const found = await statuses(mempool, open);
      open = open.filter(({ hash }) => found.get(hash)?.status !== 'Confirmed');
      const waiting = open.some(({ hash }) => found.get(hash)?.status !== 'Rejected');
      if (open.length === 0 || !waiting || performance.now() > deadline) {
        return open.map((entry) => ({
          ...entry,
          status: found.get(entry.hash)?.status ?? 'unknown',
          info: found.get(entry.hash)?.additional_info ?? '',
        }));
      }
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY));
    }
  }

  /** Reads all stored blocks: acknowledged transactions that are in none of them, and those that are in more than one. */
  async againstBlocks(storage: NodeClient): Promise<{ readonly missing: string[]; readonly repeated: string[] }> {
    const times = new Map<string, number>();
    const { block: latest } = await storage.api.getLatestBlock();
    const height = Number(latest.block.header.b_num);
    for (let num = 0; num <= height; num++) {
      const { data } = await storage.api.getBlock({ params: { num } });
      for (const hash of (data as typeof latest).block.transactions) times.set(hash, (times.get(hash) ?? 0) + 1);
    }
    const hashes = [...this.#acknowledged.keys()];
    return {
      missing: hashes.filter((hash) => !times.has(hash)),
      repeated: [...times].filter(([, count]) => count > 1).map(([hash]) => hash),
    };
  }
}

async function statuses(
  mempool: NodeClient,
  entries: readonly Acknowledged[],
): Promise<Map<string, { readonly status: string; readonly additional_info: string }>> {
  const found = new Map<string, { status: string; additional_info: string }>();
  for (let at = 0; at < entries.length; at += BATCH) {
    const hashes = entries.slice(at, at + BATCH).map(({ hash }) => hash);
    const answer = await mempool.api.queryTransactionStatus({ body: { hashes } });
    for (const [hash, status] of Object.entries(answer)) found.set(hash, status);
  }
  return found;
}

/** What the addresses hold together. */
export interface Held {
  /** Raw units. */
  readonly tokens: bigint;
  /** By genesis hash. */
  readonly items: ReadonlyMap<string, bigint>;
}

export async function holdingsOf(mempool: NodeClient, addresses: readonly string[]): Promise<Held> {
  let tokens = 0n;
  const items = new Map<string, bigint>();
  for (let at = 0; at < addresses.length; at += BATCH) {
    const { balance } = await mempool.api.queryBalances({ body: { addresses: addresses.slice(at, at + BATCH) } });
    tokens += BigInt(balance.total.tokens);
    for (const [hash, amount] of Object.entries(balance.total.items)) {
      items.set(hash, (items.get(hash) ?? 0n) + BigInt(amount));
    }
  }
  return { tokens, items };
}

/** Raw units held by the addresses together. */
export async function heldBy(mempool: NodeClient, addresses: readonly string[]): Promise<bigint> {
  return (await holdingsOf(mempool, addresses)).tokens;
}
