/** An amount of tokens, typed in either unit, with what it is in the other. */

import { grouped, readAmount, type Typed, tokenText, type Unit } from '../shared/amounts.js';
import { Amount } from '../shared/components/amount.js';
import { Field } from './parts.js';

export interface AmountInput {
  readonly text: string;
  readonly unit: Unit;
}

export const NO_AMOUNT: AmountInput = { text: '', unit: 'tokens' };

export interface AmountFieldProps {
  readonly value: AmountInput;
  readonly onChange: (value: AmountInput) => void;
  /** Amount that can be paid; undefined while that is not known. */
  readonly available: bigint | undefined;
}

export function AmountField({ value, onChange, available }: AmountFieldProps) {
  const { text, unit } = value;
  const read = readAmount(text, unit, available);
  return (
    <Field label="Amount" id="amount" hint={hintOf(unit, read)} fault={read.fault}>
      <div class="amount-field">
        <input
          id="amount"
          class="field"
          required
          inputMode="decimal"
          autocomplete="off"
          maxLength={48}
          aria-describedby="amount-hint"
          aria-invalid={read.fault !== undefined}
          value={text}
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
      {available !== undefined && (
        <p class="hint">
          Available: <Amount raw={available} />{' '}
          <button
            type="button"
            class="button small"
            disabled={available === 0n}
            onClick={() => onChange(all(available, unit))}
          >
            Max
          </button>
        </p>
      )}
    </Field>
  );
}

/** Whole amount, in raw units when it has no exact number of tokens. */
function all(raw: bigint, unit: Unit): AmountInput {
  const { text, isExact } = tokenText(raw);
  if (unit === 'raw' || !isExact) return { text: String(raw), unit: 'raw' };
  return { text: text.replaceAll(',', ''), unit };
}

function hintOf(unit: Unit, { value }: Typed) {
  if (value === undefined) return 'A token is 72,072,000 raw units.';
  return unit === 'tokens' ? `${grouped(value)} raw` : <Amount raw={value} hasBoth={false} />;
}
