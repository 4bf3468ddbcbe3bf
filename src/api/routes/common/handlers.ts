/** Routes of every node: debug data, the API description, health. */

import type { FastifyPluginCallback } from 'fastify';
import type { Clock } from '../../../lib/clock.js';
import { stringifyExact } from '../../../lib/json.js';
import type { Router } from '../../http/route.js';
import { type Operation, ReadyJson, WithStatus } from '../../operation.js';
import type { ApiModules, NodeInfo } from '../../options.js';
import { getDebug, getLiveness, getOpenApi, getReadiness } from './operations.js';
import type { DebugData, HealthResponse } from './schemas.js';

export interface CommonRoutes {
  readonly router: Router;
  readonly modules: Pick<ApiModules, 'node' | 'readiness' | 'clock'>;
  /** Asked once all routes are mounted: the document of this node. */
  readonly describe: (operations: readonly Operation[]) => { readonly text: string; readonly etag: string };
}

/** How long the debug data may be behind, in ms: peers do not come and go faster. */
const DEBUG_FRESH_MS = 100;

export const commonPlugin: FastifyPluginCallback<CommonRoutes> = (app, { router, modules, describe }, done) => {
  const { node, readiness, clock } = modules;

  let debug: (() => ReadyJson) | undefined;
  router.add(app, getDebug, () => {
    debug ??= createDebugAnswer(node, clock, mountedPaths(router.mounted));
    return debug();
  });

  let document: ReadyJson | undefined;
  router.add(app, getOpenApi, () => {
    if (document === undefined) {
      const { text, etag } = describe(router.mounted);
      document = new ReadyJson(Buffer.from(text, 'utf8'), etag);
    }
    return document;
  });

  router.add(app, getLiveness, () => health([]));
  router.add(app, getReadiness, () => {
    const reasons = readiness();
    return reasons.length === 0 ? health(reasons) : new WithStatus(503, health(reasons));
  });
  done();
};

function health(reasons: readonly string[]): HealthResponse {
  return { status: reasons.length === 0 ? 'ok' : 'unavailable', reasons: [...reasons] };
}

/** The /v1 paths of a node, in the order they were mounted (decision V20). */
export function mountedPaths(mounted: readonly Operation[]): string[] {
  return [...new Set(mounted.filter(({ family }) => family === 'v1').map(({ path }) => path))];
}

/** Bytes of the debug data, made at most once in `DEBUG_FRESH_MS`. */
function createDebugAnswer(node: NodeInfo, clock: Clock, paths: readonly string[]): () => ReadyJson {
  let answer: ReadyJson | undefined;
  let staleAt = 0;
  return () => {
    const now = clock.monotonic();
    if (answer === undefined || now >= staleAt) {
      const data: DebugData = {
        node_api: [...paths],
        node_peers: [...node.peers()],
        node_type: node.type(),
        routes_pow: { ...node.routesPow },
      };
      answer = new ReadyJson(Buffer.from(stringifyExact(data), 'utf8'));
      staleAt = now + DEBUG_FRESH_MS;
    }
    return answer;
  };
}
