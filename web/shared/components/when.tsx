/** Times: in the reader's zone and language, machine readable, and how long ago where that helps. */

import { useEffect, useState } from 'preact/hooks';
import { grouped } from '../amounts.js';

const format = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const zoned = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'long' });
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' });

const STEPS: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
];
/** The largest time that a Date holds, in seconds. */
const MAX_SECONDS = 8_640_000_000_000;
const TICK_MS = 1_000;

/** The time of the page, told to all who show ages: one timer for all of them. */
const watchers = new Set<(now: number) => void>();
let timer: ReturnType<typeof setInterval> | undefined;

function useNow(): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    watchers.add(setNow);
    timer ??= setInterval(() => {
      for (const watcher of watchers) watcher(Date.now());
    }, TICK_MS);
    return () => {
      watchers.delete(setNow);
      if (watchers.size > 0) return;
      clearInterval(timer);
      timer = undefined;
    };
  }, []);
  return now;
}

/** Unix seconds, as blocks have them. Block 0 has 0: the genesis file names no time. */
export function When({ seconds, hasAge = false }: { readonly seconds: number | bigint; readonly hasAge?: boolean }) {
  const value = Number(seconds);
  if (value === 0)
    return <span title="Block 0 carries no time">{hasAge ? 'at the start' : 'at the start of the chain'}</span>;
  if (!(value > 0 && value <= MAX_SECONDS)) return <>{grouped(seconds)} s after 1970</>;
  const date = new Date(value * 1_000);
  return (
    <time dateTime={date.toISOString()} title={zoned.format(date)}>
      {hasAge ? <Age since={value} /> : format.format(date)}
    </time>
  );
}

function Age({ since }: { readonly since: number }) {
  const now = useNow();
  const seconds = Math.max(0, Math.floor(now / 1_000 - since));
  const [unit, size] = STEPS.find(([, length]) => seconds >= length) ?? ['second', 1];
  return <>{relative.format(-Math.floor(seconds / size), unit)}</>;
}
