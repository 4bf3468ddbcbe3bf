/**
 * The paths in ARCHITECTURE.md: every file that they name is there, and so is every name that they tell to look for in it.
 */

import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = (file: string): string => fileURLToPath(new URL(`../../${file}`, import.meta.url));
const page = readFileSync(root('ARCHITECTURE.md'), 'utf8');

/** The numbered steps of the chapter, each on one line, with the title of their path. */
function steps(): { readonly path: string; readonly text: string }[] {
  const chapter = /\n## Three paths, step by step\n([\s\S]*?)\n## /.exec(page)?.[1] ?? '';
  return chapter
    .split(/\n### /)
    .slice(1)
    .flatMap((section) => {
      const [path = '', ...lines] = section.split('\n');
      const list = lines.join('\n').match(/^\d+\. [\s\S]*?(?=^\d+\. |^[A-Z]|(?![\s\S]))/gm) ?? [];
      return list.map((text) => ({ path, text: text.replace(/\s+/g, ' ') }));
    });
}

/** What stands in backticks: files, and names of functions, methods, operations and messages. */
function quoted(text: string): { readonly files: readonly string[]; readonly names: readonly string[] } {
  const all = [...text.matchAll(/`([^`]+)`/g)].map(([, inner = '']) => inner);
  return {
    files: all.filter((inner) => inner.startsWith('src/')),
    names: all.filter((inner) => /^#?[a-z]+[A-Za-z]*$/.test(inner)),
  };
}

/** True when the text declares or uses the name as one: not merely as a part of another. */
function knows(text: string, name: string): boolean {
  return new RegExp(`(?<![\\w#])${name}(?=[(<,: ])`).test(text);
}

describe('the paths of ARCHITECTURE.md', () => {
  it('are three, each short enough to follow', () => {
    const lengths = new Map<string, number>();
    for (const { path } of steps()) lengths.set(path, (lengths.get(path) ?? 0) + 1);
    expect([...lengths.keys()]).toEqual([
      'A transaction, from its route to the unspent outputs',
      'A payment, from its route to the mempool',
      'A block, to storage',
    ]);
    expect(Math.max(...lengths.values())).toBeLessThanOrEqual(10);
    expect(Math.min(...lengths.values())).toBeGreaterThanOrEqual(5);
  });

  it.each(steps().map((step) => [`${step.path}: ${step.text.slice(0, 60)}`, step] as const))('%s', (_, { text }) => {
    const { files, names } = quoted(text);
    expect(files.length).toBeGreaterThan(0);
    expect(files.filter((file) => !existsSync(root(file)))).toEqual([]);
    const sources = files.map((file) => readFileSync(root(file), 'utf8')).join('\n');
    expect(names.filter((name) => !knows(sources, name))).toEqual([]);
  });
});
