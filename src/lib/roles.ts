/** The roles of nodes. This is the only list of them. */

export const NODE_ROLES = ['mempool', 'storage', 'miner', 'user'] as const;
export type NodeRole = (typeof NODE_ROLES)[number];

/** The roles that a text names, with commas between them; undefined when one is unknown, or named twice. */
export function rolesIn(text: unknown): readonly NodeRole[] | undefined {
  if (typeof text !== 'string') return undefined;
  const names = text.split(',').map((name) => name.trim());
  const roles = NODE_ROLES.filter((role) => names.includes(role));
  return roles.length === names.length ? roles : undefined;
}

export function isNodeRole(value: unknown): value is NodeRole {
  return (NODE_ROLES as readonly unknown[]).includes(value);
}
