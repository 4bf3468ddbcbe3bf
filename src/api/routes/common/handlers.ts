/** Routes of every node: debug data, the API description, health. */

import type { FastifyPluginCallback } from 'fastify';
import type { Clock } from '../../../lib/clock.js';
import { stringifyExact } from '../../../lib/json.js';
import { addRoutes } from '../../http/route.js';
import type { Operation } from '../../operation.js';
import type { ApiModules, NodeInfo } from '../../options.js';
import { type DebugData, getDebug, getLiveness, getOpenApi, getReadiness, type HealthResponse } from './operations.js';

export interface CommonRoutes {
  readonly modules: Pick<ApiModules, 'node' | 'readiness' | 'degraded' | 'clock'>;
  readonly describe: (operations: readonly Operation[]) => { readonly text: string; readonly etag: string };
}

const DEBUG_FRESH_MS = 100;

const operations = [getDebug, getOpenApi, getLiveness, getReadiness] as const;

export const commonRoutes: FastifyPluginCallback<CommonRoutes> = (app, { modules, describe }, done) => {
  const debug = new DebugAnswer(modules, app.operations);
  let document: { readonly bytes: Buffer; readonly etag: string } | undefined;

  addRoutes(app, operations, {
    getDebug: (_request, reply) => reply.stored(debug.bytes()),

    getOpenApi(_request, reply) {
      if (document === undefined) {
        const { text, etag } = describe([...app.operations]);
        document = { bytes: Buffer.from(text, 'utf8'), etag };
      }
      return reply.stored(document.bytes, { etag: document.etag });
    },

    getLiveness: (): HealthResponse => ({ status: 'ok', reasons: [] }),

    getReadiness(_request, reply): HealthResponse {
      const reasons = modules.readiness();
      const degraded = modules.degraded?.() ?? [];
      if (reasons.length > 0) reply.code(503);
      const status = reasons.length > 0 ? 'unavailable' : degraded.length > 0 ? 'degraded' : 'ok';
      return { status, reasons: [...reasons, ...degraded] };
    },
  });
  done();
};

function mountedPaths(mounted: Iterable<Operation>): string[] {
  const ofV1 = [...mounted].filter(({ family }) => family === 'v1');
  return [...new Set(ofV1.map(({ path }) => path))];
}

class DebugAnswer {
  readonly #node: NodeInfo;
  readonly #clock: Clock;
  readonly #operations: Iterable<Operation>;
  #bytes = Buffer.alloc(0);
  #staleAt = Number.NEGATIVE_INFINITY;

  constructor({ node, clock }: { readonly node: NodeInfo; readonly clock: Clock }, operations: Iterable<Operation>) {
    this.#node = node;
    this.#clock = clock;
    this.#operations = operations;
  }

  bytes(): Buffer {
    const now = this.#clock.monotonic();
    if (now < this.#staleAt) return this.#bytes;
    const data: DebugData = {
      node_api: mountedPaths(this.#operations),
      node_peers: [...this.#node.peers()],
      node_type: this.#node.type(),
      routes_pow: { ...this.#node.routesPow },
    };
    this.#bytes = Buffer.from(stringifyExact(data), 'utf8');
    this.#staleAt = now + DEBUG_FRESH_MS;
    return this.#bytes;
  }
}
