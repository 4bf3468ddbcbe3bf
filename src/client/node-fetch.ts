/** `fetch` by `http` and `https`: that of Node.js 20 can wait for ever, and takes no other certificates. No redirects or compression. */

import { type IncomingMessage, request as requestHttp } from 'node:http';
import { Agent, request as requestHttps } from 'node:https';
import { Readable } from 'node:stream';
import type { PeerCertificate } from 'node:tls';
import type { Fetch } from './transport.js';

/** Trusted certificates: the authorities, in PEM, or the one certificate that a server must have, whatever its name is. */
export type Trust = { readonly authorities: string } | { readonly certificate: string };

const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

const CONNECT_MS = 10_000;

/** A `fetch` that uses connections again. Without `trust`, it trusts the certificates that Node.js trusts. */
export function nodeFetch(trust?: Trust): Fetch {
  const trusting = trust === undefined ? {} : { agent: new Agent({ keepAlive: true, ...tlsOptions(trust) }) };
  return (url, init) =>
    new Promise((resolve, reject) => {
      const { method = 'GET', signal, body, headers } = init;
      const fail = (cause: unknown): void =>
        reject(signal?.aborted ? signal.reason : new TypeError('fetch failed', { cause }));
      const options = {
        ...trusting,
        method,
        headers: Object.fromEntries(new Headers(headers)),
        ...(signal ? { signal } : {}),
      };
      const sent = (new URL(url).protocol === 'https:' ? requestHttps : requestHttp)(url, options);
      sent.on('socket', (socket) => {
        if (!socket.connecting) return;
        const limit = setTimeout(() => sent.destroy(new NotConnected()), CONNECT_MS);
        socket.once('connect', () => clearTimeout(limit)).once('close', () => clearTimeout(limit));
      });
      sent.on('response', (answer) => {
        try {
          resolve(responseOf(answer));
        } catch (error) {
          answer.destroy();
          fail(error);
        }
      });
      sent.on('error', fail);
      // After a switch of protocols no other event comes.
      sent.on('close', () => fail(new Error('the connection was closed without an answer')));
      sent.end(body);
    });
}

/** Error of a request that was not sent, for want of a connection. */
class NotConnected extends Error {
  readonly code = 'EHOSTUNREACH';

  constructor() {
    super(`no connection within ${CONNECT_MS / 1_000} s`);
  }
}

function tlsOptions(trust: Trust) {
  if ('authorities' in trust) return { ca: trust.authorities };
  const wanted = pemBody(trust.certificate);
  return {
    ca: trust.certificate,
    allowPartialTrustChain: true,
    checkServerIdentity: (_host: string, { raw }: PeerCertificate): Error | undefined =>
      raw.toString('base64') === wanted
        ? undefined
        : new Error('it does not have the certificate of api.tls.cert_file'),
  };
}

function pemBody(pem: string): string {
  const [, body = ''] = /-----BEGIN CERTIFICATE-----([\s\S]*?)-----END CERTIFICATE-----/.exec(pem) ?? [];
  return body.replace(/\s/g, '');
}

/** The response of `fetch` for an answer. Throws for a redirect, and for a status that no answer has. */
function responseOf(answer: IncomingMessage): Response {
  const status = answer.statusCode ?? 0;
  if (status >= 300 && status < 400 && status !== 304) throw new Error('unexpected redirect');
  const headers = new Headers();
  for (let i = 0; i < answer.rawHeaders.length; i += 2) {
    headers.append(answer.rawHeaders[i] ?? '', answer.rawHeaders[i + 1] ?? '');
  }
  const isEmpty = WITHOUT_BODY.has(status);
  if (isEmpty) answer.resume();
  const body = isEmpty ? null : (Readable.toWeb(answer) as ReadableStream<Uint8Array>);
  return new Response(body, { status, headers });
}
