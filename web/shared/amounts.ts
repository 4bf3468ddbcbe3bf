/** Amounts as people read and write them. Raw units are exact integers; a token is 72,072,000 of them. */

import { DISPLAY_UNIT } from '../../src/chain/constants.js';

/** Decimals of an amount of tokens. Most fractions of a token have no end: 72,072,000 holds the primes 3, 7, 11 and 13. */
const DECIMALS = 8;

/** `1234567` as `1,234,567`. */
export function grouped(value: number | bigint | string): string {
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

export type Unit = 'tokens' | 'raw' | 'items';

const UNITS: Readonly<Record<Unit, string>> = { tokens: 'token', raw: 'raw unit', items: 'item' };

/** `1,234.5 tokens`, `1 raw unit`; `…` for decimals that are left out. */
function inWords(value: bigint, unit: Unit): string {
  const { text, isExact } = unit === 'tokens' ? tokenText(value) : { text: grouped(value), isExact: true };
  return `${text}${isExact ? '' : '…'} ${UNITS[unit]}${text === '1' && isExact ? '' : 's'}`;
}

/** Input that somebody typed: an amount, or what is wrong with it in words; neither as long as there is nothing. */
export interface Typed {
  /** Raw units, or items; from 1 to the most that can be paid. */
  readonly value?: bigint;
  readonly fault?: string;
}

/** The most that a payment can have. */
const MAX_PAID = 2n ** 63n - 1n;
const MAX_TYPED = 48;

/** Reads an amount as it is typed, exactly; `available` is the most that it may be. */
export function readAmount(text: string, unit: Unit, available: bigint = MAX_PAID): Typed {
  const typed = text.trim();
  if (typed === '') return {};
  if (/^-/.test(typed)) return { fault: TOO_LITTLE };
  const separator = separatorFault(typed, unit);
  if (separator !== undefined) return { fault: separator };
  const [, whole = '', decimals = ''] = /^(\d*)(?:\.(\d*))?$/.exec(typed) ?? [];
  if (whole + decimals === '' || typed.length > MAX_TYPED) {
    return { fault: `This is not a number. Write an amount such as 12${unit === 'tokens' ? ' or 0.5' : ''}.` };
  }
  if (unit !== 'tokens' && decimals !== '') return { fault: `Write a whole number: ${UNITS[unit]}s have no decimals.` };
  const scale = 10n ** BigInt(decimals.length);
  const scaled = BigInt(whole + decimals) * (unit === 'tokens' ? DISPLAY_UNIT : 1n);
  const value = scaled / scale;
  if (scaled === 0n) return { fault: TOO_LITTLE };
  if (value > available) {
    const excess = `This is ${inWords(value - available, unit)} too much.`;
    return { fault: available === MAX_PAID ? excess : `${excess} ${inWords(available, unit)} can be paid now.` };
  }
  if (scaled % scale === 0n) return { value };
  return {
    fault: `Too many decimals: it lies between ${grouped(value)} and ${grouped(value + 1n)} raw units. Three decimals always fit.`,
  };
}

const TOO_LITTLE = 'The amount has to be more than 0.';

/** Advice about commas and spaces, which mean decimals to one and thousands to another. */
function separatorFault(typed: string, unit: Unit): string | undefined {
  if (!/^[\d.,\s]*[,\s][\d.,\s]*$/.test(typed)) return undefined;
  const plain = typed.replaceAll(/\s/g, '');
  if (!plain.includes(',')) return `Write it without spaces: ${plain}`;
  const readings = [
    ...(/^\d+(?:,\d{3})+(?:\.\d*)?$/.test(plain) ? [plain.replaceAll(',', '')] : []),
    ...(unit === 'tokens' && /^[\d.]*,\d+$/.test(plain) ? [plain.replaceAll('.', '').replace(',', '.')] : []),
  ];
  return `Write it without a comma${readings.length === 0 ? '.' : `: ${readings.join(' or ')}`}`;
}
