/**
 * The table of operations in docs/routes.md: made from the definitions; `npx vitest run test/api/operations-table -u` writes
 * it.
 */

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { errorStatusesOf } from '../../src/api/http/problem.js';
import type { Operation } from '../../src/api/operation.js';
import { OPERATIONS } from '../../src/api/operations.js';
import { rolesOf } from '../../src/api/roles.js';
import { NODE_ROLES } from '../../src/lib/roles.js';
import { CONTRACT_OPERATIONS, ENVELOPE_OPERATIONS } from '../support/api/contract-operations.js';

const TESTS = fileURLToPath(new URL('..', import.meta.url));
const ALL: readonly Operation[] = OPERATIONS;

/** Files whose tests are about single operations. */
const SOURCES = [
  'statuses',
  'bad-input',
  'clients-checklist',
  'storage-answers',
  'envelope',
  'common',
  'events',
  'openapi',
  'chain-index',
  'docs.e2e',
  'wallet-routes',
]
  .map((name) => `api/${name}.test.ts`)
  .map((name) => ({ name, text: readFileSync(`${TESTS}${name}`, 'utf8') }));

function testsOf({ id, path }: Operation): string[] {
  const fixed = path.split('{')[0] ?? path;
  const named = (text: string) =>
    text.includes(`'${id}'`) || [`'${path}`, `\`${fixed}`, `'${fixed}`].some((start) => text.includes(start));
  return SOURCES.filter(({ text }) => named(text)).map(({ name }) => name);
}

function row(operation: Operation): string {
  const { id, method, aliases = [], path, apiKey, tooling, success } = operation;
  const errors = [...errorStatusesOf(operation).keys()];
  const cells = [
    `\`${id}\``,
    `${[method, ...aliases].join(', ')} \`${path}\``,
    ...NODE_ROLES.map((role) => (rolesOf(operation).includes(role) ? 'yes' : tooling ? 'on request' : '')),
    apiKey ? 'yes' : '',
    [...new Set([...Object.keys(success), ...errors.map(String)])].join(' '),
    testsOf(operation).join(', '),
  ];
  return `| ${cells.join(' | ')} |`;
}

function table(): string {
  const head = ['Operation', 'Route', ...NODE_ROLES, 'API key', 'Statuses', 'Tests (under test/)'];
  const rows = [head, head.map(() => '---')].map((cells) => `| ${cells.join(' | ')} |`);
  return [
    '# Operations',
    '',
    'Every operation of a node, the roles that serve it, and the tests that name it. Made from the definitions in `src/api`.',
    'Beside these tests, `api/fuzz.e2e.test.ts` sends 4,000 whole and broken requests to all operations, and any number with',
    '`npm run fuzz -- --runs N`: 100,000 took 27 seconds on two cores, every answer as documented.',
    '`api/openapi.test.ts` holds the documents against what is mounted. "On request" is `api.tooling_everywhere`.',
    '',
    ...rows,
    ...ALL.map(row),
    '',
  ].join('\n');
}

describe('the table of operations', () => {
  it('is as the definitions say', async () => {
    await expect(table()).toMatchFileSnapshot('../../docs/routes.md');
  });

  it('has a test for every operation', () => {
    expect(ALL.filter((operation) => testsOf(operation).length === 0).map(({ id }) => id)).toEqual([]);
  });

  it('has the operations and envelope routes of the contract', () => {
    const idsOf = (wanted: string): readonly string[] =>
      ALL.filter(({ family }) => family === wanted).map(({ id }) => id);
    expect(idsOf('v1')).toEqual(expect.arrayContaining([...CONTRACT_OPERATIONS]));
    expect(idsOf('envelope')).toEqual(expect.arrayContaining([...ENVELOPE_OPERATIONS]));
  });
});
