/** The site: its pages by path, and what they share. */

import { PAGE_PATHS } from '../../src/api/pages/page-paths.js';
import { Notice } from '../shared/components/notice.js';
import { Page } from '../shared/components/page.js';
import { type NavigationLink, Shell } from '../shared/components/shell.js';
import { matchPath } from '../shared/match-path.js';
import { Router } from '../shared/router.js';

const LINKS: readonly NavigationLink[] = [{ href: '/wallet', text: 'Wallet' }];

const isOurs = (path: string): boolean => PAGE_PATHS.wallet.some((pattern) => matchPath(pattern, path) !== undefined);

export function WalletSite() {
  return (
    <Router isOurs={isOurs}>
      <Shell site="wallet" home="/wallet" links={LINKS} stream="open">
        <Page title="Wallet">
          <Notice title="The wallet of this node">
            <p>
              It is used by its API, which <a href="/v1/docs">/v1/docs</a> describes, and by <code>tessera wallet</code>
              .
            </p>
          </Notice>
        </Page>
      </Shell>
    </Router>
  );
}
