/** A refusal that is sent to the other side of a handshake. */
export interface Refusal {
  /** A sentence for the operator of the other node, and of this one. */
  readonly reason: string;
  /** Tells the other side that there is a link already. */
  readonly duplicate?: boolean;
}
