/** The forms of requests are compiled before a node listens: 56 ms of its event loop that no request waits for. */

import { Ajv2020 as Ajv } from 'ajv/dist/2020.js';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { Validators } from '../../src/api/http/validator.js';
import { operationsOf } from '../../src/api/operations.js';
import { NODE_ROLES } from '../../src/lib/roles.js';
import { API_KEY, openApp, send } from '../support/api/app.js';

afterEach(() => {
  vi.restoreAllMocks();
});

describe.each(NODE_ROLES)('an app of the role %s', (role) => {
  test('compiles nothing for a request', async () => {
    const compile = vi.spyOn(Ajv.prototype, 'compile');
    const app = await openApp(role, { modules: { validators: new Validators() } });
    expect(compile).toHaveBeenCalled();
    compile.mockClear();
    for (const operation of operationsOf(role).filter(({ events }) => events === undefined)) {
      const payload = operation.method === 'GET' ? {} : { payload: '{"nothing":1}' };
      await send(app, {
        method: operation.method,
        url: operation.path.replaceAll(/\{\w+\}/g, '7'),
        headers: { 'x-api-key': API_KEY },
        ...payload,
      });
    }
    expect(compile).not.toHaveBeenCalled();
  });
});

test('a second app of the process compiles nothing', async () => {
  const validators = new Validators();
  await openApp('storage', { modules: { validators } });
  const compile = vi.spyOn(Ajv.prototype, 'compile');
  await openApp('storage', { modules: { validators } });
  expect(compile).not.toHaveBeenCalled();
});
