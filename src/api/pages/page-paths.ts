/**
 * Paths of pages, by site. The server answers them with the document of the site, and the router in the browser (`web/`)
 * shows the page. It is a list, not a fallback: every other path stays what it is without pages, a 404 or a route. In the
 * form of Fastify: `:name` is one segment, `*` the rest.
 */

/** The explorer shows the chain, the wallet that of the node, and the docs its API; those are served with the API itself. */
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
    '/network',
    '/faucet',
    '/search',
  ],
  wallet: ['/wallet', '/wallet/*'],
  // The one path of the docs is a route of the API (`openapi/docs.ts`).
  docs: [],
} as const satisfies Record<Site, readonly string[]>;

/** The first page of each site. */
export const HOME: Readonly<Record<Site, string>> = { explorer: '/', wallet: '/wallet', docs: '/v1/docs' };
