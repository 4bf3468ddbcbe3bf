/** The plugin of every node: debug data, the description of its API, its health. */

import { describeApi } from '../openapi/document.js';
import type { ApiPlugin } from '../options.js';
import { apiKeysOptions } from '../roles.js';
import { commonRoutes } from '../routes/common/handlers.js';

export const common: ApiPlugin = (app, { options: { roles, api }, modules }, done) => {
  // The operations that callers may use without a key.
  const open = api.auth === 'open' ? 'all' : apiKeysOptions(roles, api).open;
  app.register(commonRoutes, {
    modules,
    describe: (mounted) => describeApi(mounted, { roles, limits: api.limits, open }),
  });
  done();
};
