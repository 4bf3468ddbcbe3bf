/**
 * The OpenAPI documents that are kept in the repository, under `openapi/`: the whole API, one for each role, that of a
 * network at one address, and that of a dev network, which alone has the operations under /v1/dev.
 */

import { prettyExact } from '../../lib/json.js';
import { NODE_ROLES } from '../../lib/roles.js';
import { OPERATIONS, operationsOf } from '../operations.js';
import { devOperations } from '../routes/dev/operations.js';
import { openApiDocument } from './document.js';

export interface OpenApiFile {
  /** `node-v1.json` */
  readonly name: string;
  readonly text: string;
}

/** All documents, with the text that their files should have. */
export function openApiFiles(): OpenApiFile[] {
  const whole = { name: 'node-v1.json', text: `${prettyExact(openApiDocument(OPERATIONS))}\n` };
  const perRole = NODE_ROLES.map((role) => ({
    name: `${role}.json`,
    text: `${prettyExact(openApiDocument(operationsOf(role), { roles: [role] }))}\n`,
  }));
  const roles = NODE_ROLES;
  const network = { name: 'network.json', text: `${prettyExact(openApiDocument(operationsOf(roles), { roles }))}\n` };
  const dev = [...operationsOf(roles, true), ...devOperations];
  return [whole, ...perRole, network, { name: 'dev.json', text: `${prettyExact(openApiDocument(dev, { roles }))}\n` }];
}
