/** One operation: closed it is a line, open it says what it takes and answers, and can be tried. */

import { useEffect, useRef, useState } from 'preact/hooks';
import { stringifyExact } from '../../src/lib/json.js';
import { keyOf, nameOf, type OpenApi, type Response, type Route, resolved } from './open-api.js';
import { prettyJson } from './pretty-json.js';
import { SchemaView } from './schema-view.js';
import { TryIt } from './try-it.js';

export interface OperationEntryProps {
  readonly document: OpenApi;
  readonly route: Route;
  readonly apiKey: string;
  /** True if it opens and comes into view. */
  readonly isChosen: boolean;
}

export function OperationEntry({ document, route, apiKey, isChosen }: OperationEntryProps) {
  const { method, path, operation } = route;
  const [isOpen, setOpen] = useState(isChosen);
  const entry = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    if (!isChosen) return;
    setOpen(true);
    entry.current?.scrollIntoView({ block: 'start' });
  }, [isChosen]);
  return (
    <details
      class="operation"
      id={operation.operationId}
      open={isOpen}
      ref={entry}
      onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
    >
      <summary>
        <span class={`method ${method.toLowerCase()}`}>{method}</span> <code class="path">{path}</code>{' '}
        <span class="summary">{operation.summary}</span>
        {keyOf(operation) === 'needed' && <span class="tag">API key</span>}
      </summary>
      {isOpen && <Details document={document} route={route} apiKey={apiKey} />}
    </details>
  );
}

function Details({ document, route, apiKey }: Omit<OperationEntryProps, 'isChosen'>) {
  const { operation } = route;
  const [, body] = Object.entries(operation.requestBody?.content ?? {})[0] ?? [];
  return (
    <div class="operation-body">
      {operation.description !== undefined && <p>{operation.description.replaceAll('`', '')}</p>}
      <TryIt route={route} apiKey={apiKey} />
      {body?.schema !== undefined && (
        <>
          <h3>Body</h3>
          <SchemaView document={document} schema={body.schema} />
        </>
      )}
      <h3>Answers</h3>
      {Object.entries(operation.responses).map(([status, response]) => (
        <Answer document={document} status={status} response={resolved<Response>(document, response)} />
      ))}
      <p class="about">
        <a href={`#${operation.operationId}`}>Link to {operation.operationId}</a>
      </p>
    </div>
  );
}

interface AnswerProps {
  readonly document: OpenApi;
  readonly status: string;
  readonly response: Response;
}

function Answer({ document, status, response }: AnswerProps) {
  const [mediaType, media] = Object.entries(response.content ?? {})[0] ?? [];
  const links = Object.values(response.links ?? {});
  const isSuccess = status.startsWith('2');
  return (
    <details class="answer" open={isSuccess}>
      <summary>
        <span class={`tag ${isSuccess ? 'good' : Number(status) >= 400 ? 'bad' : ''}`}>{status}</span>{' '}
        {response.description.split('\n').map((line) => (
          <span class="line">{line.replaceAll('`', '')}</span>
        ))}
      </summary>
      {mediaType !== undefined && (
        <p class="about">
          {mediaType}
          {media?.schema !== undefined && nameOf(media.schema) !== undefined && ` · ${nameOf(media.schema)}`}
        </p>
      )}
      {media?.example !== undefined && <Sample value={media.example} />}
      {Object.values(media?.examples ?? {}).map((example) => (
        <Sample value={resolved<{ readonly value: unknown }>(document, example).value} />
      ))}
      {isSuccess && media?.schema !== undefined && <SchemaView document={document} schema={media.schema} />}
      {links.length > 0 && (
        <ul>
          {links.map(({ operationId, description }) => (
            <li>
              <a href={`#${operationId}`}>{operationId}</a>: {description}
            </li>
          ))}
        </ul>
      )}
    </details>
  );
}

function Sample({ value }: { readonly value: unknown }) {
  return <pre class="text">{typeof value === 'string' ? value : prettyJson(stringifyExact(value))}</pre>;
}
