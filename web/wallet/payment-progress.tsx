/** A payment that was accepted, followed until a block has it or it is rejected. */

import { useEffect, useRef } from 'preact/hooks';
import { Notice } from '../shared/components/notice.js';
import { BlockName, StateTag, TransactionName } from './parts.js';
import { useLatest } from './use-wallet.js';

/** Number of newest movements among which it is looked for. */
const LOOKED_AT = 200;
/** No event says that a mempool node has taken a payment. */
const AGAIN_MS = 2_000;

export function PaymentProgress({ hash }: { readonly hash: string }) {
  const latest = useLatest(LOOKED_AT);
  const { value, reload } = latest;
  const found = value?.movements.find(({ tx_hash }) => tx_hash === hash);
  const seen = useRef(found);
  // Others push it out of the newest ones: what was seen of it last still holds.
  seen.current = found ?? seen.current;
  const movement = seen.current;
  const isSettled = movement?.state === 'confirmed' || movement?.state === 'rejected';
  useEffect(() => {
    if (isSettled) return;
    const timer = setInterval(reload, AGAIN_MS);
    return () => clearInterval(timer);
  }, [isSettled, reload]);
  return (
    <Notice title="The node has accepted it" kind={movement?.state === 'rejected' ? 'failure' : 'plain'}>
      <p>
        <TransactionName value={hash} isWhole />
      </p>
      <p>
        <StateTag state={movement?.state ?? 'queued'} />
        {value !== undefined && found === undefined && (
          <>
            {' '}
            Later movements have come: the <a href="/wallet/history">history</a> knows how it stands now.
          </>
        )}
        {movement?.block_num != null && (
          <>
            {' '}
            in block <BlockName number={movement.block_num} />
          </>
        )}{' '}
        {movement?.reason != null && <bdi>{movement.reason}</bdi>}
      </p>
    </Notice>
  );
}
