/**
 * The API key as the owner types it. It is in the memory of the page and nowhere else: browsers write what a page stores, for a
 * tab too, to a file in clear, and bring it back with a tab that was closed.
 */

/** Length that a key may have; keys that people choose may be longer than generated ones. */
const MAX_LENGTH = 1_024;

/** Why a text can be no API key; undefined when it can. What a header cannot hold would look like a node that is down. */
export function keyFault(text: string): string | undefined {
  if (text === '') return 'Type the API key of the node.';
  if (text.length > MAX_LENGTH) return `An API key has at most ${MAX_LENGTH} characters.`;
  return /^[\x21-\x7e]+$/.test(text) ? undefined : 'An API key has no spaces, and only characters of ASCII.';
}
