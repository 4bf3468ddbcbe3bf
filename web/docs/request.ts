/** A request as the reader has filled it in, sent by the page to its own node. What is sent and what comes back are texts. */

import type { Parameter, Route } from './open-api.js';

/** More of an answer is not shown: a browser cannot lay out any length of text. */
const MAX_SHOWN = 1_000_000;

export interface Filled {
  /** Values by place and name, `query.address`; lists are separated by commas. */
  readonly values: Readonly<Record<string, string>>;
  readonly body: string;
  readonly apiKey: string;
}

export interface Prepared {
  readonly url: string;
  readonly init: { readonly method: string; readonly headers: Record<string, string>; readonly body?: string };
}

export const keyOfParameter = ({ in: place, name }: Parameter): string => `${place}.${name}`;

export function prepare({ method, path, operation }: Route, { values, body, apiKey }: Filled): Prepared {
  let url = path;
  const query = new URLSearchParams();
  const headers: Record<string, string> = {};
  for (const parameter of operation.parameters ?? []) {
    const value = values[keyOfParameter(parameter)] ?? '';
    if (parameter.in === 'path') url = url.replace(`{${parameter.name}}`, encodeURIComponent(value));
    if (value === '') continue;
    if (parameter.in === 'header') headers[parameter.name] = value;
    if (parameter.in === 'query') for (const one of partsOf(parameter, value)) query.append(parameter.name, one);
  }
  if (apiKey !== '' && (operation.security ?? []).length > 0) headers['x-api-key'] = apiKey;
  const sendsBody = operation.requestBody !== undefined && body.trim() !== '';
  if (sendsBody) headers['content-type'] = 'application/json';
  const search = query.toString();
  return {
    url: search === '' ? url : `${url}?${search}`,
    init: { method, headers, ...(sendsBody ? { body } : {}) },
  };
}

function partsOf({ schema }: Parameter, value: string): string[] {
  return schema.type === 'array' ? value.split(',').map((one) => one.trim()) : [value];
}

/** The same for a shell. */
export function curlOf({ url, init }: Prepared): string {
  const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
  const headers = Object.entries(init.headers).map(([name, value]) => {
    return ` -H ${quoted(`${name}: ${name === 'x-api-key' ? '…' : value}`)}`;
  });
  const method = init.method === 'GET' ? '' : ` -X ${init.method}`;
  const body = init.body === undefined ? '' : ` --data-raw ${quoted(init.body)}`;
  return `curl -s${method} ${quoted(`${location.origin}${url}`)}${headers.join('')}${body}`;
}

export interface Received {
  readonly status: number;
  readonly statusText: string;
  readonly mediaType: string;
  readonly text: string;
  /** More has come than is shown. */
  readonly isCut: boolean;
}

/** Sends it, and tells what has come whenever there is more: a stream of events has no end. */
export async function send(
  { url, init }: Prepared,
  signal: AbortSignal,
  tell: (received: Received) => void,
): Promise<void> {
  const response = await fetch(url, { ...init, signal, credentials: 'omit', cache: 'no-store' });
  const { status, statusText, headers } = response;
  const known = { status, statusText, mediaType: headers.get('content-type') ?? '' };
  let text = '';
  tell({ ...known, text, isCut: false });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
    if (done) return;
    text += value;
    const isCut = text.length > MAX_SHOWN;
    tell({ ...known, text: isCut ? text.slice(0, MAX_SHOWN) : text, isCut });
    if (isCut) return reader?.cancel();
  }
}
