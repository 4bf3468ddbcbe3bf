/**
 * Holds computed values against what a vector expects. Strict: every expected member must have been computed, and members
 * of nested objects must agree both ways. Only the spelling of integers is free, since vectors write large ones as text.
 */

import { toHex } from '../../src/lib/bytes.js';
import { stringifyExact } from '../../src/lib/json.js';

/** What a family of vectors computes for one: a value as a whole, or members by name, computed when asked for. */
export interface Computed {
  /** Compared when `expected` is not an object, or when it is one that stands for a value. */
  readonly whole?: () => unknown;
  /** Compared member by member when `expected` is an object. */
  readonly members?: Readonly<Record<string, () => unknown>>;
}

/** The differences between expected and computed; empty when there are none. */
export function differences(expected: unknown, computed: Computed): string[] {
  const { whole, members } = computed;
  if (isRecord(expected) && members !== undefined) return memberDifferences(expected, members);
  if (whole === undefined) return [`no way to compute ${show(expected)}`];
  const got = whole();
  return matches(expected, got) ? [] : [`expected ${show(expected)}, got ${show(got)}`];
}

function memberDifferences(
  expected: Record<string, unknown>,
  members: Readonly<Record<string, () => unknown>>,
): string[] {
  const names = Object.keys(expected);
  if (names.length === 0) return ['expected holds no member to compare'];
  return names.flatMap((name) => {
    const compute = Object.hasOwn(members, name) ? members[name] : undefined;
    if (compute === undefined) return [`${name}: unknown expected member`];
    const got = compute();
    return matches(expected[name], got) ? [] : [`${name}: expected ${show(expected[name])}, got ${show(got)}`];
  });
}

/** True when both are the same value. Bytes equal their hex, bigints their number or decimal text. */
function matches(expected: unknown, got: unknown): boolean {
  if (got instanceof Uint8Array) return expected === toHex(got);
  if (typeof got === 'bigint') return isSameInteger(expected, got);
  if (Array.isArray(got)) {
    return (
      Array.isArray(expected) && expected.length === got.length && got.every((item, i) => matches(expected[i], item))
    );
  }
  if (isRecord(got)) {
    if (!isRecord(expected) || Object.keys(expected).length !== Object.keys(got).length) return false;
    return Object.entries(got).every(([key, value]) => Object.hasOwn(expected, key) && matches(expected[key], value));
  }
  return expected === got;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array);
}

function isSameInteger(expected: unknown, got: bigint): boolean {
  if (typeof expected === 'bigint') return expected === got;
  if (typeof expected === 'string') return expected === got.toString();
  return typeof expected === 'number' && Number.isSafeInteger(expected) && BigInt(expected) === got;
}

function show(value: unknown): string {
  return value instanceof Uint8Array ? `"${toHex(value)}"` : stringifyExact(value);
}
