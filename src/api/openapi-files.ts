/** The OpenAPI documents that are kept in the repository, under `openapi/`: the whole API, and one for each role. */

import type { NodeRole } from '../peers/network.js';
import { openApiDocument } from './openapi.js';
import { OPERATIONS, operationsOf } from './operations.js';

const ROLES: readonly NodeRole[] = ['mempool', 'storage', 'miner', 'user'];

export interface OpenApiFile {
  /** `node-v1.json` */
  readonly name: string;
  readonly text: string;
}

/** All documents, as the files should read. */
export function openApiFiles(): OpenApiFile[] {
  const whole = { name: 'node-v1.json', text: pretty(openApiDocument(OPERATIONS)) };
  const perRole = ROLES.map((role) => ({
    name: `${role}.json`,
    text: pretty(openApiDocument(operationsOf(role), { role })),
  }));
  return [whole, ...perRole];
}

/** Indented JSON with exact integers. */
function pretty(document: object): string {
  const marked = JSON.stringify(document, (_key, value) => (typeof value === 'bigint' ? `bigint ${value}` : value), 2);
  return `${marked.replaceAll(/"bigint (\d+)"/g, '$1')}\n`;
}
