/**
 * Proofs of blocks: headers that a storage node sends up to a certified one, and blocks that a mempool node tells a wallet
 * of. An input is a kind and what the peer sends. Whatever it is, no hash is proven but those of the chain that a producer
 * signed, and a wallet sees no transaction that is not in it.
 */

import { certifyBlock } from '../../../src/chain/certificate.js';
import { encodeHeader, encodeTransaction } from '../../../src/chain/codec.js';
import { openFullBlock } from '../../../src/chain/decode-in-pieces.js';
import { blockHash } from '../../../src/chain/hash.js';
import { namesOf, transactionAt } from '../../../src/chain/transaction.js';
import type { FullBlock, Transaction } from '../../../src/chain/types.js';
import { toHex } from '../../../src/lib/bytes.js';
import { atOnce } from '../../../src/lib/pieces.js';
import { joinBlocks } from '../../../src/peers/messages.js';
import type { Link, Message } from '../../../src/peers/network.js';
import { isFork, ProvenHashes } from '../../../src/peers/proven-hashes.js';
import { headFaultInPieces, placeFault, transactionsFaultInPieces } from '../../../src/wallet/block-check.js';
import { encodeFullBlock } from '../../support/full-block.js';
import { keyOf } from '../../support/peers.js';
import { ADDRESS, createTestChain } from '../../support/storage/test-chain.js';
import type { Dice } from '../dice.js';
import { documented, type FuzzTarget, mustBe } from '../target.js';

const CHAIN = 'a chain';
const PRODUCER = keyOf('producer');
const NAMED = { chain: CHAIN, keys: [toHex(PRODUCER.publicKey)] };
const LENGTH = 8;
const CODES = ['protocol_violation', 'peer_unreachable', 'malformed_transaction'];
/** Of a record in an input: how many headers, which certificate, how far the first is from the one asked for, and bytes. */
const HEAD_BYTES = 5;

const chain = createTestChain().grow(LENGTH);
/** Another chain of the same beginning: well-formed, with proofs of work, signed by nobody. */
const other = createTestChain(1).grow(LENGTH);
const hashes = chain.blocks.map(({ block }) => blockHash(block.header));
const signedAt = (height: number, hash: string) => certifyBlock(PRODUCER, CHAIN, { height, hash });
const CERTIFICATES = [
  undefined,
  signedAt(LENGTH - 1, hashes[LENGTH - 1] ?? ''),
  signedAt(4, hashes[4] ?? ''),
  certifyBlock(keyOf('no producer'), CHAIN, {
    height: LENGTH - 1,
    hash: blockHash(other.block(LENGTH - 1).block.header),
  }),
  certifyBlock(PRODUCER, 'another chain', { height: 4, hash: hashes[4] ?? '' }),
] as const;
const certificateOf = (number: number) => CERTIFICATES[number % CERTIFICATES.length];
const transactionsOf = (blocks: readonly FullBlock[]): Set<string> =>
  new Set(
    blocks.flatMap(({ transactions, miningTransaction }) =>
      [...transactions, miningTransaction].map((one) => toHex(encodeTransaction(one))),
    ),
  );
const genuine = transactionsOf(chain.blocks);

interface Answer {
  readonly count: number;
  readonly certificate: number;
  readonly offset: number;
  readonly attachment: Uint8Array;
}

function encodeAnswer({ count, certificate, offset, attachment }: Answer): Uint8Array {
  const length = Buffer.alloc(2);
  length.writeUInt16LE(attachment.length);
  return Buffer.concat([Uint8Array.of(count, certificate, offset), length, attachment]);
}

function decodeAnswers(input: Uint8Array): Answer[] {
  const answers: Answer[] = [];
  const bytes = Buffer.from(input);
  for (let at = 0; at + HEAD_BYTES <= bytes.length; ) {
    const [count = 0, certificate = 0, offset = 0] = bytes.subarray(at, at + 3);
    const end = at + HEAD_BYTES + bytes.readUInt16LE(at + 3);
    answers.push({ count, certificate, offset, attachment: bytes.subarray(at + HEAD_BYTES, end) });
    at = end;
  }
  return answers;
}

function headersOf(dice: Dice, from: number, count: number): Answer {
  const blocks = (dice.oneIn(4) ? other : chain).blocks.slice(from, from + count);
  const attachment = joinBlocks(blocks.map(({ block }) => encodeHeader(block.header)));
  return { count: blocks.length, certificate: dice.below(CERTIFICATES.length), offset: 0, attachment };
}

/** A peer that answers what the input says, then that it has nothing more. */
function liar(answers: Answer[]): Pick<Link, 'request'> {
  return {
    request: async (_type: string, { from }: { from: number }) => {
      const { count, certificate, offset, attachment } = answers.shift() ?? {
        count: 0,
        certificate: 0,
        offset: 0,
        attachment: new Uint8Array(),
      };
      const body = { from: from + offset, count, certificate: certificateOf(certificate) };
      return { type: 'headers', body, attachment } as Message;
    },
  } as Pick<Link, 'request'>;
}

async function prove(from: number, input: Uint8Array): Promise<string> {
  const range = { from, to: LENGTH, previousHash: hashes[from - 1] ?? null };
  const options = { timeoutMs: 1_000, signal: new AbortController().signal };
  const link = liar(decodeAnswers(input)) as Link;
  const asked = ProvenHashes.ask(link, NAMED, range, options).catch((error: unknown) => {
    mustBe(!isFork(error), 'a fork that nobody signed is proven');
    throw error;
  });
  const proof = await documented(() => asked, CODES);
  if ('code' in proof) return `headers: ${proof.code}`;
  if (proof.value === undefined) return 'headers: nothing proven';
  for (let height = 0; height <= LENGTH; height++) {
    const hash = proof.value.at(height);
    mustBe(hash === undefined || hash === hashes[height], `block ${height} is proven to be another one`);
  }
  return 'headers: proven';
}

/** A transaction that pays the wallet under attack. */
const concerns = ({ outputs }: Transaction): boolean => outputs.some((one) => one.scriptPublicKey === ADDRESS);

/** A block as a wallet reads it, and the places of the transactions that pay it. */
async function whatConcerns(bytes: Uint8Array) {
  const full = await openFullBlock(bytes, () => Promise.resolve());
  const places = namesOf(full.block).flatMap((_, place) => {
    const transaction = transactionAt(full, place);
    return transaction !== undefined && concerns(transaction) ? [place] : [];
  });
  return { full, places };
}

async function tell(height: number, certificate: number, bytes: Uint8Array): Promise<string> {
  const decoded = await documented(() => whatConcerns(bytes), CODES);
  if ('code' in decoded) return `block: ${decoded.code}`;
  const { full, places } = decoded.value;
  const hash = blockHash(full.block.header);
  const told = { full, hash, certificate: certificateOf(certificate) };
  const wrong =
    atOnce(headFaultInPieces(told, { activationHeight: 3, producers: NAMED })) ??
    atOnce(transactionsFaultInPieces(told, places)) ??
    placeFault(full.block.header, hash, { height: height - 1, hash: hashes[height - 1] });
  if (wrong !== null) return `block: ${wrong.code}`;
  mustBe(hash === hashes[Number(full.block.header.bNum)], 'a block that nobody signed is believed');
  for (const place of places) {
    const transaction = transactionAt(full, place);
    if (transaction === undefined) throw new Error('a transaction is gone that was there');
    mustBe(genuine.has(toHex(encodeTransaction(transaction))), 'a payment that is not in the block is believed');
  }
  return 'block: believed';
}

export const proofs: FuzzTarget = {
  name: 'proofs',
  seed(dice) {
    if (dice.oneIn(2)) {
      const height = dice.pick([4, LENGTH - 1]);
      const block = encodeFullBlock((dice.oneIn(4) ? other : chain).block(height));
      return Buffer.concat([Uint8Array.of(1, height, dice.below(CERTIFICATES.length)), block]);
    }
    const from = dice.below(3);
    const first = 1 + dice.below(LENGTH - from);
    const answers = [headersOf(dice, from, first), headersOf(dice, from + first, LENGTH)];
    return Buffer.concat([Uint8Array.of(0, from), ...answers.map(encodeAnswer)]);
  },
  run(input) {
    const [kind = 0, height = 0, certificate = 0] = input;
    if (kind % 2 === 0) return prove(height % 3, input.subarray(2));
    return tell(height % LENGTH, certificate, input.subarray(3));
  },
};
