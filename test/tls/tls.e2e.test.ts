/** TLS by certificate paths, with real handshakes: the API, and links between nodes. */

import { get as getPlain } from 'node:http';
import { get, type RequestOptions } from 'node:https';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { NODE_CERT, OTHER_CERT } from '../support/certificates.js';
import { createTlsNodes, type LoggedNode, type TlsNodes } from '../support/tls.js';

let nodes: TlsNodes;
beforeEach(async () => {
  nodes = await createTlsNodes();
});
afterEach(() => nodes.end());

interface Answer {
  readonly status: number | undefined;
  readonly body: string;
  readonly protocol: string | null;
}

function request(url: string, options: RequestOptions): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = get(url, { agent: false, ...options }, (response) => {
      const { socket } = response as unknown as { socket: { getProtocol(): string | null } };
      const protocol = socket.getProtocol();
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (text: string) => {
        body += text;
      });
      response.on('end', () => resolve({ status: response.statusCode, body, protocol }));
    });
    sent.on('error', reject);
  });
}

describe('the API with api.tls', () => {
  const start = (): Promise<LoggedNode> =>
    nodes.start('storage', { 'api.tls.cert_file': nodes.files.cert, 'api.tls.key_file': nodes.files.key });

  it('answers over TLS to a client that trusts its certificate', async () => {
    const { apiUrl } = await start();
    expect(apiUrl).toMatch(/^https:/);
    const { status, body, protocol } = await request(`${apiUrl}/livez`, { ca: NODE_CERT });
    expect([status, JSON.parse(body)]).toEqual([200, { status: 'ok', reasons: [] }]);
    expect(protocol).toBe('TLSv1.3');
  });

  it('is not believed by a client that trusts another certificate', async () => {
    const { apiUrl } = await start();
    await expect(request(`${apiUrl}/livez`, { ca: OTHER_CERT })).rejects.toMatchObject({
      code: 'DEPTH_ZERO_SELF_SIGNED_CERT',
    });
  });

  it('is not believed under a name that its certificate does not have', async () => {
    const { apiUrl } = await start();
    await expect(request(`${apiUrl}/livez`, { ca: NODE_CERT, servername: 'elsewhere.example' })).rejects.toMatchObject({
      code: 'ERR_TLS_CERT_ALTNAME_INVALID',
    });
  });

  it('gives nothing to a client without TLS', async () => {
    const { apiUrl } = await start();
    const plain = new Promise((resolve, reject) => {
      getPlain(`${apiUrl.replace('https:', 'http:')}/livez`, { agent: false }, resolve).on('error', reject);
    });
    await expect(plain).rejects.toMatchObject({ code: 'ECONNRESET' });
  });
});

describe('links with peers.tls', () => {
  const withTls = (ca: string) => ({
    'peers.tls.cert_file': nodes.files.cert,
    'peers.tls.key_file': nodes.files.key,
    'peers.tls.ca_file': ca,
  });

  /** What the node tells of its peers at `GET /v1/debug`. */
  const peersOf = async ({ apiUrl }: LoggedNode): Promise<unknown> => {
    const response = await fetch(`${apiUrl}/v1/debug`);
    return ((await response.json()) as { node_peers: unknown }).node_peers;
  };

  it('are made between nodes that trust each other, and trusted as operators over them', async () => {
    const storage = await nodes.start('storage', withTls(nodes.files.cert));
    const mempool = await nodes.start('mempool', {
      ...withTls(nodes.files.cert),
      'peers.storage': [storage.peerAddress],
    });
    expect(JSON.parse(await mempool.logged('link up'))).toMatchObject({ role: 'storage', trusted: true });
    expect(JSON.parse(await storage.logged('link up'))).toMatchObject({ role: 'mempool', trusted: true });
  });

  it('are not made to a node whose certificate another authority signed', async () => {
    const storage = await nodes.start('storage', withTls(nodes.files.cert));
    const mempool = await nodes.start('mempool', {
      ...withTls(nodes.files.other),
      'peers.storage': [storage.peerAddress],
    });
    expect(await mempool.logged('no link to a configured peer')).toContain('self-signed certificate');
    expect(await peersOf(mempool)).toEqual([]);
    expect(await peersOf(storage)).toEqual([]);
  });

  it('are not made by a node without TLS to one with it', async () => {
    const storage = await nodes.start('storage', withTls(nodes.files.cert));
    const mempool = await nodes.start('mempool', { 'peers.storage': [storage.peerAddress] });
    await mempool.logged('no link to a configured peer');
    expect(await peersOf(mempool)).toEqual([]);
  });

  it('are not made by a node with TLS to one without it', async () => {
    const storage = await nodes.start('storage', {});
    const mempool = await nodes.start('mempool', {
      ...withTls(nodes.files.cert),
      'peers.storage': [storage.peerAddress],
    });
    await mempool.logged('no link to a configured peer');
    expect(await peersOf(mempool)).toEqual([]);
  });
});
