/** Names that the owner gives to a payment and its payee: typed with the payment, kept as labels once the node has taken it. */

import { useEffect } from 'preact/hooks';
import { useAction } from '../shared/use-action.js';
import { payeeLabel } from './address-book.js';
import { Field } from './parts.js';
import { useSession } from './session.js';

export interface Names {
  readonly note: string;
  readonly payee: string;
}

export const NO_NAMES: Names = { note: '', payee: '' };

const MAX_LENGTH = 80;

export function NameFields({ names, onChange }: { readonly names: Names; readonly onChange: (names: Names) => void }) {
  return (
    <details open={names.note !== ''}>
      <summary>Note and name</summary>
      <div class="form">
        <Field label="Note, for yourself" id="note">
          <input
            id="note"
            class="field"
            maxLength={MAX_LENGTH}
            autocomplete="off"
            value={names.note}
            onInput={({ currentTarget }) => onChange({ ...names, note: currentTarget.value })}
          />
        </Field>
        <Field label="Name of the payee, for the address book" id="payee-name">
          <input
            id="payee-name"
            class="field"
            maxLength={MAX_LENGTH}
            autocomplete="off"
            value={names.payee}
            onInput={({ currentTarget }) => onChange({ ...names, payee: currentTarget.value })}
          />
        </Field>
      </div>
    </details>
  );
}

interface KeepNamesProps {
  readonly names: Names;
  readonly address: string | undefined;
  readonly hash: string | null;
}

/** Keeps them once, and says what came of it; nothing when there are none. */
export function KeepNames({ names, address, hash }: KeepNamesProps) {
  const { ask } = useSession();
  const { said, run } = useAction();
  const [note, payee] = [names.note.trim(), names.payee.trim()];
  useEffect(() => {
    const labels = [
      ...(note === '' || hash === null ? [] : [{ kind: 'transaction' as const, name: hash, label: note }]),
      ...(payee === '' || address === undefined ? [] : [payeeLabel(address, payee)]),
    ];
    if (labels.length === 0) return;
    void run(async () => {
      await ask((node) => node.setWalletLabels({ labels }));
      return payee === '' ? 'The note is kept.' : 'The payee is in the address book.';
    });
  }, []);
  return said;
}
