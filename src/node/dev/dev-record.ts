/**
 * The record of a dev chain, `dev-chain.json` in its folder: the accounts that it began with, and how far its clock is
 * ahead. A chain with default accounts and clock needs none.
 */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { MAX_TIME } from '../../api/routes/dev/service.js';
import { type Genesis, parseGenesis } from '../../chain/genesis.js';
import {
  DEV_ACCOUNT_COUNT,
  DEV_AMOUNT,
  DEV_GENESIS_TX,
  type DevAccount,
  type DevAccounts,
  type DevAccountsOptions,
  devAccounts,
  devGenesis,
  normalMnemonic,
} from '../../config/dev-accounts.js';
import { PACKAGE_CONFIG_DIR } from '../../config/option-table.js';
import { makeFolder, writeFileDurable } from '../../db/write-file-durable.js';
import { utf8 } from '../../lib/bytes.js';
import { TesseraError } from '../../lib/errors.js';
import { parseExactJson } from '../../lib/json.js';
import { readWhole } from '../../lib/read-bounded.js';
import { ifMissing } from '../../lib/system-error.js';
import { readGenesis } from '../genesis-file.js';
import { genesisFingerprint } from '../network-rules.js';
import type { CopiedChain, ForkPoint } from './fork.js';

const RECORD_FILE = 'dev-chain.json';
const GENESIS_FILE = 'genesis.json';
/** Files of a chain besides the folders of its nodes. */
export const CHAIN_FILES = [RECORD_FILE, GENESIS_FILE] as const;
const DEFAULT_GENESIS = join(PACKAGE_CONFIG_DIR, 'genesis-dev.json');
/** A folder that the chains of all versions have. */
const FIRST_NODE = 'storage';
const OWNER_ONLY = 0o600;
/** Milliseconds that the clock of a chain may differ from the machine's. */
export const MAX_AHEAD = MAX_TIME * 1_000;

const RecordFile = Type.Object(
  {
    format: Type.Literal(1),
    /** Words of the keys; null for the accounts whose keys are published. */
    mnemonic: Type.Union([Type.String(), Type.Null()]),
    accounts: Type.Integer({ minimum: 0 }),
    /** Raw units of each account, as digits. */
    balance: Type.String({ pattern: '^[0-9]{1,19}$' }),
    /** Milliseconds that the clock of the chain is ahead of the machine's; negative when it is behind. */
    clock_ahead_ms: Type.Integer(),
    /** Origin of a copied chain, and the last copied block. */
    fork: Type.Optional(Type.Object({ url: Type.String(), height: Type.Integer(), hash: Type.String() })),
  },
  { additionalProperties: false },
);
type RecordFile = Static<typeof RecordFile>;

const DEFAULT: RecordFile = {
  format: 1,
  mnemonic: null,
  accounts: DEV_ACCOUNT_COUNT,
  balance: String(DEV_AMOUNT),
  clock_ahead_ms: 0,
};

export class DevRecord {
  readonly accounts: DevAccounts;
  /** The genesis file; undefined for the default accounts. */
  readonly genesisFile: string | undefined;
  readonly #folder: string;
  #content: RecordFile;

  /** The record of the folder, or a new one. Throws `data_dir_invalid` for other accounts, `data_corrupt`. */
  static async open(folder: string, wanted: DevAccountsOptions = {}): Promise<DevRecord> {
    const found = await readRecord(folder);
    const fresh = recordOf(wanted);
    if (found?.fork !== undefined) return DevRecord.#ofFork(folder, found);
    if (found !== undefined) {
      const record = new DevRecord(folder, found);
      if (Object.values(wanted).some((value) => value !== undefined)) await record.#refuseOthers(fresh);
      return record;
    }
    const record = new DevRecord(folder, fresh);
    if (record.genesisFile !== undefined) {
      await makeFolder(folder);
      // The record comes last: a folder that has one is whole.
      await writeFileDurable(record.genesisFile, utf8(devGenesis(record.accounts)), OWNER_ONLY);
      await record.#write();
    }
    return record;
  }

  /** Writes the record of a chain that is copied into the folder. */
  static async ofCopy(folder: string, wanted: DevAccountsOptions, { point, genesisText }: CopiedChain): Promise<void> {
    const record = new DevRecord(folder, { ...recordOf(wanted), fork: { ...point } });
    await writeFileDurable(join(folder, GENESIS_FILE), utf8(genesisText), OWNER_ONLY);
    await record.#write();
  }

  /** Record of a fork. Its accounts own what block 0 of the copied chain gives them, which may be nothing. */
  static async #ofFork(folder: string, found: RecordFile): Promise<DevRecord> {
    if (!hasChain(folder)) {
      throw new TesseraError(
        'data_dir_invalid',
        `the copy of a chain in ${folder} was not finished: give --fork again`,
      );
    }
    const genesis = await readGenesis(join(folder, GENESIS_FILE));
    const { accounts, user, miner } = accountsOf(found);
    const [first, second, ...others] = [user, miner, ...accounts].map((owner) => asOwnedIn(genesis, owner));
    if (first === undefined || second === undefined) throw new Error('broken invariant: there are two wallets');
    return new DevRecord(folder, found, { accounts: others, user: first, miner: second });
  }

  private constructor(folder: string, content: RecordFile, accounts = accountsOf(content)) {
    const isDefault = hasSameAccounts(content, DEFAULT) && content.fork === undefined;
    this.#folder = folder;
    this.#content = content;
    this.accounts = accounts;
    this.genesisFile = isDefault ? undefined : join(folder, GENESIS_FILE);
  }

  /** Origin of a copied chain; undefined for one that began here. */
  get fork(): ForkPoint | undefined {
    return this.#content.fork;
  }

  /** The words of the accounts; null when their keys are the published ones. */
  get mnemonic(): string | null {
    return this.#content.mnemonic;
  }

  get clockAhead(): number {
    return this.#content.clock_ahead_ms;
  }

  async setClockAhead(ms: number): Promise<void> {
    if (ms === this.clockAhead) return;
    this.#content = { ...this.#content, clock_ahead_ms: ms };
    await makeFolder(this.#folder);
    await this.#write();
  }

  async #refuseOthers(wanted: RecordFile): Promise<void> {
    const other = genesisFingerprint(parseGenesis(parseExactJson(utf8(devGenesis(accountsOf(wanted))))));
    const own = genesisFingerprint(await readGenesis(this.genesisFile ?? DEFAULT_GENESIS));
    if (own === other) return;
    throw new TesseraError(
      'data_dir_invalid',
      `the chain in ${this.#folder} began with other accounts (network.genesis_file is ${own}, and these flags make ` +
        `${other}): leave out --mnemonic, --accounts and --balance, or choose another folder`,
    );
  }

  #write(): Promise<void> {
    const text = `${JSON.stringify(this.#content, null, 2)}\n`;
    return writeFileDurable(join(this.#folder, RECORD_FILE), utf8(text), OWNER_ONLY);
  }
}

function recordOf({ mnemonic, count, balance }: DevAccountsOptions): RecordFile {
  return {
    ...DEFAULT,
    ...(mnemonic === undefined ? {} : { mnemonic: normalMnemonic(mnemonic) }),
    ...(count === undefined ? {} : { accounts: count }),
    ...(balance === undefined ? {} : { balance: String(balance) }),
  };
}

function accountsOf({ mnemonic, accounts, balance }: RecordFile): DevAccounts {
  return devAccounts({ ...(mnemonic === null ? {} : { mnemonic }), count: accounts, balance: BigInt(balance) });
}

/** True for a folder in which there is a chain. */
export function hasChain(folder: string): boolean {
  return existsSync(join(folder, FIRST_NODE));
}

function asOwnedIn({ transactions }: Genesis, owner: DevAccount): DevAccount {
  const outputs = transactions.get(DEV_GENESIS_TX)?.outputs ?? [];
  const own = [...outputs.keys()].filter((n) => outputs[n]?.scriptPublicKey === owner.address);
  return { ...owner, outputs: own, outputAmount: outputs[own[0] ?? -1]?.value.amount ?? 0n };
}

function hasSameAccounts(a: RecordFile, b: RecordFile): boolean {
  return a.mnemonic === b.mnemonic && a.accounts === b.accounts && a.balance === b.balance;
}

async function readRecord(folder: string): Promise<RecordFile | undefined> {
  const file = join(folder, RECORD_FILE);
  const bytes = await readWhole(file).catch(ifMissing);
  if (bytes === undefined) return hasChain(folder) ? DEFAULT : undefined;
  let found: RecordFile;
  try {
    found = Value.Parse(RecordFile, JSON.parse(bytes.toString('utf8')));
  } catch (cause) {
    throw new TesseraError('data_corrupt', `${file} is damaged: put it back from a copy, or choose another folder`, {
      cause,
    });
  }
  if (Math.abs(found.clock_ahead_ms) <= MAX_AHEAD) return found;
  throw new TesseraError(
    'data_corrupt',
    `${file}: clock_ahead_ms is ${found.clock_ahead_ms}, and no clock goes beyond the year 9999: choose another folder`,
  );
}
