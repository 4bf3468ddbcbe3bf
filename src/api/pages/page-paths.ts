/** Paths of pages, by site, in the form of Fastify; also for the router in the browser (`web/`). Other paths have no page. */

/** Sites of a node: the explorer of the chain, the node's wallet, and the docs of its API, which are served with the API itself. */
export type Site = 'explorer' | 'wallet' | 'docs';

export const SITES: readonly Site[] = ['explorer', 'wallet', 'docs'];

export const PAGE_PATHS = {
  explorer: [
    '/',
    '/blocks',
    '/blocks/:block',
    '/transactions/:hash',
    '/addresses/:address',
    '/items/:genesis',
    '/mempool',
    '/charts',
    '/richest',
    '/network',
    '/status',
    '/faucet',
    '/search',
  ],
  wallet: ['/wallet', '/wallet/*'],
  // The one path of the docs is a route of the API (`pages.ts`).
  docs: [],
} as const satisfies Record<Site, readonly string[]>;

export const HOME: Readonly<Record<Site, string>> = { explorer: '/', wallet: '/wallet', docs: '/v1/docs' };
