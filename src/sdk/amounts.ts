/** Amounts of tokens as people write them: display units with decimals. Exact both ways; the library counts in raw units. */

import { DISPLAY_UNIT } from '../chain/constants.js';
import { TesseraError } from '../lib/errors.js';

/** Raw units in one display unit: 72,072,000. */
export const RAW_UNITS: bigint = DISPLAY_UNIT;

const DISPLAY = /^([0-9]{1,12})(?:\.([0-9]{1,18}))?$/;
/** Decimals of an amount: one display unit has fewer raw units than 10^8, so eight tell all of them apart. */
const DECIMALS = 8;

/** Raw units of a text in display units, such as `1.5`. Throws `invalid_request` for another text, and rather than round. */
export function parseAmount(text: string): bigint {
  const [, whole, fraction = ''] = DISPLAY.exec(text) ?? [];
  if (whole === undefined) throw invalid(`an amount is a number of display units such as 1.5, not "${text}"`);
  const scale = 10n ** BigInt(fraction.length);
  const scaled = BigInt(whole + fraction) * DISPLAY_UNIT;
  if (scaled % scale !== 0n) throw invalid(`${text} display units are not a whole number of raw units`);
  return scaled / scale;
}

/** Display units, such as `1.5`: exact where eight decimals suffice, else rounded down with `…`. */
export function formatAmount(raw: bigint): string {
  const sign = raw < 0n ? '-' : '';
  const scaled = (raw < 0n ? -raw : raw) * 10n ** BigInt(DECIMALS);
  const digits = (scaled / DISPLAY_UNIT).toString().padStart(DECIMALS + 1, '0');
  const rest = scaled % DISPLAY_UNIT === 0n ? '' : '…';
  const fraction = rest === '' ? digits.slice(-DECIMALS).replace(/0+$/, '') : digits.slice(-DECIMALS);
  return `${sign}${digits.slice(0, -DECIMALS)}${fraction === '' ? '' : `.${fraction}${rest}`}`;
}

function invalid(message: string): TesseraError {
  return new TesseraError('invalid_request', message);
}
