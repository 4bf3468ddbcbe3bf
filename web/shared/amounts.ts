/** Amounts as people read and write them. Raw units are exact integers; a token is 72,072,000 of them. */

import { DISPLAY_UNIT, U64_MAX } from '../../src/chain/constants.js';

/** Decimals of an amount of tokens. Most fractions of a token have no end: 72,072,000 holds the primes 3, 7, 11 and 13. */
const DECIMALS = 8;

/** `1234567` as `1,234,567`. */
export function grouped(value: number | bigint): string {
  return String(value).replaceAll(/\B(?=(?:\d{3})+$)/g, ',');
}

export interface TokenText {
  /** `1,234.5`, rounded down. */
  readonly text: string;
  /** False when decimals are left out. */
  readonly isExact: boolean;
}

/** Raw units in tokens, with that many decimals at most. */
export function tokenText(raw: number | bigint, decimals = DECIMALS): TokenText {
  const scale = 10n ** BigInt(decimals);
  const scaled = BigInt(raw) * scale;
  const units = scaled / DISPLAY_UNIT;
  const fraction = (units % scale).toString().padStart(decimals, '0').replace(/0+$/, '');
  const whole = grouped(units / scale);
  return { text: fraction === '' ? whole : `${whole}.${fraction}`, isExact: scaled % DISPLAY_UNIT === 0n };
}

/**
 * Raw units of an amount that somebody wrote in tokens (`1.5`); undefined when it is no amount, has no exact number of raw
 * units, or is too large.
 */
export function parseTokens(text: string): bigint | undefined {
  const [, whole, decimals = ''] = /^\s*(\d{1,20})(?:\.(\d{1,20}))?\s*$/.exec(text) ?? [];
  if (whole === undefined) return undefined;
  const scale = 10n ** BigInt(decimals.length);
  const scaled = BigInt(`${whole}${decimals}`) * DISPLAY_UNIT;
  const raw = scaled / scale;
  return scaled % scale === 0n && raw <= U64_MAX ? raw : undefined;
}
