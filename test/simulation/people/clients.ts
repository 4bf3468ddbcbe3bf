/**
 * The clients of a world: who pays, spends one output at several nodes, trades, makes items, loses answers and asks again, and
 * strangers who follow no rule. What they do and what they are told is in the history.
 */

import { itemAsset, tokenAsset } from '../../../src/chain/assets.js';
import { assemble, txOut } from '../../../src/chain/builders.js';
import { transactionToCreateJson } from '../../../src/chain/create-transaction.js';
import { transactionHash } from '../../../src/chain/hash.js';
import { assetSignable, txInsAddress } from '../../../src/chain/signable.js';
import { outPointKey, spentOutPoints } from '../../../src/chain/transaction.js';
import type { Transaction } from '../../../src/chain/types.js';
import { sign } from '../../../src/crypto/ed25519.js';
import { toHex } from '../../../src/lib/bytes.js';
import type { History, PostAnswer, ReadStatus } from '../../cluster/history.js';
import type { Http, HttpAnswer } from '../world/http.js';
import type { Machine } from '../world/node.js';
import type { Process, World } from '../world/world.js';
import { type Coin, type Person, signedBy } from './people.js';
import { moveOfStranger } from './strangers.js';

/** Codes with which a request has taken nothing, and another one may. */
const TURNED_AWAY: ReadonlySet<string> = new Set([
  'overloaded',
  'rate_limited',
  'mempool_full',
  'too_many_ancestors',
  'write_failed',
]);
/** Codes with which a rule of the chain refuses. */
const REFUSED: ReadonlySet<string> = new Set([
  'double_spend',
  'unknown_input',
  'transaction_rejected',
  'invalid_signature',
  'malformed_transaction',
  'invalid_request',
]);
const GENESIS = '000000';
/** Posts of one transaction without a definite answer, until it is left alone. */
const MOST_POSTS = 8;
/** Coins of a payer that it keeps apart. */
const MOST_COINS = 12;

export interface ClientsModules {
  readonly world: World;
  readonly http: Http;
  readonly history: History;
  readonly mempools: readonly Machine[];
  readonly storages: readonly Machine[];
  /** Addresses of wallets. */
  readonly payees: () => readonly string[];
}

/** The machine of all clients. It never fails. */
export class Clients {
  readonly #modules: ClientsModules;
  readonly process: Process;
  readonly #people: readonly Person[];
  readonly #coins = new Map<Person, Coin[]>();
  readonly #seen: string[] = [];
  #isOver = false;
  #trades = 0;
  #atWork = 0;
  /** The two halves of each trade. */
  readonly trades: (readonly [string, string])[] = [];
  accepted = 0;

  constructor(people: readonly Person[], coinsEach: number, amount: bigint, modules: ClientsModules) {
    this.#modules = modules;
    this.process = modules.world.process('clients');
    this.process.host = '10.0.3.1';
    this.#people = people;
    for (const [i, person] of people.entries()) {
      const own = Array.from({ length: coinsEach }, (_, j) => ({
        outPoint: { tHash: GENESIS, n: i * coinsEach + j },
        amount,
      }));
      this.#coins.set(person, own);
    }
  }

  get isAtRest(): boolean {
    return this.#isOver && this.#atWork === 0;
  }

  /** Begins; `pause`: milliseconds between two acts of one person, `trades`: so many of them are trades. */
  start(pause: number, trades: number): void {
    this.#trades = trades;
    for (const person of this.#people) this.#loop(pause, () => this.#act(person));
    this.#loop(pause, () => this.#read());
    this.#loop(4 * pause, () => this.#strange());
  }

  /** Nothing new is begun. */
  end(): void {
    this.#isOver = true;
  }

  #loop(pause: number, act: () => Promise<void>): void {
    const { world } = this.#modules;
    const { luck } = this.process;
    const next = (): void => {
      if (this.#isOver) return;
      this.#atWork++;
      act()
        .catch((error: unknown) => world.onUncaught(this.process, error))
        .finally(() => {
          this.#atWork--;
          world.later(this.process, luck.between(0.2, 2) * pause, next);
        });
    };
    world.later(this.process, luck.between(0, pause), next);
  }

  async #act(person: Person): Promise<void> {
    const { luck } = this.process;
    const what = luck.next();
    if (luck.chance(this.#trades)) return this.#trade(person);
    if (what < 0.7) return this.#pay(person);
    if (what < 0.83) return this.#payTwice(person);
    if (what < 0.94) return this.#rival(person);
    return this.#makeItem(person);
  }

  #someMempool(): Machine {
    return this.process.luck.pick(this.#modules.mempools);
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#modules.world.later(this.process, ms, resolve));
  }

  /** Takes coins of a person, which are in nobody else's hands meanwhile. */
  #take(person: Person, most: number): Coin[] {
    const coins = this.#coins.get(person) ?? [];
    const count = Math.min(coins.length, 1 + this.process.luck.below(most));
    return Array.from({ length: count }, () => coins.splice(this.process.luck.below(coins.length), 1)).flat();
  }

  #give(person: Person, coins: readonly Coin[]): void {
    this.#coins.get(person)?.push(...coins);
  }

  /** Notes the outputs of a transaction in the hands of their owners. */
  #receive(tx: Transaction): void {
    const tHash = transactionHash(tx);
    for (const [n, { value, scriptPublicKey }] of tx.outputs.entries()) {
      const owner = this.#people.find(({ address }) => address === scriptPublicKey);
      if (owner !== undefined && value.kind === 'token') {
        this.#give(owner, [{ outPoint: { tHash, n }, amount: value.amount }]);
      }
    }
  }

  /** One of the people, or a wallet. */
  #somePayee(): Pick<Person, 'address'> {
    const { luck } = this.process;
    const wallets = this.#modules.payees();
    if (wallets.length > 0 && luck.chance(0.5)) return { address: luck.pick(wallets) };
    return luck.pick(this.#people);
  }

  #payment(person: Person, coins: readonly Coin[], to: Pick<Person, 'address'>): Transaction {
    const { luck } = this.process;
    const sum = coins.reduce((all, { amount }) => all + amount, 0n);
    const many = (this.#coins.get(person)?.length ?? 0) >= MOST_COINS;
    const part = many || sum < 2n ? sum : 1n + BigInt(luck.below(Number(sum > 1_000_000n ? 1_000_000n : sum - 1n)));
    const outputs = [txOut(tokenAsset(part), to.address)];
    if (part < sum) outputs.push(txOut(tokenAsset(sum - part), person.address));
    return signedBy(person, coins, outputs);
  }

  async #pay(person: Person): Promise<void> {
    const coins = this.#take(person, 3);
    if (coins.length === 0) return;
    const tx = this.#payment(person, coins, this.#somePayee());
    const answer = await this.#postUntilKnown(tx);
    await this.#settle(person, coins, tx, answer);
    if (answer === 'accepted' && this.process.luck.chance(0.4)) await this.#payOn(tx);
  }

  /** Spends at some node at once what another one has accepted a moment ago. */
  async #payOn(before: Transaction): Promise<void> {
    const tHash = transactionHash(before);
    for (const person of this.#people) {
      const coins = this.#coins.get(person) ?? [];
      const at = coins.findIndex(({ outPoint }) => outPoint.tHash === tHash);
      const [coin] = at < 0 ? [] : coins.splice(at, 1);
      if (coin === undefined) continue;
      const tx = this.#payment(person, [coin], this.process.luck.pick(this.#people));
      await this.#settle(person, [coin], tx, await this.#postUntilKnown(tx));
      return;
    }
  }

  /** Posts the same transaction at several nodes, and again after it was accepted. */
  async #payTwice(person: Person): Promise<void> {
    const coins = this.#take(person, 2);
    if (coins.length === 0) return;
    const tx = this.#payment(person, coins, this.process.luck.pick(this.#people));
    const [first] = await Promise.all([this.#postUntilKnown(tx), this.#post(this.#someMempool(), tx)]);
    if (first === 'accepted') await this.#post(this.#someMempool(), tx);
    await this.#settle(person, coins, tx, first);
  }

  /** Spends the same coins in two ways at once; one of them may be true. */
  async #rival(person: Person): Promise<void> {
    const coins = this.#take(person, 1);
    if (coins.length === 0) return;
    const { luck } = this.process;
    const [one, other] = [this.#payment(person, coins, luck.pick(this.#people)), this.#payment(person, coins, person)];
    const answers = await Promise.all([this.#postUntilKnown(one), this.#postUntilKnown(other)]);
    const won = [one, other].find((_, i) => answers[i] === 'accepted');
    // Where nobody knows, the coins are left alone.
    if (won !== undefined) this.#receive(won);
  }

  /** Two halves, at two nodes; at times the second one never comes. */
  async #trade(person: Person): Promise<void> {
    const { luck } = this.process;
    const partner = luck.pick(this.#people);
    const [own, theirs] = [this.#take(person, 1), partner === person ? [] : this.#take(partner, 1)];
    const [mine, yours] = [own[0], theirs[0]];
    if (mine === undefined || yours === undefined) {
      this.#give(person, own);
      this.#give(partner, theirs);
      return;
    }
    const druid = `trade ${luck.below(1e9)}`;
    const inputsOf = (from: Person, { amount, outPoint }: Coin, to: Person) => {
      const outputs = [txOut(tokenAsset(amount), to.address)];
      return { outputs, inputs: signedBy(from, [{ amount, outPoint }], outputs).inputs };
    };
    const [one, other] = [inputsOf(person, mine, partner), inputsOf(partner, yours, person)];
    const half = (own: typeof one, owner: Person, from: typeof one, amount: bigint): Transaction => {
      const expectations = [{ from: txInsAddress(from.inputs), to: owner.address, asset: tokenAsset(amount) }];
      return assemble({ ...own, druidInfo: { druid, participants: 2n, expectations, genesisHash: null } });
    };
    const halves = [half(one, person, other, yours.amount), half(other, partner, one, mine.amount)] as const;
    const hashes = halves.map(transactionHash) as [string, string];
    this.trades.push(hashes);
    // A copy at another node may be held up there until the trade is in a block.
    const copy = luck.chance(0.5) ? this.#post(this.#someMempool(), halves[0], false) : undefined;
    await this.#postUntilKnown(halves[0], false);
    if (!luck.chance(0.2)) await this.#complete(halves, hashes);
    await copy;
  }

  async #complete(halves: readonly [Transaction, Transaction], hashes: readonly string[]): Promise<void> {
    const { luck } = this.process;
    await this.#pause(luck.chance(0.5) ? 0 : luck.between(0, 3_000));
    await this.#postUntilKnown(halves[1], false);
    for (let looks = 0; looks < 10 && !this.#isOver; looks++) {
      await this.#pause(5_000);
      const statuses = await Promise.all(hashes.map((hash) => this.#readStatus(this.#someMempool(), hash)));
      if (statuses.some((status) => status !== 'Confirmed')) continue;
      for (const tx of halves) this.#receive(tx);
      // From now on it stays so, whatever comes.
      this.#seen.push(...hashes);
      return;
    }
  }

  async #makeItem(person: Person): Promise<void> {
    const { http, world } = this.#modules;
    const amount = 1n + BigInt(this.process.luck.below(100));
    const signature = sign(person.key.seed, assetSignable(itemAsset(amount, null)));
    const body = {
      item_amount: amount,
      script_public_key: person.address,
      public_key: toHex(person.key.publicKey),
      signature: toHex(signature),
      genesis_hash_spec: this.process.luck.chance(0.5) ? 'Create' : 'Default',
    };
    // Some ask two nodes at once.
    const machines = [this.#someMempool(), ...(this.process.luck.chance(0.5) ? [this.#someMempool()] : [])];
    const send = async (machine: Machine): Promise<void> => {
      const answer = await http.send(this.process, machine, { method: 'POST', url: '/v1/items', body });
      if (answer.kind === 'answer' && answer.status < 300) world.mark(answer.status);
    };
    await Promise.all(machines.map(send));
  }

  async #settle(person: Person, coins: readonly Coin[], tx: Transaction, answer: PostAnswer): Promise<void> {
    if (answer === 'accepted') this.#receive(tx);
    // Nothing was taken, so the coins are still there.
    else if (answer === 'turned away') this.#give(person, coins);
  }

  /** Posts at one node after the other until there is a definite answer. */
  async #postUntilKnown(tx: Transaction, isNoted = true): Promise<PostAnswer> {
    let isUnknown = false;
    for (let i = 0; i < MOST_POSTS; i++) {
      const answer = await this.#post(this.#someMempool(), tx, isNoted);
      if (answer === 'accepted') return answer;
      if (answer === 'refused') return isUnknown ? 'unknown' : 'refused';
      isUnknown ||= answer === 'unknown';
      if (this.#isOver) break;
      await this.#pause(this.process.luck.between(100, 2_000 * (i + 1)));
    }
    return isUnknown ? 'unknown' : 'turned away';
  }

  /** Halves of trades are in no history: one that stays alone is accepted, and comes into no block. */
  async #post(machine: Machine, tx: Transaction, isNoted = true): Promise<PostAnswer> {
    const { world, http, history } = this.#modules;
    const began = world.now;
    const hash = transactionHash(tx);
    const body = { transactions: [transactionToCreateJson(tx)] };
    const got = await http.send(this.process, machine, { method: 'POST', url: '/v1/transactions', body });
    const [answer, code] = meaningOf(got);
    const points = spentOutPoints(tx);
    const spends = points.map(outPointKey);
    const parents = points.map(({ tHash }) => tHash).filter((parent) => parent !== GENESIS);
    const request = { client: 'client', node: machine.name, began, ended: world.now };
    if (isNoted) history.note({ kind: 'post', ...request, hash, spends, parents, answer, code });
    if (answer === 'accepted') this.accepted++;
    if (isNoted) this.#seen.push(hash);
    if (answer !== 'accepted') world.note(`${machine.name} answers ${hash.slice(0, 8)} with ${answer} ${code}`);
    return answer;
  }

  async #readStatus(machine: Machine, hash: string, isNoted = false): Promise<ReadStatus | undefined> {
    const { world, http, history } = this.#modules;
    const began = world.now;
    const body = { hashes: [hash] };
    const got = await http.send(this.process, machine, { method: 'POST', url: '/v1/transactions/status:query', body });
    if (got.kind !== 'answer' || got.status >= 300) return undefined;
    const found = (got.body as Record<string, { status: ReadStatus; additional_info: string }>)[hash];
    const { status = 'absent', additional_info: info = '' } = found ?? {};
    const height = status === 'Confirmed' ? Number(/^In block (\d+)/.exec(info)?.[1] ?? Number.NaN) : null;
    const request = { client: 'reader', node: machine.name, began, ended: world.now };
    if (isNoted) history.note({ kind: 'status', ...request, hash, status, height });
    return status;
  }

  async #read(): Promise<void> {
    const { world, http, history, mempools, storages } = this.#modules;
    const { luck } = this.process;
    const began = world.now;
    const note = { client: 'reader', began };
    if (luck.chance(0.6) && this.#seen.length > 0) {
      await this.#readStatus(luck.pick(mempools), luck.pick(this.#seen.slice(-60)), true);
      return;
    }
    const ofStorage = luck.chance(0.5);
    const machine = luck.pick(ofStorage ? storages : mempools);
    // The number of blocks of a storage node with an older disk goes back.
    const { alias } = machine;
    const url = ofStorage ? '/v1/blocks/latest' : '/v1/supply';
    const got = await http.send(this.process, machine, { method: 'GET', url });
    if (got.kind !== 'answer' || got.status >= 300) return;
    const value = ofStorage
      ? BigInt((got.body as { block: { block: { header: { b_num: number } } } }).block.block.header.b_num)
      : BigInt((got.body as { issued: number }).issued);
    const counted = { what: ofStorage ? ('height' as const) : ('issued' as const), value };
    history.note({ kind: 'count', ...note, node: ofStorage ? alias : machine.name, ended: world.now, ...counted });
  }

  /** Each move of a stranger must be refused, by name, and change nothing. */
  async #strange(): Promise<void> {
    const { luck } = this.process;
    const victim = luck.pick(this.#people);
    const move = moveOfStranger(luck, victim, this.#coins.get(victim)?.[0]);
    if (move !== undefined) await this.#mustRefuse(move.call, move.what);
  }

  async #mustRefuse(call: Parameters<Http['send']>[2], what: string): Promise<void> {
    const { http, world } = this.#modules;
    const machine = this.#someMempool();
    const got = await http.send(this.process, machine, call);
    if (got.kind === 'answer' && got.status < 300) {
      world.onUncaught(this.process, new Error(`${machine.name} has taken ${what} of a stranger`));
    }
  }
}

/** What an answer says about the transaction that was posted, and its code. */
function meaningOf(got: HttpAnswer): readonly [PostAnswer, string] {
  if (got.kind === 'not sent') return ['turned away', 'not sent'];
  if (got.kind === 'lost') return ['unknown', 'no answer'];
  if (got.status < 300) return ['accepted', ''];
  const { code = 'unknown' } = (got.body ?? {}) as { readonly code?: string };
  if (REFUSED.has(code)) return ['refused', code];
  return [TURNED_AWAY.has(code) ? 'turned away' : 'unknown', code];
}
