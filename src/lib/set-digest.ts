/** Order-independent digests of sets: they reveal damage and differences between state and replay; not cryptographic. */

export interface SetDigest {
  readonly count: number;
  readonly low: number;
  readonly high: number;
}

/** Mixes a 32-bit word into a 32-bit state. */
export function mix(state: number, word: number): number {
  const x = Math.imul(state ^ word, 0x9e37_79b1);
  return x ^ (x >>> 15);
}

/** Mixes a text into a 32-bit state. */
export function mixText(state: number, text: string): number {
  let x = mix(state, text.length);
  for (let i = 0; i < text.length; i++) x = mix(x, text.charCodeAt(i));
  return x;
}

/** The running sum over the members of a set, each given by a 32-bit hash. */
export class SetSum {
  #count = 0;
  #low = 0;
  #high = 0;

  get digest(): SetDigest {
    return { count: this.#count, low: this.#low >>> 0, high: this.#high >>> 0 };
  }

  /** Adds (1) or takes away (-1) a member. */
  change(member: number, sign: 1 | -1): void {
    this.#count += sign;
    this.#low = (this.#low + sign * member) | 0;
    this.#high = (this.#high + sign * Math.imul(mix(member, 0x5bd1_e995), 0xc2b2_ae35)) | 0;
  }

  changeText(member: string, sign: 1 | -1): void {
    this.change(mixText(1, member), sign);
  }
}

/** The digest as text, `count:low:high`, for logs and for the state digest. */
export function setDigestText({ count, low, high }: SetDigest): string {
  return `${count}:${low}:${high}`;
}
