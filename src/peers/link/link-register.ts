/**
 * Register of the links of a node, of which there is one at most between two nodes: the node with the smaller key
 * refuses a second connection, unless the first is silent; the other takes it as the sign that the first one is dead.
 */

import type { Clock } from '../../lib/clock.js';
import { type Fault, fault, isFault, type Verdict } from '../../lib/fault.js';
import { addressGroup } from '../../lib/ip-address.js';
import { isOperator, type NodeRole } from '../../lib/roles.js';
import type { Link } from '../network.js';
import type { PeerIdentity, Side } from './handshake.js';
import { type Stranger, StrangerPlaces, type StrangerPlacesOptions } from './stranger-places.js';

export interface LinkRegisterOptions {
  readonly ownRole: NodeRole;
  readonly nodeKey: string;
  /** Node keys (hex) that may link in a role; a role that is not named is open to all. */
  readonly allowedKeys: Partial<Readonly<Record<NodeRole, readonly string[]>>>;
  readonly places: StrangerPlacesOptions;
}

/** A peer that was let in; it is released when its handshake fails or its link goes down. */
export interface Admission {
  readonly nodeKey: string;
  /** Set for a peer that nobody vouches for: this node did not dial it, and it proved no secret and no known key. */
  readonly stranger: Stranger | undefined;
}

const DUPLICATE = fault(
  'duplicate_link',
  'the two nodes have a link already; if this is another node, give it a data directory of its own',
);

export class LinkRegister {
  readonly links: ReadonlySet<Link>;
  readonly #options: LinkRegisterOptions;
  readonly #places: StrangerPlaces;
  readonly #links = new Set<Link>();
  readonly #byKey = new Map<string, Link>();
  /** Links by the address that this node dialed: the address that a peer states proves nothing. */
  readonly #byAddress = new Map<string, Link>();
  /** Number of connections let in for each node key, those with links included. */
  readonly #admitted = new Map<string, number>();

  constructor(options: LinkRegisterOptions, clock: Clock) {
    this.#options = options;
    this.#places = new StrangerPlaces(options.places, clock);
    this.links = this.#links;
  }

  /** Lets in a peer that has proven its key, or returns the reason against it. `host` is where its connection comes from. */
  admit(peer: PeerIdentity, side: Side, host: string): Admission | Fault {
    const wrong = this.#fault(peer, side);
    if (wrong !== null) return wrong;
    let stranger: Stranger | undefined;
    if (side === 'listener' && !peer.trusted && !this.#isListed(peer)) {
      const place = this.#places.take(host, addressGroup(host));
      if (isFault(place)) return place;
      stranger = place;
    }
    this.#count(peer.nodeKey, 1);
    return { nodeKey: peer.nodeKey, stranger };
  }

  release({ nodeKey, stranger }: Admission): void {
    this.#count(nodeKey, -1);
    if (stranger !== undefined) this.#places.release(stranger);
  }

  add(link: Link, reachedAt: string | undefined): void {
    this.#links.add(link);
    this.#byKey.set(link.nodeKey, link);
    if (reachedAt !== undefined) this.#byAddress.set(reachedAt, link);
  }

  remove(link: Link): void {
    this.#links.delete(link);
    if (this.#byKey.get(link.nodeKey) === link) this.#byKey.delete(link.nodeKey);
    for (const [address, other] of this.#byAddress) if (other === link) this.#byAddress.delete(address);
  }

  byKey(nodeKey: string): Link | undefined {
    return this.#byKey.get(nodeKey);
  }

  byAddress(address: string): Link | undefined {
    return this.#byAddress.get(address);
  }

  /** True for a key that the configuration of this node lists. */
  #isListed({ role, nodeKey }: PeerIdentity): boolean {
    return this.#options.allowedKeys[role]?.some((key) => key.toLowerCase() === nodeKey) ?? false;
  }

  #fault(peer: PeerIdentity, side: Side): Verdict {
    const { allowedKeys, ownRole, nodeKey } = this.#options;
    if (allowedKeys[peer.role] !== undefined && !this.#isListed(peer)) {
      return fault(
        'link_refused',
        `node key ${peer.nodeKey} is not among the keys that this node allows for the role ${peer.role}`,
      );
    }
    // Wallets and miners believe what their mempool says, so they must have chosen it: it must not have come to them.
    const cameUnknown = side === 'listener' && !peer.trusted && !this.#isListed(peer);
    if (cameUnknown && isOperator(peer.role) && !isOperator(ownRole)) {
      return fault(
        'link_refused',
        `a ${ownRole} node takes no links from a ${peer.role} node: let it dial (peers.${peer.role}), or set the same network.secret on both`,
      );
    }
    const hasOther = this.#admitted.has(peer.nodeKey) && this.byKey(peer.nodeKey)?.isSilent !== true;
    return nodeKey < peer.nodeKey && hasOther ? DUPLICATE : null;
  }

  #count(nodeKey: string, change: 1 | -1): void {
    const now = (this.#admitted.get(nodeKey) ?? 0) + change;
    if (now > 0) this.#admitted.set(nodeKey, now);
    else this.#admitted.delete(nodeKey);
  }
}
