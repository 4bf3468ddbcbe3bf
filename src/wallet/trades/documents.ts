/**
 * Documents of a trade (docs/wallet.md#trades): offer, acceptance, confirmation, as JSON. Each is signed with the key of the address where
 * its maker wants to be paid. None holds a signature of a transaction: the DRUID of a half is not signed, so anybody who had it could make
 * a payment of it (docs/adr/0026-trades.md).
 */

import { addressOf } from '../../chain/address.js';
import type { SigningKey } from '../../chain/builders.js';
import { decodeTransaction, encodeTransaction } from '../../chain/codec.js';
import { transactionHash } from '../../chain/hash.js';
import type { Transaction } from '../../chain/types.js';
import { sign, verifySignature } from '../../crypto/ed25519.js';
import { sha3Hex } from '../../crypto/sha3.js';
import { fromHex, toHex } from '../../lib/bytes.js';
import { TesseraError } from '../../lib/errors.js';

export type TradedAsset =
  | { readonly kind: 'token'; readonly amount: string }
  | { readonly kind: 'item'; readonly amount: string; readonly genesis_hash: string };

type Signed = {
  readonly public_key: string;
  readonly signature: string;
};

export type Offer = Signed & {
  readonly kind: 'tessera-trade-offer';
  readonly format: 1;
  readonly network: string;
  readonly give: TradedAsset;
  readonly want: TradedAsset;
  /** Address where the maker wants to be paid. */
  readonly to: string;
  /** Unix seconds when the offer expires. */
  readonly expires_at: number;
  readonly peer: string | null;
  /** Transaction that created the items on offer, in hex: it proves their metadata. */
  readonly creation: string | null;
  /** Random text that makes each offer unique. */
  readonly nonce: string;
};

export type Acceptance = Signed & {
  readonly kind: 'tessera-trade-acceptance';
  readonly format: 1;
  readonly offer: string;
  /** Address where the taker wants to be paid. */
  readonly to: string;
  /** Name of the taker's half: `txInsAddress` of its inputs. */
  readonly from: string;
};

export type Confirmation = Signed & {
  readonly kind: 'tessera-trade-confirmation';
  readonly format: 1;
  readonly offer: string;
  /** Digest of the acceptance (`digestOf`). */
  readonly acceptance: string;
  readonly from: string;
};

export type TradeDocument = Offer | Acceptance | Confirmation;

type Check = (value: unknown) => boolean;
/** Checks of a document's members by name; other members are dropped. */
type Form = Readonly<Record<string, Check>>;

const is =
  (expected: unknown): Check =>
  (value) =>
    value === expected;
const matches =
  (pattern: RegExp): Check =>
  (value) =>
    typeof value === 'string' && pattern.test(value);
const textUpTo =
  (length: number): Check =>
  (value) =>
    typeof value === 'string' && value.length <= length;
const orNull =
  (check: Check): Check =>
  (value) =>
    value === null || check(value);

const HEX_16 = matches(/^[0-9a-f]{32}$/);
const HEX_32 = matches(/^[0-9a-f]{64}$/);
const HEX_64 = matches(/^[0-9a-f]{128}$/);
const AMOUNT = matches(/^[1-9][0-9]{0,18}$/);

const ASSETS: Readonly<Record<string, Form>> = {
  token: { kind: is('token'), amount: AMOUNT },
  item: { kind: is('item'), amount: AMOUNT, genesis_hash: matches(/^[\x21-\x7e]{1,128}$/) },
};
const isAsset: Check = (value) => {
  const form = formIn(ASSETS, value);
  return form !== undefined && wrongMember(form, value) === undefined;
};
const isSeconds: Check = (value) => Number.isSafeInteger(value) && Number(value) >= 0;

const SIGNED: Form = { public_key: HEX_32, signature: HEX_64 };
const FORMS: Readonly<Record<TradeDocument['kind'], Form>> = {
  'tessera-trade-offer': {
    kind: is('tessera-trade-offer'),
    format: is(1),
    network: textUpTo(64),
    give: isAsset,
    want: isAsset,
    to: HEX_32,
    expires_at: isSeconds,
    peer: orNull(textUpTo(256)),
    creation: orNull(matches(/^([0-9a-f]{2}){1,4096}$/)),
    nonce: HEX_16,
    ...SIGNED,
  },
  'tessera-trade-acceptance': {
    kind: is('tessera-trade-acceptance'),
    format: is(1),
    offer: HEX_32,
    to: HEX_32,
    from: HEX_32,
    ...SIGNED,
  },
  'tessera-trade-confirmation': {
    kind: is('tessera-trade-confirmation'),
    format: is(1),
    offer: HEX_32,
    acceptance: HEX_32,
    from: HEX_32,
    ...SIGNED,
  },
};

type Unsigned<D extends TradeDocument> = Omit<D, 'public_key' | 'signature'>;

export function signDocument<D extends TradeDocument>(content: Unsigned<D>, { publicKey, seed }: SigningKey): D {
  const unsigned = { ...content, public_key: toHex(publicKey) };
  const signature = toHex(sign(seed, signedText(unsigned as Omit<D, 'signature'>)));
  return { ...unsigned, signature } as unknown as D;
}

/** The document in a value from outside, with known members only. Throws `trade_refused` for a wrong form, or a change after signing. */
export function readDocument(value: unknown): TradeDocument {
  const form = formIn(FORMS, value);
  if (form === undefined) throw refused('this is no offer, acceptance or confirmation of a trade');
  const wrong = wrongMember(form, value);
  if (wrong !== undefined) throw refused(`this ${wordOf(kindOf(value))} has not the form of one: ${wrong} is wrong`);
  const document = cleaned(form, value) as unknown as TradeDocument;
  if (document.kind !== 'tessera-trade-confirmation') checkSignature(document, document.to);
  return document;
}

/** Throws `trade_refused` unless the document, as it is, is signed with the key of the address. */
export function checkSignature(document: TradeDocument, address: string): void {
  const { signature, ...unsigned } = document;
  const publicKey = fromHex(document.public_key);
  if (addressOf(publicKey) === address && verifySignature(publicKey, signedText(unsigned), fromHex(signature))) return;
  throw refused(`this ${wordOf(document.kind)} is not as it was signed: it was changed, or is of another trade`);
}

/** Digest of the content, whatever the order and spacing of the JSON. */
export function digestOf(document: TradeDocument): string {
  const { signature: _, ...unsigned } = document;
  return sha3Hex(canonical(unsigned));
}

/** The id of the trade: the digest of the offer, so that a changed offer has another one. */
export function offerId(offer: Offer): string {
  return digestOf(offer);
}

/** The DRUID of both halves. Whoever has seen only the offer does not know it, and so cannot spoil the trade. */
export function druidOf(acceptance: Acceptance): string {
  return `DRUID0x${sha3Hex(`${acceptance.offer} ${acceptance.from}`).slice(0, 32)}`;
}

/** The transaction that created the items on offer, if the offer shows it. Throws `trade_refused` for another one. */
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

function kindOf(value: unknown): string {
  return typeof value === 'object' && value !== null && 'kind' in value ? String(value.kind) : '';
}

function formIn(forms: Readonly<Record<string, Form>>, value: unknown): Form | undefined {
  const kind = kindOf(value);
  return Object.hasOwn(forms, kind) ? forms[kind] : undefined;
}

function wrongMember(form: Form, value: unknown): string | undefined {
  const members = value as Readonly<Record<string, unknown>>;
  return Object.entries(form).find(([name, check]) => !Object.hasOwn(members, name) || !check(members[name]))?.[0];
}

/** A copy with the members of the form only, also within assets. */
function cleaned(form: Form, value: unknown): Readonly<Record<string, unknown>> {
  const members = value as Readonly<Record<string, unknown>>;
  const kept = Object.keys(form).map((name) => {
    const asset = form[name] === isAsset ? formIn(ASSETS, members[name]) : undefined;
    return [name, asset === undefined ? members[name] : cleaned(asset, members[name])];
  });
  return Object.fromEntries(kept);
}

function wordOf(kind: string): string {
  return kind.replace('tessera-trade-', '');
}

/** Text that is signed. It cannot be the signable of a transaction: those are 64 digits. */
function signedText(unsigned: Omit<TradeDocument, 'signature'>): string {
  return `${unsigned.kind} ${sha3Hex(canonical(unsigned))}`;
}

/** Compact JSON with sorted keys. */
function canonical(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, member]) => `${JSON.stringify(key)}:${canonical(member)}`).join(',')}}`;
}
