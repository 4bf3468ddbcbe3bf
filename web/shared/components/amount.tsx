/** Amounts of tokens in both units: tokens for people, and raw units, which are exact. */

import { grouped, tokenText } from '../amounts.js';
import type { ExactInteger } from '../node-api.js';

export interface AmountProps {
  readonly raw: ExactInteger;
  /** Shows the raw units beside the tokens; else they are in the title. */
  readonly hasBoth?: boolean;
}

export function Amount({ raw, hasBoth = true }: AmountProps) {
  const { text, isExact } = tokenText(raw);
  const exact = `${grouped(raw)} raw`;
  return (
    <span class="amount" title={exact}>
      <data class="tokens" value={String(raw)}>
        {text}
        {!isExact && <span class="more">…</span>}
        <span class="unit"> tokens</span>
      </data>
      {hasBoth && <span class="raw">{exact}</span>}
    </span>
  );
}
