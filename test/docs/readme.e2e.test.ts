/** The requests of the README, as they stand there, against a real network: what a reader pastes must work. */

import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { useDevNetwork } from '../support/dev-network.js';

const readme = await readFile(new URL('../../README.md', import.meta.url), 'utf8');
const lines = [...readme.matchAll(/^curl .*$/gm)].map(([line]) => line);
const DEFAULT_PORTS = { '3000': 'user', '3001': 'storage', '3003': 'mempool', '3004': 'miner' } as const;
/** Where the whole network is reached. */
const ONE_PORT = '8080';

const network = useDevNetwork();

interface CurlRequest {
  readonly url: string;
  readonly init: RequestInit;
}

/** Understands as much of curl as the README uses: -s, -X METHOD, -H 'name: value', -d 'body', one URL. */
function readCurl(line: string): CurlRequest {
  const words = [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '').slice(1);
  const headers: Record<string, string> = {};
  let method: string | undefined;
  let body: string | undefined;
  let url: string | undefined;
  for (let i = 0; i < words.length; i++) {
    const word = words[i] ?? '';
    if (word === '-s') continue;
    if (word === '-X') method = words[++i];
    else if (word === '-d') body = words[++i];
    else if (word === '-H') {
      const [name = '', value = ''] = (words[++i] ?? '').split(/: (.*)/s);
      headers[name] = value;
    } else if (word.startsWith('http')) url = word;
    else throw new Error(`the test does not know "${word}" of: ${line}`);
  }
  if (url === undefined) throw new Error(`no URL in: ${line}`);
  return {
    url,
    init: { method: method ?? (body === undefined ? 'GET' : 'POST'), headers, ...(body === undefined ? {} : { body }) },
  };
}

describe('the README', () => {
  it('shows requests at the one address, and to every role', () => {
    const ports = new Set(lines.map((line) => new URL(readCurl(line).url).port));
    expect([...ports].sort()).toEqual([...Object.keys(DEFAULT_PORTS), ONE_PORT]);
  });

  it.each(lines)('%s', async (line) => {
    const { url, init } = readCurl(line);
    const { port, pathname, search } = new URL(url);
    const base = port === ONE_PORT ? network().url : network().urls[DEFAULT_PORTS[port as keyof typeof DEFAULT_PORTS]];
    const response = await fetch(`${base}${pathname}${search}`, init);
    const mistake = pathname.endsWith('/seven');
    expect(response.status, await response.clone().text()).toBeGreaterThanOrEqual(200);
    expect(response.ok).toBe(!mistake);
    if (pathname === '/v1/payments') {
      // What the `sleep 1` of the README is for.
      await expect.poll(async () => (await fetch(`${network().urls.storage}/v1/blocks/1`)).status).toBe(200);
    }
    if (mistake) expect(response.headers.get('content-type')).toContain('application/problem+json');
  });
});
