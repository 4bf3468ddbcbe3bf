/**
 * The table of messages: who may send whom which message. A message that is not in the table ends the link; two roles that may send each other
 * nothing without the secret have no link without it. SECURITY.md shows the same table; a test compares the two.
 */

import { hasWallet, isOperator, NODE_ROLES, type NodeRole } from '../lib/roles.js';

/** Standings of a peer, each higher than the one before. `chosen`: dialed, or a known key. `trusted`: proved `network.secret`. */
export const STANDINGS = ['stranger', 'chosen', 'trusted'] as const;
export type Standing = (typeof STANDINGS)[number];

export interface Permission {
  readonly from: readonly NodeRole[];
  readonly to: readonly NodeRole[];
  /** The least standing that the sender must have at the receiver. */
  readonly standing: Standing;
  /** Set if the message counts only as far as a producer's certificate proves it. */
  readonly certified?: true;
}

const WALLETS = NODE_ROLES.filter(hasWallet);
const OPERATORS = NODE_ROLES.filter(isOperator);
/** Roles that may read the chain without the secret. */
const READERS: readonly NodeRole[] = ['storage', ...WALLETS];

const may = (from: readonly NodeRole[], to: readonly NodeRole[], standing: Standing): readonly Permission[] => [
  { from, to, standing },
];
const mayCertified = (
  from: readonly NodeRole[],
  to: readonly NodeRole[],
  standing: Standing = 'stranger',
): readonly Permission[] => [{ from, to, standing, certified: true }];

export const PERMISSIONS = {
  // Mining: any miner may try (`mining.allowed_keys` can forbid it); a miner believes the mempool that it dialed.
  'mining.join': may(['miner'], ['mempool'], 'stranger'),
  'mining.proof': may(['miner'], ['mempool'], 'stranger'),
  'mining.joined': may(['mempool'], ['miner'], 'chosen'),
  'mining.template': may(['mempool'], ['miner'], 'chosen'),
  'mining.stop': may(['mempool'], ['miner'], 'chosen'),
  'mining.verdict': may(['mempool'], ['miner'], 'chosen'),
  // Blocks, tips and confirmations: within one operator
  'block.deliver': may(['mempool'], ['storage'], 'trusted'),
  'block.stored': may(['storage'], ['mempool'], 'trusted'),
  'block.refused': may(['storage'], ['mempool'], 'trusted'),
  // Between archives, and to wallets: a copy from anybody is as good as the original, if a certificate proves it.
  'chain.tip': [...may(OPERATORS, OPERATORS, 'trusted'), ...mayCertified(['storage'], ['storage'])],
  'chain.tip.get': [...may(OPERATORS, OPERATORS, 'trusted'), ...may(['storage'], ['storage'], 'stranger')],
  'headers.get': [...may(OPERATORS, ['storage'], 'trusted'), ...may(READERS, ['storage'], 'stranger')],
  headers: [
    ...may(['storage'], OPERATORS, 'trusted'),
    ...mayCertified(['storage'], ['storage']),
    ...mayCertified(['storage'], WALLETS, 'chosen'),
  ],
  'blocks.get': [...may(OPERATORS, ['storage'], 'trusted'), ...may(READERS, ['storage'], 'stranger')],
  blocks: [
    ...may(['storage'], OPERATORS, 'trusted'),
    ...mayCertified(['storage'], ['storage']),
    ...mayCertified(['storage'], WALLETS, 'chosen'),
  ],
  // The state of a mempool node, for another one of the operator
  'snapshot.get': may(['mempool'], ['mempool'], 'trusted'),
  'snapshot.part': may(['mempool'], ['mempool'], 'trusted'),
  // Wallets: any wallet may ask a mempool, and believes the mempool that it dialed
  'transactions.submit': may(WALLETS, ['mempool'], 'stranger'),
  'utxos.get': may(WALLETS, ['mempool'], 'stranger'),
  'statuses.get': may(WALLETS, ['mempool'], 'stranger'),
  'transactions.result': may(['mempool'], WALLETS, 'chosen'),
  utxos: may(['mempool'], WALLETS, 'chosen'),
  statuses: may(['mempool'], WALLETS, 'chosen'),
  'block.mined': may(['mempool'], WALLETS, 'chosen'),
  'producer.get': may(WALLETS, ['mempool'], 'stranger'),
  producer: may(['mempool'], WALLETS, 'chosen'),
  // Payments to a peer's address, and donations
  'address.get': may(WALLETS, WALLETS, 'stranger'),
  address: may(WALLETS, WALLETS, 'stranger'),
  'payment.sent': may(WALLETS, WALLETS, 'stranger'),
  'donation.request': may(WALLETS, WALLETS, 'stranger'),
  'donation.reply': may(WALLETS, WALLETS, 'stranger'),
  // Trades: anybody may offer and accept; what a document says is proven by its signature
  'trade.offer': may(WALLETS, WALLETS, 'stranger'),
  'trade.listed': may(WALLETS, WALLETS, 'stranger'),
  'trade.accept': may(WALLETS, WALLETS, 'stranger'),
  'trade.confirm': may(WALLETS, WALLETS, 'stranger'),
  // Errors: a node that was asked may say that it cannot answer
  error: may(NODE_ROLES, NODE_ROLES, 'stranger'),
} as const satisfies Readonly<Record<string, readonly Permission[]>>;

export type MessageType = keyof typeof PERMISSIONS;

export function meets(standing: Standing, least: Standing): boolean {
  return STANDINGS.indexOf(standing) >= STANDINGS.indexOf(least);
}

/** True when nodes of the two roles have a link only after each has proven `network.secret`. */
export function needsSecret(a: NodeRole, b: NodeRole): boolean {
  return !Object.entries(PERMISSIONS).some(
    ([type, permissions]) =>
      type !== 'error' &&
      permissions.some(
        (permission) => permission.standing !== 'trusted' && (joins(permission, a, b) || joins(permission, b, a)),
      ),
  );
}

function joins({ from, to }: Permission, sender: NodeRole, receiver: NodeRole): boolean {
  return from.includes(sender) && to.includes(receiver);
}
