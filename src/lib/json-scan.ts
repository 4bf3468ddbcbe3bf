/**
 * One quick pass over a JSON text before it is parsed, which refuses what the built-in parser is slow on: deep nesting,
 * and very many different member names.
 */

export interface JsonShapeLimits {
  /** Maximum nesting of arrays and objects. */
  readonly depth: number;
  /** Most different member names in the text; names whose hashes collide count once. Undefined: names are not counted. */
  readonly names?: number | undefined;
}

const QUOTE = 0x22;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const SPACE = 0x20;

/** Size in bits of the table that marks the hashes of seen names. */
const NAME_BITS = 2 ** 19;
const FNV_PRIME = 0x01000193;
/** Seed of the hashes, random in each process, so that nobody can choose names that share a bit. */
const [SEED = 0] = crypto.getRandomValues(new Int32Array(1));

/** Fault in the shape of a text, to complete a sentence, or null. The text need not be valid JSON. */
export function shapeFault(text: string, limits: JsonShapeLimits): string | null {
  const names = limits.names === undefined ? undefined : new NameCounter();
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at);
    if (char === QUOTE) {
      at = endOfString(text, at, names);
      if (names !== undefined && names.count > (limits.names ?? 0)) {
        return `it has more than ${limits.names} different member names`;
      }
    } else if (char === OPEN_ARRAY || char === OPEN_OBJECT) {
      depth++;
      if (depth > limits.depth) return `it is nested deeper than ${limits.depth} levels`;
    } else if (char === CLOSE_ARRAY || char === CLOSE_OBJECT) {
      depth--;
    }
  }
  return null;
}

/** The position of the closing quote, or the end of the text. Counts the string if a colon makes it a name. */
function endOfString(text: string, start: number, names: NameCounter | undefined): number {
  let hash = SEED;
  let at = start + 1;
  for (; at < text.length; at++) {
    const char = text.charCodeAt(at);
    if (char === QUOTE) break;
    hash = Math.imul(hash ^ char, FNV_PRIME);
    if (char !== BACKSLASH) continue;
    // Escaped characters count too; otherwise all names of escapes alone would be equal.
    at++;
    hash = Math.imul(hash ^ text.charCodeAt(at), FNV_PRIME);
  }
  if (names !== undefined && isColonNext(text, at + 1)) names.add(hash);
  return at;
}

function isColonNext(text: string, from: number): boolean {
  let at = from;
  while (text.charCodeAt(at) <= SPACE) at++;
  return text.charCodeAt(at) === COLON;
}

/** Counts the different hashes of names. */
class NameCounter {
  readonly #seen = new Uint8Array(NAME_BITS / 8);
  count = 0;

  add(hash: number): void {
    const bit = (hash ^ (hash >>> 13)) & (NAME_BITS - 1);
    const byte = bit >>> 3;
    const mask = 1 << (bit & 7);
    const known = this.#seen[byte] ?? 0;
    if ((known & mask) !== 0) return;
    this.#seen[byte] = known | mask;
    this.count++;
  }
}
