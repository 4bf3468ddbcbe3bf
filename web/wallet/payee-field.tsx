/** Whom to pay: an address, or a node that names one. */

import { useState } from 'preact/hooks';
import { SafeLine, visible } from '../shared/components/safe-text.js';
import type { KnownPayee } from './address-book.js';
import { Field } from './parts.js';
import { parsePayee } from './payee.js';

export interface PayeeFieldProps {
  readonly value: string;
  readonly payees: readonly KnownPayee[];
  readonly onChange: (value: string) => void;
}

export function PayeeField({ value, payees, onChange }: PayeeFieldProps) {
  const [wasLeft, setLeft] = useState(false);
  const found = parsePayee(value);
  const known = payees.find(({ address }) => address === found?.address);
  const isWrong = wasLeft && value.trim() !== '' && found === undefined;
  return (
    <Field
      label="To"
      id="payee"
      hint={known === undefined ? hintOf(found?.kind) : <SafeLine text={known.name} />}
      fault={isWrong ? 'Neither an address (64 digits from 0 to f) nor the ip:port of a node.' : undefined}
    >
      <input
        id="payee"
        class="field mono"
        list="payees"
        required
        maxLength={1_024}
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        aria-describedby="payee-hint"
        aria-invalid={isWrong}
        value={value}
        onBlur={() => setLeft(true)}
        onInput={({ currentTarget }) => onChange(currentTarget.value)}
      />
      <datalist id="payees">
        {payees.map(({ address, name }) => (
          <option value={address}>{visible(name)}</option>
        ))}
      </datalist>
    </Field>
  );
}

function hintOf(kind: 'address' | 'ip' | undefined): string {
  if (kind === 'address') return 'An address.';
  return kind === 'ip'
    ? 'A node; the wallet asks it for an address.'
    : 'An address, a request (tessera:…), or ip:port of a node.';
}
