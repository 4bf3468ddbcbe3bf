/**
 * `npm run test:payments -- --payments N`: a wallet with one to three coins pays again and again, asked by clients that lose
 * answers and repeat with their `Idempotency-Key`, while its node, the node that is paid, the mempool and the storage node
 * are killed at random moments. At the end each intent is in exactly one block, and both histories, both balances and the
 * coins of the whole network say so (docs/wallet.md#paid-exactly-once, rules P1, P4).
 */

import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Chance } from '../../reliability/chance.js';
import { faultsOf } from './books.js';
import { Killer } from './killer.js';
import { type OpenIntent, Payer, pause } from './payer.js';
import { type Funding, Wallets } from './wallets.js';

const HELP = `npm run test:payments -- [options]
  --payments N        how many are meant (200)
  --coins N           of the wallet that pays: 1, 2 or 3 (by the seed)
  --clients N         how many ask at once (16); with 1, the payments are made in a row
  --rate N            payments begun in a second at most (5): slower means more kills for each payment
  --block-interval MS 0 makes a block as soon as there is a transaction (0)
  --kill-every MS     one kill in so many milliseconds on average (2500); 0 kills nobody
  --seed N            chooses all that is left to chance (from the clock)
  --out FILE          writes the figures as JSON
  --log FILE          writes the last lines of all nodes when something is wrong`;

/** Addresses that are paid; each many times. */
const ADDRESSES = 20;
/** Raw units of the first payment; each is 7 more than the one before, so that no two are the same. */
const FIRST_AMOUNT = 1_000_000n;
const STEP = 7n;
/** A run in which no payment is answered for so long is broken. */
const STALLED_MS = 180_000;
const SHOWN_FAULTS = 20;
const SHOWN_EVERY = 100;

const { values } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    payments: { type: 'string', default: '200' },
    coins: { type: 'string' },
    clients: { type: 'string', default: '16' },
    rate: { type: 'string', default: '5' },
    'block-interval': { type: 'string', default: '0' },
    'kill-every': { type: 'string', default: '2500' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    out: { type: 'string' },
    log: { type: 'string' },
  },
});
const say = (text: string): void => void process.stdout.write(`${text}\n`);

/** All payments are answered, with kills meanwhile; resolves with the number of kills by role. */
async function pay(payer: Payer, wallets: Wallets, chance: Chance): Promise<Readonly<Record<string, number>>> {
  const addresses = await Promise.all(Array.from({ length: ADDRESSES }, () => wallets.newAddress()));
  const count = Number(values.payments);
  const begun = performance.now();
  let next = 0;
  let isOver = false;
  const client = async (): Promise<void> => {
    for (let i = next++; i < count; i = next++) {
      await pause(begun + (i * 1_000) / Number(values.rate) - performance.now());
      const amount = FIRST_AMOUNT + BigInt(i) * STEP;
      const intent: OpenIntent = { key: randomUUID(), amount, address: chance.pick(addresses), answers: new Set() };
      await payer.fulfil(intent);
    }
  };
  const { storage, mempool, payer: own, payee } = wallets;
  const killEvery = Number(values['kill-every']);
  const killer = new Killer([own, own, own, mempool, mempool, mempool, storage, storage, payee], chance, killEvery);
  const killing = killEvery === 0 ? Promise.resolve() : killer.run(() => isOver);
  const watching = watch(payer, () => isOver);
  try {
    const paying = Promise.all(Array.from({ length: Number(values.clients) }, client));
    // A node that does not start again, and a stall, end the run at once.
    await Promise.race([paying, killing.then(() => paying), watching]);
  } finally {
    isOver = true;
  }
  await killing;
  return Object.fromEntries(killer.kills);
}

/** Throws when nothing goes on. */
async function watch(payer: Payer, isOver: () => boolean): Promise<void> {
  let done = payer.done;
  let since = performance.now();
  for (; !isOver(); await pause(1_000)) {
    if (payer.done === done && performance.now() - since > STALLED_MS) {
      throw new Error(`no payment was answered for ${STALLED_MS / 1_000} s`);
    }
    if (payer.done === done) continue;
    if (Math.floor(payer.done / SHOWN_EVERY) > Math.floor(done / SHOWN_EVERY)) say(`${payer.done} answered`);
    done = payer.done;
    since = performance.now();
  }
}

async function judge(wallets: Wallets, payer: Payer, funding: Funding): Promise<string[]> {
  const { intents } = payer;
  await wallets.settle(intents.reduce((sum, { amount }) => sum + amount, 0n));
  return [...payer.faults, ...faultsOf({ ...(await wallets.read()), intents, funding })];
}

async function run(folder: string): Promise<readonly string[]> {
  const chance = new Chance(Number(values.seed));
  const coins = Number(values.coins ?? 1 + chance.below(3));
  const blockInterval = Number(values['block-interval']);
  say(`seed ${values.seed}, ${values.payments} payments, ${coins} coins, a block in ${blockInterval} ms`);
  const begun = performance.now();
  const wallets = await Wallets.start(folder, { blockInterval });
  try {
    const funding = await wallets.fund(coins);
    const payer = new Payer(wallets.payer, chance);
    const kills = await pay(payer, wallets, chance);
    const faults = await judge(wallets, payer, funding);
    if (faults.length > 0 && values.log !== undefined) await writeFile(values.log, wallets.log());
    const { attempts, refusals } = payer;
    const seconds = Math.round((performance.now() - begun) / 1_000);
    const figures = {
      seed: Number(values.seed),
      coins,
      blockInterval,
      intents: payer.intents.length,
      attempts,
      kills,
      seconds,
    };
    say(JSON.stringify({ ...figures, refusals: Object.fromEntries(refusals) }));
    if (values.out !== undefined) await writeFile(values.out, JSON.stringify({ ...figures, faults }, null, 1));
    return faults;
  } catch (error) {
    if (values.log !== undefined) await writeFile(values.log, wallets.log());
    throw error;
  } finally {
    await wallets.end();
  }
}

async function main(): Promise<void> {
  if (values.help) return say(HELP);
  const folder = await mkdtemp(join(tmpdir(), 'tessera-payments-'));
  try {
    const faults = await run(folder);
    for (const fault of faults.slice(0, SHOWN_FAULTS)) say(`FAILED ${fault}`);
    say(faults.length === 0 ? 'each intent was paid exactly once' : `${faults.length} faults`);
    process.exitCode = faults.length === 0 ? 0 : 1;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

await main();
