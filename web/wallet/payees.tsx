/** The address book as it is read and changed: its payees by name, to be paid, renamed or taken out. */

import { useMemo, useState } from 'preact/hooks';
import { SafeLine, visible } from '../shared/components/safe-text.js';
import { type KnownPayee, type PayeeNames, payeeLabel, payeesIn } from './address-book.js';
import { LabelForm } from './label-form.js';
import { AddressName } from './parts.js';
import { useWallet } from './use-wallet.js';

export interface Payees {
  readonly payees: readonly KnownPayee[];
  readonly reload: () => void;
}

/** The payees, by name. */
export function usePayees(): Payees {
  const { value, reload } = useWallet('labels', (node, signal) => node.getWalletLabels({}, { signal }));
  const payees = [...payeesIn(value?.labels ?? [])].sort((a, b) => a.name.localeCompare(b.name));
  return { payees, reload };
}

/** What the owner calls whom: names by address, the same map until the labels have changed. */
export function usePayeeNames(): PayeeNames {
  const { value } = useWallet('labels', (node, signal) => node.getWalletLabels({}, { signal }));
  const payees = payeesIn(value?.labels ?? []);
  const key = JSON.stringify(payees);
  return useMemo(() => new Map(payees.map(({ address, name }) => [address, name])), [key]);
}

/** Payees that are listed; the field knows them all. */
const SHOWN = 200;

export interface AddressBookProps extends Payees {
  readonly onPay: (address: string) => void;
}

/** Nothing while it is empty. */
export function AddressBook({ payees, reload, onPay }: AddressBookProps) {
  const [changed, setChanged] = useState<KnownPayee>();
  if (changed !== undefined) {
    const { address, name } = changed;
    const end = (): void => {
      setChanged(undefined);
      reload();
    };
    return (
      <LabelForm
        title="Payee"
        field="Name in the address book"
        hint="Empty: the payee is taken out of it."
        text={name}
        labelFor={(text) => payeeLabel(address, text)}
        onEnd={end}
      >
        <AddressName value={address} isWhole />
      </LabelForm>
    );
  }
  if (payees.length === 0) return null;
  return (
    <section class="panel" aria-labelledby="address-book">
      <h2 id="address-book">Address book</h2>
      <ul class="lines">
        {payees.slice(0, SHOWN).map((payee) => (
          <li key={payee.address}>
            <span class="line-main">
              <SafeLine text={payee.name} />
            </span>
            <span class="line-part">
              <AddressName value={payee.address} />
            </span>
            <span class="buttons">
              <button type="button" class="button small" onClick={() => onPay(payee.address)}>
                Pay<span class="unseen"> {visible(payee.name)}</span>
              </button>
              <button type="button" class="button small" onClick={() => setChanged(payee)}>
                Rename<span class="unseen"> {visible(payee.name)}</span>
              </button>
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
