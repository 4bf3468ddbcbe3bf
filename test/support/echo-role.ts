/** A role that only a test has: it answers with what it is told. */

import { Type } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';
import { addRoutes } from '../../src/api/http/route.js';
import { section } from '../../src/api/operation.js';
import { createDeferred } from '../../src/lib/deferred.js';
import type { Role } from '../../src/node/roles/role.js';

const common = section('Common');

export const PORTS = { api: 3105, peers: 12_305, metrics: 9305 };
export const facts = {
  type: 'Echo',
  ports: PORTS,
  services: [],
  topics: ['blocks'],
  dials: ['storage'],
  unlinked: 'nothing is echoed',
  secret: 'optional',
  databases: [],
  metrics: [],
  peers: 'Nodes that echo.',
} as const;

const getEcho = common.get('getEcho', '/v1/echo/{text}', {
  summary: 'The same text',
  params: Type.Object({ text: Type.String() }),
  success: { 200: { description: 'The text.', schema: Type.Object({ text: Type.String() }) } },
  errors: [],
});

const plugin = (app: FastifyInstance, _parts: object, done: () => void): void => {
  addRoutes(app, [getEcho] as const, { getEcho: ({ params }) => ({ text: params.text }) });
  done();
};

class EchoRole implements Role {
  readonly services = {};
  readonly failed = createDeferred<never>().promise;
  #isUp = false;

  async load(): Promise<void> {}

  async start(): Promise<void> {
    this.#isUp = true;
  }

  async stop(): Promise<void> {
    this.#isUp = false;
  }

  readiness(): readonly string[] {
    return this.#isUp ? ['nobody has said anything yet'] : [];
  }
}

export const api = { operations: [getEcho], plugin: async () => plugin };

export const definition = { open: async () => new EchoRole() };
