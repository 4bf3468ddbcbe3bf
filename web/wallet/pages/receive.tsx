/** Being paid: a new address with its QR code, the labels of addresses, and what is unspent where. */

import { useCallback, useState } from 'preact/hooks';
import { paymentUri } from '../../../src/client/payment-uri.js';
import type { LabelsResponse, OutpointEntry } from '../../../src/sdk/client.js';
import { readAmount } from '../../shared/amounts.js';
import { Amount } from '../../shared/components/amount.js';
import { Copy, Hash } from '../../shared/components/hash.js';
import { LongList } from '../../shared/components/long-list.js';
import { Loaded } from '../../shared/components/notice.js';
import { Page } from '../../shared/components/page.js';
import { SafeLine } from '../../shared/components/safe-text.js';
import type { Column } from '../../shared/components/table.js';
import { useAction } from '../../shared/use-action.js';
import { type PageOf, usePages } from '../../shared/use-pages.js';
import { isPayee } from '../address-book.js';
import { AmountField, type AmountInput, NO_AMOUNT } from '../amount-field.js';
import { AddressName, Field, ItemCount, TemporaryAddresses } from '../parts.js';
import { QrCode } from '../qr-code.js';
import { useSession } from '../session.js';
import { useChanges, useTotals, useWallet } from '../use-wallet.js';

const MAX_LABEL_BYTES = 256;
/** Outputs of a page of `GET /v1/wallet`. */
const PAGE = 25;

export function ReceivePage() {
  const [address, setAddress] = useState<string>();
  const labels = useWallet('labels', (node, signal) => node.getWalletLabels({}, { signal }));
  const totals = useTotals();
  // One that holds something is certainly of this wallet.
  const temporary = totals.value?.temporary_addresses ?? [];
  const held = Object.keys(totals.value?.addresses ?? {}).find((one) => !temporary.includes(one));
  const shown = address ?? held;
  return (
    <Page title="Receive">
      <TemporaryAddresses addresses={totals.value?.temporary_addresses} />
      {shown !== undefined && <Request key={shown} address={shown} />}
      <NewAddress
        onMade={(made) => {
          setAddress(made);
          labels.reload();
        }}
      />
      <section class="panel" aria-labelledby="named">
        <h2 id="named">Addresses with a label</h2>
        <Loaded resource={labels} what="labels">
          {(found) => <Labelled labels={found.labels} onShow={setAddress} />}
        </Loaded>
      </section>
      <Outputs />
    </Page>
  );
}

/** An address with its QR code, and, if the owner wants, an amount and a text in it. */
function Request({ address }: { readonly address: string }) {
  const [amount, setAmount] = useState<AmountInput>(NO_AMOUNT);
  const [label, setLabel] = useState('');
  const { value } = readAmount(amount.text, amount.unit);
  const uri = paymentUri({ address, amount: value, label: label.trim() });
  const isPlain = value === undefined && label.trim() === '';
  return (
    <section class="panel receive" aria-labelledby="made">
      <QrCode text={isPlain ? address : uri} label="QR code of the address" />
      <div class="form">
        <h2 id="made">Pay to this address</h2>
        <p class="address">
          <Hash value={address} isWhole />
        </p>
        <AmountField value={amount} onChange={setAmount} available={undefined} />
        <Field label="For what, as the payer sees it" id="request-label">
          <input
            id="request-label"
            class="field"
            maxLength={80}
            autocomplete="off"
            value={label}
            onInput={({ currentTarget }) => setLabel(currentTarget.value)}
          />
        </Field>
        {!isPlain && (
          <p class="request-uri">
            <code>{uri}</code> <Copy text={uri} label="Copy the request" />
          </p>
        )}
        <p class="hint">It belongs to this wallet for ever. For privacy, use a new address for each payer.</p>
      </div>
    </section>
  );
}

function NewAddress({ onMade }: { readonly onMade: (address: string) => void }) {
  const { ask } = useSession();
  const [label, setLabel] = useState('');
  const { said, isBusy, run } = useAction();
  const isTooLong = new TextEncoder().encode(label).length > MAX_LABEL_BYTES;
  const make = async () => {
    const { address } = await ask((node) => node.createWalletAddress());
    onMade(address);
    const text = label.trim();
    if (text !== '') {
      await ask((node) => node.setWalletLabels({ labels: [{ kind: 'address', name: address, label: text }] }));
      onMade(address);
      setLabel('');
    }
    return 'The new address is above.';
  };
  return (
    <section class="panel" aria-label="New address">
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          void run(make);
        }}
      >
        <Field label="Label, for yourself" id="label" hint={isTooLong ? 'A label has at most 256 bytes.' : undefined}>
          <input
            id="label"
            class="field"
            maxLength={MAX_LABEL_BYTES}
            autocomplete="off"
            value={label}
            onInput={({ currentTarget }) => setLabel(currentTarget.value)}
          />
        </Field>
        <div class="buttons">
          <button type="submit" class="button main" disabled={isBusy || isTooLong}>
            New address
          </button>
        </div>
      </form>
      {said}
    </section>
  );
}

/** Number of labels that are shown; the command line has them all. */
const LABELS_SHOWN = 200;

interface LabelledProps extends LabelsResponse {
  readonly onShow: (address: string) => void;
}

function Labelled({ labels, onShow }: LabelledProps) {
  const addresses = labels.filter((one) => one.kind === 'address' && !isPayee(one)).slice(0, LABELS_SHOWN);
  if (addresses.length === 0) return <p class="none">None yet.</p>;
  return (
    <ul class="lines">
      {addresses.map(({ name, label }) => (
        <li key={name}>
          <span class="line-main">
            <SafeLine text={label} />
          </span>
          <span class="line-part">
            <AddressName value={name} />
          </span>
          <button
            type="button"
            class="button small"
            onClick={() => {
              onShow(name);
              scrollTo(0, 0);
            }}
          >
            Show<span class="unseen"> the QR code of {label}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}

interface OwnOutput {
  readonly address: string;
  readonly entry: OutpointEntry;
}

const OUTPUT_COLUMNS: readonly Column<OwnOutput>[] = [
  { head: 'Address', width: 'minmax(0, 1fr)', cell: ({ address }) => <AddressName value={address} /> },
  {
    head: 'Holds',
    width: 'minmax(0, 1fr)',
    isNumber: true,
    cell: ({ entry: { value, out_point } }) =>
      'Token' in value ? (
        <Amount raw={value.Token} />
      ) : (
        <ItemCount count={value.Item.amount} genesis={value.Item.genesis_hash ?? out_point.t_hash} />
      ),
  },
];

const outputKey = ({ entry: { out_point } }: OwnOutput): string => `${out_point.t_hash}/${out_point.n}`;

function Outputs() {
  const { ask } = useSession();
  const changes = useChanges();
  const [shown, setShown] = useState(changes);
  const read = useCallback(
    async (cursor: string | undefined, signal: AbortSignal): Promise<PageOf<OwnOutput>> => {
      const page = Number(cursor ?? 0);
      const { addresses } = await ask((node) => node.getWallet({ page }, { signal }));
      const entries = Object.entries(addresses).flatMap(([address, outputs]) =>
        outputs.map((entry) => ({ address, entry })),
      );
      return { entries, next: entries.length < PAGE ? null : String(page + 1) };
    },
    [ask],
  );
  const list = usePages(`outputs/${shown}`, read);
  return (
    <section aria-labelledby="outputs">
      <div class="panel-head">
        <h2 id="outputs">Unspent outputs</h2>
        {shown !== changes && (
          <button type="button" class="button small" onClick={() => setShown(changes)}>
            Reload
          </button>
        )}
      </div>
      <LongList
        label="Unspent outputs of the wallet"
        list={list}
        columns={OUTPUT_COLUMNS}
        keyOf={outputKey}
        nothing="None."
      />
    </section>
  );
}
