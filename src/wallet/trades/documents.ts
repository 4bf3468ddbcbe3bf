/**
 * What two wallets send each other to trade (docs/wallet.md#trades): an offer, its acceptance, and the confirmation of that.
 * Each is a JSON object, as a file or in a message over a link. It is signed with the key of the address at which its maker
 * wants to be paid, so that a document that was changed on its way is told from a true one. None holds a signature of a
 * transaction: the DRUID of a half is not signed, and whoever had the half could make a payment of it
 * (docs/adr/0026-trades.md).
 */

import { type Static, type TSchema, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { addressOf } from '../../chain/address.js';
import type { SigningKey } from '../../chain/builders.js';
import { decodeTransaction, encodeTransaction } from '../../chain/codec.js';
import { transactionHash } from '../../chain/hash.js';
import type { Transaction } from '../../chain/types.js';
import { sign, verifySignature } from '../../crypto/ed25519.js';
import { sha3Hex } from '../../crypto/sha3.js';
import { fromHex, toHex } from '../../lib/bytes.js';
import { TesseraError } from '../../lib/errors.js';

const hexOf = (bytes: number) => Type.String({ pattern: `^[0-9a-f]{${bytes * 2}}$` });
/** Digits: JSON numbers end at 2^53. */
const Amount = Type.String({ pattern: '^[1-9][0-9]{0,18}$' });
const Text = (maxLength: number) => Type.String({ maxLength });

const TradedAsset = Type.Union([
  Type.Object({ kind: Type.Literal('token'), amount: Amount }),
  Type.Object({
    kind: Type.Literal('item'),
    amount: Amount,
    genesis_hash: Type.String({ pattern: '^[\\x21-\\x7e]{1,128}$' }),
  }),
]);
/** Tokens in raw units, or items. */
export type TradedAsset = Static<typeof TradedAsset>;

const SIGNED = { public_key: hexOf(32), signature: hexOf(64) };

const Offer = Type.Object({
  kind: Type.Literal('tessera-trade-offer'),
  format: Type.Literal(1),
  network: Text(64),
  give: TradedAsset,
  want: TradedAsset,
  /** Where the maker wants to be paid. */
  to: hexOf(32),
  /** Unix seconds. */
  expires_at: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
  /** `host:port` of the maker's node, when it takes acceptances over a link. */
  peer: Type.Union([Text(256), Type.Null()]),
  /** What created the items that are given, in hex: it proves their metadata. */
  creation: Type.Union([Type.String({ pattern: '^([0-9a-f]{2}){1,4096}$' }), Type.Null()]),
  /** No two offers are the same. */
  nonce: hexOf(16),
  ...SIGNED,
});
export type Offer = Static<typeof Offer>;

const Acceptance = Type.Object({
  kind: Type.Literal('tessera-trade-acceptance'),
  format: Type.Literal(1),
  /** `offerId` of the offer. */
  offer: hexOf(32),
  /** Where the taker wants to be paid. */
  to: hexOf(32),
  /** Name of the taker's half: `txInsAddress` of its inputs. */
  from: hexOf(32),
  ...SIGNED,
});
export type Acceptance = Static<typeof Acceptance>;

const Confirmation = Type.Object({
  kind: Type.Literal('tessera-trade-confirmation'),
  format: Type.Literal(1),
  offer: hexOf(32),
  /** `digestOf` of the acceptance. */
  acceptance: hexOf(32),
  /** Name of the maker's half. */
  from: hexOf(32),
  ...SIGNED,
});
export type Confirmation = Static<typeof Confirmation>;

export type TradeDocument = Offer | Acceptance | Confirmation;

const SCHEMAS: readonly TSchema[] = [Offer, Acceptance, Confirmation];

/** Without `public_key` and `signature`. */
type Unsigned<D extends TradeDocument> = Omit<D, 'public_key' | 'signature'>;

/** Signs with the key of the address at which its maker wants to be paid. */
export function signDocument<D extends TradeDocument>(content: Unsigned<D>, { publicKey, seed }: SigningKey): D {
  const unsigned = { ...content, public_key: toHex(publicKey) };
  const signature = toHex(sign(seed, signedText(unsigned as Omit<D, 'signature'>)));
  return { ...unsigned, signature } as unknown as D;
}

/**
 * The document in a value that came from outside, with its own members only. Throws `trade_refused` for what has not the form
 * of one, and for an offer or acceptance that was changed after it was signed.
 */
export function readDocument(value: unknown): TradeDocument {
  const kind = typeof value === 'object' && value !== null && 'kind' in value ? value.kind : undefined;
  const schema = SCHEMAS.find(({ properties }) => properties.kind.const === kind);
  if (schema === undefined) throw refused('this is no offer, acceptance or confirmation of a trade');
  if (!Value.Check(schema, value)) {
    const [fault] = Value.Errors(schema, value);
    throw refused(`this ${wordOf(String(kind))} has not the form of one: ${fault?.path.slice(1) || 'it'} is wrong`);
  }
  const document = Value.Clean(schema, structuredClone(value)) as TradeDocument;
  if (document.kind !== 'tessera-trade-confirmation') checkSignature(document, document.to);
  return document;
}

/** Throws `trade_refused` unless whoever has the key of the address has signed the document as it is. */
export function checkSignature(document: TradeDocument, address: string): void {
  const { signature, ...unsigned } = document;
  const publicKey = fromHex(document.public_key);
  if (addressOf(publicKey) === address && verifySignature(publicKey, signedText(unsigned), fromHex(signature))) return;
  throw refused(`this ${wordOf(document.kind)} is not as it was signed: it was changed, or is of another trade`);
}

/** The same for the same content, whatever the order and spacing of its JSON was. */
export function digestOf(document: TradeDocument): string {
  const { signature: _, ...unsigned } = document;
  return sha3Hex(canonical(unsigned));
}

/** The name of the trade. Whoever changes an offer has another one. */
export function offerId(offer: Offer): string {
  return digestOf(offer);
}

/**
 * The DRUID of both halves. Who has seen the offer only cannot tell it, and so cannot spoil the trade with a half of its own.
 */
export function druidOf(acceptance: Acceptance): string {
  return `DRUID0x${sha3Hex(`${acceptance.offer} ${acceptance.from}`).slice(0, 32)}`;
}

/** The transaction that created the items that are given, if the offer shows it. Throws `trade_refused` for another one. */
export function creationIn({ give, creation }: Offer): Transaction | undefined {
  if (creation === null) return undefined;
  const transaction = decodeTransaction(fromHex(creation));
  if (give.kind === 'item' && transactionHash(transaction) === give.genesis_hash) return transaction;
  throw refused('the offer shows the creation of other items than it gives');
}

export function creationText(creation: Transaction | undefined): string | null {
  return creation === undefined ? null : toHex(encodeTransaction(creation));
}

export function refused(message: string): TesseraError {
  return new TesseraError('trade_refused', message);
}

function wordOf(kind: string): string {
  return kind.replace('tessera-trade-', '');
}

/** No transaction has such a signable: theirs are 64 digits. */
function signedText(unsigned: Omit<TradeDocument, 'signature'>): string {
  return `${unsigned.kind} ${sha3Hex(canonical(unsigned))}`;
}

/** Compact JSON with sorted keys. */
function canonical(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, member]) => `${JSON.stringify(key)}:${canonical(member)}`).join(',')}}`;
}
