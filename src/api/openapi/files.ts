/** The OpenAPI documents that are kept in the repository, under `openapi/`: the whole API, and one for each role. */

import { prettyExact } from '../../lib/json.js';
import { NODE_ROLES } from '../../lib/roles.js';
import { OPERATIONS, operationsOf } from '../operations.js';
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
    text: `${prettyExact(openApiDocument(operationsOf(role), { role }))}\n`,
  }));
  return [whole, ...perRole];
}
