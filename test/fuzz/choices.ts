/**
 * An input read as a row of decisions: what a sender does next, and what it puts where. At its end every decision is the
 * first.
 */

import type { TSchema } from '@sinclair/typebox';

const WORD = 2;
/** Texts of which one fits most patterns of messages. */
const TEXTS = [
  '',
  '0',
  '18446744073709551615',
  '99999999999999999999',
  'ab',
  '00'.repeat(32),
  `g${'0'.repeat(31)}`,
  `b${'f'.repeat(64)}`,
  'a'.repeat(64),
  'x'.repeat(128),
  'mempool',
  '127.0.0.1:1',
  '\u001b[2J\u202e',
  '\ud800',
  '__proto__',
];
const INTEGERS = [0, 1, -1, 64, 1_000, 2 ** 31 - 1, -(2 ** 31), 2 ** 53 - 1];

export class Choices {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get isOver(): boolean {
    return this.#at >= this.#bytes.length;
  }

  below(end: number): number {
    const high = end > 256 ? this.#next() * 256 : 0;
    return (high + this.#next()) % end;
  }

  pick<T>(items: readonly T[]): T {
    const item = items[this.below(items.length)];
    if (item === undefined) throw new RangeError('nothing to choose from');
    return item;
  }

  /** The next bytes as they are, up to so many. */
  bytes(max: number): Uint8Array {
    const length = this.below(max + 1);
    const taken = this.#bytes.slice(this.#at, this.#at + length);
    this.#at += WORD + length;
    return taken;
  }

  text(): string {
    return this.below(4) === 0 ? Buffer.from(this.bytes(40)).toString('utf8') : this.pick(TEXTS);
  }

  /** A value that the schema allows, as far as the texts and numbers here can. */
  valueOf(schema: TSchema): unknown {
    if (schema.const !== undefined) return schema.const;
    if (schema.anyOf !== undefined) return this.valueOf(this.pick(schema.anyOf as TSchema[]));
    switch (schema.type) {
      case 'object':
        return this.#object(schema);
      case 'array':
        return Array.from({ length: this.below(4) }, () => this.valueOf(schema.items as TSchema));
      case 'string':
        return this.#string(schema);
      case 'integer':
        return this.#integer(schema);
      case 'boolean':
        return this.below(2) === 1;
      default:
        return null;
    }
  }

  #object(schema: TSchema): unknown {
    const required = new Set((schema.required ?? []) as string[]);
    const members = Object.entries((schema.properties ?? {}) as Record<string, TSchema>)
      .filter(([name]) => required.has(name) || this.below(2) === 0)
      .map(([name, one]) => [name, this.valueOf(one)] as const);
    return Object.fromEntries(members);
  }

  #string({ pattern, maxLength = 1_000 }: TSchema): string {
    const fits = TEXTS.filter(
      (text) =>
        text.length <= (maxLength as number) && (pattern === undefined || new RegExp(pattern as string).test(text)),
    );
    return fits.length === 0 ? '' : this.pick(fits);
  }

  #integer({ minimum = Number.MIN_SAFE_INTEGER, maximum = Number.MAX_SAFE_INTEGER }: TSchema): number {
    return this.pick(INTEGERS.filter((one) => one >= (minimum as number) && one <= (maximum as number)));
  }

  #next(): number {
    return this.#bytes[this.#at++] ?? 0;
  }
}

/** Stands for a value that is nested deeper than anything that calls itself can follow. */
const DEEP = 'a deep value';
const DEPTH = 20_000;
const VALUES: readonly unknown[] = [null, true, 0, -1, 1.5, 2 ** 53, 1e308, '', 'x', [], {}, [[[]]], { a: { b: {} } }];

/** A JSON value with one member or element of it changed, taken away or added. */
export function changeValue(value: unknown, choices: Choices): unknown {
  if (typeof value !== 'object' || value === null || choices.below(6) === 0) return otherValue(choices);
  if (Array.isArray(value)) {
    const at = choices.below(value.length + 1);
    return value
      .map((item, i) => (i === at ? changeValue(item, choices) : item))
      .concat(choices.below(2) === 0 ? [0] : []);
  }
  const entries = Object.entries(value);
  const at = choices.below(entries.length + 1);
  const [name, member] = entries[at] ?? [choices.text(), null];
  const others = entries.filter((_, i) => i !== at);
  if (choices.below(4) === 0) return Object.fromEntries(others);
  return Object.fromEntries([...others, [name, changeValue(member, choices)]]);
}

/** A value that nobody expects. */
export function otherValue(choices: Choices): unknown {
  if (choices.below(4) === 0) return choices.text();
  return choices.below(8) === 0 ? DEEP : choices.pick(VALUES);
}

/** The text of a value; the built-in function cannot write deep ones. */
export function textOf(value: unknown): string {
  const text = JSON.stringify(value) ?? '';
  return text.replace(`"${DEEP}"`, '['.repeat(DEPTH) + ']'.repeat(DEPTH));
}
