/** Hashes and addresses: a small mosaic made from the text, by which the eye tells them apart, and the text, short or whole, or a name. */

import { useState } from 'preact/hooks';
import { tilesOf } from '../mosaic.js';
import { SafeLine, visible } from './safe-text.js';

/** The mosaic of a text: sixteen tiles in five colours. */
function Mosaic({ of, size = 20 }: { readonly of: string; readonly size?: number }) {
  return (
    <svg class="mosaic" width={size} height={size} viewBox="0 0 19.4 19.4" aria-hidden="true">
      {tilesOf(of).map(([color, path]) => (
        <path key={color} class={`tile-${color}`} d={path} />
      ))}
    </svg>
  );
}

/** `bd2f41…9e07aa` of a long text. */
function shortened(text: string, ends = 6): string {
  return text.length <= 2 * ends + 3 ? text : `${text.slice(0, ends + 2)}…${text.slice(-ends)}`;
}

export interface HashProps {
  readonly value: string;
  readonly href?: string;
  /** What the reader calls it: shown in its place, with the whole text for whoever points at it. */
  readonly name?: string | undefined;
  /** Shows all of it, over several lines where it must. */
  readonly isWhole?: boolean;
  readonly hasMosaic?: boolean;
  /** The link opens in a tab of its own. */
  readonly isBeside?: boolean;
}

/** Attributes of a link that opens in a separate tab. */
export const BESIDE = { target: '_blank', rel: 'noopener noreferrer' } as const;

export function Hash({ value, name, href, isWhole = false, hasMosaic = true, isBeside = false }: HashProps) {
  // The chain takes any text for an address: one that turns around would read as that of somebody else.
  const whole = visible(value);
  const label =
    name === undefined ? <bdi class="hash-text">{isWhole ? whole : shortened(whole)}</bdi> : <SafeLine text={name} />;
  return (
    <span class={isWhole ? 'hash whole' : 'hash'}>
      {hasMosaic && <Mosaic of={value} />}
      {href === undefined ? (
        <span title={isWhole ? undefined : whole}>{label}</span>
      ) : (
        <a href={href} title={isWhole ? undefined : whole} {...(isBeside ? BESIDE : {})}>
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
