/**
 * The backup file of a wallet (docs/wallet.md#the-backup-file): words, the number of their keys in use, other keys, and labels, sealed
 * under the wallet's passphrase. A JSON document whose parameters are bound to its seal; a checksum tells damage from a wrong passphrase.
 */

import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { addressVersionOf } from '../chain/address.js';
import {
  DEFAULT_SCRYPT_COST,
  deriveKey,
  isScryptCost,
  SALT_LENGTH,
  type ScryptCost,
  ScryptParameters,
  scryptParameters,
} from '../crypto/scrypt.js';
import { open, seal } from '../crypto/sealed-box.js';
import { sha3Hex } from '../crypto/sha3.js';
import { fromHex, fromUtf8, toHex, utf8 } from '../lib/bytes.js';
import { TesseraError } from '../lib/errors.js';
import type { Random } from '../lib/random.js';
import { ACCOUNTS, type Account, type KeyPlace } from './keys/derived-keys.js';
import { isEntropy, type WalletWords } from './keys/words.js';
import { type KeyPairRecord, LABEL_KINDS, type Label } from './service.js';

const FORMAT = 1;
const KIND = 'tessera-wallet-backup';
/** The most characters of the file: some hundred thousand imported keys. */
const MAX_LENGTH = 256 * 1024 * 1024;

const Hex = Type.String({ pattern: '^([0-9a-f]{2})+$' });
const BackupFile = Type.Object({
  kind: Type.Literal(KIND),
  format: Type.Literal(FORMAT),
  network: Type.String({ maxLength: 256 }),
  created_at: Type.String({ maxLength: 32 }),
  kdf: ScryptParameters,
  content: Hex,
  checksum: Hex,
});
type BackupFile = Static<typeof BackupFile>;

const Content = Type.Object({
  words: Type.Object({ entropy: Hex, extra_word: Type.String({ maxLength: 1_024 }) }),
  /** Number of addresses handed out in each account; absent in files of earlier versions. */
  handed_out: Type.Optional(
    Type.Partial(
      Type.Record(Type.Union(ACCOUNTS.map((account) => Type.Literal(account))), Type.Integer({ minimum: 0 })),
    ),
  ),
  keys: Type.Record(
    Type.String(),
    Type.Object({ public_key: Hex, secret_key: Hex, address_version: Type.Union([Type.Number(), Type.Null()]) }),
  ),
  labels: Type.Array(
    Type.Object({
      kind: Type.Union(LABEL_KINDS.map((kind) => Type.Literal(kind))),
      name: Type.String(),
      label: Type.String(),
    }),
  ),
});

export interface WalletBackup {
  readonly words: WalletWords;
  /** The last place handed out in each account, if any. */
  readonly handedOut: readonly KeyPlace[];
  /** Keys that the words do not cover, by address. */
  readonly keys: ReadonlyMap<string, KeyPairRecord>;
  readonly labels: readonly Label[];
}

interface BackupOptions {
  readonly network: string;
  readonly passphrase: string;
  /** Time of the backup, in milliseconds since the Unix epoch. */
  readonly now: number;
  readonly scryptCost?: ScryptCost | undefined;
}

export async function sealBackup(backup: WalletBackup, options: BackupOptions, random: Random): Promise<string> {
  const salt = random.bytes(SALT_LENGTH);
  const kdf = scryptParameters(options.scryptCost ?? DEFAULT_SCRYPT_COST, salt);
  const created = new Date(options.now).toISOString();
  const head = { kind: KIND, format: FORMAT, network: options.network, created_at: created, kdf } as const;
  const key = await deriveKey(options.passphrase, salt, kdf);
  const content = contentOf(backup);
  const file = { ...head, content: toHex(seal(key, content, contextOf(head), random)) };
  key.fill(0);
  content.fill(0);
  return `${JSON.stringify({ ...file, checksum: checksumOf(file) }, null, 2)}\n`;
}

/** Opens a backup. Throws `wallet_unreadable` for a file that is damaged, too new or of another network, else `wrong_passphrase`. */
export async function openBackup(text: string, passphrase: string, network: string): Promise<WalletBackup> {
  const file = parseFile(text);
  if (file.network !== network) {
    throw unreadable(`it is of a wallet in the network ${file.network}, and this one is ${network}`);
  }
  const key = await deriveKey(passphrase, fromHex(file.kdf.salt), file.kdf);
  const content = open(key, fromHex(file.content), contextOf(file));
  key.fill(0);
  if (content === undefined) throw new TesseraError('wrong_passphrase', 'the passphrase of the backup file is wrong');
  try {
    return readContent(content);
  } finally {
    content.fill(0);
  }
}

function parseFile(text: string): BackupFile {
  const file = parseJson(text.length > MAX_LENGTH ? '' : text);
  const { kind, format } = (file ?? {}) as { readonly kind?: unknown; readonly format?: unknown };
  if (kind !== KIND) throw unreadable('it is no backup file of a wallet');
  if (format !== FORMAT)
    throw unreadable(`it has format ${String(format).slice(0, 20)}, and this program reads ${FORMAT}`);
  if (!Value.Check(BackupFile, file)) throw unreadable('it is cut off or was changed');
  if (file.checksum !== checksumOf(file)) throw unreadable('its checksum does not match: it was changed');
  if (!isScryptCost(file.kdf)) throw unreadable('its scrypt parameters are out of bounds');
  return file;
}

function contentOf({ words, handedOut, keys, labels }: WalletBackup): Uint8Array {
  const pairs = [...keys].map(([address, { publicKey, secretKey, addressVersion }]) => [
    address,
    { public_key: toHex(publicKey), secret_key: toHex(secretKey), address_version: addressVersion },
  ]);
  const sealed = { entropy: toHex(words.entropy), extra_word: words.extraWord };
  const counts = Object.fromEntries(handedOut.map(({ account, index }) => [account, index + 1]));
  return utf8(JSON.stringify({ words: sealed, handed_out: counts, keys: Object.fromEntries(pairs), labels }));
}

function readContent(bytes: Uint8Array): WalletBackup {
  const content = parseJson(fromUtf8(bytes));
  if (!Value.Check(Content, content)) throw unreadable('its content has another form');
  const entropy = fromHex(content.words.entropy);
  if (!isEntropy(entropy)) throw unreadable('its words cannot be read');
  const keys = Object.entries(content.keys).map(
    ([address, pair]) =>
      [
        address,
        {
          publicKey: fromHex(pair.public_key),
          secretKey: fromHex(pair.secret_key),
          addressVersion: addressVersionOf(pair.address_version),
        },
      ] as const,
  );
  const labels = content.labels as readonly Label[];
  const counts: Partial<Record<Account, number>> = content.handed_out ?? {};
  const handedOut = ACCOUNTS.flatMap((account) => (counts[account] ? [{ account, index: counts[account] - 1 }] : []));
  return { words: { entropy, extraWord: content.words.extra_word }, handedOut, keys: new Map(keys), labels };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Text that is bound to the seal: nobody can make the parameters cheaper, or pass the file off as one of another network or time. */
function contextOf({ kind, format, network, created_at, kdf }: Omit<BackupFile, 'content' | 'checksum'>): string {
  return `${kind}:${format}:${kdf.name}:${kdf.n}:${kdf.r}:${kdf.p}:${kdf.salt}:${created_at}:${network}`;
}

function checksumOf(file: Omit<BackupFile, 'checksum'>): string {
  return sha3Hex(`${contextOf(file)}:${file.content}`);
}

function unreadable(why: string): TesseraError {
  return new TesseraError('wallet_unreadable', `the backup file cannot be used: ${why}`);
}
