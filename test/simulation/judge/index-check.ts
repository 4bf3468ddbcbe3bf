/** Holds the index of each storage node against the blocks: what every address has, and its history. */

import { createdOutPoints, outPointKey, spentOutPoints } from '../../../src/chain/transaction.js';
import type { Transaction } from '../../../src/chain/types.js';
import { isTesseraError } from '../../../src/lib/errors.js';
import type { ChainView } from '../../../src/storage/chain-index/service.js';
import { personOf } from '../people/people.js';
import { type Stage, type Violation, within } from '../play.js';
import type { Machine } from '../world/node.js';

/** Milliseconds in which a damaged index is made again. */
const REPAIR_MS = 60_000;
const LOOK_MS = 200;
const PAGE = 100;

/** What each address has and had, in words, after the block of a height. */
interface Books {
  readonly height: number;
  readonly books: ReadonlyMap<string, string>;
}

interface Account {
  tokens: bigint;
  unspent: number;
  /** Hashes of its transactions, the newest first. */
  readonly history: string[];
}

const NOTHING: Account = { tokens: 0n, unspent: 0, history: [] };

export async function indexViolations(stage: Stage): Promise<Violation[]> {
  const found: Violation[] = [];
  for (const machine of stage.storages) {
    if (machine.services?.chainIndex === undefined) continue;
    const { height, books } = await booksOfIndex(stage, machine);
    const accounts = await accountsOfBlocks(stage, machine, height);
    for (const [address, indexed] of books) {
      const account = textOf(accounts.get(address) ?? NOTHING);
      if (indexed === account) continue;
      const detail = `the index of ${machine.name} has ${indexed} for ${address}, and the blocks ${account}`;
      found.push({ rule: 'indexAgrees', detail });
    }
  }
  return found;
}

/** The accounts after the block of that height. */
async function accountsOfBlocks({ world }: Stage, { process, services, name }: Machine, last: number) {
  const storage = services?.storage;
  if (process === undefined || storage === undefined) throw new Error(`${name} is not there at the end`);
  return within(world, process, async () => {
    const accounts = new Map<string, Account>();
    const outputs = new Map<string, { readonly address: string; readonly amount: bigint }>();
    for (let height = 0; height <= last; height++) {
      const { header, transactions } = (await storage.blockAt(height))?.block() ?? {};
      for (const hash of [...(transactions ?? []), header?.miningTxHash ?? '']) {
        const entry = await storage.entry(hash);
        if (entry?.kind === 'tx') take(hash, entry.transaction(), accounts, outputs);
      }
    }
    return accounts;
  });
}

function take(
  hash: string,
  transaction: Transaction,
  accounts: Map<string, Account>,
  outputs: Map<string, { readonly address: string; readonly amount: bigint }>,
): void {
  const touched = new Set<Account>();
  const accountOf = (address: string): Account => {
    const account = accounts.get(address) ?? { tokens: 0n, unspent: 0, history: [] };
    accounts.set(address, account);
    touched.add(account);
    return account;
  };
  for (const outPoint of spentOutPoints(transaction)) {
    const output = outputs.get(outPointKey(outPoint));
    if (output === undefined) continue;
    const account = accountOf(output.address);
    account.tokens -= output.amount;
    account.unspent--;
  }
  for (const { outPoint, txOut } of createdOutPoints(transaction, hash)) {
    const { scriptPublicKey: address, value } = txOut;
    if (address === null) continue;
    const amount = value.kind === 'token' ? value.amount : 0n;
    outputs.set(outPointKey(outPoint), { address, amount });
    const account = accountOf(address);
    account.tokens += amount;
    account.unspent++;
  }
  for (const { history } of touched) history.unshift(hash);
}

/** A damaged index says so, and is made again. */
async function booksOfIndex({ world, people }: Stage, machine: Machine): Promise<Books> {
  const addresses = [...people, personOf('miner')].map(({ address }) => address);
  const limit = world.now + REPAIR_MS;
  for (;;) {
    const [process, index] = [machine.process, machine.services?.chainIndex];
    if (process === undefined || index === undefined) throw new Error(`${machine.name} is not there at the end`);
    try {
      return await within(world, process, () => index.at((chain) => readAll(chain, addresses)));
    } catch (error) {
      if (!isTesseraError(error, 'index_incomplete') || world.now > limit) throw error;
      await world.run(world.now + LOOK_MS);
    }
  }
}

async function readAll(chain: ChainView, addresses: readonly string[]): Promise<Books> {
  const books = new Map<string, string>();
  for (const address of addresses) {
    const { tokens, unspentOutputs: unspent } = await chain.address(address);
    const history: string[] = [];
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page: Awaited<ReturnType<ChainView['addressTransactions']>> = await chain.addressTransactions(address, {
        limit: PAGE,
        cursor,
      });
      history.push(...page.entries.map(({ hash }) => hash));
      cursor = page.next;
    }
    books.set(address, textOf({ tokens, unspent, history }));
  }
  return { height: chain.tip?.height ?? -1, books };
}

function textOf({ tokens, unspent, history }: Account): string {
  return `${tokens} in ${unspent} outputs, by ${history.join(', ')}`;
}
