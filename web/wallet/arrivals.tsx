/** Tells the owner through the browser that something has arrived, if the owner asks for it, for as long as this page is open. */

import { useEffect, useRef, useState } from 'preact/hooks';
import { tokenText } from '../shared/amounts.js';
import { useLatest } from './use-wallet.js';

const LOOKED_AT = 8;

export function Arrivals() {
  const [isOn, setOn] = useState(false);
  const [said, say] = useState('');
  // Only over https or on this machine do browsers have it.
  if (!('Notification' in globalThis) || !isSecureContext) return null;
  const ask = async (): Promise<void> => {
    if (isOn) return setOn(false);
    const isAllowed = (await Notification.requestPermission()) === 'granted';
    setOn(isAllowed);
    say(isAllowed ? '' : 'The browser does not allow it.');
  };
  return (
    <p class="hint arrivals">
      <button type="button" class="button small" aria-pressed={isOn} onClick={() => void ask()}>
        {isOn ? 'Telling what arrives' : 'Tell me when something arrives'}
      </button>{' '}
      <span role="status">{said}</span>
      {isOn && <Watch />}
    </p>
  );
}

function Watch() {
  const { value } = useLatest(LOOKED_AT);
  const newest = useRef<bigint>(undefined);
  useEffect(() => {
    const movements = value?.movements ?? [];
    const last = newest.current;
    newest.current = movements[0]?.number ?? last ?? -1n;
    if (value === undefined || last === undefined) return;
    for (const { number, direction, net, items } of movements) {
      if (number <= last || direction !== 'in') continue;
      const isItems = net === 0n && Object.keys(items).length > 0;
      new Notification('Tessera wallet', {
        body: isItems ? 'Items have arrived' : `${tokenText(net, 2).text} tokens have arrived`,
      });
    }
  }, [value]);
  return null;
}
