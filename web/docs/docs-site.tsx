/** The page: what the node is, its operations by section, a filter, and the API key that they are tried with. */

import { useEffect, useMemo, useState } from 'preact/hooks';
import { Loaded } from '../shared/components/notice.js';
import { Page } from '../shared/components/page.js';
import { Shell } from '../shared/components/shell.js';
import { node } from '../shared/node.js';
import { useResource } from '../shared/use-resource.js';
import { type OpenApi, type Route, sectionsOf } from './open-api.js';
import { OperationEntry } from './operation-entry.js';

const LINKS = [{ href: '/v1/openapi.json', text: 'openapi.json', isElsewhere: true }];

export function DocsSite() {
  const document = useResource('openapi', async (signal) => (await node.getOpenApi({}, { signal })) as OpenApi);
  return (
    <Shell site="API" home="/v1/docs" links={LINKS} stream="open">
      <Loaded resource={document} what="the description of the node">
        {(value) => <Description document={value} />}
      </Loaded>
    </Shell>
  );
}

function Description({ document }: { readonly document: OpenApi }) {
  const { title, version, description } = document.info;
  const [filter, setFilter] = useState('');
  const [apiKey, setApiKey] = useState('');
  const chosen = useChosen();
  const sections = useMemo(() => sectionsOf(document), [document]);
  const shown = sections
    .map((section) => ({ ...section, routes: section.routes.filter((route) => fits(route, filter)) }))
    .filter(({ routes }) => routes.length > 0);
  return (
    <Page title={title} kind={`API ${version}`}>
      <p class="intro">{description?.replaceAll('`', '')}</p>
      <div class="panel docs-tools">
        <label>
          Filter
          <input
            class="field"
            type="search"
            value={filter}
            onInput={({ currentTarget }) => setFilter(currentTarget.value)}
          />
        </label>
        <label>
          API key, kept until this page is closed
          <input
            class="field"
            type="password"
            autocomplete="off"
            spellcheck={false}
            value={apiKey}
            onInput={({ currentTarget }) => setApiKey(currentTarget.value)}
          />
        </label>
      </div>
      <p class="unseen" role="status">
        {shown.reduce((count, { routes }) => count + routes.length, 0)} operations
      </p>
      {shown.map(({ name, description: about, routes }) => (
        <section class="docs-section" aria-labelledby={`section-${name}`}>
          <h2 id={`section-${name}`}>{name}</h2>
          <p class="about">{about}</p>
          {routes.map((route) => (
            <OperationEntry
              key={route.operation.operationId}
              document={document}
              route={route}
              apiKey={apiKey}
              isChosen={chosen === route.operation.operationId}
            />
          ))}
        </section>
      ))}
    </Page>
  );
}

/** The operation that the address of the page names: `/v1/docs#getSupply`. */
function useChosen(): string {
  const [chosen, setChosen] = useState(location.hash.slice(1));
  useEffect(() => {
    const changed = (): void => setChosen(location.hash.slice(1));
    addEventListener('hashchange', changed);
    return () => removeEventListener('hashchange', changed);
  }, []);
  return chosen;
}

function fits({ method, path, operation }: Route, filter: string): boolean {
  const text = `${method} ${path} ${operation.operationId} ${operation.summary}`.toLowerCase();
  return filter
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}
