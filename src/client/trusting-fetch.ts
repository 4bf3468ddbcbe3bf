/**
 * `fetch` over HTTPS with other certificates than those that Node.js trusts: its own `fetch` takes none. It does what the
 * client needs, and no more: no redirects, no packed answers.
 */

import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import { Readable } from 'node:stream';
import type { PeerCertificate } from 'node:tls';
import type { Fetch } from './transport.js';

/** Either the authorities, in PEM, or the one certificate that a server must have, whatever its name is. */
export type Trust = { readonly authorities: string } | { readonly certificate: string };

/** Statuses whose answers have no body. */
const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

/** A `fetch` for https URLs. Connections are kept and used again. */
export function trustingFetch(trust: Trust): Fetch {
  const agent = new Agent({ keepAlive: true, ...tlsOptions(trust) });
  return (url, init) =>
    new Promise((resolve, reject) => {
      const fail = (cause: unknown): void => reject(new TypeError('fetch failed', { cause }));
      const { method = 'GET', signal, body, headers } = init;
      const sent = request(url, { agent, method, headers: headersOf(headers), ...(signal ? { signal } : {}) });
      sent.on('response', (answer) => {
        try {
          resolve(responseOf(answer));
        } catch (error) {
          answer.destroy();
          fail(error);
        }
      });
      sent.on('error', fail);
      // After a switch of protocols nothing else comes.
      sent.on('close', () => fail(new Error('the connection was closed without an answer')));
      sent.end(body);
    });
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

/** The first certificate of the file, in base64. */
function pemBody(pem: string): string {
  const [, body = ''] = /-----BEGIN CERTIFICATE-----([\s\S]*?)-----END CERTIFICATE-----/.exec(pem) ?? [];
  return body.replace(/\s/g, '');
}

function headersOf(headers: RequestInit['headers']): Record<string, string> {
  return Object.fromEntries(new Headers(headers));
}

/** Throws for a redirect, and for a status that no answer has. */
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
