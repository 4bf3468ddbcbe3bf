/** Every movement of the wallet, newest first, with states that change as they are looked at; filters, notes, and a file. */

import { useMemo, useState } from 'preact/hooks';
import { LongList } from '../../shared/components/long-list.js';
import { Page } from '../../shared/components/page.js';
import type { Column } from '../../shared/components/table.js';
import { useAction } from '../../shared/use-action.js';
import type { PayeeNames } from '../address-book.js';
import { historyCsv } from '../history-csv.js';
import { LabelForm } from '../label-form.js';
import type { Movement } from '../movement-log.js';
import { movementColumns, movementKey } from '../movement-rows.js';
import { TransactionName } from '../parts.js';
import { usePayeeNames } from '../payees.js';
import { saveFile } from '../save-file.js';
import { useSession } from '../session.js';
import { type MovementFilter, useMovements } from '../use-movements.js';

const FILTERS = {
  direction: { label: 'Direction', options: { in: 'In', out: 'Out', self: 'To itself' } },
  state: { label: 'State', options: { queued: 'Queued', sent: 'Sent', confirmed: 'Confirmed', rejected: 'Rejected' } },
  kind: {
    label: 'Kind',
    options: { payment: 'Payments', donation: 'Donations', item: 'Items', trade: 'Trades', reward: 'Mining rewards' },
  },
} as const;
const NAMES = ['direction', 'state', 'kind'] as const;

/** Movements in a file, at most, and of one request. */
const MOST_IN_FILE = 50_000;
const PAGE = 1_000;

export function HistoryPage() {
  const [filter, setFilter] = useState<MovementFilter>({});
  const { movements, ...list } = useMovements(filter);
  const [noted, setNoted] = useState<Movement>();
  const names = usePayeeNames();
  const columns = useMemo(() => {
    const all = movementColumns(names);
    return [...all.slice(0, -1), noteColumn(setNoted), ...all.slice(-1)];
  }, [names]);
  return (
    <Page title="History">
      <form class="filters" aria-label="Filters" onSubmit={(event) => event.preventDefault()}>
        {NAMES.map((name) => (
          <label key={name}>
            {FILTERS[name].label}{' '}
            <select
              class="field"
              value={filter[name] ?? ''}
              onChange={({ currentTarget: { value } }) => {
                const { [name]: _, ...others } = filter;
                setFilter(value === '' ? others : ({ ...others, [name]: value } as MovementFilter));
              }}
            >
              <option value="">All</option>
              {Object.entries(FILTERS[name].options).map(([value, text]) => (
                <option value={value}>{text}</option>
              ))}
            </select>
          </label>
        ))}
        <SaveCsv filter={filter} names={names} />
      </form>
      {noted !== undefined && (
        <LabelForm
          key={movementKey(noted)}
          title="Note"
          field="Note, for yourself"
          hint="The wallet keeps it, and it is in its backups. Empty: none."
          text={noted.label ?? ''}
          labelFor={(label) => ({ kind: 'transaction', name: noted.tx_hash ?? '', label })}
          onEnd={() => {
            setNoted(undefined);
            list.retry();
          }}
        >
          <TransactionName value={noted.tx_hash ?? ''} />
        </LabelForm>
      )}
      <LongList
        label="History of the wallet"
        list={{ ...list, entries: movements }}
        columns={columns}
        keyOf={movementKey}
        nothing={Object.keys(filter).length === 0 ? 'No payments yet.' : 'None.'}
      />
    </Page>
  );
}

function noteColumn(onNote: (movement: Movement) => void): Column<Movement> {
  return {
    head: 'Note',
    width: '6rem',
    cell: (movement) =>
      movement.tx_hash !== null && (
        <button type="button" class="button small" onClick={() => onNote(movement)}>
          Note<span class="unseen"> for movement {movement.number.toString()}</span>
        </button>
      ),
  };
}

interface SaveCsvProps {
  readonly filter: MovementFilter;
  readonly names: PayeeNames;
}

function SaveCsv({ filter, names }: SaveCsvProps) {
  const { ask } = useSession();
  const { said, isBusy, run } = useAction();
  const save = async () => {
    const movements: Movement[] = [];
    let cursor: bigint | null | undefined;
    while (cursor !== null && movements.length < MOST_IN_FILE) {
      const from: { cursor?: bigint } = cursor === undefined ? {} : { cursor };
      const page = await ask((node) => node.getWalletMovements({ limit: PAGE, ...filter, ...from }));
      movements.push(...page.movements);
      cursor = page.next;
    }
    saveFile(historyCsv(movements, names), `tessera-history-${new Date().toISOString().slice(0, 10)}.csv`, 'text/csv');
    return `The browser has saved ${movements.length} movements${cursor === null ? '' : ', the newest ones'}.`;
  };
  return (
    <>
      <button type="button" class="button" disabled={isBusy} onClick={() => void run(save)}>
        Save as CSV
      </button>
      {said}
    </>
  );
}
