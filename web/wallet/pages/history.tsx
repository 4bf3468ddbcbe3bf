/** Every movement of the wallet, newest first, with states that change as they are looked at. */

import { LongList } from '../../shared/components/long-list.js';
import { Page } from '../../shared/components/page.js';
import { MOVEMENT_COLUMNS, movementKey } from '../movement-rows.js';
import { useMovements } from '../use-movements.js';

export function HistoryPage() {
  const { movements, ...list } = useMovements();
  return (
    <Page title="History">
      <LongList
        label="History of the wallet"
        list={{ ...list, entries: movements }}
        columns={MOVEMENT_COLUMNS}
        keyOf={movementKey}
        nothing="No payments yet."
      />
    </Page>
  );
}
