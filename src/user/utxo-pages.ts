/** Refreshes addresses page by page, as of the block of the first page. If the last output of a page is spent, its address starts over. */

import { decodeUtxos } from '../chain/decode-in-pieces.js';
import type { Utxo } from '../chain/types.js';
import { isTesseraError, TesseraError } from '../lib/errors.js';
import type { HasClock } from '../observability/modules.js';
import { MAX_LIST, MAX_PAGE_OUTPUTS, type MessageBody } from '../peers/messages.js';
import type { Link, Message } from '../peers/network.js';
import type { ChainPoint } from '../wallet/block-intake.js';
import type { Wallet } from '../wallet/wallet.js';

const REQUEST_TIMEOUT = 30_000;
/** Attempts to get an answer that is not older than the wallet, and starts of an address. */
const MAX_ATTEMPTS = 5;
/** Milliseconds until a busy node is asked for a page again, and how often that is done. */
const PAUSE = 500;
const MAX_PAUSES = 60;
/** Maximum size of a page in bytes: 1,000 outputs, each with up to 800 bytes of metadata. */
const MAX_PAGE_BYTES = 2 * 1024 * 1024;
/** Maximum number of outputs in one refresh; the wallet keeps all of its coins in memory. */
const MAX_OUTPUTS = 2_000_000;

type Page = MessageBody<'utxos'>;

export interface UtxoPagesModules extends HasClock {
  readonly wallet: Wallet;
  readonly signal: AbortSignal;
  /** Brings the wallet to the block of an answer; true when blocks were taken in, so that the answer is too old. */
  readonly reach: (point: ChainPoint) => Promise<boolean>;
  /** Called with outputs that the wallet does not know, where they can be proven; `height` is that of the last answer. */
  readonly onUnproven?: ((utxos: readonly Utxo[], height: number) => void) | undefined;
  readonly onProgress?: ((done: number, total: number) => void) | undefined;
  readonly onPage: (utxos: readonly Utxo[]) => void;
}

/**
 * Refreshes addresses; gives the oldest block of the answers. Throws `mempool_unreachable` (node behind), `protocol_violation` (other chain).
 */
export async function refreshAddresses(
  link: Link,
  addresses: readonly string[],
  modules: UtxoPagesModules,
): Promise<ChainPoint | undefined> {
  const { onProgress } = modules;
  let oldest: ChainPoint | undefined;
  // An empty wallet asks too, to learn the block number.
  const parts = addresses.length === 0 ? [[]] : chunksOf(addresses);
  let done = 0;
  onProgress?.(done, addresses.length);
  for (const part of parts) {
    const point = await refreshPart(link, part, modules);
    if (oldest === undefined || point.height < oldest.height) oldest = point;
    done += part.length;
    onProgress?.(done, addresses.length);
  }
  return oldest;
}

async function refreshPart(link: Link, addresses: readonly string[], modules: UtxoPagesModules): Promise<ChainPoint> {
  const { wallet } = modules;
  for (let attempt = 0; attempt < MAX_ATTEMPTS; ) {
    const pages = new PageReader(link, addresses, modules);
    const first = await pages.read();
    const { block_num: height, hash, certificate } = first.page;
    const point = { height, hash, certificate };
    // A block number that nobody has signed must not make the wallet look for blocks.
    wallet.chain.checkPoint(point);
    // That the wallet had to wait for blocks is no failure of the node.
    if (await modules.reach(point)) continue;
    attempt += 1;
    const refresh = wallet.chain.beginRefresh(addresses, point, modules.onUnproven !== undefined);
    if (refresh === undefined) continue;
    let last = height;
    for (let next: PageOf | undefined = first; next; next = await pages.readNext(next.page)) {
      last = next.page.block_num;
      await refresh.add(next.utxos);
    }
    await refresh.finish();
    modules.onUnproven?.(refresh.unproven, last);
    return point;
  }
  throw new TesseraError(
    'mempool_unreachable',
    `the mempool node is behind block ${wallet.chain.height} of this wallet: it fetches what it lacks, or blocks are lost for good (tessera rebuild)`,
  );
}

interface PageOf {
  readonly page: Page;
  readonly utxos: readonly Utxo[];
}

class PageReader {
  readonly #link: Link;
  readonly #modules: UtxoPagesModules;
  #addresses: readonly string[];
  #outputs = 0;
  #restarts = 0;

  constructor(link: Link, addresses: readonly string[], modules: UtxoPagesModules) {
    this.#link = link;
    this.#addresses = addresses;
    this.#modules = modules;
  }

  async read(after?: MessageBody<'utxos.get'>['after']): Promise<PageOf> {
    const body = { addresses: [...this.#addresses], ...(after === undefined ? {} : { after }) };
    const answer = await this.#ask(body);
    if (answer.type !== 'utxos') {
      throw new TesseraError('protocol_violation', `${this.#link.address} answered utxos.get with ${answer.type}`);
    }
    const utxos = answer.attachment.length > MAX_PAGE_BYTES ? undefined : decodeUtxos(answer.attachment);
    if (utxos === undefined || utxos.length > MAX_PAGE_OUTPUTS) {
      throw new TesseraError('protocol_violation', `${this.#link.address} answered utxos.get with more than a page`);
    }
    this.#outputs += utxos.length;
    if (this.#outputs > MAX_OUTPUTS) {
      throw new TesseraError(
        'protocol_violation',
        `more than ${MAX_OUTPUTS} outputs at ${this.#addresses.length} addresses`,
      );
    }
    this.#modules.onPage(utxos);
    return { page: answer.body as Page, utxos };
  }

  async #ask(body: MessageBody<'utxos.get'>): Promise<Message> {
    const { clock, signal } = this.#modules;
    for (let pauses = 0; ; pauses++) {
      try {
        return await this.#link.request('utxos.get', body, { timeoutMs: REQUEST_TIMEOUT, signal });
      } catch (error) {
        if (!isTesseraError(error, 'overloaded') || pauses === MAX_PAUSES || signal.aborted) throw error;
        await new Promise<void>((resolve) => void clock.after(PAUSE, resolve));
      }
    }
  }

  async readNext({ next }: Page): Promise<PageOf | undefined> {
    if (next === undefined) return undefined;
    const at = this.#addresses.indexOf(next.address);
    if (at < 0 || (at === 0 && next.after === undefined)) {
      throw new TesseraError('protocol_violation', `${this.#link.address} continues where nothing was asked for`);
    }
    this.#addresses = this.#addresses.slice(at);
    try {
      return await this.read(next.after);
    } catch (error) {
      const isGone = next.after !== undefined && isTesseraError(error, 'invalid_request');
      this.#restarts += 1;
      if (!isGone || this.#restarts > MAX_ATTEMPTS) throw error;
      return this.read();
    }
  }
}

function chunksOf(list: readonly string[]): string[][] {
  const parts: string[][] = [];
  for (let i = 0; i < list.length; i += MAX_LIST) parts.push(list.slice(i, i + MAX_LIST));
  return parts;
}
