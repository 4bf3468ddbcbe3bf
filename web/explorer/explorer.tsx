/** The site: its pages by path, and what they share. */

import { PAGE_PATHS } from '../../src/api/pages/page-paths.js';
import { Notice } from '../shared/components/notice.js';
import { Page } from '../shared/components/page.js';
import { type NavigationLink, Shell } from '../shared/components/shell.js';
import { matchPath as match, Router, usePlace } from '../shared/router.js';
import { NodeProvider } from '../shared/use-node.js';
import { StreamProvider, useStream } from '../shared/use-stream.js';

const EVENTS = ['block', 'transaction'];
const BLOCKS_ONLY = ['blocks'];
const WITH_TRANSACTIONS = ['blocks', 'transactions'];
/** Served where the events of transactions are. */
const STATUSES = '/v1/transactions/status';

const LINKS: readonly NavigationLink[] = [
  { href: '/', text: 'Overview' },
  { href: '/blocks', text: 'Blocks' },
  { href: '/network', text: 'Network' },
];

const isOurs = (path: string): boolean => PAGE_PATHS.explorer.some((pattern) => match(pattern, path) !== undefined);

export function Explorer() {
  return (
    <Router isOurs={isOurs}>
      <NodeProvider>
        {({ value }) => (
          <StreamProvider
            topics={value && (value.node_api.includes(STATUSES) ? WITH_TRANSACTIONS : BLOCKS_ONLY)}
            names={EVENTS}
          >
            <Site />
          </StreamProvider>
        )}
      </NodeProvider>
    </Router>
  );
}

function Site() {
  const { state } = useStream();
  const { path } = usePlace();
  return (
    <Shell site="explorer" home="/" links={LINKS} stream={state}>
      <Page title="Overview">
        <Notice title="The explorer">
          <p>{path}</p>
        </Notice>
      </Page>
    </Shell>
  );
}
