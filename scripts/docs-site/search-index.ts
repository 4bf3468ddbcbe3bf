/** The index of the search, as a script: a page from a folder may load no other file. */

import MiniSearch from 'minisearch';
import type { SitePage } from './site.js';

/** What the search in the page must know to read the index: theme/search.js has the same. */
const OPTIONS = { fields: ['title', 'page', 'content'], storeFields: ['title', 'page', 'url'] };

/** One entry for each heading of each document. */
export function searchIndex(pages: readonly SitePage[]): string {
  const index = new MiniSearch(OPTIONS);
  index.addAll(
    pages.flatMap(({ title: page, path, sections }) =>
      sections
        .filter(({ id, content }) => id !== '' || content !== '')
        .map(({ text, id, content }) => {
          const url = id === '' ? path : `${path}#${id}`;
          return { id: url, url, title: text, page, content };
        }),
    ),
  );
  return `globalThis.tesseraSearchIndex = ${JSON.stringify(JSON.stringify(index))};\n`;
}
