/** Creating items: how many, of which kind, and the text that goes with them for ever. */

import { useState } from 'preact/hooks';
import { readAmount } from '../../shared/amounts.js';
import { Notice } from '../../shared/components/notice.js';
import { useKeptFocus } from '../../shared/use-kept-focus.js';
import { Confirm } from '../confirm.js';
import type { Order } from '../order.js';
import { SPECS } from '../order-facts.js';
import { Field } from '../parts.js';
import { useOrders } from '../use-orders.js';

type Spec = 'Create' | 'Default';

export function CreateItems({ onEnd }: { readonly onEnd: () => void }) {
  const [text, setText] = useState('1');
  const [spec, setSpec] = useState<Spec>('Create');
  const [metadata, setMetadata] = useState('');
  const desk = useOrders();
  const [order, setOrder] = useState<Order>();
  const [isDone, setDone] = useState(false);
  if (isDone) return <ItemsOrdered onEnd={onEnd} />;
  if (order !== undefined) {
    return <Confirm order={order} onBack={() => setOrder(undefined)} onDone={() => setDone(true)} />;
  }
  const { value: count, fault } = readAmount(text, 'items');
  return (
    <section class="panel" aria-labelledby="create">
      <h2 id="create">Create items</h2>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          if (count === undefined) return;
          const body = {
            genesis_hash_spec: spec,
            item_amount: count,
            metadata: metadata === '' ? null : metadata,
          };
          setOrder(desk.take('/v1/items', body));
        }}
      >
        <Field label="How many" id="count" fault={fault}>
          <input
            id="count"
            class="field"
            required
            inputMode="numeric"
            autocomplete="off"
            aria-describedby={fault && 'count-hint'}
            aria-invalid={fault !== undefined}
            value={text}
            onInput={({ currentTarget }) => setText(currentTarget.value)}
          />
        </Field>
        <Field label="Kind" id="spec">
          <select
            id="spec"
            class="field"
            value={spec}
            onChange={({ currentTarget }) => setSpec(currentTarget.value as Spec)}
          >
            <option value="Create">{SPECS.Create}</option>
            <option value="Default">{SPECS.Default}</option>
          </select>
        </Field>
        <Field label="Metadata" id="metadata" hint="Everybody can read it, and nobody can change it.">
          <textarea
            id="metadata"
            class="field"
            rows={4}
            aria-describedby="metadata-hint"
            value={metadata}
            onInput={({ currentTarget }) => setMetadata(currentTarget.value)}
          />
        </Field>
        <div class="buttons">
          <button type="submit" class="button main" disabled={count === undefined}>
            Review
          </button>
          <button type="button" class="button" onClick={onEnd}>
            Back
          </button>
        </div>
      </form>
    </section>
  );
}

/** Notice that the items come with a block. */
function ItemsOrdered({ onEnd }: { readonly onEnd: () => void }) {
  useKeptFocus();
  return (
    <>
      <Notice title="The node has accepted it">
        <p>
          The items are listed when a block has them; the <a href="/wallet/history">history</a> says how far it is.
        </p>
      </Notice>
      <button type="button" class="button" onClick={onEnd}>
        To the items
      </button>
    </>
  );
}
