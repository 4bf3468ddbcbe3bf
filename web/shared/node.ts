/** The node that has served the page, asked by the client library. */

import { createClient, type TesseraClient } from '../../src/sdk/client.js';

/** Each call is one attempt, for pages read again by themselves. No cookies: other programs at this host may have set some. */
export function nodeWith(apiKey: string): TesseraClient {
  return createClient({
    url: location.origin,
    apiKey: apiKey === '' ? undefined : apiKey,
    retryForMs: 0,
    fetch: (url, init) => fetch(url, { ...init, credentials: 'omit' }),
  });
}

/** Asked without an API key. */
export const node = nodeWith('');
