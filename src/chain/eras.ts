/** Rules by height: blocks of original nodes follow the rules that made them (docs/chain.md#eras). */

import { at, fail, type Place, readArray, readObject, readText, readU64 } from './json-fields.js';
import type { HeaderLayout } from './types.js';
import { DRAWS, modulusFault } from './unicorn.js';

const LAYOUTS = ['current', 'prime', 'oldest'] as const;
const SIGNATURES = ['outputs', 'outpoint'] as const;
/** Rules that an import can find in the blocks. */
const FINDABLE = ['header', 'signatures', 'mempool_nodes', 'miners'] as const;
/** Most mempool nodes that a reward is divided by. */
const MOST_MEMPOOL_NODES = 100;
const MOST_ITERATIONS = 1_000_000;
export const SOCKET_ADDRESS = /^((?:\d{1,3}\.){3}\d{1,3}):(\d{1,5})$/;

/** Parameters that check the seed of a round and its witness. */
export interface EraUnicorn {
  readonly modulus: bigint;
  readonly iterations: number;
  /** Socket addresses of the miners; with one of them every seed can be made again. */
  readonly miners: readonly string[];
}

/** The rules from one height to the next era. */
export interface Era {
  readonly from: number;
  /** True for blocks of original nodes: fee `i` in place of output `i`, items for any address, no limits. */
  readonly isOriginal: boolean;
  readonly header: HeaderLayout;
  /** Data that the signature of an input covers: the outputs and its outpoint, or the outpoint alone. */
  readonly signatures: (typeof SIGNATURES)[number];
  /** Number of mempool nodes that share a reward. */
  readonly mempoolNodes: number;
  /** The generator behind the draws of a round (decision B11). */
  readonly draw: (typeof DRAWS)[number];
  readonly unicorn: EraUnicorn | null;
  /** True where `IMPERSONATION` spends any output: on chains of `tessera dev --impersonate` only. No genesis file can set this. */
  readonly impersonation: boolean;
  /** Rules that are not known and must be found in the blocks. */
  readonly find: readonly (typeof FINDABLE)[number][];
}

/** Our own rules. */
export const OUR_ERA: Era = {
  from: 0,
  isOriginal: false,
  header: 'current',
  signatures: 'outputs',
  mempoolNodes: 1,
  draw: 'sha3',
  unicorn: null,
  impersonation: false,
  find: [],
};

/** The era of a block. */
export function eraAt(eras: readonly Era[], height: number): Era {
  return eras.findLast(({ from }) => from <= height) ?? OUR_ERA;
}

/** True for a chain with blocks of original nodes, in which some transactions came again by the same bytes. */
export const hasOriginals = (eras: readonly Era[]): boolean => eras.some(({ isOriginal }) => isOriginal);

/** Reads the member `eras` of a genesis file. */
export function readEras(value: unknown, place: Place): readonly Era[] {
  if (value === undefined) return [];
  const eras = readArray(value, place, readEra);
  const wrong = eras.findIndex(({ from }, i) => from <= (eras[i - 1]?.from ?? -1));
  if (wrong >= 0) fail(place, wrong, 'must begin after the one before it');
  return eras;
}

function readEra(value: unknown, place: Place): Era {
  const object = readObject(value, place);
  const { from, made_by, header, signatures, mempool_nodes, draw, unicorn, find, ...others } = object;
  const [stranger] = Object.keys(others);
  if (stranger !== undefined) fail(place, stranger, 'is no rule of an era');
  const isOriginal = made_by === 'original';
  if (!isOriginal && made_by !== undefined) fail(place, 'made_by', 'must be "original", or left out');
  const theirs = Object.entries({ header, signatures, mempool_nodes, unicorn, find });
  const [alien] = isOriginal ? [] : (theirs.find(([, rule]) => rule !== undefined) ?? []);
  if (alien !== undefined) fail(place, alien, 'is a rule for blocks of original nodes only');
  return {
    from: within(from, place, 'from', 0, Number.MAX_SAFE_INTEGER),
    isOriginal,
    header: oneOf(header, LAYOUTS, place, 'header'),
    signatures: oneOf(signatures, SIGNATURES, place, 'signatures'),
    mempoolNodes: within(mempool_nodes ?? 1, place, 'mempool_nodes', 1, MOST_MEMPOOL_NODES),
    draw: isOriginal ? 'fortuna' : oneOf(draw, DRAWS, place, 'draw'),
    unicorn: unicorn === undefined ? null : readUnicorn(unicorn, at(place, 'unicorn')),
    impersonation: false,
    find: readArray(find ?? [], at(place, 'find'), (one) => oneOf(one, FINDABLE, place, 'find')),
  };
}

function readUnicorn(value: unknown, place: Place): EraUnicorn {
  const { modulus, iterations, miners } = readObject(value, place);
  const text = readText(modulus, place, 'modulus');
  const number = /^\d{1,400}$/.test(text) ? BigInt(text) : 0n;
  const wrong = modulusFault(number, 1);
  if (wrong !== null) fail(place, 'modulus', wrong.message);
  return {
    modulus: number,
    iterations: within(iterations, place, 'iterations', 1, MOST_ITERATIONS),
    miners: readArray(miners ?? [], at(place, 'miners'), (one, { up, key }) => {
      const address = readText(one, up ?? place, key);
      return SOCKET_ADDRESS.test(address) ? address : fail(place, 'miners', 'must be addresses such as 10.0.0.4:12340');
    }),
  };
}

function within(value: unknown, place: Place, key: string, least: number, most: number): number {
  const number = readU64(value, place, key);
  if (number >= BigInt(least) && number <= BigInt(most)) return Number(number);
  return fail(place, key, `must be an integer from ${least} to ${most}, not ${number}`);
}

/** Reads one of the words; the first word is the default. */
function oneOf<T extends string>(value: unknown, words: readonly [T, ...T[]], place: Place, key: string): T {
  if (value === undefined) return words[0];
  const word = words.find((one) => one === value);
  return word ?? fail(place, key, `must be one of ${words.map((one) => `"${one}"`).join(', ')}`);
}

/** An era as the genesis file has it. */
export function eraView({
  from,
  isOriginal,
  header,
  signatures,
  mempoolNodes,
  draw,
  unicorn,
  impersonation,
  find,
}: Era) {
  if (!isOriginal) return { from, ...(draw !== OUR_ERA.draw && { draw }), ...(impersonation && { impersonation }) };
  return {
    from,
    made_by: 'original',
    header,
    signatures,
    mempool_nodes: mempoolNodes,
    ...(unicorn && { unicorn: { ...unicorn, modulus: String(unicorn.modulus) } }),
    ...(find.length > 0 && { find }),
  };
}
