/** Every effect that a node has acknowledged with a 2xx, and what is missing of it in what the nodes say later (rule P1). */

import { Ledger } from '../soak/ledger.js';

/** What the nodes hold at one moment. */
export interface Holdings {
  /** Addresses that a wallet can sign for, by the name of its node. */
  readonly addresses: ReadonlyMap<string, ReadonlySet<string>>;
  /** Raw units of all addresses together, and what has been issued. */
  readonly held: bigint;
  readonly issued: bigint;
  /** Items of all addresses together, by genesis hash. */
  readonly items: ReadonlyMap<string, bigint>;
}

export class Effects extends Ledger {
  readonly #addresses = new Map<string, Set<string>>();
  readonly #items = new Map<string, bigint>();

  addressMade(node: string, address: string): void {
    this.#addresses.set(node, (this.#addresses.get(node) ?? new Set()).add(address));
  }

  itemsMade(genesisHash: string, amount: bigint): void {
    this.#items.set(genesisHash, amount);
  }

  /** What is not as it was acknowledged, in words. */
  broken({ addresses, held, issued, items }: Holdings): string[] {
    const faults: string[] = [];
    for (const [node, made] of this.#addresses) {
      const lost = [...made].filter((address) => !addresses.get(node)?.has(address));
      if (lost.length > 0) faults.push(`${node} has lost ${lost.length} of ${made.size} addresses, ${lost[0]} first`);
    }
    if (held !== issued) faults.push(`all coins together are ${held}, and ${issued} were issued`);
    for (const [hash, amount] of this.#items) {
      const there = items.get(hash) ?? 0n;
      if (there !== amount) faults.push(`${amount} items ${hash} were created, and there are ${there}`);
    }
    return faults;
  }
}
