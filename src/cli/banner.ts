/** The banner of `tessera dev`: the URLs of its network, its accounts, and three requests to try. */

import { DISPLAY_UNIT } from '../chain/constants.js';
import type { DevAccount, DevAccounts } from '../config/dev-accounts.js';
import { toHex } from '../lib/bytes.js';
import { stringifyExact } from '../lib/json.js';
import { NODE_ROLES, type NodeRole } from '../lib/roles.js';
import { showDisplay } from './wallet/amounts.js';

export interface BannerFacts {
  /** Address of the whole network; undefined when it has none. */
  readonly url?: string | undefined;
  readonly urls: Readonly<Record<NodeRole, string>>;
  readonly accounts: DevAccounts;
  /** The words that the keys of the accounts come from; null for the published keys. */
  readonly mnemonic: string | null;
  /** The folder of the chain; null when it is removed at the end. */
  readonly dataDir: string | null;
  /** File in which the chain is saved at the end. */
  readonly stateFile?: string | undefined;
  /** Milliseconds between blocks; undefined when blocks are made on demand. */
  readonly intervalMs: number | undefined;
  /** False when blocks are made only on request. */
  readonly automine?: boolean;
  /** Milliseconds from the start of the process until the network was ready. */
  readonly readyAfterMs: number;
}

const EXAMPLE_AMOUNT = DISPLAY_UNIT;

/** The three requests; each is one line that a shell takes as it is. */
export function exampleRequests({
  url,
  urls,
  accounts,
}: Pick<BannerFacts, 'url' | 'urls' | 'accounts'>): readonly string[] {
  const payee = (accounts.accounts[0] ?? accounts.miner).address;
  const payment = `{"kind":"address","address":"${payee}","amount":${EXAMPLE_AMOUNT},"passphrase":""}`;
  return [
    `curl -s '${url ?? urls.mempool}/v1/balances?address=${payee}'`,
    `curl -s ${url ?? urls.user}/v1/payments -H 'content-type: application/json' -d '${payment}'`,
    `curl -s ${url ?? urls.storage}/v1/blocks/latest`,
  ];
}

export function devBanner(facts: BannerFacts): string {
  const { url, urls, accounts, mnemonic, readyAfterMs } = facts;
  const [balance, payment, latest] = exampleRequests(facts);
  return [
    '',
    `Tessera dev network, ready after ${Math.round(readyAfterMs)} ms. NOT FOR PRODUCTION: everyone knows these keys.`,
    '',
    ...addressLines(url),
    ...NODE_ROLES.map((role) => `  ${role.padEnd(8)} ${urls[role]}`),
    '',
    `  ${whenMade(facts)}`,
    `  ${whereKept(facts)}`,
    '',
    ...accountLines(accounts, mnemonic),
    `Wallets of the nodes, each with ${funds(accounts.user)}, passphrase "":`,
    '',
    accountLine('user', accounts.user),
    accountLine('miner', accounts.miner),
    '',
    'Try, in another terminal (the balance of account 1, a payment to it, the latest block):',
    '',
    `  ${balance}`,
    `  ${payment}`,
    `  ${latest}`,
    '',
    'Ctrl-C stops.',
    '',
  ].join('\n');
}

function addressLines(url: string | undefined): readonly string[] {
  if (url === undefined) return [];
  return [
    `  Open ${url}`,
    '  It has every route of the nodes; /v1/docs describes them. Each node also has its own address:',
    '',
  ];
}

/** The facts as JSON for programs, on one line. `account` is what --dev-account and `dev:` take. */
export function devJson({ url, urls, accounts, mnemonic, dataDir, intervalMs, readyAfterMs }: BannerFacts): string {
  const view = (account: string, { address, keyPair, outputs, outputAmount }: DevAccount) => ({
    account,
    address,
    seed: toHex(keyPair.seed),
    tokens: outputAmount * BigInt(outputs.length),
  });
  const list = accounts.accounts.map((owner, index) => view(String(index + 1), owner));
  return `${stringifyExact({
    url: url ?? null,
    urls,
    accounts: [...list, view('user', accounts.user), view('miner', accounts.miner)],
    mnemonic,
    data_dir: dataDir,
    interval_ms: intervalMs ?? null,
    ready_after_ms: Math.round(readyAfterMs),
  })}\n`;
}

function whenMade({ intervalMs, automine = true }: BannerFacts): string {
  if (!automine) return 'Blocks are made only on request: tessera mine, or POST /v1/dev/blocks.';
  return intervalMs === undefined
    ? 'Blocks are made when transactions wait for one.'
    : `A block every ${intervalMs} ms.`;
}

function whereKept({ dataDir, stateFile }: BannerFacts): string {
  if (stateFile !== undefined) return `The chain is saved in ${stateFile} at the end.`;
  if (dataDir !== null) return `The chain is kept in ${dataDir}.`;
  return 'The chain is removed at the end; --data DIR keeps it.';
}

/** Lines of the accounts by number. `dev:1` names the first account only when the keys are the published ones. */
function accountLines({ accounts: [first, ...others] }: DevAccounts, mnemonic: string | null): readonly string[] {
  if (first === undefined) return [];
  const names = mnemonic === null ? '; dev:1 is the address of account 1' : '';
  return [
    `Accounts, each with ${funds(first)} in block 0 (address, then secret seed)${names}:`,
    ...(mnemonic === null ? [] : ['', `  ${mnemonic}`]),
    '',
    ...[first, ...others].map((owner, index) => accountLine(String(index + 1), owner)),
    '',
  ];
}

function funds({ outputAmount, outputs }: DevAccount): string {
  return `${showDisplay(outputAmount * BigInt(outputs.length))} display units`;
}

function accountLine(name: string, owner: DevAccount): string {
  return `  ${name.padStart(5)}  ${owner.address}  ${toHex(owner.keyPair.seed)}`;
}
