/** Markdown to HTML: what code hosts make of it, with links that lead to the pages of the site. */

import hljs from 'highlight.js/lib/core';
import bash from 'highlight.js/lib/languages/bash';
import ini from 'highlight.js/lib/languages/ini';
import json from 'highlight.js/lib/languages/json';
import python from 'highlight.js/lib/languages/python';
import typescript from 'highlight.js/lib/languages/typescript';
import xml from 'highlight.js/lib/languages/xml';
import yaml from 'highlight.js/lib/languages/yaml';
import createMarkdownIt, { type MarkdownIt, type Token } from 'markdown-it';
import { Slugs } from './slug.js';

const LANGUAGES = { bash, ini, json, python, typescript, xml, yaml };
const ALIASES: Readonly<Record<string, keyof typeof LANGUAGES>> = {
  sh: 'bash',
  toml: 'ini',
  ts: 'typescript',
  tsx: 'typescript',
  js: 'typescript',
  html: 'xml',
  yml: 'yaml',
};
for (const [name, language] of Object.entries(LANGUAGES)) hljs.registerLanguage(name, language);

/** `<a id="b1"></a>`: the one tag that documents have, a place to link to. */
const MARK = /^<a id="([\w-]+)"><\/a>/;

export interface Heading {
  readonly level: number;
  readonly id: string;
  readonly text: string;
}

/** The text below a heading, for the search. */
export interface Section extends Heading {
  readonly content: string;
}

export interface Rendered {
  readonly title: string;
  readonly html: string;
  readonly sections: readonly Section[];
  /** What links may lead to. */
  readonly anchors: ReadonlySet<string>;
}

/** Gives a link of the page, `docs/cli.md#errors` or an image, its place in the site. */
export type ResolveLink = (href: string, kind: 'link' | 'image') => string;

/** Renders a page. Without a heading of the first level its title is `fallback`. */
export function renderMarkdown(text: string, fallback: string, resolve: ResolveLink): Rendered {
  const markdown = createMarkdown();
  const tokens = markdown.parse(text, {});
  const slugs = new Slugs();
  const sections: Section[] = [{ level: 1, id: '', text: fallback, content: '' }];
  const anchors = new Set(['']);
  tokens.forEach((token: Token, i: number) => {
    if (token.type === 'heading_open') {
      const heading = plainText(tokens[i + 1]);
      const id = slugs.of(heading);
      token.attrSet('id', id);
      anchors.add(id);
      sections.push({ level: Number(token.tag.slice(1)), id, text: heading, content: '' });
    } else if (token.type === 'inline' && tokens[i - 1]?.type !== 'heading_open') append(sections, plainText(token));
    else if (token.type === 'fence' || token.type === 'code_block') append(sections, token.content);
    for (const child of token.children ?? []) {
      if (child.type === 'mark') anchors.add(child.content);
      else if (child.type === 'link_open') child.attrSet('href', resolve(String(child.attrGet('href') ?? ''), 'link'));
      else if (child.type === 'image') child.attrSet('src', resolve(String(child.attrGet('src') ?? ''), 'image'));
    }
  });
  const title = sections.find(({ level, id }) => level === 1 && id !== '')?.text ?? fallback;
  return { title, html: markdown.renderer.render(tokens, markdown.options, {}), sections, anchors };
}

function append(sections: Section[], content: string): void {
  const last = sections.pop();
  if (last !== undefined) sections.push({ ...last, content: `${last.content}${content}\n` });
}

/** The text of a line without its marks. */
function plainText(token: Token | undefined): string {
  const parts = token?.children ?? [];
  return parts
    .map(({ type, content }) => (type === 'softbreak' || type === 'hardbreak' ? ' ' : type === 'mark' ? '' : content))
    .join('');
}

function createMarkdown(): MarkdownIt {
  const markdown = createMarkdownIt({ html: false, linkify: false, highlight: highlighted });
  markdown.inline.ruler.before('autolink', 'mark', (state, silent) => {
    const [all = '', id = ''] = MARK.exec(state.src.slice(state.pos)) ?? [];
    if (all === '') return false;
    if (!silent) state.push('mark', '', 0).content = id;
    state.pos += all.length;
    return true;
  });
  const { rules } = markdown.renderer;
  rules.mark = (tokens, i) => `<a id="${tokens[i]?.content ?? ''}"></a>`;
  rules.table_open = () => '<div class="table" tabindex="0"><table>\n';
  rules.table_close = () => '</table></div>\n';
  rules.heading_close = (tokens, i) => {
    const id = tokens[i - 2]?.attrGet('id') ?? '';
    return `<a class="anchor" href="#${id}" aria-label="Link to this heading">#</a></${tokens[i]?.tag}>\n`;
  };
  return markdown;
}

/** Code with its parts in spans; what it is in is the first word behind the fence. */
function highlighted(code: string, info: string): string {
  const [name = ''] = info.split(' ');
  const language = ALIASES[name] ?? name;
  return Object.hasOwn(LANGUAGES, language) ? hljs.highlight(code, { language }).value : '';
}
