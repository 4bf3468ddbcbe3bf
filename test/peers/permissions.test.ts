/** Who may tell whom what: the table of the code is the one of SECURITY.md, and the links keep to it. */

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { NODE_ROLES } from '../../src/lib/roles.js';
import { permissionFault } from '../../src/peers/link/frames.js';
import { type MessageType, needsSecret, PERMISSIONS, type Permission, STANDINGS } from '../../src/peers/permissions.js';

const TYPES = Object.keys(PERMISSIONS) as MessageType[];
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
    const { from, to, standing } = PERMISSIONS[type];
    const head = `| ${nodes(from)} | ${nodes(to)} | ${WHO[standing]} |`;
    rows.set(head, [...(rows.get(head) ?? []), `\`${type}\``]);
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

  it('lets blocks, tips and confirmations come from nodes with the secret only', () => {
    const ofBlocks = TYPES.filter((type) => /^(block\.(deliver|stored|refused)|chain\.|blocks)/.test(type));
    expect(ofBlocks.length).toBe(7);
    for (const type of ofBlocks) expect(PERMISSIONS[type].standing).toBe('trusted');
  });

  it('lets no stranger answer for a mempool or storage node', () => {
    for (const type of TYPES.filter((name) => name !== 'error')) {
      const { from, standing }: Permission = PERMISSIONS[type];
      if (from.includes('mempool') || from.includes('storage')) expect([type, standing]).not.toContain('stranger');
    }
  });

  it.each(TYPES)('is kept for %s: every other way is a breach', (type) => {
    const { from, to, standing: least }: Permission = PERMISSIONS[type];
    for (const sender of NODE_ROLES)
      for (const receiver of NODE_ROLES)
        for (const standing of STANDINGS) {
          const allowed =
            from.includes(sender) && to.includes(receiver) && STANDINGS.indexOf(standing) >= STANDINGS.indexOf(least);
          const verdict = permissionFault(type, { from: sender, to: receiver, standing });
          expect(verdict === null).toBe(allowed);
        }
  });

  it('needs the secret for a link between operators, and between those who have nothing to say', () => {
    const pairs = NODE_ROLES.flatMap((a) => NODE_ROLES.filter((b) => needsSecret(a, b)).map((b) => `${a}-${b}`));
    expect(pairs.sort()).toEqual(
      [
        'mempool-mempool',
        'mempool-storage',
        'storage-mempool',
        'storage-storage',
        'storage-miner',
        'miner-storage',
        'storage-user',
        'user-storage',
      ].sort(),
    );
  });
});
