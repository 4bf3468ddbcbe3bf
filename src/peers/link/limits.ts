/** The bounds and intervals of links, with their defaults. Every one can be changed for a test; most never need to be. */

export interface PeerLimits {
  /** Accepted links at once; links of the same operator and links this node dialed do not count. */
  readonly maxLinks: number;
  /** Accepted connections that have not finished their handshake. */
  readonly maxHandshakes: number;
  /** Milliseconds from the opening of a connection to the end of its handshake. */
  readonly handshakeTimeoutMs: number;
  /** Milliseconds that a configured peer has to accept a connection. */
  readonly dialTimeoutMs: number;
  /** Milliseconds between two pings. */
  readonly heartbeatMs: number;
  /** Pings in a row without a sign of life after which a link is dead. */
  readonly missedHeartbeats: number;
  /** Milliseconds that a request waits for its answer unless it says otherwise. */
  readonly requestTimeoutMs: number;
  /** Requests of this node that wait for an answer, on one link. */
  readonly maxPendingRequests: number;
  /** Messages of a peer that handlers are busy with, on one link. */
  readonly maxRunningHandlers: number;
  /** Bytes of attachments that handlers are busy with, on one link. */
  readonly maxRunningBytes: number;
  /** Bytes that wait to be sent on one link; beyond it `send` returns false. Larger than the largest message. */
  readonly maxQueuedBytes: number;
  /** Frames that a peer may send in a second; each 64 KiB of a frame counts as one more. */
  readonly framesPerSecond: number;
  /** Milliseconds before the first and the longest retry of a configured peer. */
  readonly backoffMinMs: number;
  readonly backoffMaxMs: number;
  /** Milliseconds after which a link counts as stable and the retries start small again. */
  readonly stableAfterMs: number;
}

export const DEFAULT_PEER_LIMITS: PeerLimits = {
  maxLinks: 256,
  maxHandshakes: 64,
  handshakeTimeoutMs: 5_000,
  dialTimeoutMs: 5_000,
  heartbeatMs: 5_000,
  missedHeartbeats: 3,
  requestTimeoutMs: 10_000,
  maxPendingRequests: 1_024,
  maxRunningHandlers: 256,
  maxRunningBytes: 128 * 1024 * 1024,
  maxQueuedBytes: 128 * 1024 * 1024,
  framesPerSecond: 5_000,
  backoffMinMs: 250,
  backoffMaxMs: 30_000,
  stableAfterMs: 10_000,
};
