/** The bounds of links: the operator's settings (`peers`), and further bounds, which tests may change. */

const MIB = 1024 * 1024;

/** Settings of the operator, by the options of the same names. */
export interface LinkSettings {
  /** Links of strangers at once. Links to nodes of the same operator and links that this node dialed have places of their own. */
  readonly maxLinks: number;
  /** Links of strangers from one address at once (an IPv6 /64 is one address); loopback is not counted. */
  readonly maxLinksPerAddress: number;
  /** Milliseconds to connect, and as many again for the handshake. */
  readonly dialTimeoutMs: number;
  /** Milliseconds of a heartbeat; a peer that is not heard of for most of one is silent. */
  readonly heartbeatMs: number;
  /** Milliseconds of the longest pause between attempts to reach a configured peer. */
  readonly reconnectMaxMs: number;
}

export interface LinkBounds {
  /** Accepted connections in their handshake without a valid pass, and as many again with one. */
  readonly maxHandshakes: number;
  /** Accepted connections in their handshake without a pass from one address. */
  readonly maxHandshakesPerAddress: number;
  /** Milliseconds for which the link of a stranger need not make room for another. */
  readonly tenureMs: number;
  /** Heartbeats in a row without a sign of life, or with a queue that hardly moves, after which a link is closed. */
  readonly missedHeartbeats: number;
  /** Bytes a second that a peer must read while its queue is not empty. */
  readonly minReadRate: number;
  /** Milliseconds for which a request without a time of its own waits for its answer. */
  readonly requestTimeoutMs: number;
  /** Requests of this node that wait for an answer, on one link. */
  readonly maxPendingRequests: number;
  /** Messages of a peer being handled at once, on one link. */
  readonly maxRunningHandlers: number;
  /** Bytes of attachments being handled at once, on one link. */
  readonly maxRunningBytes: number;
  /** Bytes that wait to be sent on one link. Larger than the largest message. */
  readonly maxQueuedBytes: number;
  /** Bytes that wait to be sent on the link of a stranger, which may have one message of any size if nothing else waits. */
  readonly maxStrangerQueuedBytes: number;
  /** Bytes that wait to be sent to all strangers together. */
  readonly maxQueuedBytesInAll: number;
  /** Bytes of incomplete frames of all strangers together. */
  readonly maxHeldBytesInAll: number;
  /** Work that one peer without the secret may cause in a second, and at once, in units of `messages.ts`. */
  readonly costPerSecond: number;
  readonly costBurst: number;
  /** Work that all strangers together may cause in a second, and at once. */
  readonly costPerSecondInAll: number;
  readonly costBurstInAll: number;
  /** Milliseconds before the first retry of a configured peer. */
  readonly backoffMinMs: number;
  /** Milliseconds after which a link counts as stable, so that the pauses of retries start small again. */
  readonly stableAfterMs: number;
}

export type PeerLimits = LinkSettings & LinkBounds;

export const LINK_BOUNDS: LinkBounds = {
  maxHandshakes: 128,
  maxHandshakesPerAddress: 32,
  tenureMs: 5_000,
  missedHeartbeats: 3,
  minReadRate: 16 * 1024,
  requestTimeoutMs: 10_000,
  maxPendingRequests: 1_024,
  maxRunningHandlers: 256,
  maxRunningBytes: 128 * MIB,
  maxQueuedBytes: 128 * MIB,
  maxStrangerQueuedBytes: 4 * MIB,
  maxQueuedBytesInAll: 96 * MIB,
  maxHeldBytesInAll: 64 * MIB,
  costPerSecond: 1_000,
  costBurst: 4_000,
  costPerSecondInAll: 4_000,
  costBurstInAll: 8_000,
  backoffMinMs: 250,
  stableAfterMs: 10_000,
};
