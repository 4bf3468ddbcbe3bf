/** The site: its pages by path, and what they share. */

import { PAGE_PATHS } from '../../src/api/pages/page-paths.js';
import { Notice } from '../shared/components/notice.js';
import { Page } from '../shared/components/page.js';
import { type NavigationLink, Shell } from '../shared/components/shell.js';
import { matchPath } from '../shared/match-path.js';
import { Router, usePlace } from '../shared/router.js';
import { NodeProvider, useNode } from '../shared/use-node.js';
import { StreamProvider, useStream } from '../shared/use-stream.js';
import { Arrivals } from './arrivals.js';
import { Insecure, Locked } from './locked.js';
import { OpenOrders } from './open-orders.js';
import { DONATIONS, DonationsPage } from './pages/donations.js';
import { HistoryPage } from './pages/history.js';
import { ItemsPage } from './pages/items.js';
import { OverviewPage } from './pages/overview.js';
import { PayPage } from './pages/pay.js';
import { ReceivePage } from './pages/receive.js';
import { SafetyPage } from './pages/safety.js';
import { TradesPage } from './pages/trades.js';
import { type Session, SessionProvider, useSession } from './session.js';
import { OrdersProvider } from './use-orders.js';
import { ChangesProvider } from './use-wallet.js';

const TOPICS = ['blocks', 'wallet'] as const;
/** Served where the pages of the explorer are. */
const BLOCKS = '/v1/blocks';

const PAGES: Readonly<Record<string, () => preact.JSX.Element>> = {
  '/wallet': () => <OverviewPage />,
  '/wallet/pay': () => <PayPage />,
  '/wallet/receive': () => <ReceivePage />,
  '/wallet/history': () => <HistoryPage />,
  '/wallet/items': () => <ItemsPage />,
  '/wallet/trades': () => <TradesPage />,
  '/wallet/donations': () => <DonationsPage />,
  '/wallet/safety': () => <SafetyPage />,
};

const isOurs = (path: string): boolean => PAGE_PATHS.wallet.some((pattern) => matchPath(pattern, path) !== undefined);

export function WalletSite() {
  return (
    <Router isOurs={isOurs}>
      <NodeProvider>
        {({ value, error }) => (
          <SessionProvider>
            {(session) => <Connected session={session} isAway={value === undefined && error !== undefined} />}
          </SessionProvider>
        )}
      </NodeProvider>
    </Router>
  );
}

function Connected({ session, isAway }: { readonly session: Session; readonly isAway: boolean }) {
  const { access, node, check } = session;
  return (
    <StreamProvider topics={access === 'open' ? TOPICS : undefined} node={node} onRefused={check}>
      <ChangesProvider>
        <OrdersProvider>
          <Site isAway={isAway} />
        </OrdersProvider>
      </ChangesProvider>
    </StreamProvider>
  );
}

function Site({ isAway }: { readonly isAway: boolean }) {
  const { state } = useStream();
  const { access, apiKey } = useSession();
  const served = useNode()?.node_api ?? [];
  const links: readonly NavigationLink[] = [
    { href: '/wallet', text: 'Wallet' },
    { href: '/wallet/pay', text: 'Pay' },
    { href: '/wallet/receive', text: 'Receive' },
    { href: '/wallet/history', text: 'History' },
    { href: '/wallet/items', text: 'Items' },
    { href: '/wallet/trades', text: 'Trades' },
    ...(served.includes(DONATIONS) ? [{ href: '/wallet/donations', text: 'Donations' }] : []),
    { href: '/wallet/safety', text: 'Security' },
    ...(served.includes(BLOCKS) ? [{ href: '/', text: 'Explorer', isElsewhere: true }] : []),
  ];
  const isOpen = access === 'open';
  return (
    <Shell
      site="wallet"
      home="/wallet"
      links={links}
      stream={isAway || (isOpen && state === 'lost') ? 'lost' : 'open'}
      opensBeside={apiKey !== ''}
    >
      {isOpen ? <OpenSite /> : <Locked />}
    </Shell>
  );
}

function OpenSite() {
  const { path } = usePlace();
  const { apiKey } = useSession();
  const page = PAGES[path];
  return (
    <>
      {apiKey !== '' && !isSecureContext && <Insecure />}
      <OpenOrders />
      {page === undefined ? (
        <Page title="No such page">
          <Notice title="There is no such page">
            <p>
              <a href="/wallet">To the wallet</a>
            </p>
          </Notice>
        </Page>
      ) : (
        page()
      )}
      <Arrivals />
    </>
  );
}
