/** Every movement of the wallet, newest first, with states that change as they are looked at. */

import { Failed } from '../../shared/components/notice.js';
import { Page } from '../../shared/components/page.js';
import { Table } from '../../shared/components/table.js';
import { MOVEMENT_COLUMNS, movementKey } from '../movement-rows.js';
import { useMovements } from '../use-movements.js';

export function HistoryPage() {
  const { movements, isLoading, isAll, error, onRange, retry } = useMovements();
  return (
    <Page title="History">
      {isAll && movements.length === 0 ? (
        <p class="none">Nothing has moved yet.</p>
      ) : (
        <Table
          label="History of the wallet"
          columns={MOVEMENT_COLUMNS}
          count={movements.length}
          rowAt={(index) => movements[index]}
          keyOf={movementKey}
          onRange={onRange}
        />
      )}
      {error !== undefined && <Failed error={error} retry={retry} />}
      {isLoading && (
        <p class="loading" role="status">
          Loading…
        </p>
      )}
    </Page>
  );
}
