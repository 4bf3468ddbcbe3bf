/** Amounts of tokens in both units: tokens for people, and raw units, which are exact. */

import { grouped, tokenText } from '../amounts.js';

export interface AmountProps {
  readonly raw: number | bigint;
  /** Shows the raw units beside the tokens; else they are in the title. */
  readonly hasBoth?: boolean;
  /** The most decimals, where there is little room. */
  readonly decimals?: number;
}

export function Amount({ raw, hasBoth = true, decimals }: AmountProps) {
  const { text, isExact } = tokenText(raw, decimals);
  const exact = `${grouped(raw)} raw`;
  return (
    <span class="amount" title={exact}>
      <data class="tokens" value={String(raw)}>
        {text}
        {!isExact && <span class="more">…</span>}
        <span class="unit">{text === '1' && isExact ? ' token' : ' tokens'}</span>
      </data>
      {hasBoth && <span class="raw">{exact}</span>}
    </span>
  );
}
