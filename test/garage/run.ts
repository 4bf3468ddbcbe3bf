/**
 * `npm run test:garage`: four nodes whose storage keeps its closed segments in three nodes of Garage, of which one or two are killed under load. What
 * was acknowledged is in exactly one block, blocks go on, old ones are read or refused by name, uploads are repeated, and a second storage node
 * begins from the bucket (docs/reliability.md).
 */

import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { transactionToCreateJson } from '../../src/chain/create-transaction.js';
import { transactionHash } from '../../src/chain/hash.js';
import { NodeClient } from '../../src/client/client.js';
import { DEV_GENESIS_TX, type DevAccount, devAccounts } from '../../src/config/dev-accounts.js';
import { errorMessage } from '../../src/lib/errors.js';
import { ChainRecord, readChain } from '../reliability/chain-record.js';
import { payment } from '../soak/writers.js';
import { createNetwork, MAIN, type Network, type NodeProcess, type Nodes, until } from '../support/processes.js';
import { findGarage, GarageCluster } from './garage.js';

const HELP = `npm run test:garage -- [options]
  --rounds N   how often each of the faults comes (2)

It needs the program garage: cargo install garage --version 2.5.0, and its folder in PATH, or GARAGE_PATH.`;
/** Outputs of a payment: some ten payments fill a segment. */
const OUTPUTS = 150;
const SEGMENT_BYTES = 65_536;
/** ms between two payments of one account. */
const PAUSE = 2_000;
/** Blocks, and uploads, that must follow while a node is away. */
const MORE = 5;
/** ms for what waits for time limits of Garage on a busy machine. */
const PATIENCE = 300_000;

const { values } = parseArgs({
  options: { help: { type: 'boolean', default: false }, rounds: { type: 'string', default: '2' } },
});
const say = (text: string): void => void process.stdout.write(`${text}\n`);

class Campaign {
  readonly #garage: GarageCluster;
  readonly #network: Network;
  readonly #nodes: Nodes;
  readonly #record = new ChainRecord();
  readonly #acknowledged: string[] = [];
  /** Far segments that were read before, and may be in memory. */
  readonly #read = new Set<string>();
  #paying: Promise<void>[] = [];
  #isPaying = false;
  #passed = 0;
  #failed = 0;

  private constructor(garage: GarageCluster, network: Network, nodes: Nodes) {
    this.#garage = garage;
    this.#network = network;
    this.#nodes = nodes;
  }

  static async start(program: string): Promise<Campaign> {
    const garage = await GarageCluster.start(program);
    const environment = () => ({ TESSERA_STORAGE__SEGMENTS__SECRET_KEY: garage.secretKey });
    const network = await createNetwork({ environment });
    return new Campaign(garage, network, await network.addAll({}, { storage: optionsAt(garage, 0) }));
  }

  async run(rounds: number): Promise<boolean> {
    this.#pay();
    await this.#case('segments are uploaded', () => this.#moreUploads());
    for (let round = 1; round <= rounds; round++) {
      // Afterwards storage has nothing in memory of what it has read.
      await this.#case(`${round}: kill -9 of storage and of a node`, () => this.#bothKilled());
      this.#read.clear();
      await this.#case(`${round}: one node killed, not the one that is asked`, () => this.#anotherKilled());
      await this.#case(`${round}: the node that is asked killed`, () => this.#askedKilled());
      await this.#case(`${round}: two of three nodes killed`, () => this.#twoKilled());
      await this.#case(`${round}: a new storage node, and a node killed`, () => this.#newNode(round));
    }
    await this.#case('nothing is lost', () => this.#judge());
    await this.#case('tessera verify --store, by each node', () => this.#verifyStore());
    const blocks = `${this.#record.next} blocks, ${(await this.#uploaded()).length} segments uploaded`;
    say(`${this.#acknowledged.length} transactions acknowledged, ${blocks}`);
    say(`${this.#passed} passed, ${this.#failed} failed`);
    return this.#failed === 0;
  }

  async dispose(): Promise<void> {
    await this.#stopPaying();
    await this.#network.stopAll();
    await this.#garage.dispose();
  }

  async #case(name: string, work: () => Promise<string>): Promise<void> {
    const begun = performance.now();
    const [result, detail] = await work().then(
      (text) => ['passed', text] as const,
      (error: unknown) =>
        ['FAILED', `${errorMessage(error)} ${error instanceof Error ? (error.cause ?? '') : ''}`] as const,
    );
    if (result === 'passed') this.#passed++;
    else this.#failed++;
    say(`${name.padEnd(58)} ${result}  ${((performance.now() - begun) / 1_000).toFixed(1).padStart(6)} s  ${detail}`);
  }

  /** One node less: nothing is refused, blocks and uploads go on. */
  async #anotherKilled(): Promise<string> {
    await this.#garage.killNode(2);
    const more = await this.#moreUploads();
    await this.#readOld(200);
    await this.#moreBlocks();
    await this.#garage.startNode(2);
    return `${more} meanwhile`;
  }

  /** Without the node that is asked: blocks go on, old ones are refused by name, uploads come when it is back. */
  async #askedKilled(): Promise<string> {
    return this.#without([0], async () => {
      const blocks = await this.#moreBlocks();
      const code = await this.#readOld(503);
      await this.#status('degraded');
      return `old blocks ${code}, ${blocks} new ones meanwhile`;
    });
  }

  /** Without a quorum: blocks go on, and old ones are right or refused by name. */
  async #twoKilled(): Promise<string> {
    return this.#without([1, 2], async () => {
      const blocks = await this.#moreBlocks();
      return `old blocks ${await this.#readOld(200, 503)}, ${blocks} new ones meanwhile`;
    });
  }

  /** Kills nodes, and starts them again after the work; all is well then. */
  async #without(nodes: readonly number[], work: () => Promise<string>): Promise<string> {
    for (const node of nodes) await this.#garage.killNode(node);
    try {
      return await work();
    } finally {
      for (const node of nodes) await this.#garage.startNode(node);
      await this.#status('ok');
      await this.#moreUploads();
      await this.#readOld(200);
    }
  }

  async #bothKilled(): Promise<string> {
    await Promise.all([this.#garage.killNode(1), this.#nodes.storage.kill()]);
    await this.#nodes.storage.start();
    const more = await this.#moreUploads();
    await this.#readOld(200);
    await this.#garage.startNode(1);
    return more;
  }

  /** It has no other node to ask: all its blocks come from the bucket. */
  async #newNode(round: number): Promise<string> {
    const last = (await this.#uploaded()).at(-1) ?? '';
    const height = Number(last.slice(11, 21));
    const fresh = this.#network.make(`fresh-${round}`, 'storage', optionsAt(this.#garage, 1));
    const starting = fresh.start();
    await this.#garage.killNode(2);
    await starting;
    await this.#moreBlocks();
    await until(
      'the blocks of the bucket',
      async () => ((await ask(fresh, `/v1/blocks/${height}`)).status === 200 ? true : undefined),
      PATIENCE,
    );
    await this.#garage.startNode(2);
    for (let at = 0; at <= height; at++) {
      const [one, other] = await Promise.all([fresh, this.#nodes.storage].map((node) => ask(node, `/v1/blocks/${at}`)));
      if (one?.text !== other?.text) throw new Error(`block ${at} of the new node is another one`);
    }
    await fresh.stop();
    // What is there now must not change.
    throwIfAny(await readChain(this.#record, this.#storage));
    return `blocks 0 to ${height}, equal to those of the first`;
  }

  async #judge(): Promise<string> {
    await this.#stopPaying();
    const api = this.#storage;
    await until(
      'everything acknowledged in blocks',
      async () => {
        const faults = await readChain(this.#record, api);
        throwIfAny(faults);
        return this.#record.missing(this.#acknowledged).length === 0 ? true : undefined;
      },
      PATIENCE,
    );
    const faults = await readChain(this.#record, api, true);
    throwIfAny(faults);
    await until('all uploads', async () => ((await this.#waiting()) === 0 ? true : undefined), PATIENCE);
    return 'every block read again, unchanged, and each transaction in one of them';
  }

  async #verifyStore(): Promise<string> {
    const said: string[] = [];
    for (const node of [0, 1, 2]) {
      const sets = Object.entries(optionsAt(this.#garage, node)).flatMap(([name, value]) => [
        '--set',
        `${name}=${value}`,
      ]);
      const env = { ...process.env, TESSERA_STORAGE__SEGMENTS__SECRET_KEY: this.#garage.secretKey };
      const words = [MAIN, 'verify', '--store', '--role', 'storage', '--config', 'config/dev.toml', ...sets];
      said.push((await promisify(execFile)(process.execPath, words, { env })).stdout.trim());
    }
    const [first = ''] = said;
    if (said.some((text) => text !== first)) throw new Error(said.join('; '));
    return first;
  }

  /** Each account pays itself, from the rest of its last payment. */
  #pay(): void {
    this.#isPaying = true;
    const api = new NodeClient({ url: this.#nodes.mempool.apiUrl });
    const pay = async (owner: DevAccount): Promise<void> => {
      let coin = { from: { tHash: DEV_GENESIS_TX, n: owner.outputs[0] ?? 0 }, amount: owner.outputAmount };
      while (this.#isPaying) {
        const rest = coin.amount - BigInt(OUTPUTS);
        const small = Array.from({ length: OUTPUTS }, () => ({ to: owner.address, amount: 1n }));
        const transaction = payment(owner, coin.from, [{ to: owner.address, amount: rest }, ...small]);
        const body = { transactions: [transactionToCreateJson(transaction)] };
        const isTaken = await api.api.createTransactions({ body }).then(
          () => true,
          () => false,
        );
        if (isTaken) {
          const tHash = transactionHash(transaction);
          this.#acknowledged.push(tHash);
          coin = { from: { tHash, n: 0 }, amount: rest };
        }
        await new Promise((resolve) => setTimeout(resolve, PAUSE));
      }
    };
    this.#paying = devAccounts().accounts.map(pay);
  }

  async #stopPaying(): Promise<void> {
    this.#isPaying = false;
    await Promise.all(this.#paying);
  }

  /** Resolves with the number of new blocks, when there are some. */
  async #moreBlocks(): Promise<number> {
    const from = await this.#height();
    const look = async () => ((await this.#height()) >= from + MORE ? true : undefined);
    await until('more blocks', look, PATIENCE);
    return (await this.#height()) - from;
  }

  /** Of the latest block, which storage must give whatever the store does. */
  async #height(): Promise<number> {
    const { block } = await this.#storage.api.getLatestBlock();
    return Number(block.block.header.b_num);
  }

  get #storage(): NodeClient {
    return new NodeClient({ url: this.#nodes.storage.apiUrl });
  }

  async #moreUploads(): Promise<string> {
    const before = (await this.#uploaded()).length;
    const look = async () => ((await this.#uploaded()).length >= before + MORE ? true : undefined);
    await until('uploads', look, PATIENCE);
    return `${(await this.#uploaded()).length - before} uploads`;
  }

  /** Asks for a block that only the store has, and that was not read before; resolves with status and code. */
  async #readOld(...allowed: readonly number[]): Promise<string> {
    const name = (await this.#far()).find((one) => !this.#read.has(one));
    if (name === undefined) throw new Error('no segment is in the store alone');
    this.#read.add(name);
    const { status, text } = await until(`an old block with ${allowed.join(' or ')}`, async () => {
      const answer = await ask(this.#nodes.storage, `/v1/blocks/${Number(name.slice(0, 10))}`);
      if (!allowed.includes(answer.status)) throw new Error(`${answer.status} ${answer.text.slice(0, 200)}`);
      return answer;
    });
    const { code } = JSON.parse(text) as { code?: string };
    if (status === 503 && code !== 'archive_incomplete') throw new Error(text);
    return `${status} ${code ?? ''}`;
  }

  async #status(wanted: string): Promise<void> {
    await until(
      `the status ${wanted}`,
      async () => {
        const { status, text } = await ask(this.#nodes.storage, '/readyz');
        if (status !== 200) throw new Error(text);
        return (JSON.parse(text) as { status: string }).status === wanted ? true : undefined;
      },
      PATIENCE,
    );
  }

  async #names(): Promise<string[]> {
    return (await readdir(join(this.#nodes.storage.folder, 'segments'))).sort();
  }

  /** Names of closed segments that the store has. */
  async #uploaded(): Promise<string[]> {
    return (await this.#names()).filter((name) => name.endsWith('.stored'));
  }

  async #far(): Promise<string[]> {
    const names = await this.#names();
    return names.filter((name) => name.endsWith('.stored') && !names.includes(name.replace('.stored', '.blocks')));
  }

  /** Number of closed segments that the store does not have yet. */
  async #waiting(): Promise<number> {
    const names = await this.#names();
    const isClosed = (name: string): boolean => name.endsWith('.blocks') && name.includes('-');
    return names.filter((name) => isClosed(name) && !names.includes(name.replace('.blocks', '.stored'))).length;
  }
}

function throwIfAny(faults: readonly string[]): void {
  if (faults.length > 0) throw new Error(faults.join('; '));
}

function optionsAt(garage: GarageCluster, node: number): Readonly<Record<string, unknown>> {
  return {
    ...garage.options(node),
    'storage.segment_bytes': SEGMENT_BYTES,
    'storage.segments.local_bytes': 0,
    'storage.segments.cache_bytes': 0,
    'storage.cache_bytes': 0,
  };
}

async function ask({ apiUrl }: NodeProcess, path: string): Promise<{ readonly status: number; readonly text: string }> {
  const response = await fetch(`${apiUrl}${path}`);
  return { status: response.status, text: await response.text() };
}

async function main(): Promise<void> {
  const program = findGarage();
  if (values.help || program === undefined) {
    process.exitCode = values.help ? 0 : 1;
    return say(values.help ? HELP : `garage is not installed: nothing was run\n\n${HELP}`);
  }
  const campaign = await Campaign.start(program);
  try {
    process.exitCode = (await campaign.run(Number(values.rounds))) ? 0 : 1;
  } finally {
    await campaign.dispose();
  }
}

await main();
