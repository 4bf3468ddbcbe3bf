/** The form of an operation: its parameters and body as texts, what is sent as a command, and the answer as it comes. */

import { useEffect, useRef, useState } from 'preact/hooks';
import { stringifyExact } from '../../src/lib/json.js';
import { bodyExampleOf, exampleOf, type Operation, type Parameter, type Route } from './open-api.js';
import { prettyJson } from './pretty-json.js';
import { curlOf, keyOfParameter, prepare, type Received, send } from './request.js';

export interface TryItProps {
  readonly route: Route;
  readonly apiKey: string;
}

function firstValues({ parameters = [] }: Operation): Record<string, string> {
  const required = parameters.filter((parameter) => parameter.required === true);
  return Object.fromEntries(required.map((parameter) => [keyOfParameter(parameter), exampleOf(parameter)]));
}

function firstBody(operation: Operation): string {
  const example = bodyExampleOf(operation);
  return example === undefined ? '' : prettyJson(stringifyExact(example));
}

export function TryIt({ route, apiKey }: TryItProps) {
  const { operation } = route;
  const [values, setValues] = useState(() => firstValues(operation));
  const [body, setBody] = useState(() => firstBody(operation));
  const { received, failure, isSending, start, stop } = useSending();
  const prepared = prepare(route, { values, body, apiKey });
  const id = operation.operationId;
  return (
    <form
      class="try"
      onSubmit={(event) => {
        event.preventDefault();
        start(prepared);
      }}
    >
      {operation.parameters?.map((parameter) => (
        <Field
          operationId={id}
          parameter={parameter}
          value={values[keyOfParameter(parameter)] ?? ''}
          change={(value) => setValues((old) => ({ ...old, [keyOfParameter(parameter)]: value }))}
        />
      ))}
      {operation.requestBody !== undefined && (
        <label class="try-field">
          <span>Body, in JSON</span>
          <textarea
            class="field mono"
            name="body"
            rows={Math.min(18, body.split('\n').length + 1)}
            spellcheck={false}
            value={body}
            onInput={({ currentTarget }) => setBody(currentTarget.value)}
          />
        </label>
      )}
      <div class="try-buttons">
        <button type="submit" class="button main" disabled={isSending}>
          Send {id}
        </button>
        {isSending && (
          <button type="button" class="button" onClick={stop}>
            Stop
          </button>
        )}
      </div>
      <pre class="text curl">{curlOf(prepared)}</pre>
      <div aria-live="polite">
        {failure !== undefined && <p class="notice failure">{failure}</p>}
        {received !== undefined && <Answer received={received} />}
      </div>
    </form>
  );
}

function useSending() {
  const [received, setReceived] = useState<Received>();
  const [failure, setFailure] = useState<string>();
  const [sending, setSending] = useState<AbortController>();
  const current = useRef<AbortController>(undefined);
  useEffect(() => () => current.current?.abort(), []);
  const start = (prepared: Parameters<typeof send>[0]): void => {
    const ending = new AbortController();
    current.current = ending;
    setSending(ending);
    setReceived(undefined);
    setFailure(undefined);
    send(prepared, ending.signal, setReceived)
      .catch((error: unknown) => {
        if (!ending.signal.aborted)
          setFailure(`There was no answer: ${error instanceof Error ? error.message : error}`);
      })
      .finally(() => setSending(undefined));
  };
  return { received, failure, isSending: sending !== undefined, start, stop: () => sending?.abort() };
}

interface FieldProps {
  readonly operationId: string;
  readonly parameter: Parameter;
  readonly value: string;
  readonly change: (value: string) => void;
}

function Field({ operationId, parameter, value, change }: FieldProps) {
  const { name, in: place, required = false, description, schema } = parameter;
  const choices = schema.enum as readonly string[] | undefined;
  const id = `${operationId}-${keyOfParameter(parameter)}`;
  return (
    <div class="try-field">
      <label htmlFor={id}>
        <code>{name}</code>{' '}
        <span class="about">
          {place}
          {required ? ', required' : ''}
          {schema.type === 'array' ? ', several with commas' : ''}
        </span>
      </label>
      {choices === undefined ? (
        <input
          class="field mono"
          id={id}
          name={name}
          required={required}
          autocomplete="off"
          spellcheck={false}
          placeholder={exampleOf(parameter)}
          value={value}
          onInput={({ currentTarget }) => change(currentTarget.value)}
        />
      ) : (
        <select
          class="field"
          id={id}
          name={name}
          value={value}
          onChange={({ currentTarget }) => change(currentTarget.value)}
        >
          {['', ...choices].map((choice) => (
            <option value={choice}>{choice}</option>
          ))}
        </select>
      )}
      {description !== undefined && <span class="about">{description}</span>}
    </div>
  );
}

function Answer({ received }: { readonly received: Received }) {
  const { status, statusText, mediaType, text, isCut } = received;
  return (
    <div class="received">
      <p>
        <span class={`tag ${status < 400 ? 'good' : 'bad'}`}>{status}</span> {statusText}{' '}
        <span class="about">{mediaType}</span>
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard has to get there */}
      <pre class="text" tabIndex={0} role="region" aria-label="Answer">
        {mediaType.includes('json') ? prettyJson(text) : text}
      </pre>
      {isCut && <p class="about">The answer is longer; this is its first part.</p>}
    </div>
  );
}
