/** Routes of every node: debug data, the API description, health. */

import type { FastifyPluginCallback } from 'fastify';
import { stringifyExact } from '../../lib/json.js';
import { type Operation, ReadyJson, WithStatus } from '../operation.js';
import type { ApiModules, NodeInfo } from '../options.js';
import type { Router } from '../route.js';
import type { HealthResponse } from '../schemas/common.js';
import { getDebug, getLiveness, getOpenApi, getReadiness } from './operations.js';

export interface CommonRoutes {
  readonly router: Router;
  readonly modules: Pick<ApiModules, 'node' | 'readiness'>;
  /** Asked once all routes are mounted: the document of this node. */
  readonly describe: (operations: readonly Operation[]) => { readonly text: string; readonly etag: string };
}

export const commonPlugin: FastifyPluginCallback<CommonRoutes> = (app, { router, modules, describe }, done) => {
  const { node, readiness } = modules;

  let debug: (() => ReadyJson) | undefined;
  router.add(app, getDebug, () => {
    debug ??= createDebugAnswer(node, mountedPaths(router.mounted));
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

/** Bytes of the debug data; made again only when the peers or the type have changed. */
function createDebugAnswer(node: NodeInfo, paths: readonly string[]): () => ReadyJson {
  const api = stringifyExact(paths);
  const pow = stringifyExact(node.routesPow);
  let last: { changing: string; answer: ReadyJson } | undefined;
  return () => {
    const changing = `"node_peers":${stringifyExact(node.peers())},"node_type":${stringifyExact(node.type())}`;
    if (last?.changing !== changing) {
      const text = `{"node_api":${api},${changing},"routes_pow":${pow}}`;
      last = { changing, answer: new ReadyJson(Buffer.from(text, 'utf8')) };
    }
    return last.answer;
  };
}
