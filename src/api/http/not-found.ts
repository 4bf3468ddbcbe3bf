/** The errors for unknown routes (404), and for known ones with another method (405, with `Allow`). */

import { TesseraError } from '../../lib/errors.js';
import type { Operation } from '../operation.js';
import { rolesOf } from '../roles.js';

/** True for the paths whose errors are problem documents; errors at all other paths are envelopes (decisions H1, E7). */
export function isProblemPath(path: string): boolean {
  return path === '/v1' || path.startsWith('/v1/') || path === '/livez' || path === '/readyz';
}

interface KnownPath {
  readonly pattern: RegExp;
  readonly methods: readonly string[];
  readonly operation: Operation;
}

/** The error for a method and path without a route. */
export class NotServed {
  readonly #here: readonly KnownPath[];
  readonly #anywhere: readonly KnownPath[];

  /** `known` holds the operations of all roles. */
  constructor(mounted: readonly Operation[], known: readonly Operation[]) {
    this.#here = mounted.map(pathOf);
    this.#anywhere = known.map(pathOf);
  }

  error(method: string, path: string): TesseraError {
    const here = this.#here.filter(({ pattern }) => pattern.test(path));
    // A path that is written out is none of those with a parameter in its place: what these answer there is an error.
    const own = here.filter(({ operation }) => operation.path === path);
    const allowed = new Set((own.length > 0 ? own : here).flatMap(({ methods }) => methods));
    if (allowed.size > 0) {
      const allow = [...allowed].join(', ');
      return new TesseraError('method_not_allowed', `This route takes ${allow}, not ${method}.`, {
        details: { allow },
      });
    }
    const other = this.#anywhere.find(({ pattern, methods }) => pattern.test(path) && methods.includes(method));
    if (other !== undefined) {
      const roles = rolesOf(other.operation).join(' and ');
      return new TesseraError('not_found', `This node does not serve the route; ${roles} nodes do.`);
    }
    return new TesseraError('not_found', 'There is no such route. GET /v1/openapi.json describes those of this node.');
  }
}

function pathOf(operation: Operation): KnownPath {
  const { path, method, aliases = [], events } = operation;
  const source = path.replaceAll(/[.*+?^$()|[\]\\]/g, '\\$&').replaceAll(/\{\w+\}/g, '[^/]+');
  const methods = [method, ...aliases];
  return {
    pattern: new RegExp(`^${source}$`),
    // A stream has no HEAD: what it would send is not known in advance.
    methods: methods.includes('GET') && events === undefined ? [...methods, 'HEAD'] : methods,
    operation,
  };
}
