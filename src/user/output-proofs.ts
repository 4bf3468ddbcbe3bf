/** Proves outputs that a mempool node names, by the chain from block 0 on. One that is disproved costs the node its link. */

import { withFixedHash } from '../chain/assets.js';
import { encodeUtxos } from '../chain/decode-in-pieces.js';
import { createdOutPoints, namesOf, outPointKey, spentOutPoints, transactionAt } from '../chain/transaction.js';
import type { Asset, OpenBlock, OutPoint, TxOut, Utxo } from '../chain/types.js';
import { toHex } from '../lib/bytes.js';
import type { Timer } from '../lib/clock.js';
import { errorMessage } from '../lib/errors.js';
import { RecentMap } from '../lib/recent-map.js';
import { type Signal, SignalSource } from '../lib/signal.js';
import { TimeSlices } from '../lib/time-slices.js';
import type { Link } from '../peers/network.js';
import type { ProvenOutput } from '../wallet/block-intake.js';
import { BlockSource, type BlockSourceOptions } from './block-source.js';
import { fetchStatuses } from './evidence.js';
import type { UserModules } from './modules.js';

/** The most outputs that are looked for at once; a later refresh names the others again. */
const MAX_CLAIMS = 100_000;
/** Disproven outputs that are remembered and not looked for again: at least so many, at most twice as many. */
const DISPROVEN = 50_000;
/** Outputs that are taken into the wallet at once. */
const OUTPUTS_PER_STEP = 500;
/** Milliseconds until an attempt that failed is repeated. */
const RETRY_AFTER = 2_000;
const REQUEST_TIMEOUT = 30_000;
const ASKABLE = /^[\x21-\x7e]{1,128}$/;

interface Claim {
  readonly utxo: Utxo;
  readonly link: Link;
  /** The block as of which the node says the output unspent; the output may also be in the block being made then. */
  readonly height: number;
  /** Set when no block that could be read has the output. */
  isNowhere?: true;
}

export class OutputProofs {
  readonly #modules: UserModules;
  readonly #source: BlockSource;
  readonly #slices: TimeSlices;
  readonly #stopping = new AbortController();
  readonly #claims = new Map<string, Claim>();
  /** Disproven outputs as they were named: another node may name the same output rightly. */
  readonly #disproven = new RecentMap<true>(DISPROVEN);
  readonly #taken: SignalSource<number>;
  #running: Promise<void> | undefined;
  #retry: Timer | undefined;

  constructor(options: BlockSourceOptions, modules: UserModules) {
    const { wallet, network, clock, logger } = modules;
    this.#modules = modules;
    this.#slices = new TimeSlices(clock);
    const check = wallet.chain.check.bind(wallet.chain);
    this.#source = new BlockSource(options, { network, slices: this.#slices, check });
    this.#taken = new SignalSource(logger);
  }

  get open(): number {
    return this.#claims.size;
  }

  get taken(): Signal<number> {
    return this.#taken;
  }

  /** Notes outputs that a node has named as unspent, as of a block. */
  note(link: Link, utxos: readonly Utxo[], height: number): void {
    for (const utxo of utxos) {
      const key = outPointKey(utxo[0]);
      if (this.#claims.size >= MAX_CLAIMS) break;
      if (this.#disproven.get(textOf(utxo)) === undefined && !this.#claims.has(key))
        this.#claims.set(key, { utxo, link, height });
    }
    this.wake();
  }

  wake(): void {
    if (this.#running !== undefined || this.#claims.size === 0 || this.#stopping.signal.aborted) return;
    this.#retry?.cancel();
    this.#running = this.#run()
      .catch((error: unknown) => {
        if (this.#stopping.signal.aborted) return;
        const { clock, logger } = this.#modules;
        logger.warn({ error: errorMessage(error), outputs: this.open }, 'outputs cannot be proven now; trying again');
        this.#retry = clock.after(RETRY_AFTER, () => this.wake());
      })
      .finally(() => {
        this.#running = undefined;
      });
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#retry?.cancel();
    await this.#running;
  }

  async #run(): Promise<void> {
    await this.#dropWaiting();
    for (;;) {
      await this.#judgeNowhere();
      const fresh = [...this.#claims].filter(([, { isNowhere }]) => isNowhere !== true);
      if (fresh.length === 0) return;
      await this.#scan(new Map(fresh));
    }
  }

  async #dropWaiting(): Promise<void> {
    const byLink = new Map<Link, Set<string>>();
    for (const { utxo, link, isNowhere } of this.#claims.values()) {
      const [{ tHash }] = utxo;
      if (isNowhere === true || !ASKABLE.test(tHash)) continue;
      const hashes = byLink.get(link) ?? new Set();
      byLink.set(link, hashes.add(tHash));
    }
    for (const [link, hashes] of byLink) {
      if (!this.#modules.network.links.has(link)) continue;
      const options = { timeoutMs: REQUEST_TIMEOUT, signal: this.#stopping.signal };
      const statuses = await fetchStatuses(link, [...hashes], options);
      for (const [key, claim] of this.#claims) {
        const isWaiting = statuses.get(claim.utxo[0].tHash)?.status === 'Pending';
        if (claim.link === link && isWaiting) this.#claims.delete(key);
      }
    }
  }

  async #scan(claims: ReadonlyMap<string, Claim>): Promise<void> {
    const { wallet, logger } = this.#modules;
    const scan = new OutputScan([...claims.values()].map(({ utxo }) => utxo));
    logger.info({ outputs: claims.size, blocks: wallet.chain.height + 1 }, 'looking for outputs in the chain');
    let [next, previousHash] = [0, null as string | null];
    let left = [...claims.keys()];
    do {
      const to = wallet.chain.height;
      while (next <= to) {
        const range = { from: next, to, previousHash };
        for (const told of await this.#source.read(range, this.#stopping.signal)) {
          await this.#slices.turn();
          scan.take(told.full);
          [next, previousHash] = [next + 1, told.hash];
        }
      }
      left = await this.#take(left, scan, next - 1);
      // While outputs are left, a block has come that may spend one of them.
    } while (left.length > 0);
    this.#judge(claims, scan);
  }

  /** Takes proven outputs into the wallet as of a block; returns the remaining ones once the wallet has left that block. */
  async #take(keys: readonly string[], scan: OutputScan, height: number): Promise<string[]> {
    const proven = keys.flatMap((key): (readonly [key: string, output: ProvenOutput])[] => {
      const found = scan.find(key);
      return found.kind === 'unspent' ? [[key, found.output]] : [];
    });
    // Place of the last output of each address.
    const last = new Map(proven.map(([, { utxo }], at) => [utxo[1].scriptPublicKey, at]));
    for (let at = 0; at < proven.length; at += OUTPUTS_PER_STEP) {
      await this.#slices.turn();
      const some = proven.slice(at, at + OUTPUTS_PER_STEP).map(([, output]) => output);
      const hasMore = (address: string): boolean => (last.get(address) ?? 0) >= at + OUTPUTS_PER_STEP;
      if (!(await this.#modules.wallet.chain.takeProven(some, height, hasMore)))
        return proven.slice(at).map(([key]) => key);
      this.#taken.emit(some.length);
    }
    return [];
  }

  #judge(claims: ReadonlyMap<string, Claim>, scan: OutputScan): void {
    const lies: Lies = new Map();
    for (const [key, claim] of claims) {
      const found = scan.find(key);
      if (found.kind === 'nowhere') {
        claim.isNowhere = true;
        continue;
      }
      this.#claims.delete(key);
      if (found.kind === 'other') this.#disprove(claim, 'nowhere', lies);
      if (found.kind === 'spent' && found.height <= claim.height) this.#disprove(claim, 'spent', lies);
    }
    this.#blame(lies);
  }

  async #judgeNowhere(): Promise<void> {
    const { wallet } = this.#modules;
    const lies: Lies = new Map();
    for (const [key, claim] of this.#claims) {
      if (claim.isNowhere !== true || wallet.chain.height <= claim.height) continue;
      this.#claims.delete(key);
      if (!(await wallet.chain.hasSeen(claim.utxo[0].tHash))) this.#disprove(claim, 'nowhere', lies);
    }
    this.#blame(lies);
  }

  #disprove({ link, utxo }: Claim, how: keyof Counts, lies: Lies): void {
    this.#disproven.set(textOf(utxo), true);
    const counts = lies.get(link) ?? { nowhere: 0, spent: 0 };
    counts[how] += 1;
    lies.set(link, counts);
  }

  #blame(lies: Lies): void {
    for (const [link, { nowhere, spent }] of lies) {
      const said = [
        ...(nowhere === 0 ? [] : [`${outputs(nowhere)} that no block has`]),
        ...(spent === 0 ? [] : [`${outputs(spent)} that a block has spent`]),
      ].join(' and ');
      this.#modules.logger.warn({ link: link.id, peer: link.address }, `the mempool node has named ${said}`);
      if (this.#modules.network.links.has(link)) link.close(`it has named ${said}`);
    }
  }
}

interface Counts {
  nowhere: number;
  spent: number;
}
type Lies = Map<Link, Counts>;

function textOf(utxo: Utxo): string {
  return toHex(encodeUtxos([utxo]));
}

function outputs(count: number): string {
  return count === 1 ? '1 output' : `${count} outputs`;
}

interface Wanted {
  readonly named: Utxo;
  proven?: ProvenOutput;
  spentAt?: number;
  isOther?: true;
}

/** What blocks say of an output that a node has named. */
type ScanResult =
  | { readonly kind: 'unspent'; readonly output: ProvenOutput }
  | { readonly kind: 'spent'; readonly height: number }
  | { readonly kind: 'other' | 'nowhere' };

class OutputScan {
  readonly #wanted = new Map<string, Wanted>();
  readonly #makers = new Set<string>();

  constructor(utxos: Iterable<Utxo>) {
    for (const utxo of utxos) {
      this.#wanted.set(outPointKey(utxo[0]), { named: utxo });
      this.#makers.add(utxo[0].tHash);
    }
  }

  /** Reads a block whose transactions are the ones that it lists. */
  take(full: OpenBlock): void {
    const { header } = full.block;
    const height = Number(header.bNum);
    const place = { height, time: Number(header.timestamp) };
    for (const [i, hash] of namesOf(full.block).entries()) {
      const transaction = transactionAt(full, i);
      if (transaction === undefined) continue;
      const spent = spentOutPoints(transaction).flatMap((outPoint) => this.#wanted.get(outPointKey(outPoint)) ?? []);
      if (spent.length === 0 && !this.#makers.has(hash)) continue;
      for (const one of spent) one.spentAt = height;
      if (this.#makers.has(hash)) this.#noteMade({ hash, transaction, isReward: hash === header.miningTxHash, place });
    }
  }

  find(key: string): ScanResult {
    const { proven, spentAt, isOther } = this.#wanted.get(key) ?? {};
    if (isOther === true) return { kind: 'other' };
    if (proven === undefined) return { kind: 'nowhere' };
    return spentAt === undefined ? { kind: 'unspent', output: proven } : { kind: 'spent', height: spentAt };
  }

  #noteMade(made: ProvenOutput['made']): void {
    for (const { outPoint, txOut } of createdOutPoints(made.transaction, made.hash)) {
      const wanted = this.#wanted.get(outPointKey(outPoint));
      if (wanted === undefined) continue;
      if (isSame(outPoint, wanted.named[1], txOut)) wanted.proven = { utxo: [outPoint, txOut], made };
      else wanted.isOther = true;
    }
  }
}

function isSame(outPoint: OutPoint, a: TxOut, b: TxOut): boolean {
  const [x, y] = [withFixedHash(a.value, outPoint), withFixedHash(b.value, outPoint)];
  const idOf = (asset: Asset): string | null => (asset.kind === 'token' ? null : asset.genesisHash);
  return (
    a.scriptPublicKey === b.scriptPublicKey &&
    a.locktime === b.locktime &&
    x.kind === y.kind &&
    x.amount === y.amount &&
    idOf(x) === idOf(y)
  );
}
