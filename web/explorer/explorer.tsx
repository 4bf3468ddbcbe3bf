/** The site: its pages by path, and what they share. */

import { PAGE_PATHS } from '../../src/api/pages/page-paths.js';
import { Notice } from '../shared/components/notice.js';
import { Page } from '../shared/components/page.js';
import { type NavigationLink, Shell } from '../shared/components/shell.js';
import { matchPath, type PathParams } from '../shared/match-path.js';
import { Router, usePlace } from '../shared/router.js';
import { NodeProvider, useNode } from '../shared/use-node.js';
import { StreamProvider, useStream } from '../shared/use-stream.js';
import { ChainProvider } from './chain/use-chain.js';
import { AddressPage } from './pages/address.js';
import { BlockPage } from './pages/block.js';
import { BlocksPage } from './pages/blocks.js';
import { ChartsPage } from './pages/charts.js';
import { FAUCET, FaucetPage } from './pages/faucet.js';
import { ItemPage } from './pages/item.js';
import { MempoolPage } from './pages/mempool.js';
import { NetworkPage } from './pages/network.js';
import { OverviewPage } from './pages/overview.js';
import { RichestPage } from './pages/richest.js';
import { SearchPage } from './pages/search.js';
import { StatusPage } from './pages/status.js';
import { TransactionPage } from './pages/transaction.js';
import { SearchBox } from './search-box.js';
import { MEMPOOL } from './use-mempool.js';

const BLOCKS_ONLY = ['blocks'] as const;
const WITH_TRANSACTIONS = ['blocks', 'transactions'] as const;
/** Served where the events of transactions are. */
const STATUSES = '/v1/transactions/status';
/** Served where the wallet's pages are. */
const WALLET = '/v1/wallet';

type ExplorerPath = (typeof PAGE_PATHS.explorer)[number];

const PAGES: Readonly<Record<ExplorerPath, (params: PathParams) => preact.JSX.Element>> = {
  '/': () => <OverviewPage />,
  '/blocks': () => <BlocksPage />,
  '/blocks/:block': ({ block = '' }) => <BlockPage key={block} name={block} />,
  '/transactions/:hash': ({ hash = '' }) => <TransactionPage key={hash} hash={hash} />,
  '/addresses/:address': ({ address = '' }) => <AddressPage key={address} address={address} />,
  '/items/:genesis': ({ genesis = '' }) => <ItemPage key={genesis} genesis={genesis} />,
  '/mempool': () => <MempoolPage />,
  '/charts': () => <ChartsPage />,
  '/richest': () => <RichestPage />,
  '/network': () => <NetworkPage />,
  '/status': () => <StatusPage />,
  '/faucet': () => <FaucetPage />,
  '/search': () => <SearchPage />,
};

const isOurs = (path: string): boolean => PAGE_PATHS.explorer.some((pattern) => matchPath(pattern, path) !== undefined);

export function Explorer() {
  return (
    <Router isOurs={isOurs}>
      <NodeProvider>
        {({ value, error }) => (
          <StreamProvider topics={value && (value.node_api.includes(STATUSES) ? WITH_TRANSACTIONS : BLOCKS_ONLY)}>
            <ChainProvider>
              <Site isAway={value === undefined && error !== undefined} />
            </ChainProvider>
          </StreamProvider>
        )}
      </NodeProvider>
    </Router>
  );
}

function Site({ isAway }: { readonly isAway: boolean }) {
  const { state } = useStream();
  const served = useNode()?.node_api ?? [];
  const links: readonly NavigationLink[] = [
    { href: '/blocks', text: 'Blocks' },
    ...(served.includes(MEMPOOL) ? [{ href: '/mempool', text: 'Mempool' }] : []),
    { href: '/charts', text: 'Charts' },
    { href: '/network', text: 'Network' },
    ...(served.includes(FAUCET) ? [{ href: '/faucet', text: 'Faucet' }] : []),
    ...(served.includes(WALLET) ? [{ href: '/wallet', text: 'Wallet', isElsewhere: true }] : []),
  ];
  return (
    <Shell site="explorer" home="/" links={links} stream={isAway ? 'lost' : state} tools={<SearchBox />}>
      <CurrentPage />
    </Shell>
  );
}

function CurrentPage() {
  const { path } = usePlace();
  for (const pattern of PAGE_PATHS.explorer) {
    const params = matchPath(pattern, path);
    if (params !== undefined) return PAGES[pattern](params);
  }
  return (
    <Page title="No such page">
      <Notice title="There is no such page">
        <p>
          <a href="/">To the overview</a>
        </p>
      </Notice>
    </Page>
  );
}
