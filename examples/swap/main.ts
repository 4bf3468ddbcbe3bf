/** The page: reads what its user types, and shows what the wallet says. Texts of strangers are set as text, never as markup. */

import { createClient, formatAmount, parseAmount, type TesseraClient } from 'tessera-node/client';
import { type Amount, generateMnemonic, type Offer, readTradeDocument, termsOf } from 'tessera-node/wallet';
import { type HeldItem, PageWallet, type Step } from './wallet.js';

const TOKENS = 'tokens';
/** Milliseconds in which the other party may send its half. */
const TRADE_WITHIN = 3_600_000;

function element<T extends HTMLElement>(id: string, type: new () => T): T {
  const found = document.getElementById(id);
  if (found instanceof type) return found;
  throw new Error(`the page has no ${id}`);
}

const form = (id: string) => element(id, HTMLFormElement);
const fieldOf = (of: HTMLFormElement, name: string): string => String(new FormData(of).get(name) ?? '').trim();

const status = element('status', HTMLParagraphElement);
const terms = element('terms', HTMLDivElement);
const outgoing = element('document', HTMLTextAreaElement);

let client: TesseraClient | undefined;
let wallet: PageWallet | undefined;
let offered: Offer | undefined;

/** Runs a step, and says what has become of it. */
function doing(what: string, step: () => Promise<string>): void {
  status.textContent = `${what} …`;
  step().then(
    (done) => {
      status.textContent = done;
    },
    (error: unknown) => {
      status.textContent = `${what}: ${error instanceof Error ? error.message : String(error)}`;
    },
  );
}

function opened(): { client: TesseraClient; wallet: PageWallet } {
  if (client === undefined || wallet === undefined) throw new Error('open a wallet first');
  return { client, wallet };
}

const amountText = ({ amount, item }: Amount): string =>
  item === undefined ? `${formatAmount(amount)} tokens` : `${amount} items of ${item}`;

async function refresh(): Promise<void> {
  const { tokens, items } = await opened().wallet.holdings();
  element('tokens', HTMLOutputElement).textContent = formatAmount(tokens);
  element('items', HTMLUListElement).replaceChildren(...items.map(itemLine));
  for (const select of document.querySelectorAll('select')) showKinds(select, items);
}

function itemLine({ item, amount, metadata }: HeldItem): HTMLLIElement {
  const line = document.createElement('li');
  line.textContent = `${amount} × ${metadata ?? 'without a name'} (${item})`;
  return line;
}

function showKinds(select: HTMLSelectElement, items: readonly HeldItem[]): void {
  const { value } = select;
  const kinds = [
    new Option('tokens', TOKENS),
    ...items.map(({ item, metadata }) => new Option(metadata ?? item, item)),
  ];
  select.replaceChildren(...kinds);
  if (kinds.some((option) => option.value === value)) select.value = value;
}

function amountFrom(text: string, what: string): Amount {
  return what === TOKENS ? { amount: parseAmount(text) } : { amount: BigInt(text), item: what };
}

function note(text: string): void {
  const line = document.createElement('li');
  line.textContent = text;
  element('log', HTMLOListElement).append(line);
}

/** Shows what is for the other page, and waits for what was sent. */
function show({ document: made, sent }: Step): void {
  if (made !== undefined) outgoing.value = JSON.stringify(made);
  if (sent === undefined) return;
  note(`Your half is sent: ${sent}`);
  opened()
    .client.waitForTransaction(sent, { timeoutMs: TRADE_WITHIN })
    .then(refresh)
    .then(
      () => note('The trade is done.'),
      (error: unknown) => note(error instanceof Error ? error.message : String(error)),
    );
}

/** Every block may bring something. */
async function follow(): Promise<void> {
  for await (const event of opened().client.events({ topics: ['blocks'] })) {
    if (event.name === 'block' || event.name === 'reset') await refresh().catch(() => undefined);
  }
}

element('new-words', HTMLButtonElement).addEventListener('click', () => {
  const field = form('open').elements.namedItem('words');
  if (field instanceof HTMLTextAreaElement) field.value = generateMnemonic(12);
});

form('open').addEventListener('submit', (event) => {
  event.preventDefault();
  const fields = form('open');
  doing('Opening the wallet', async () => {
    client = createClient({ url: fieldOf(fields, 'url') });
    wallet = await PageWallet.open(fieldOf(fields, 'words'), client, fieldOf(fields, 'network'));
    element('address', HTMLElement).textContent = wallet.address;
    await refresh();
    fields.hidden = true;
    fields.reset();
    element('wallet', HTMLDivElement).hidden = false;
    follow().catch((error: unknown) => note(`No events: ${String(error)}`));
    return 'The wallet is open.';
  });
});

element('faucet', HTMLButtonElement).addEventListener('click', () => {
  doing('Asking for tokens', async () => {
    const { address } = opened().wallet;
    // Dev networks only. The wallet of the network pays, so that nobody needs a key here.
    await opened().client.payFromFaucet({ address, amount: parseAmount('10') });
    await refresh();
    return 'There are the tokens.';
  });
});

form('create').addEventListener('submit', (event) => {
  event.preventDefault();
  doing('Creating items', async () => {
    const fields = form('create');
    const item = await opened().wallet.createItems(BigInt(fieldOf(fields, 'amount')), fieldOf(fields, 'metadata'));
    await refresh();
    return `The items are there: ${item}`;
  });
});

form('offer').addEventListener('submit', (event) => {
  event.preventDefault();
  doing('Making the offer', async () => {
    const fields = form('offer');
    const give = amountFrom(fieldOf(fields, 'give'), fieldOf(fields, 'give-what'));
    const want = amountFrom(fieldOf(fields, 'want'), fieldOf(fields, 'want-item') || fieldOf(fields, 'want-what'));
    outgoing.value = JSON.stringify(opened().wallet.offer(give, want));
    return `Offered: ${amountText(give)} for ${amountText(want)}. Give the text below to the other page.`;
  });
});

form('answer').addEventListener('submit', (event) => {
  event.preventDefault();
  doing('Reading', async () => {
    const own = opened().wallet;
    const read = readTradeDocument(JSON.parse(fieldOf(form('answer'), 'document')));
    form('answer').reset();
    if (read.kind === 'tessera-trade-offer') return ask(read, own);
    show(read.kind === 'tessera-trade-acceptance' ? await own.confirm(read) : await own.complete(read));
    return 'Your half of the trade is on its way.';
  });
});

/** Nothing of an offer happens before the user has seen what it says. */
function ask(offer: Offer, own: PageWallet): string {
  if (!own.isForeign(offer)) throw new Error('this is an offer of this page: the other one has to read it');
  const { makerGives, takerGives } = termsOf(offer);
  offered = offer;
  element('terms-text', HTMLParagraphElement).textContent =
    `You get ${amountText(makerGives)}, and give ${amountText(takerGives)}.`;
  terms.hidden = false;
  return 'Do you agree?';
}

element('agree', HTMLButtonElement).addEventListener('click', () => {
  doing('Accepting', async () => {
    if (offered === undefined) throw new Error('there is no offer');
    show(await opened().wallet.accept(offered));
    terms.hidden = true;
    return 'Accepted. Give the text below to the other page.';
  });
});
