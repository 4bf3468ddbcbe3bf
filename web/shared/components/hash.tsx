/** Hashes and addresses: a small mosaic made from the text, by which the eye tells them apart, and the text, short or whole. */

import { useState } from 'preact/hooks';

const CELLS = 4;
const COLORS = ['gold', 'clay', 'lapis', 'sea', 'stone'];
/** FNV-1a; it only chooses colours. */
const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

function numberOf(text: string): number {
  let hash = FNV_OFFSET;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), FNV_PRIME);
  return hash >>> 0;
}

/** The mosaic of a text: sixteen tiles, the same on both sides. */
export function Mosaic({ of, size = 20 }: { readonly of: string; readonly size?: number }) {
  const seed = numberOf(of);
  const cells = [];
  for (let y = 0; y < CELLS; y++) {
    for (let x = 0; x < CELLS; x++) {
      const column = Math.min(x, CELLS - 1 - x);
      const pick = numberOf(`${seed}/${column}/${y}`) % (COLORS.length + 1);
      const color = COLORS[pick];
      if (color !== undefined) {
        cells.push(<rect class={`tile-${color}`} x={x * 5} y={y * 5} width="4.4" height="4.4" rx="0.8" />);
      }
    }
  }
  return (
    <svg class="mosaic" width={size} height={size} viewBox="0 0 19.4 19.4" aria-hidden="true">
      {cells}
    </svg>
  );
}

/** `bd2f41…9e07aa` of a long text. */
export function shortened(text: string, ends = 6): string {
  return text.length <= 2 * ends + 3 ? text : `${text.slice(0, ends + 2)}…${text.slice(-ends)}`;
}

export interface HashProps {
  readonly value: string;
  readonly href?: string;
  /** Shows all of it, over several lines where it must. */
  readonly isWhole?: boolean;
  readonly hasMosaic?: boolean;
}

export function Hash({ value, href, isWhole = false, hasMosaic = true }: HashProps) {
  const text = isWhole ? value : shortened(value);
  const label = <bdi class="hash-text">{text}</bdi>;
  return (
    <span class={isWhole ? 'hash whole' : 'hash'}>
      {hasMosaic && <Mosaic of={value} />}
      {href === undefined ? (
        <span title={isWhole ? undefined : value}>{label}</span>
      ) : (
        <a href={href} title={isWhole ? undefined : value}>
          {label}
        </a>
      )}
      {isWhole && <Copy text={value} />}
    </span>
  );
}

const SHOWN_MS = 2_000;

/** Puts a text into the clipboard, and says so. */
export function Copy({ text, label = 'Copy' }: { readonly text: string; readonly label?: string }) {
  const [said, say] = useState('');
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      say('Copied');
    } catch {
      // Only over https or on this machine do browsers allow it.
      say('Not allowed here');
    }
    setTimeout(() => say(''), SHOWN_MS);
  };
  return (
    <button type="button" class="copy" onClick={() => void copy()}>
      <span aria-live="polite">{said === '' ? label : said}</span>
    </button>
  );
}
