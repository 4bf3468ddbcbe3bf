/**
 * The search of the site. The index is a script beside this one, loaded when the field is used for the first time: it works
 * from a folder and without a network.
 */

const OPTIONS = { fields: ['title', 'page', 'content'], storeFields: ['title', 'page', 'url'] };
const SEARCH = { boost: { title: 4, page: 2 }, prefix: true, fuzzy: 0.15, combineWith: 'AND' };
const MAX_RESULTS = 12;

const root = document.currentScript.dataset.root;
const field = document.getElementById('search');
const list = document.getElementById('results');
let index;
let chosen = -1;

function load(file) {
  return new Promise((resolve, reject) => {
    const script = document.createElement('script');
    script.src = `${root}assets/${file}`;
    script.onload = resolve;
    script.onerror = () => reject(new Error(`${file} cannot be loaded`));
    document.head.append(script);
  });
}

/** Loads the index once, however often it is asked for. */
function ready() {
  index ??= load('minisearch.js')
    .then(() => load('search-index.js'))
    .then(() => globalThis.MiniSearch.loadJSON(globalThis.tesseraSearchIndex, OPTIONS));
  return index;
}

function show(found) {
  chosen = -1;
  list.replaceChildren(
    ...found.slice(0, MAX_RESULTS).map(({ title, page, url }, i) => {
      const item = document.createElement('li');
      const link = document.createElement('a');
      const where = document.createElement('small');
      item.id = `result-${i}`;
      item.setAttribute('role', 'option');
      link.href = root + url;
      link.tabIndex = -1;
      link.append(title, where);
      where.textContent = page;
      item.append(link);
      return item;
    }),
  );
  if (found.length === 0) list.append(Object.assign(document.createElement('li'), { textContent: 'Nothing found' }));
  setOpen(true);
}

function setOpen(isOpen) {
  list.hidden = !isOpen;
  field.setAttribute('aria-expanded', String(isOpen));
}

async function search() {
  const text = field.value.trim();
  if (text === '') return setOpen(false);
  const found = (await ready()).search(text, SEARCH);
  // Something else was typed meanwhile.
  if (field.value.trim() === text) show(found);
}

function choose(step) {
  const links = list.querySelectorAll('a');
  if (links.length === 0) return;
  links[chosen]?.parentElement.removeAttribute('aria-selected');
  chosen = (chosen + step + links.length) % links.length;
  const item = links[chosen].parentElement;
  item.setAttribute('aria-selected', 'true');
  item.scrollIntoView({ block: 'nearest' });
  field.setAttribute('aria-activedescendant', item.id);
}

const KEYS = {
  ArrowDown: () => choose(1),
  ArrowUp: () => choose(-1),
  Enter: () => (list.querySelectorAll('a')[Math.max(chosen, 0)] ?? field).click(),
  Escape: () => setOpen(false),
};

field.addEventListener('focus', () => void ready());
field.addEventListener('input', () => void search());
field.addEventListener('keydown', (event) => {
  const act = KEYS[event.key];
  if (act === undefined) return;
  event.preventDefault();
  // Enter right after a word is for what that word finds.
  if (event.key === 'Enter' && list.hidden) void search().then(act);
  else act();
});
list.addEventListener('click', () => setOpen(false));
document.addEventListener('click', (event) => {
  if (!event.target.closest('search')) setOpen(false);
});
document.addEventListener('keydown', (event) => {
  if (event.key !== '/' || event.target.closest('input')) return;
  event.preventDefault();
  field.focus();
});

// On a narrow page the contents are folded away.
if (matchMedia('(max-width: 60rem)').matches) document.querySelector('.menu').open = false;
