/**
 * Which links a node has and which it lets in. Between two nodes there is one link at most, whoever dialed. So that the two
 * ends never decide differently, the node with the smaller key decides: it refuses a second connection, and the other end
 * takes a second one that comes up as the sign that the first is dead.
 */

import type { NodeRole } from '../../lib/roles.js';
import type { Link } from '../network.js';
import type { PeerIdentity, Refusal, Side } from './handshake.js';

export interface LinkRegisterOptions {
  readonly ownRole: NodeRole;
  /** Hex of this node's own key. */
  readonly nodeKey: string;
  /** Accepted links at once, those of the same operator not counted. */
  readonly maxLinks: number;
  /** Node keys (hex) that may link in a role; a role that is not named is open to all. */
  readonly allowedKeys: Partial<Readonly<Record<NodeRole, readonly string[]>>>;
}

/** A peer that was let in; `release` when its handshake fails or its link goes down. */
export interface Admission {
  release(): void;
}

export interface LinkRegister {
  readonly links: ReadonlySet<Link>;
  /** Lets a peer in that has proven its key, or says why not. */
  admit(peer: PeerIdentity, side: Side): Admission | Refusal;
  /** `reachedAt` is the address that this node dialed: what a peer says of its own address proves nothing. */
  add(link: Link, reachedAt: string | undefined): void;
  remove(link: Link): void;
  byKey(nodeKey: string): Link | undefined;
  /** The open link that this node reached at an address. */
  byAddress(address: string): Link | undefined;
}

export function createLinkRegister(options: LinkRegisterOptions): LinkRegister {
  const links = new Set<Link>();
  const byAddress = new Map<string, Link>();
  /** Connections let in for each node key, links included. */
  const admitted = new Map<string, number>();
  let strangers = 0;

  const count = (nodeKey: string, change: 1 | -1): void => {
    const now = (admitted.get(nodeKey) ?? 0) + change;
    if (now > 0) admitted.set(nodeKey, now);
    else admitted.delete(nodeKey);
  };

  const refusal = (peer: PeerIdentity, isStranger: boolean): Refusal | undefined => {
    const allowed = options.allowedKeys[peer.role];
    if (allowed && !allowed.some((key) => key.toLowerCase() === peer.nodeKey)) {
      return {
        reason: `node key ${peer.nodeKey} is not among the keys that this node allows for the role ${peer.role}`,
      };
    }
    // Wallets and miners believe what their mempool says, so it must be one that they chose, not one that came to them.
    if (isStranger && !allowed && isServer(peer.role) && !isServer(options.ownRole)) {
      return {
        reason: `a ${options.ownRole} node takes no links from a ${peer.role} node: let it dial (peers.${peer.role}), or set the same network.secret on both`,
      };
    }
    if (options.nodeKey < peer.nodeKey && admitted.has(peer.nodeKey)) {
      return {
        reason: 'the two nodes have a link already; if this is another node, give it a data directory of its own',
        duplicate: true,
      };
    }
    if (isStranger && strangers >= options.maxLinks) {
      return {
        reason: `this node has its ${options.maxLinks} links: raise peers.max_links there or link to another node`,
      };
    }
    return undefined;
  };

  return {
    links,
    admit(peer, side) {
      const isStranger = side === 'listener' && !peer.trusted;
      const refused = refusal(peer, isStranger);
      if (refused) return refused;
      count(peer.nodeKey, 1);
      if (isStranger) strangers++;
      return {
        release() {
          count(peer.nodeKey, -1);
          if (isStranger) strangers--;
        },
      };
    },
    add(link, reachedAt) {
      links.add(link);
      if (reachedAt !== undefined) byAddress.set(reachedAt, link);
    },
    remove(link) {
      links.delete(link);
      for (const [address, other] of byAddress) if (other === link) byAddress.delete(address);
    },
    byKey: (nodeKey) => [...links].find((link) => link.nodeKey === nodeKey),
    byAddress: (address) => byAddress.get(address),
  };
}

function isServer(role: NodeRole): boolean {
  return role === 'mempool' || role === 'storage';
}
