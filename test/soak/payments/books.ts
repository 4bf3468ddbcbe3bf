/**
 * What a run of payments must look like at its end: the chain, the histories of both wallets and their balances, held
 * against what was meant.
 */

/** A payment that somebody wants to make once, however often it has to be asked for. */
export interface Intent {
  /** The `Idempotency-Key`. */
  readonly key: string;
  /** Raw units; no two intents have the same. */
  readonly amount: bigint;
  /** Where it is paid. */
  readonly address: string;
  /** The hashes that answers have named; a sound node names one. */
  readonly answers: ReadonlySet<string>;
}

/** A transaction of the chain; mining transactions and block 0 are left out. */
export interface Mined {
  readonly hash: string;
  readonly height: number;
  readonly outputs: readonly { readonly address: string | null; readonly amount: bigint }[];
}

export interface BookedMovement {
  readonly hash: string | null;
  readonly kind: string;
  readonly direction: string;
  readonly state: string;
  readonly height: number | null;
  readonly amount: bigint;
  readonly net: bigint;
}

export interface WalletBook {
  readonly movements: readonly BookedMovement[];
  readonly running: bigint;
  readonly available: bigint;
}

export interface Books {
  readonly intents: readonly Intent[];
  readonly mined: readonly Mined[];
  /** The transaction that gave the payer its funds, and how much. */
  readonly funding: { readonly hash: string; readonly amount: bigint };
  readonly payer: WalletBook;
  readonly payee: WalletBook;
  /** Raw units of all addresses together, and what has been issued. */
  readonly held: bigint;
  readonly issued: bigint;
  /** Transactions that the mempool node still has. */
  readonly waiting: number;
}

/** What is not as it must be, in words. */
export function faultsOf(books: Books): string[] {
  const { intents, funding, payer, payee, held, issued, waiting } = books;
  const heights = new Map(books.mined.map(({ hash, height }) => [hash, height]));
  const paid = paidBy(books);
  const sum = intents.reduce((total, { amount }) => total + amount, 0n);
  return [
    ...paid.faults,
    ...strangersIn(books, paid.hashes),
    ...historyFaults('payer', payer, heights, expected(intents, paid.hashes, 'out'), funding),
    ...historyFaults('payee', payee, heights, expected(intents, paid.hashes, 'in')),
    ...balanceFaults('payer', payer, funding.amount - sum),
    ...balanceFaults('payee', payee, sum),
    ...(held === issued ? [] : [`all coins together are ${held}, and ${issued} were issued`]),
    ...(waiting === 0 ? [] : [`${waiting} transactions are still in the pool`]),
  ];
}

/** By intent, the hash of the one transaction that pays it. */
function paidBy({ intents, mined }: Books): {
  readonly hashes: ReadonlyMap<Intent, string>;
  readonly faults: string[];
} {
  const payments = new Map<string, string[]>();
  for (const { hash, outputs } of mined) {
    for (const { address, amount } of outputs) {
      const what = `${amount} to ${address}`;
      payments.set(what, [...(payments.get(what) ?? []), hash]);
    }
  }
  const hashes = new Map<Intent, string>();
  const faults: string[] = [];
  for (const intent of intents) {
    const { key, amount, address, answers } = intent;
    const found = payments.get(`${amount} to ${address}`) ?? [];
    const [hash] = found;
    if (found.length !== 1)
      faults.push(`the intent ${key} of ${amount} was paid ${found.length} times: ${found.join()}`);
    if (answers.size !== 1) faults.push(`the intent ${key} was answered with ${answers.size} transactions`);
    if (hash === undefined) continue;
    if (!answers.has(hash)) faults.push(`the intent ${key} is paid by ${hash}, which no answer has named`);
    hashes.set(intent, hash);
  }
  return { hashes, faults };
}

/** Transactions in two blocks, and those that nobody has meant. */
function strangersIn({ mined, funding, payer, payee }: Books, paid: ReadonlyMap<Intent, string>): string[] {
  const merges = [payer, payee].flatMap(({ movements }) => movements.filter(({ kind }) => kind === 'merge'));
  const meant = new Set([funding.hash, ...paid.values(), ...merges.map(({ hash }) => hash)]);
  const seen = new Map<string, number>();
  const faults: string[] = [];
  for (const { hash, height } of mined) {
    const before = seen.get(hash);
    if (before !== undefined) faults.push(`${hash} is in block ${before} and in block ${height}`);
    if (!meant.has(hash)) faults.push(`${hash} in block ${height} was meant by nobody`);
    seen.set(hash, height);
  }
  return faults;
}

interface Expected {
  readonly direction: 'in' | 'out';
  /** By hash. */
  readonly amounts: ReadonlyMap<string, bigint>;
}

function expected(intents: readonly Intent[], paid: ReadonlyMap<Intent, string>, direction: 'in' | 'out'): Expected {
  return { direction, amounts: new Map(intents.map((intent) => [paid.get(intent) ?? intent.key, intent.amount])) };
}

/** One movement for each payment, and besides only the funds and own merges. */
function historyFaults(
  name: string,
  { movements, running }: WalletBook,
  heights: ReadonlyMap<string, number>,
  { direction, amounts }: Expected,
  funding?: Books['funding'],
): string[] {
  const faults: string[] = [];
  const wrong = (what: string): void => void faults.push(`the history of the ${name}: ${what}`);
  const open = new Map([...amounts].map(([hash, amount]) => [hash, { direction, amount }]));
  if (funding !== undefined) open.set(funding.hash, { direction: 'in', amount: funding.amount });
  for (const { hash, kind, state, height, ...movement } of movements) {
    if (state !== 'confirmed') wrong(`${hash} is ${state}`);
    const real = heights.get(hash ?? '');
    if (height !== null && height !== real) wrong(`${hash} is in block ${height}, and really in ${real}`);
    if (kind === 'merge') continue;
    const wanted = open.get(hash ?? '');
    open.delete(hash ?? '');
    const net = movement.direction === 'in' ? movement.amount : -movement.amount;
    const isRight = kind === 'payment' && wanted?.direction === movement.direction && movement.net === net;
    if (!isRight || wanted.amount !== movement.amount) {
      wrong(
        `${hash} is a ${kind} ${movement.direction} of ${movement.amount}, and ${wanted?.amount ?? 'nothing'} was meant`,
      );
    }
  }
  for (const [hash, { amount }] of open) wrong(`${hash}, of ${amount}, is not there`);
  const sum = movements.reduce((total, { net }) => total + net, 0n);
  if (sum !== running) wrong(`it adds up to ${sum}, and the balance is ${running}`);
  return faults;
}

function balanceFaults(name: string, { running, available }: WalletBook, meant: bigint): string[] {
  if (running === meant && available === meant) return [];
  return [`the ${name} has ${running}, ${available} of it available, and must have ${meant}`];
}
