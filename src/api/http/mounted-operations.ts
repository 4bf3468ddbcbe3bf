/** Records the operations that an app serves as their routes are added; documents and errors are made from them. */

import fp from 'fastify-plugin';
import type { Operation } from '../operation.js';

declare module 'fastify' {
  interface FastifyInstance {
    /** The operations that this app serves, in the order in which they were added. */
    readonly operations: Set<Operation>;
  }
}

export const mountedOperations = fp((app, _options, done) => {
  const operations = new Set<Operation>();
  app.decorate('operations', operations);
  app.addHook('onRoute', ({ config }) => {
    if (config?.operation !== undefined) operations.add(config.operation);
  });
  done();
});
