/** The HTTP server of the metrics, on a port of its own. GET /metrics, nothing else. */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Logger } from '../lib/logger.js';
import { Failure, type Service } from '../lib/service.js';
import type { MetricsRegistry } from './metrics.js';

/** Most milliseconds of a request: a scrape is small. */
const REQUEST_TIMEOUT_MS = 5_000;

export interface MetricsServerOptions {
  readonly host: string;
  /** Port of the server; 0 takes any free one. */
  readonly port: number;
}

export interface MetricsServerModules {
  readonly metrics: MetricsRegistry;
  readonly logger: Logger;
}

export class MetricsServer implements Service {
  readonly #options: MetricsServerOptions;
  readonly #metrics: MetricsRegistry;
  readonly #logger: Logger;
  readonly #server = createServer(
    { requestTimeout: REQUEST_TIMEOUT_MS, keepAliveTimeout: REQUEST_TIMEOUT_MS },
    (request, response) => void this.#answer(request, response),
  );
  readonly #failure = new Failure();
  readonly failed = this.#failure.promise;
  #url = '';

  constructor(options: MetricsServerOptions, { metrics, logger }: MetricsServerModules) {
    this.#options = options;
    this.#metrics = metrics;
    this.#logger = logger;
  }

  /** URL of the server once started, as in `http://127.0.0.1:9303`. */
  get url(): string {
    return this.#url;
  }

  /** Resolves when the server listens. Throws the system's error when the address cannot be used. */
  async start(): Promise<void> {
    const { host, port } = this.#options;
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(port, host, resolve);
    });
    this.#server.on('error', this.#failure.report);
    const bound = this.#server.address() as AddressInfo;
    this.#url = `http://${bound.family === 'IPv6' ? `[${bound.address}]` : bound.address}:${bound.port}`;
  }

  stop(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url?.split('?')[0];
    if (path !== '/metrics') return end(response, 404, 'text/plain', 'Metrics are at /metrics.\n');
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('Allow', 'GET, HEAD');
      return end(response, 405, 'text/plain', 'Use GET.\n');
    }
    try {
      const { contentType, body } = await this.#metrics.render();
      end(response, 200, contentType, request.method === 'HEAD' ? '' : body);
    } catch (error) {
      this.#logger.error({ error }, 'metrics could not be collected');
      if (!response.headersSent) response.writeHead(500);
      response.end();
    }
  }
}

function end(response: ServerResponse, status: number, contentType: string, body: string): void {
  response.writeHead(status, { 'Content-Type': contentType }).end(body);
}
