/** What the wallet of a node says of its own transactions. */

import { call, type NodeProcess, until } from './processes.js';

export interface HistoryEntry {
  readonly tx_hash: string;
  readonly kind: string;
  readonly state: string;
  readonly reason: string;
  readonly outputs: readonly {
    readonly address: string;
    readonly value: { readonly Token: number | bigint };
    readonly own: boolean;
  }[];
}

type Place = Pick<NodeProcess<string>, 'apiUrl'>;

export async function historyOf({ apiUrl }: Place): Promise<readonly HistoryEntry[]> {
  return ((await call(`${apiUrl}/v1/wallet/history`)) as { transactions: HistoryEntry[] }).transactions;
}

const isOpen = ({ state }: HistoryEntry): boolean => state !== 'confirmed' && state !== 'rejected';

/** The history when it has so many transactions, and each is confirmed or rejected; that may take any time while one after the other is. */
export async function settledHistory(node: Place, count = 0): Promise<readonly HistoryEntry[]> {
  await until(`${count} transactions`, async () => (await historyOf(node)).length >= count || undefined);
  for (let left = Number.POSITIVE_INFINITY; ; ) {
    const entries = await until('one transaction more to end', async () => {
      const now = await historyOf(node);
      const open = now.filter(isOpen).length;
      return open < left || open === 0 ? now : undefined;
    });
    left = entries.filter(isOpen).length;
    if (left === 0) return entries;
  }
}
