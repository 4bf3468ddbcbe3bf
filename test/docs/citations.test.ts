/** What comments, tests and documents cite is here: codes of decisions and rules, headings of documents, files. */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { OPCODES } from '../../src/chain/script/opcodes.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const SELF = 'test/docs/citations.test.ts';
const CODE_FOLDERS = ['src', 'test', 'bench', 'scripts', 'deploy'];
const CODE_FILE = /\.(ts|js|mjs|sh|py)$/;
/** Documents whose every heading or code is cited, or says `(background)`. */
const CITED_DOCUMENTS = ['docs/chain.md', 'docs/clients.md', 'docs/decisions.md'];

function filesUnder(folder: string, fits: RegExp): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && fits.test(entry.name) && !entry.parentPath.includes('node_modules'))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)));
}

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

const code = CODE_FOLDERS.flatMap((folder) => filesUnder(folder, CODE_FILE))
  .filter((path) => path !== SELF)
  .map((path) => ({ path, text: read(path) }));
const documents = [...readdirSync(ROOT).filter((name) => name.endsWith('.md')), ...filesUnder('docs', /\.md$/)].map(
  (path) => ({ path, text: read(path) }),
);

/** The name of a heading in a link, as GitHub makes it. */
function slug(heading: string): string {
  const words = heading
    .replaceAll(/[`*]|\[([^\]]*)\]\([^)]*\)/g, '$1')
    .trim()
    .toLowerCase();
  return words.replaceAll(/[^\p{L}\p{N}\s_-]/gu, '').replaceAll(' ', '-');
}

interface Anchor {
  readonly name: string;
  /** The line that makes it, and for a heading the line below. */
  readonly text: string;
}

function anchorsOf(text: string): Anchor[] {
  const lines = text.replaceAll(/^```[\s\S]*?^```/gm, '').split('\n');
  return lines.flatMap((line, i) => {
    const heading = /^#+ (.*)$/.exec(line)?.[1];
    const below = lines.slice(i + 1).find((next) => next !== '') ?? '';
    const marks = [...line.matchAll(/<a id="([^"]+)">/g)].map(([, name = '']) => ({ name, text: line }));
    return heading === undefined ? marks : [{ name: slug(heading), text: `${line}\n${below}` }, ...marks];
  });
}

const anchors = new Map(documents.map(({ path, text }) => [path, anchorsOf(text)]));

interface Citation {
  readonly from: string;
  readonly to: string;
}

/** `docs/chain.md#validation`, `ARCHITECTURE.md#growing`, `docs/wallet.md`; not a pattern such as `NAME-DATE.md`. */
const DOCUMENT = /(?<![\w./-])((?:docs\/(?:[\w-]+\/)*)?(?![\w-]*-DATE)[\w-]+\.md)(?:#([\w-]+))?/g;
/** `decision V12`, `decisions B13, B15`, `rules P1 and P7`. */
const CODES = /\b([Dd]ecision|[Rr]ule)s? ([BHVEP]\d{1,2}(?:(?:, | and )[BHVEP]\d{1,2})*)/g;
/** What sends a reader to something that is not here. */
const ELSEWHERE = [
  /\b(?:chain|node|clients|platform|architecture|design)\.md §/,
  /\barchitecture §/i,
  /\bplatform notes\b/,
  /\b[Ii]ssue \d+\b/,
  // A bare code in parentheses, without the word that says what it is a code of.
  /\([BHVEPC]\d{1,2}(?:, [BHVEPC]\d{1,2})*\)/,
];

const cited: Citation[] = code.flatMap(({ path, text }) => {
  const inDocuments = [...text.matchAll(DOCUMENT)].map(([, file = '', anchor]) => ({
    from: path,
    to: anchor === undefined ? file : `${file}#${anchor}`,
  }));
  const codes = [...text.matchAll(CODES)].flatMap(([, kind = '', list = '']) =>
    list.split(/, | and /).map((one) => ({ from: path, to: `${kind.toLowerCase()} ${one}` })),
  );
  return [...inDocuments, ...codes];
});

const decisions = new Set(anchors.get('docs/decisions.md')?.map(({ name }) => name));
const rules = new Set([...read('ARCHITECTURE.md').matchAll(/^\| (P\d) \|/gm)].map(([, rule]) => rule));

function exists(to: string): boolean {
  const [kind = '', which = ''] = to.split(' ');
  if (kind === 'decision') return decisions.has(which.toLowerCase());
  if (kind === 'rule') return rules.has(which);
  const [file = '', anchor] = to.split('#');
  const found = anchors.get(file);
  return found !== undefined && (anchor === undefined || found.some(({ name }) => name === anchor));
}

describe('citations', () => {
  it('in code and tests name documents, headings, decisions and rules that are here', () => {
    expect(cited.length).toBeGreaterThan(300);
    expect(cited.filter(({ to }) => !exists(to))).toEqual([]);
  });

  it('in code and tests send nobody elsewhere', () => {
    const elsewhere = code.flatMap(({ path, text }) =>
      ELSEWHERE.flatMap((pattern) => (pattern.exec(text) === null ? [] : [`${path}: ${pattern.exec(text)?.[0]}`])),
    );
    expect(elsewhere).toEqual([]);
  });

  it.each(CITED_DOCUMENTS)('of %s: every heading and code is cited, or marked as background', (path) => {
    const targets = new Set(cited.map(({ to }) => to.replace('decision ', 'docs/decisions.md#').toLowerCase()));
    // The title is what the file is cited by, and a heading over codes stands for them.
    const [, ...rest] = anchors.get(path) ?? [];
    const uncited = rest.filter(
      ({ name, text }) =>
        !targets.has(`${path}#${name}`) && !text.includes('(background)') && !/\n\| code \|/.test(text),
    );
    expect(uncited.map(({ name }) => name)).toEqual([]);
  });

  it('between documents lead to files and headings', () => {
    const broken = documents.flatMap(({ path, text }) =>
      [...text.matchAll(/\]\((?!https?:|mailto:)([^)\s]*)\)/g)].flatMap(([, link = '']) => {
        const [file = '', anchor] = link.split('#');
        const target = file === '' ? path : normalize(join(dirname(path), file));
        const found = anchors.get(target);
        if (found === undefined) return existsSync(join(ROOT, target)) ? [] : [`${path}: ${link}`];
        return anchor === undefined || found.some(({ name }) => name === anchor) ? [] : [`${path}: ${link}`];
      }),
    );
    expect(broken).toEqual([]);
  });
});

describe('the table of opcodes in docs/chain.md', () => {
  it('has every opcode at its index (docs/chain.md#opcodes)', () => {
    const rows = [...read('docs/chain.md').matchAll(/^\| (\d+)(?: to (\d+))? \| `(OP_\w+)`(?: … `(OP_\w+)`)? \|/gm)];
    const listed = rows.flatMap(([, from = '', to = from, first = '', last = first]) => [
      [Number(from), first],
      [Number(to), last],
    ]);
    expect(listed.filter(([index, name]) => OPCODES[Number(index)]?.name !== name)).toEqual([]);
    const covered = rows.reduce((sum, [, from = '', to = from]) => sum + Number(to) - Number(from) + 1, 0);
    expect(covered).toBe(OPCODES.length);
  });
});
