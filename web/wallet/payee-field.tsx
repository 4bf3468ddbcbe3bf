/** Whom to pay: an address, or a node that names one. */

import { useState } from 'preact/hooks';
import { Field } from './parts.js';
import { parsePayee } from './payee.js';

export interface PayeeFieldProps {
  readonly value: string;
  readonly onChange: (value: string) => void;
}

export function PayeeField({ value, onChange }: PayeeFieldProps) {
  const [wasLeft, setLeft] = useState(false);
  const found = parsePayee(value);
  const isWrong = wasLeft && value.trim() !== '' && found === undefined;
  return (
    <Field
      label="To"
      id="payee"
      hint={hintOf(found?.kind)}
      fault={isWrong ? 'Neither an address (64 digits from 0 to f) nor the ip:port of a node.' : undefined}
    >
      <input
        id="payee"
        class="field mono"
        required
        maxLength={256}
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        aria-describedby="payee-hint"
        aria-invalid={isWrong}
        value={value}
        onBlur={() => setLeft(true)}
        onInput={({ currentTarget }) => onChange(currentTarget.value)}
      />
    </Field>
  );
}

function hintOf(kind: 'address' | 'ip' | undefined): string {
  if (kind === 'address') return 'An address.';
  return kind === 'ip' ? 'A node; the wallet asks it for an address.' : 'An address, or ip:port of a node.';
}
