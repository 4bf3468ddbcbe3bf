/** Amounts as people write and read them: display units with decimals, and raw units, which are whole. */

import { DISPLAY_UNIT } from '../../chain/constants.js';
import { UsageError } from '../command.js';

const MAX_AMOUNT = 2n ** 63n - 1n;
const RAW = /^[0-9]{1,19}$/;
const DISPLAY = /^([0-9]{1,12})(?:\.([0-9]{1,18}))?$/;
const DECIMALS = 9;

/** Raw units of the text, which is in display units unless `isRaw`. Exact: throws `UsageError` rather than round. */
export function parseAmount(text: string, isRaw: boolean): bigint {
  const raw = isRaw ? rawUnits(text) : displayUnits(text);
  if (raw === 0n || raw > MAX_AMOUNT) throw new UsageError(`AMOUNT must be from 1 to ${MAX_AMOUNT} raw units`);
  return raw;
}

export function parseCount(text: string): bigint {
  const count = RAW.test(text) ? BigInt(text) : 0n;
  if (count === 0n || count > MAX_AMOUNT) {
    throw new UsageError(`AMOUNT must be a whole number of items, from 1 to ${MAX_AMOUNT}, not "${text}"`);
  }
  return count;
}

function rawUnits(text: string): bigint {
  if (!RAW.test(text)) throw new UsageError(`AMOUNT must be a whole number of raw units, not "${text}"`);
  return BigInt(text);
}

function displayUnits(text: string): bigint {
  const [, whole, fraction = ''] = DISPLAY.exec(text) ?? [];
  if (whole === undefined) {
    throw new UsageError(`AMOUNT must be a number of display units such as 1.5, not "${text}"`);
  }
  const scale = 10n ** BigInt(fraction.length);
  const scaled = BigInt(whole + fraction) * DISPLAY_UNIT;
  if (scaled % scale !== 0n) {
    const below = scaled / scale;
    throw new UsageError(
      `${text} display units are not a whole number of raw units; with --raw, the nearest are ${below} and ${below + 1n}`,
    );
  }
  return scaled / scale;
}

export function showDisplay(raw: bigint): string {
  const digits = ((raw * 10n ** BigInt(DECIMALS)) / DISPLAY_UNIT).toString().padStart(DECIMALS + 1, '0');
  const fraction = digits.slice(-DECIMALS).replace(/0+$/, '');
  return digits.slice(0, -DECIMALS) + (fraction === '' ? '' : `.${fraction}`);
}

/** An amount in both units: `1.5 (108108000 raw units)`. */
export function showAmount(raw: bigint): string {
  return `${showDisplay(raw)} (${raw} raw unit${raw === 1n ? '' : 's'})`;
}
