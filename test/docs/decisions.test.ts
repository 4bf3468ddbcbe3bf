/** The table of decision records: each record once, in order, with the status that its page has. */

import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

/** The page of small decisions, without its ending. */
const SMALL = 'small-decisions';
const folder = fileURLToPath(new URL('../../docs/adr/', import.meta.url));
const read = (name: string): string => readFileSync(`${folder}${name}`, 'utf8');
const rows = [...read('README.md').matchAll(/^\| \[(\d{4})\]\(([^)]+)\) \| (.+?) \| (.+) \|$/gm)].map(
  ([, number = '', place = '', title = '', status = '']) => ({ number, place, title, status }),
);

it('lists each decision once, in the order of their numbers', () => {
  const pages = readdirSync(folder).filter((name) => name !== 'README.md' && name !== `${SMALL}.md`);
  const small = [...read(`${SMALL}.md`).matchAll(/^## (\d{4})$/gm)].map(([, number]) => `${SMALL}.md#${number}`);
  const records = [...pages.map((name) => [name.slice(0, 4), name]), ...small.map((one) => [one.slice(-4), one])];
  expect(rows.map(({ number, place }) => [number, place])).toEqual(records.sort());
});

it.each(rows.filter(({ place }) => !place.startsWith(SMALL)))(
  '$place says the title and the status that it has',
  ({ number, place, title, status }) => {
    expect(read(place).split('\n').slice(0, 3)).toEqual([`# ${number} ${title}`, '', `**Status:** ${status}`]);
  },
);

it('says of small decisions what their page says', () => {
  for (const { number, title, status } of rows.filter(({ place }) => place.startsWith(SMALL))) {
    const [first = '', ...rest] = status;
    expect(read(`${SMALL}.md`)).toContain(`## ${number}\n\n**${title}.** ${first.toUpperCase()}${rest.join('')}.\n`);
  }
});
