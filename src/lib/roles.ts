/** Questions to the table of roles. */

import { type NodeRole, type OperatorType, ROLES, type RoleFacts, type ServiceName, type Topic } from './role-table.js';

export type { NodeRole, OperatorType, Topic } from './role-table.js';

/** Facts of a role in the table. */
export interface Facts extends RoleFacts {
  readonly services: readonly ServiceName[];
  readonly topics: readonly Topic[];
  readonly dials: readonly NodeRole[];
}

export const NODE_ROLES = Object.keys(ROLES) as readonly string[] as readonly [NodeRole, ...NodeRole[]];

/** All topics of events. */
export const TOPICS: readonly Topic[] = [...new Set(NODE_ROLES.flatMap((role) => factsOf(role).topics))];

/** Type names of the nodes that operators run. */
export const OPERATOR_TYPES = NODE_ROLES.filter(isOperator).map(
  (role) => factsOf(role).type,
) as readonly OperatorType[];

/** The roles with a wallet, in the order in which their wallet answers at an address that several share. */
export const WALLET_ROLES: readonly NodeRole[] = NODE_ROLES.filter(hasWallet).reverse();

/** The order in which nodes are started, and in turn stopped: nodes of a stage dial only nodes of earlier stages. */
export const STAGES: readonly (readonly NodeRole[])[] = stages();

/** The roles that a text names, separated by commas; undefined when a role is unknown or named twice. */
export function rolesIn(text: unknown): readonly NodeRole[] | undefined {
  if (typeof text !== 'string') return undefined;
  const names = text.split(',').map((name) => name.trim());
  const roles = NODE_ROLES.filter((role) => names.includes(role));
  return roles.length === names.length ? roles : undefined;
}

export function isNodeRole(value: unknown): value is NodeRole {
  return (NODE_ROLES as readonly unknown[]).includes(value);
}

export function factsOf(role: NodeRole): Facts {
  return ROLES[role];
}

/** A value for each role, made from its facts. */
export function perRole<T>(make: (facts: Facts, role: NodeRole) => T): Readonly<Record<NodeRole, T>> {
  return Object.fromEntries(NODE_ROLES.map((role) => [role, make(factsOf(role), role)])) as Record<NodeRole, T>;
}

function stages(): readonly (readonly NodeRole[])[] {
  const stageOf = (role: NodeRole): number => Math.max(-1, ...factsOf(role).dials.map(stageOf)) + 1;
  return NODE_ROLES.map((_, stage) => NODE_ROLES.filter((role) => stageOf(role) === stage)).filter(
    ({ length }) => length > 0,
  );
}

/** The topics of nodes with these roles at one address. */
export function topicsOf(roles: readonly NodeRole[]): readonly Topic[] {
  const served = new Set(roles.flatMap((role) => factsOf(role).topics));
  return TOPICS.filter((topic) => served.has(topic));
}

export function hasService(role: NodeRole, service: ServiceName): boolean {
  return factsOf(role).services.includes(service);
}

export function hasWallet(role: NodeRole): boolean {
  return hasService(role, 'wallet');
}

/** True for a role that the operator of a network runs: others believe what its nodes say. */
export function isOperator(role: NodeRole): boolean {
  return factsOf(role).secret !== 'optional';
}

/** True for the role whose wallet answers at an address that all of `roles` share. */
export function isFirstWallet(role: NodeRole, roles: readonly NodeRole[]): boolean {
  return WALLET_ROLES.find((one) => roles.includes(one)) === role;
}

/** The roles to ask for events of these topics, the best role first. The last of `TOPICS` among them decides. */
export function rolesWithTopics(topics: readonly string[] = []): readonly NodeRole[] {
  const inOrder = [...NODE_ROLES.filter((role) => !hasWallet(role)), ...WALLET_ROLES];
  const wanted = TOPICS.filter((topic) => topics.includes(topic)).at(-1);
  return inOrder.filter((role) => wanted === undefined || topicsOf([role]).includes(wanted));
}
