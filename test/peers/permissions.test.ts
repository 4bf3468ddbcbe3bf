/** Who may tell whom what: the table of the code is the one of SECURITY.md, and the links keep to it. */

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { NODE_ROLES } from '../../src/lib/roles.js';
import { permissionFault } from '../../src/peers/link/frames.js';
import { type MessageType, needsSecret, PERMISSIONS, type Permission, STANDINGS } from '../../src/peers/permissions.js';

const TYPES = Object.keys(PERMISSIONS) as MessageType[];
const permissionsOf = (type: MessageType): readonly Permission[] => PERMISSIONS[type];
const WHO: Readonly<Record<Permission['standing'], string>> = {
  stranger: 'anybody',
  chosen: 'who the receiver has dialed, or knows by its key',
  trusted: 'who has proven `network.secret`',
};

/** The lines of the table, one for each sender, receiver and standing. */
function tableLines(): string[] {
  const rows = new Map<string, string[]>();
  const nodes = (roles: readonly string[]): string => (roles.length === NODE_ROLES.length ? 'any' : roles.join(', '));
  for (const type of TYPES) {
    for (const { from, to, standing, certified } of permissionsOf(type)) {
      const who = certified ? `${WHO[standing]}, as far as a producer's certificate proves it` : WHO[standing];
      const head = `| ${nodes(from)} | ${nodes(to)} | ${who} |`;
      rows.set(head, [...(rows.get(head) ?? []), `\`${type}\``]);
    }
  }
  return [...rows].map(([head, types]) => `${head} ${types.join(', ')} |`);
}

describe('the table of who may tell whom what', () => {
  it('is the one of SECURITY.md', () => {
    const text = readFileSync('SECURITY.md', 'utf8');
    const [, shown = ''] =
      /\| from \| to \| when the sender is \| messages \|\n\|---\|---\|---\|---\|\n((?:\|.*\|\n)+)/.exec(text) ?? [];
    expect(shown.trimEnd().split('\n')).toEqual(tableLines());
  });

  it('lets blocks, tips and confirmations come from nodes with the secret, or with a certificate that proves them', () => {
    const ofBlocks = TYPES.filter((type) => /^(block\.(deliver|stored|refused)|chain\.tip|blocks|headers)$/.test(type));
    expect(ofBlocks.length).toBe(6);
    for (const type of ofBlocks)
      for (const { standing, certified } of permissionsOf(type)) expect(standing === 'trusted' || certified).toBe(true);
  });

  it('lets no stranger answer for a mempool node, or for a storage node without a certificate', () => {
    for (const type of TYPES.filter((name) => name !== 'error' && !name.endsWith('.get')))
      for (const { from, standing, certified } of permissionsOf(type))
        if (from.includes('mempool') || (from.includes('storage') && certified !== true))
          expect([type, standing]).not.toContain('stranger');
  });

  it('gives wallets blocks from storage nodes that they have dialed, as far as a certificate proves them', () => {
    for (const type of ['headers', 'blocks'] as const)
      for (const { to, standing, certified } of permissionsOf(type))
        if (to.includes('user') || to.includes('miner')) expect([standing, certified]).toEqual(['chosen', true]);
  });

  it.each(TYPES)('is kept for %s: every other way is a breach', (type) => {
    for (const sender of NODE_ROLES)
      for (const receiver of NODE_ROLES)
        for (const standing of STANDINGS) {
          const allowed = permissionsOf(type).some(
            ({ from, to, standing: least }) =>
              from.includes(sender) && to.includes(receiver) && STANDINGS.indexOf(standing) >= STANDINGS.indexOf(least),
          );
          const verdict = permissionFault(type, { from: sender, to: receiver, standing });
          expect(verdict === null).toBe(allowed);
        }
  });

  it('needs the secret for a link of a mempool node with another, or with a storage node', () => {
    const pairs = NODE_ROLES.flatMap((a) => NODE_ROLES.filter((b) => needsSecret(a, b)).map((b) => `${a}-${b}`));
    expect(pairs.sort()).toEqual(['mempool-mempool', 'mempool-storage', 'storage-mempool'].sort());
  });
});
