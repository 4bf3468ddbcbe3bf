/** The HTTP server of the metrics, on a port of its own so that it can be closed to the world. GET /metrics, nothing else. */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { TesseraError } from '../lib/errors.js';
import type { Logger } from '../lib/logger.js';
import type { MetricsRegistry } from './metrics.js';

/** Milliseconds. A scrape is one small request. */
const REQUEST_TIMEOUT_MS = 5_000;

export interface MetricsServerOptions {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
}

export interface MetricsServer {
  /** Resolves when it listens. Throws `invalid_config` when the address cannot be used. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** `http://127.0.0.1:9303`, once started. */
  readonly url: string;
}

export function createMetricsServer(
  options: MetricsServerOptions,
  modules: { readonly metrics: MetricsRegistry; readonly logger: Logger },
): MetricsServer {
  const { metrics, logger } = modules;
  let url = '';
  const server = createServer(
    { requestTimeout: REQUEST_TIMEOUT_MS, keepAliveTimeout: REQUEST_TIMEOUT_MS },
    (req, res) => {
      answer(req, res, metrics).catch((error: unknown) => {
        logger.error({ error }, 'metrics could not be collected');
        if (!res.headersSent) res.writeHead(500);
        res.end();
      });
    },
  );
  return {
    get url() {
      return url;
    },
    start: () =>
      new Promise((resolve, reject) => {
        server.once('error', (cause) =>
          reject(
            new TesseraError(
              'invalid_config',
              `metrics cannot listen on ${options.host}:${options.port}: ${cause.message}`,
              {
                cause,
              },
            ),
          ),
        );
        server.listen(options.port, options.host, () => {
          const { address, port, family } = server.address() as AddressInfo;
          url = `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
          resolve();
        });
      }),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function answer(req: IncomingMessage, res: ServerResponse, metrics: MetricsRegistry): Promise<void> {
  const path = req.url?.split('?')[0];
  if (path !== '/metrics') return end(res, 404, 'text/plain', 'Metrics are at /metrics.\n');
  if (req.method !== 'GET' && req.method !== 'HEAD') {
    res.setHeader('Allow', 'GET, HEAD');
    return end(res, 405, 'text/plain', 'Use GET.\n');
  }
  const { contentType, body } = await metrics.render();
  end(res, 200, contentType, req.method === 'HEAD' ? '' : body);
}

function end(res: ServerResponse, status: number, contentType: string, body: string): void {
  res.writeHead(status, { 'Content-Type': contentType }).end(body);
}
