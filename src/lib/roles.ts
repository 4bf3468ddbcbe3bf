/** The roles of nodes. This is the only list of them. */

export const NODE_ROLES = ['mempool', 'storage', 'miner', 'user'] as const;
export type NodeRole = (typeof NODE_ROLES)[number];

export function isNodeRole(value: unknown): value is NodeRole {
  return (NODE_ROLES as readonly unknown[]).includes(value);
}
