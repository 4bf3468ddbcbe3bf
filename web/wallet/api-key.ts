/**
 * The API key that the owner has typed: kept by the browser for this tab (`sessionStorage`), so that the page can be loaded
 * again, and gone with the tab. Nothing else of the wallet is kept anywhere.
 */

const NAME = 'tessera-api-key';
/** Of a generated key; those that people choose may be longer. */
const MAX_LENGTH = 1_024;

/** The part of `Storage` that is used. */
export interface KeyStorage {
  getItem(name: string): string | null;
  setItem(name: string, value: string): void;
  removeItem(name: string): void;
}

/** Why a text can be no API key; undefined when it can. What a header cannot hold would look like a node that is down. */
export function keyFault(text: string): string | undefined {
  if (text === '') return 'Type the API key of the node.';
  if (text.length > MAX_LENGTH) return `An API key has at most ${MAX_LENGTH} characters.`;
  return /^[\x21-\x7e]+$/.test(text) ? undefined : 'An API key has no spaces, and only characters of ASCII.';
}

/** The key of this tab; empty when there is none. */
export function storedKey(storage: KeyStorage | undefined = tabStorage()): string {
  const text = storage?.getItem(NAME) ?? '';
  return keyFault(text) === undefined ? text : '';
}

export function storeKey(key: string, storage: KeyStorage | undefined = tabStorage()): void {
  try {
    if (key === '') storage?.removeItem(NAME);
    else storage?.setItem(NAME, key);
  } catch {
    // Then it holds until the page is left.
  }
}

function tabStorage(): KeyStorage | undefined {
  try {
    return sessionStorage;
  } catch {
    // Storage may be forbidden.
    return undefined;
  }
}
