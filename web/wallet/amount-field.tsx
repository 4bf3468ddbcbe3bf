/** An amount of tokens, typed in either unit, with what it is in the other. */

import { useState } from 'preact/hooks';
import { grouped } from '../shared/amounts.js';
import { Amount } from '../shared/components/amount.js';
import { parseAmount, type Unit } from './amounts-typed.js';
import { Field } from './parts.js';

export interface AmountInput {
  readonly text: string;
  readonly unit: Unit;
}

export const NO_AMOUNT: AmountInput = { text: '', unit: 'tokens' };

/** Raw units; undefined when it is no amount that can be paid. */
export const rawOf = ({ text, unit }: AmountInput): bigint | undefined => parseAmount(text, unit);

export interface AmountFieldProps {
  readonly value: AmountInput;
  readonly onChange: (value: AmountInput) => void;
}

export function AmountField({ value, onChange }: AmountFieldProps) {
  const { text, unit } = value;
  const raw = rawOf(value);
  const [wasLeft, setLeft] = useState(false);
  return (
    <Field label="Amount" id="amount" hint={hintOf(value, raw, wasLeft)}>
      <div class="amount-field">
        <input
          id="amount"
          class="field"
          required
          inputMode="decimal"
          autocomplete="off"
          maxLength={48}
          aria-describedby="amount-hint"
          value={text}
          onBlur={() => setLeft(true)}
          onInput={({ currentTarget }) => onChange({ text: currentTarget.value, unit })}
        />
        <select
          class="field"
          aria-label="Unit"
          value={unit}
          onChange={({ currentTarget }) => onChange({ text, unit: currentTarget.value as Unit })}
        >
          <option value="tokens">tokens</option>
          <option value="raw">raw units</option>
        </select>
      </div>
    </Field>
  );
}

function hintOf({ text, unit }: AmountInput, raw: bigint | undefined, wasLeft: boolean) {
  if (raw !== undefined) return unit === 'tokens' ? `${grouped(raw)} raw` : <Amount raw={raw} hasBoth={false} />;
  if (text.trim() === '' && !wasLeft) return 'A token is 72,072,000 raw units.';
  return unit === 'tokens'
    ? 'Not an amount with an exact number of raw units, such as 12 or 0.5. A token is 72,072,000 raw units.'
    : 'Not a whole number of raw units.';
}
