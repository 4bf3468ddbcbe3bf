/**
 * `--fork URL`: a dev chain that begins as a copy of another one. Its blocks are read over a storage node's API,
 * checked, and stored, certified by the published producer of dev networks. Other nodes take them from storage.
 */

import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { encodeTransaction } from '../../chain/codec.js';
import { type Genesis, parseGenesis } from '../../chain/genesis.js';
import { blockHash } from '../../chain/hash.js';
import type { FullBlock } from '../../chain/types.js';
import { type DevAccounts, devProducer } from '../../config/dev-accounts.js';
import type { Config } from '../../config/schema.js';
import { encodePkcs8 } from '../../crypto/ed25519.js';
import { DataDir } from '../../db/data-dir.js';
import { Verifier } from '../../ledger/verifier/verifier.js';
import { equalBytes, toHex, utf8 } from '../../lib/bytes.js';
import { errorMessage, isTesseraError, TesseraError } from '../../lib/errors.js';
import { parseExactJson, prettyExact } from '../../lib/json.js';
import { Archive } from '../../storage/archive/archive.js';
import { openArchiveFiles, segmentsOf } from '../archive-files.js';
import { httpAnswers } from '../import/http-answers.js';
import { ChainSource } from '../import/source.js';
import { producersOf, signerOf } from '../producers.js';
import { impersonable } from './impersonation.js';

const UNFINISHED = 'fork.part';

export interface ForkOptions {
  /** Base URL of the API that is copied: of a storage node, or of a whole network at one address. */
  readonly url: string;
  /** The folder of the network, in which there is no chain yet. */
  readonly folder: string;
  /** Configurations of the nodes of the network; their genesis file does not matter. */
  readonly storage: Config;
  readonly mempool: Config;
  /** Accounts whose keys the wallets of the nodes take, where they own something in block 0. */
  readonly accounts: DevAccounts;
  /** True for a network that takes inputs without signatures, which a chain with impersonation has. */
  readonly impersonates: boolean;
  readonly signal: AbortSignal;
  readonly onProgress: (done: number, total: number) => void;
}

export interface CopiedChain {
  readonly point: ForkPoint;
  readonly genesis: Genesis;
  /** The text of the genesis file that makes the copied block 0. */
  readonly genesisText: string;
  /** Moves the copy to the place of the storage node. */
  finish(): Promise<void>;
}

/** The last block that was copied. */
export interface ForkPoint {
  readonly url: string;
  readonly height: number;
  readonly hash: string;
}

/** Copies the chain; an interrupted copy begins anew. Throws the node's errors, and `invalid_request`. */
export async function copyChain(options: ForkOptions): Promise<CopiedChain> {
  const { url, folder, accounts } = options;
  const { signal } = options;
  const source = new ChainSource(await httpAnswers(url, { signal }), { signal });
  const point = { url, ...(await source.latest()) };
  const [first] = await source.blocks(0, 0);
  if (first === undefined) throw new TesseraError('no_blocks', `${url} has no block 0`);
  const text = genesisOf(first, accounts);
  const parsed = parseGenesis(parseExactJson(utf8(text)));
  const genesis = options.impersonates ? impersonable(parsed) : parsed;
  assertSame(first, genesis, url);
  const part = join(folder, UNFINISHED);
  await rm(part, { recursive: true, force: true });
  await storeAll(source, point, { ...options, genesis, part });
  const finish = () => rename(part, options.storage.node.dataDir);
  return { point, genesis, genesisText: text, finish };
}

interface Storing extends ForkOptions {
  readonly genesis: Genesis;
  readonly part: string;
}

async function storeAll(source: ChainSource, point: ForkPoint, options: Storing): Promise<void> {
  const { storage, mempool, genesis, part, onProgress } = options;
  const producers = producersOf(storage, genesis);
  const signer = signerOf(mempool, genesis, devProducer());
  const directory = await DataDir.open(part, { role: 'storage', networkName: storage.network.name });
  const scripts = new Verifier({ threads: 0 });
  try {
    const rules = { genesis, producers, activationHeight: storage.mining.asertActivationHeight };
    const archive = await Archive.open(
      { rules, cacheBytes: storage.storage.cacheBytes },
      { ...(await openArchiveFiles(directory, await segmentsOf(directory, storage))), scripts },
    );
    while (archive.nextHeight <= point.height) {
      for (const full of await source.blocks(archive.nextHeight, point.height)) {
        const place = { height: archive.nextHeight, hash: blockHash(full.block.header) };
        await archive.store(full, signer?.block(place)).catch((error: unknown) => {
          throw isTesseraError(error, 'block_refused') ? notHere(point.url, error) : error;
        });
      }
      onProgress(archive.nextHeight, point.height + 1);
    }
  } finally {
    await scripts.close();
    await directory.close();
  }
}

/** The text of a genesis file that makes these transactions, with the keys of the wallets that own some of their outputs. */
function genesisOf({ block, transactions }: FullBlock, { user, miner }: DevAccounts): string {
  const named = transactions.map((tx, i) => [block.transactions[i] ?? '', tx] as const);
  const [entry] = transactions[0]?.inputs[0]?.script ?? [];
  const seedsOf = ({ address, keyPair }: DevAccounts['user']) =>
    named.flatMap(([name, { outputs }]) =>
      outputs.flatMap(({ scriptPublicKey, value }, n) =>
        scriptPublicKey === address
          ? {
              out_point: `${n}-${name}`,
              secret_key: toHex(encodePkcs8(keyPair)),
              public_key: toHex(keyPair.publicKey),
              amount: value.amount,
              address_version: null,
            }
          : [],
      ),
    );
  return prettyExact({
    mempool_seed_utxo: Object.fromEntries(
      named.map(([name, { outputs }]) => [
        name,
        outputs.map(({ value, locktime, scriptPublicKey }) => ({
          address: scriptPublicKey ?? '',
          amount: value.amount,
          locktime,
        })),
      ]),
    ),
    ...(entry?.kind === 'bytes' ? { mempool_genesis_tx_in: entry.text } : {}),
    user_wallet_seeds: [user, miner].map(seedsOf),
  });
}

function assertSame({ block, transactions }: FullBlock, genesis: Genesis, url: string): void {
  for (const [i, tx] of transactions.entries()) {
    const made = genesis.transactions.get(block.transactions[i] ?? '');
    if (made === undefined || !equalBytes(encodeTransaction(made), encodeTransaction(tx))) {
      throw notHere(url, `block 0 has a transaction (${block.transactions[i]}) that no genesis file makes`);
    }
  }
}

function notHere(url: string, cause: unknown): TesseraError {
  const reason = typeof cause === 'string' ? cause : errorMessage(cause);
  return new TesseraError(
    'invalid_request',
    `the chain of ${url} cannot be continued by the rules of a dev network: ${reason}`,
  );
}
