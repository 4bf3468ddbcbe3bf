/** The limits that CONTRIBUTING.md names, counted as a reader counts: every line of a file, and of a function with all that is in it. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** Limits by folder: markup is long. */
const FUNCTION_LINES = { src: 60, web: 80 };
const FILE_LINES = 420;
const IMPORTS = 25;

const read = (folder: string) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name) && !name.includes('generated'))
    .map((name) => {
      const text = readFileSync(join(ROOT, folder, name), 'utf8');
      return { file: `${folder}/${name}`, text, source: ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true) };
    });

describe.each(['src', 'web'] as const)('%s', (folder) => {
  const files = read(folder);

  it('has files', () => expect(files.length).toBeGreaterThan(20));

  it(`has no file of more than ${FILE_LINES} lines, or with more than ${IMPORTS} imports`, () => {
    const found = files.flatMap(({ file, text, source }) => {
      const lines = text.split('\n').length - 1;
      const imports = source.statements.filter(ts.isImportDeclaration).length;
      return lines > FILE_LINES || imports > IMPORTS ? [`${file}: ${lines} lines, ${imports} imports`] : [];
    });
    expect(found).toEqual([]);
  });

  it(`has no function of more than ${FUNCTION_LINES[folder]} lines`, () => {
    const found: string[] = [];
    for (const { file, source } of files) {
      const lineOf = (position: number): number => source.getLineAndCharacterOfPosition(position).line + 1;
      const visit = (node: ts.Node): void => {
        if (ts.isFunctionLike(node)) {
          const [first, last] = [lineOf(node.getStart()), lineOf(node.end)];
          if (last - first >= FUNCTION_LINES[folder]) found.push(`${file}:${first}: ${last - first + 1} lines`);
        }
        ts.forEachChild(node, visit);
      };
      visit(source);
    }
    expect(found).toEqual([]);
  });
});
