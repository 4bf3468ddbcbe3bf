/** Small parts of the pages of the wallet: states, names of the chain with a link where this address shows it, items. */

import type { ComponentChildren } from 'preact';
import { temporaryAddressWarning } from '../../src/chain/address.js';
import { grouped } from '../shared/amounts.js';
import { BESIDE, Hash } from '../shared/components/hash.js';
import { Notice } from '../shared/components/notice.js';
import { SafeText } from '../shared/components/safe-text.js';
import { useServes } from '../shared/use-node.js';
import type { Movement } from './movement-log.js';
import { useSession } from './session.js';

/** Served where the pages of the explorer are. */
const BLOCKS = '/v1/blocks';

const STATES: Readonly<Record<Movement['state'], readonly [kind: string, text: string, about: string]>> = {
  queued: ['wait', 'Queued', 'Stored on this node, but not yet at a mempool node'],
  sent: ['wait', 'Sent', 'At a mempool node, but not yet in a block'],
  confirmed: ['good', 'Confirmed', 'In a block'],
  rejected: ['bad', 'Rejected', 'It will not happen'],
};

export function StateTag({ state }: { readonly state: Movement['state'] }) {
  const [kind, text, about] = STATES[state] ?? ['', state, ''];
  return (
    <span class={`tag ${kind}`} title={about}>
      {text}
    </span>
  );
}

/** Warning to the owner of such addresses; nothing when there are none. */
export function TemporaryAddresses({ addresses }: { readonly addresses: readonly string[] | undefined }) {
  const warning = temporaryAddressWarning(addresses);
  if (warning === undefined) return null;
  return (
    <Notice title="Addresses that other keys can spend from" kind="warning">
      <SafeText text={warning} />
    </Notice>
  );
}

interface NameProps {
  readonly value: string;
  readonly isWhole?: boolean;
  /** What the owner calls it. */
  readonly name?: string | undefined;
}

/** A path of the explorer, where this address serves it. */
function usePathOf(folder: string, name: string): { readonly href?: string; readonly isBeside?: boolean } {
  const { apiKey } = useSession();
  // The key is in the memory of this page, so the explorer opens in a tab beside it.
  const isBeside = apiKey !== '';
  return useServes(BLOCKS) === true ? { href: `/${folder}/${encodeURIComponent(name)}`, isBeside } : {};
}

export function TransactionName({ value, isWhole = false }: NameProps) {
  return <Hash value={value} isWhole={isWhole} {...usePathOf('transactions', value)} />;
}

export function AddressName({ value, name, isWhole = false }: NameProps) {
  return <Hash value={value} name={name} isWhole={isWhole} {...usePathOf('addresses', value)} />;
}

export function ItemName({ value, isWhole = false }: NameProps) {
  return <Hash value={value} isWhole={isWhole} {...usePathOf('items', value)} />;
}

export function BlockName({ number }: { readonly number: bigint }) {
  const { href, isBeside = false } = usePathOf('blocks', String(number));
  if (href === undefined) return <span>{grouped(number)}</span>;
  return (
    <a href={href} {...(isBeside ? BESIDE : {})}>
      {grouped(number)}
    </a>
  );
}

/** Number of items of a class. */
export function ItemCount({ count, genesis }: { readonly count: number | bigint; readonly genesis: string }) {
  return (
    <span class="item-count">
      {grouped(count)} × <ItemName value={genesis} />
    </span>
  );
}

interface FieldProps {
  readonly label: string;
  /** Text below the field: what was understood. */
  readonly hint?: ComponentChildren;
  /** Fault that is shown in its place. */
  readonly fault?: string | undefined;
  readonly id: string;
  readonly children: ComponentChildren;
}

/** A label, its control, and what there is to say about it. The control has `id`, and `aria-describedby` `ID-hint`. */
export function Field({ label, hint, fault, id, children }: FieldProps) {
  return (
    <div class="form-field">
      <label htmlFor={id}>{label}</label>
      {children}
      {(fault ?? hint) !== undefined && (
        <p id={`${id}-hint`} class={fault === undefined ? 'hint' : 'hint bad-news'}>
          {fault ?? hint}
        </p>
      )}
    </div>
  );
}

interface SecretFieldProps {
  readonly id: string;
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly hint?: string | undefined;
}

/** A field for a passphrase or key: nothing of it is shown or kept by the browser. */
export function SecretField({ id, label, value, onChange, hint }: SecretFieldProps) {
  return (
    <Field label={label} id={id} hint={hint}>
      <input
        id={id}
        class="field"
        type="password"
        autocomplete="off"
        maxLength={1_024}
        value={value}
        onInput={({ currentTarget }) => onChange(currentTarget.value)}
      />
    </Field>
  );
}
