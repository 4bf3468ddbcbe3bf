/** What nobody waits for must not reject: an unhandled rejection ends the node (docs/adr/0014-a-full-disk-ends-no-node.md). */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const SRC = fileURLToPath(new URL('../../src/', import.meta.url));

/** Last names of calls whose result is discarded and is no promise. */
const NOT_ASYNC = new Set(['setTimeout', 'write', 'delete', 'del', 'off', 'after', 'import']);

const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));

/** From an opening bracket to the one that closes it. */
function enclosed(text: string, from: number): string {
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    if ('({['.includes(text[at] ?? '')) depth++;
    if (')}]'.includes(text[at] ?? '') && --depth === 0) return text.slice(from, at + 1);
  }
  return text.slice(from);
}

/** The text of an async function or method of a file. */
function bodyOf(text: string, name: string): string {
  const declared = new RegExp(`async (?:function )?${name}\\(`).exec(text);
  if (declared === null) return '';
  const parameters = declared.index + declared[0].length - 1;
  const end = parameters + enclosed(text, parameters).length;
  return enclosed(text, text.indexOf(' {\n', end) + 1);
}

/** Calls whose promise is left alone, where neither the call nor what it calls has a `catch`. */
function unhandled(text: string): string[] {
  const code = text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');
  return [...code.matchAll(/\bvoid \(?(?:[\w.#]+(?:\([^()]*\))? && )?((?:this\.)?#?\w+(?:\??\.#?\w+)*)\(/g)].flatMap(
    (match) => {
      const [, callee = ''] = match;
      const name = callee.split('.').at(-1) ?? '';
      const args = enclosed(code, match.index + match[0].length - 1);
      const rest = code.slice(match.index + match[0].length - 1 + args.length);
      const isOwn = /^(?:this\.)?#?\w+$/.test(callee);
      const isHandled =
        /^\s*\.catch\(/.test(rest) || /\bcatch\b/.test(args) || (isOwn && /\bcatch\b/.test(bodyOf(code, name)));
      return isHandled || NOT_ASYNC.has(name) ? [] : [callee];
    },
  );
}

describe('a promise that is left alone', () => {
  it('is caught where it is made, or by what makes it', () => {
    const found = files.flatMap((name) =>
      unhandled(readFileSync(join(SRC, name), 'utf8')).map((call) => `${name}: ${call}`),
    );
    expect(found).toEqual([]);
  });

  it('is told from one that is not', () => {
    const own = (body: string): string =>
      `class A { run() { void this.#go(1); }\n  async #go(n: number): Promise<void> {\n${body}\n  }\n}`;
    expect(unhandled(own('await x();'))).toEqual(['this.#go']);
    expect(unhandled(own('try { await x(); } catch {}'))).toEqual([]);
    expect(unhandled('void other.stop();')).toEqual(['other.stop']);
    expect(unhandled('void other.stop().catch(() => undefined);')).toEqual([]);
    expect(unhandled('void queue.run(async () => { try { x(); } catch {} });')).toEqual([]);
    expect(
      unhandled('const f = (): void => g(); type A = () => void; timers.forEach((t) => void map.delete(t));'),
    ).toEqual([]);
  });
});
