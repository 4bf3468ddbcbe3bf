/** Facts of an order, read from what is sent: nobody confirms anything but that. */

import { grouped } from '../shared/amounts.js';
import { Amount } from '../shared/components/amount.js';
import { Fact } from '../shared/components/facts.js';
import { Hash } from '../shared/components/hash.js';
import { SafeLine, SafeText } from '../shared/components/safe-text.js';
import type { Order, OrderPath } from './order.js';
import { ItemName } from './parts.js';
import { usePayeeNames } from './payees.js';

interface OrderWords {
  /** `A payment`. */
  readonly what: string;
  /** Its title when the node has done it. */
  readonly done: string;
  /** The button. */
  readonly verb: string;
  readonly asksPassphrase: boolean;
  /** Permission that the API key needs. */
  readonly permission: string;
  /** Meaning of a refusal. */
  readonly refusal: string;
}

const COMMON = { asksPassphrase: true, permission: 'pay', refusal: 'Nothing was done.' };

export const ORDER_WORDS: Readonly<Record<OrderPath, OrderWords>> = {
  '/v1/payments': { ...COMMON, what: 'A payment', done: 'Paid', verb: 'Pay now' },
  '/v1/item-payments': { ...COMMON, what: 'A payment of items', done: 'Items sent', verb: 'Send now' },
  '/v1/items': { ...COMMON, what: 'New items', done: 'Items created', verb: 'Create now', asksPassphrase: false },
  '/v1/donation-requests': {
    ...COMMON,
    what: 'A request for a donation',
    done: 'Donation requested',
    verb: 'Ask now',
    asksPassphrase: false,
    refusal: 'A node that does not answer in time may still pay.',
  },
};

export const SPECS: Readonly<Record<string, string>> = {
  Create: 'A class of their own',
  Default: 'The shared class; everybody may create more',
};

const FACTS: Readonly<Record<OrderPath, (body: Order['body']) => preact.JSX.Element>> = {
  '/v1/payments': (body) => (
    <>
      <PayeeFact body={body} />
      <Fact name="Amount">
        <Amount raw={body.amount as number | bigint} />{' '}
        <span class="unseen">{grouped(body.amount as number | bigint)} raw units</span>
      </Fact>
      <Fact name="Fee">none</Fact>
    </>
  ),
  '/v1/item-payments': (body) => (
    <>
      <PayeeFact body={body} />
      <Fact name="Items">{grouped(body.amount as number | bigint)}</Fact>
      <Fact name="Of the kind">
        <ItemName value={String(body.genesis_hash)} isWhole />
      </Fact>
      <Fact name="Fee">none</Fact>
    </>
  ),
  '/v1/items': ({ item_amount, genesis_hash_spec, metadata }) => (
    <>
      <Fact name="Items">{grouped(item_amount as number | bigint)}</Fact>
      <Fact name="Kind">{SPECS[String(genesis_hash_spec)] ?? String(genesis_hash_spec)}</Fact>
      <Fact name="Metadata, readable by everybody">
        {typeof metadata === 'string' ? <SafeText text={metadata} /> : <span class="none">none</span>}
      </Fact>
    </>
  ),
  '/v1/donation-requests': ({ address }) => (
    <Fact name="Asked for a donation">
      <code>{String(address)}</code>
    </Fact>
  ),
};

/** Put it into `Facts`. */
export function OrderFacts({ order: { path, body } }: { readonly order: Order }) {
  return FACTS[path](body);
}

function PayeeFact({ body: { kind, address } }: { readonly body: Order['body'] }) {
  const name = usePayeeNames().get(String(address));
  return kind === 'address' ? (
    <>
      {name !== undefined && (
        <Fact name="To">
          <SafeLine text={name} />
        </Fact>
      )}
      <Fact name="To the address">
        <Hash value={String(address)} isWhole />
      </Fact>
    </>
  ) : (
    <Fact name="To the node">
      <code>{String(address)}</code>, which names the address
    </Fact>
  );
}
