/**
 * Documents of trades as people pass them on: as a text, a file or a link to the page of trades. The node checks each of them when
 * it is used; here they are read as far as somebody has to see what they are about.
 */

import type { TradeResponse } from '../../../src/sdk/client.js';

export type TradeDocument = TradeResponse['offer'];

export interface TradedAsset {
  readonly kind: 'token' | 'item';
  readonly amount: bigint;
  readonly genesis_hash?: string | null;
}

export type Read =
  | {
      readonly kind: 'offer';
      readonly document: TradeDocument;
      readonly give: TradedAsset;
      readonly want: TradedAsset;
      readonly expiresAt: number;
    }
  | { readonly kind: 'acceptance' | 'confirmation'; readonly document: TradeDocument };

const MARK = '#document=';

export const linkOf = (document: TradeDocument): string =>
  `${location.origin}/wallet/trades${MARK}${encodeURIComponent(JSON.stringify(document))}`;

/** The document in a text or a link; undefined for anything else. */
export function readDocument(text: string): Read | undefined {
  try {
    const at = text.indexOf(MARK);
    const json = at < 0 ? text : decodeURIComponent(text.slice(at + MARK.length).trim());
    return understood(JSON.parse(json));
  } catch {
    return undefined;
  }
}

function understood(value: unknown): Read | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const document = value as TradeDocument;
  const { kind, expires_at: expiresAt, ...sides } = document as Readonly<Record<string, unknown>>;
  if (kind === 'tessera-trade-acceptance') return { kind: 'acceptance', document };
  if (kind === 'tessera-trade-confirmation') return { kind: 'confirmation', document };
  const [give, want] = [assetOf(sides.give), assetOf(sides.want)];
  if (kind !== 'tessera-trade-offer' || give === undefined || want === undefined) return undefined;
  return Number.isSafeInteger(expiresAt)
    ? { kind: 'offer', document, give, want, expiresAt: Number(expiresAt) }
    : undefined;
}

function assetOf(value: unknown): TradedAsset | undefined {
  const { kind, amount, genesis_hash } = Object(value) as Readonly<Record<string, unknown>>;
  if (typeof amount !== 'string' || !/^[1-9]\d{0,18}$/.test(amount)) return undefined;
  if (kind === 'token') return { kind, amount: BigInt(amount) };
  return kind === 'item' && typeof genesis_hash === 'string'
    ? { kind, amount: BigInt(amount), genesis_hash }
    : undefined;
}
