/** Hashes of the next blocks, proven by headers up to one with a producer's certificate. Blocks with such hashes may come from anybody. */

import {
  type BlockPlace,
  blockCertificateFault,
  type Certificate,
  isNamed,
  type Producers,
} from '../chain/certificate.js';
import { decodeHeader } from '../chain/codec.js';
import { blockHash } from '../chain/hash.js';
import { proofOfWorkFault } from '../chain/pow.js';
import { fromHex, toHex } from '../lib/bytes.js';
import { isTesseraError, TesseraError } from '../lib/errors.js';
import { assertSound } from '../lib/fault.js';
import { MAX_HEADERS_PER_ANSWER, splitBlocks } from './messages.js';
import type { Link, Message } from './network.js';

/** Most uncertified headers that are taken until a certified one, as of before a network had producers: 64 MiB of hashes. */
const MAX_UNCERTIFIED = 2_097_152;
const HASH_BYTES = 32;
const HASH_MARK = 'b';

/** The error about a certified chain that does not follow our last block. */
type ForkError = TesseraError & {
  readonly details: {
    /** The block that the chain follows instead of ours, and the certificate of a later block of that chain. */
    readonly fork: BlockPlace;
    readonly certificate: Certificate;
  };
};

export function isFork(error: unknown): error is ForkError {
  return isTesseraError(error, 'protocol_violation') && error.details.fork !== undefined;
}

/** The blocks to be proven. */
export interface ProofRange {
  readonly from: number;
  /** Number of the first block that the peer does not have. */
  readonly to: number;
  /** Hash of the block before the range; null for block 0. */
  readonly previousHash: string | null;
}

export interface HeaderQuestion {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export class ProvenHashes {
  readonly #from: number;
  readonly #hashes: Buffer;

  private constructor(from: number, hashes: Buffer) {
    this.#from = from;
    this.#hashes = hashes;
  }

  /** The hash of one block, whose own certificate was checked. */
  static single(height: number, hash: string): ProvenHashes {
    return new ProvenHashes(height, Buffer.from(fromHex(hash.slice(HASH_MARK.length))));
  }

  /**
   * Asks a storage node for headers up to a certified one; undefined without one. Throws `protocol_violation`, with
   * `details.rule` `link` for headers that do not follow our last block (if certified, a fork: `isFork`).
   */
  static async ask(
    link: Link,
    producers: Producers,
    range: ProofRange,
    options: HeaderQuestion,
  ): Promise<ProvenHashes | undefined> {
    const chain = new HeaderChain(range);
    while (chain.next < range.to && chain.length < MAX_UNCERTIFIED) {
      const from = chain.next;
      const reply = await link.request('headers.get', { from, count: MAX_HEADERS_PER_ANSWER }, options);
      if (reply.type !== 'headers') throw new TesseraError('peer_unreachable', `the peer answered with ${reply.type}`);
      const { body, attachment } = reply as Message<'headers'>;
      if (body.from !== from)
        throw new TesseraError('protocol_violation', 'the peer sent other headers than asked for');
      if (body.count === 0) break;
      for (const bytes of splitBlocks(attachment, body.count)) chain.add(bytes);
      if (isNamed(producers, body.certificate)) {
        assertSound(blockCertificateFault(producers, chain.last, body.certificate));
        chain.assertFollows(body.certificate);
        return new ProvenHashes(range.from, chain.hashes());
      }
    }
    chain.assertFollows(undefined);
    return undefined;
  }

  at(height: number): string | undefined {
    const at = (height - this.#from) * HASH_BYTES;
    if (at < 0 || at >= this.#hashes.length) return undefined;
    return HASH_MARK + toHex(this.#hashes.subarray(at, at + HASH_BYTES));
  }
}

class HeaderChain {
  readonly #from: number;
  #buffer = Buffer.alloc(MAX_HEADERS_PER_ANSWER * HASH_BYTES);
  #length = 0;
  #lastHash: string | null;
  /** Hash that the first header follows instead of our last block. */
  #fork: string | undefined;

  constructor({ from, previousHash }: ProofRange) {
    this.#from = from;
    this.#lastHash = previousHash;
  }

  get length(): number {
    return this.#length;
  }

  get next(): number {
    return this.#from + this.#length;
  }

  get last(): { readonly height: number; readonly hash: string } {
    return { height: this.next - 1, hash: this.#lastHash ?? '' };
  }

  hashes(): Buffer {
    return this.#buffer.subarray(0, this.#length * HASH_BYTES);
  }

  /** Adds the next header. Throws `protocol_violation`. */
  add(bytes: Uint8Array): void {
    const header = decodeHeader(bytes);
    const follows = header.previousHash === this.#lastHash;
    const mayFork = this.#length === 0 && this.#lastHash !== null && header.previousHash !== null;
    if (header.bNum !== BigInt(this.next) || !(follows || mayFork)) {
      const text = `header ${header.bNum} does not follow block ${this.next - 1}`;
      throw new TesseraError('protocol_violation', text, { details: { rule: this.#length === 0 ? 'link' : 'list' } });
    }
    if (!follows && header.previousHash !== null) this.#fork = header.previousHash;
    const weak = proofOfWorkFault(header);
    if (weak !== null) throw new TesseraError('protocol_violation', `header ${header.bNum}: ${weak.message}`);
    this.#lastHash = blockHash(header);
    this.#grow();
    this.#buffer.set(fromHex(this.#lastHash.slice(HASH_MARK.length)), this.#length * HASH_BYTES);
    this.#length += 1;
  }

  /** Throws `protocol_violation` for a chain that does not follow our last block; the details show whether it is certified. */
  assertFollows(certificate: Certificate | undefined): void {
    if (this.#fork === undefined) return;
    const fork = certificate && { fork: { height: this.#from - 1, hash: this.#fork }, certificate };
    const text = `header ${this.#from} does not follow block ${this.#from - 1}`;
    throw new TesseraError('protocol_violation', text, { details: { rule: 'link', ...fork } });
  }

  #grow(): void {
    if ((this.#length + 1) * HASH_BYTES <= this.#buffer.length) return;
    const larger = Buffer.alloc(this.#buffer.length * 2);
    larger.set(this.#buffer);
    this.#buffer = larger;
  }
}

/** The certificates of the blocks in an answer, by height. */
export function certificatesOf({ certificates = [] }: Message<'blocks'>['body']): ReadonlyMap<number, Certificate> {
  return new Map(certificates.map(({ block_num, certificate }) => [block_num, certificate]));
}
