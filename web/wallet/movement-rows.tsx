/** Movements of the wallet as rows: state, what it was, who with, what it has changed. */

import { Amount } from '../shared/components/amount.js';
import { SafeLine, visible } from '../shared/components/safe-text.js';
import type { Column } from '../shared/components/table.js';
import { When } from '../shared/components/when.js';
import type { PayeeNames } from './address-book.js';
import { type Movement, partyOf } from './movement-log.js';
import { AddressName, BlockName, ItemCount, StateTag, TransactionName } from './parts.js';

const WAYS: Readonly<Record<Movement['direction'], string>> = { in: 'in', out: 'out', self: 'to itself' };

const KINDS: Readonly<Record<string, string>> = {
  payment: 'Payment',
  donation: 'Donation',
  item: 'Items',
  merge: 'Joining outputs',
  reward: 'Mining reward',
  trade: 'Trade',
  import: 'Imported key',
  genesis: 'Genesis block',
  unexplained: 'Not seen',
};

/** `Payment out`. */
function kindText({ kind, direction }: Movement): string {
  const name = KINDS[kind] ?? kind;
  return kind === 'payment' || kind === 'trade' || kind === 'donation' || kind === 'item'
    ? `${name} ${WAYS[direction]}`
    : name;
}

interface NamedMovement {
  readonly movement: Movement;
  readonly names: PayeeNames;
}

/** Who, by the name in the address book if there is one, and the note; an address without a name gives way to a note. */
function Party({ movement, names }: NamedMovement) {
  const { label, peer } = movement;
  const party = partyOf(movement);
  const name = names.get(party ?? '');
  const note = label !== null && <SafeLine text={label} />;
  if (party !== undefined && (name !== undefined || label === null)) {
    return (
      <>
        <AddressName value={party} name={name} />
        {label !== null && <span class="beside"> · {note}</span>}
      </>
    );
  }
  return note || (peer === null ? <span class="none">–</span> : <SafeLine text={peer} />);
}

function Change({ movement }: { readonly movement: Movement }) {
  const { net: raw, items, direction } = movement;
  const classes = Object.entries(items);
  const [first] = classes;
  if (raw === 0n && first !== undefined) {
    const [genesis, count] = first;
    return (
      <>
        {direction === 'in' ? '+' : direction === 'out' ? '−' : ''}
        <ItemCount count={count} genesis={genesis} />
        {classes.length > 1 && ` and ${classes.length - 1} more`}
      </>
    );
  }
  return (
    <span class={raw > 0n ? 'change in' : 'change'}>
      {raw > 0n ? '+' : raw < 0n ? '−' : ''}
      <Amount raw={raw < 0n ? -raw : raw} hasBoth={false} />
      {classes.length > 0 && ' and items'}
    </span>
  );
}

/** Time of the movement, or the reason of its rejection. */
function Time({ movement: { block_time, seen_at, reason } }: { readonly movement: Movement }) {
  if (reason !== null) {
    return (
      <span title={visible(reason)}>
        <SafeLine text={reason} />
      </span>
    );
  }
  const seconds = block_time ?? seen_at;
  return seconds === null ? <span class="none">–</span> : <When seconds={seconds} hasAge />;
}

/** Keep what it gives: a row is drawn again when its columns are others. */
export const movementColumns = (names: PayeeNames): readonly Column<Movement>[] => [
  { head: 'State', width: '6.5rem', cell: ({ state }) => <StateTag state={state} /> },
  { head: 'What', width: '8rem', cell: kindText },
  { head: 'With', width: 'minmax(0, 1fr)', cell: (movement) => <Party movement={movement} names={names} /> },
  {
    head: 'Transaction',
    width: 'minmax(0, 1fr)',
    cell: ({ chain_hash, tx_hash }) => {
      const hash = chain_hash ?? tx_hash;
      return hash === null ? <span class="none">unknown</span> : <TransactionName value={hash} />;
    },
  },
  { head: 'When', width: '8.5rem', cell: (movement) => <Time movement={movement} /> },
  { head: 'Change', width: '14rem', cell: (movement) => <Change movement={movement} />, isNumber: true },
];

/** Key of a row. */
export const movementKey = ({ number }: Movement): string => String(number);

/** One movement in a line, for short lists. */
export function MovementLine({ movement, names }: NamedMovement) {
  const named = names.get(partyOf(movement) ?? '') ?? movement.label;
  return (
    <>
      <StateTag state={movement.state} />
      <span class="line-main">
        {kindText(movement)}
        {named !== null && (
          <>
            : <SafeLine text={named} limit={40} />
          </>
        )}
      </span>
      <span class="line-part">
        <Time movement={movement} />
        {movement.block_num !== null && (
          <>
            , block <BlockName number={movement.block_num} />
          </>
        )}
      </span>
      <span class="line-end">
        <Change movement={movement} />
      </span>
    </>
  );
}
