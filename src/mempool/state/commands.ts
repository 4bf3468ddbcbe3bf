/** The commands of the journal and their bytes. Times are unix seconds when the command was made: applying it needs no clock. */

import { type BincodeReader, BincodeWriter } from '../../chain/bincode.js';
import { writeStrings } from '../../chain/codec.js';
import { decodeRecord } from '../../db/decode-record.js';
import { concatBytes } from '../../lib/bytes.js';
import { TesseraError } from '../../lib/errors.js';

/** Transactions whose scripts and sums were checked. The members of a group are admitted together or not at all. */
export interface TransactionsCommand {
  readonly kind: 'transactions';
  readonly time: number;
  readonly groups: readonly (readonly Uint8Array[])[];
}

/** Cuts the template of the next block. `miners`: addresses of the linked miners, in the order of joining. */
export interface CutBlockCommand {
  readonly kind: 'cut-block';
  readonly time: number;
  readonly miners: readonly string[];
  /** The number of the block; when another is due, the command does nothing. Absent in commands of old versions. */
  readonly height?: number;
}

/** A nonce that meets the target, with the coinbase that it commits to; both were checked. */
export interface ProofCommand {
  readonly kind: 'proof';
  readonly height: number;
  readonly miner: string;
  readonly nonce: Uint8Array;
  readonly coinbase: Uint8Array;
}

/** Ends the proof window of the block being mined. */
export interface CloseBlockCommand {
  readonly kind: 'close-block';
  readonly height: number;
}

/** Says that a storage node has the block on disk. */
export interface BlockStoredCommand {
  readonly kind: 'block-stored';
  readonly height: number;
  readonly hash: string;
}

/** The next block as storage has it, which this node did not make or has lost; it was checked against the state. */
export interface BlockAdoptedCommand {
  readonly kind: 'block-adopted';
  readonly block: Uint8Array;
  /** Facts of the block's round; null where storage does not know them. */
  readonly facts: RoundFacts | null;
}

/** Digest of a node's state after a block, for the others at its journal (docs/adr/0043-digests-in-the-log.md). */
export interface DigestCommand {
  readonly kind: 'digest';
  readonly replica: string;
  /** The command that stored the block, and the height of the chain after it. */
  readonly seq: number;
  readonly height: number;
  readonly digest: string;
  /** Marks of the commands before it, each of the state after its command; only where nodes differ. */
  readonly trail: readonly TrailMark[];
}

/** Short digest of the state after a command. */
export interface TrailMark {
  readonly seq: number;
  readonly mark: number;
}

export type Command =
  | TransactionsCommand
  | CutBlockCommand
  | ProofCommand
  | CloseBlockCommand
  | BlockStoredCommand
  | BlockAdoptedCommand
  | DigestCommand;

/** Kinds by tag: records hold the index, so new ones go to the end. Of several with one name the last is written, all are read. */
const TAGS = [
  'transactions',
  'cut-block',
  'proof',
  'close-block',
  'block-stored',
  'block-adopted',
  'cut-block',
  'transactions',
  'cut-block',
  'block-adopted',
  'cut-block',
  'digest',
] as const;
/** Tag of the `cut-block` that names no block. */
const ANY_HEIGHT = 8;

/** Writer for every command; the result is copied out. */
const scratch = new BincodeWriter();

export function encodeCommand(command: Command): Uint8Array {
  const writer = scratch.reset();
  writer.u8(tagOf(command));
  switch (command.kind) {
    case 'transactions':
      writer.length64(command.time);
      writer.length64(command.groups.length);
      for (const group of command.groups) {
        writer.length64(group.length);
        for (const tx of group) writer.bytes(tx);
      }
      break;
    case 'cut-block':
      writer.length64(command.time);
      writer.length64(command.miners.length);
      for (const miner of command.miners) writer.string(miner);
      if (tagOf(command) === TAGS.lastIndexOf('cut-block')) writer.length64(command.height ?? 0);
      break;
    case 'proof':
      writer.length64(command.height);
      writer.string(command.miner);
      writer.bytes(command.nonce);
      writer.bytes(command.coinbase);
      break;
    case 'close-block':
      writer.length64(command.height);
      break;
    case 'block-stored':
      writer.length64(command.height);
      writer.string(command.hash);
      break;
    case 'block-adopted':
      return encodeAdopted(writer, command);
    case 'digest':
      writeDigest(writer, command);
      break;
  }
  return writer.toBytes();
}

/** Encodes an adopted block and copies it only once: it may have some 30 MiB. */
function encodeAdopted(writer: BincodeWriter, { block, facts }: BlockAdoptedCommand): Uint8Array {
  writer.length64(block.length);
  const before = writer.toBytes();
  writer.reset().u8(facts === null ? 0 : 1);
  if (facts !== null) writeFacts(writer, facts);
  return concatBytes(before, block, writer.view());
}

function writeDigest(writer: BincodeWriter, { replica, seq, height, digest, trail }: DigestCommand): void {
  writer.string(replica);
  writer.length64(seq);
  writer.length64(height);
  writer.string(digest);
  writer.length64(trail.length);
  for (const { seq: at, mark } of trail) {
    writer.length64(at);
    writer.u32(mark);
  }
}

function readDigest(reader: BincodeReader): DigestCommand {
  const replica = reader.string();
  const seq = reader.number64();
  const height = reader.number64();
  const digest = reader.string();
  const trail = reader.list(12, (): TrailMark => ({ seq: reader.number64(), mark: reader.u32() }));
  return { kind: 'digest', replica, seq, height, digest, trail };
}

function tagOf(command: Command): number {
  const isOld = command.kind === 'cut-block' && command.height === undefined;
  return isOld ? ANY_HEIGHT : TAGS.lastIndexOf(command.kind);
}

/** Throws `data_corrupt`: the journal holds nothing but commands of this program. */
export function decodeCommand(bytes: Uint8Array): Command {
  return decodeRecord('command of the journal', bytes, readCommand);
}

function readCommand(reader: BincodeReader): Command {
  const tag = reader.u8();
  const kind = TAGS[tag];
  switch (kind) {
    case 'transactions': {
      const time = reader.number64();
      const groups = reader.list(8, () => reader.list(8, () => reader.bytes()));
      return { kind, time, groups };
    }
    case 'cut-block': {
      const time = reader.number64();
      const miners = reader.list(8, () => reader.string());
      return { kind, time, miners, ...(tag === TAGS.lastIndexOf(kind) && { height: reader.number64() }) };
    }
    case 'proof': {
      const height = reader.number64();
      const miner = reader.string();
      const nonce = reader.bytes();
      return { kind, height, miner, nonce, coinbase: reader.bytes() };
    }
    case 'close-block':
      return { kind, height: reader.number64() };
    case 'block-stored': {
      const height = reader.number64();
      return { kind, height, hash: reader.string() };
    }
    case 'block-adopted': {
      const block = reader.bytes();
      return { kind, block, facts: reader.u8() === 0 ? null : readFacts(reader) };
    }
    case 'digest':
      return readDigest(reader);
    default:
      throw new TesseraError('data_corrupt', 'unknown command');
  }
}

export interface RoundFacts {
  readonly participants: readonly string[];
  /** Hashes of the coinbases, in order. */
  readonly proofHashes: readonly string[];
  /** Winning proofs from the activation height on, those of this block included. */
  readonly asertHashes: number;
}

export function writeFacts(writer: BincodeWriter, { participants, proofHashes, asertHashes }: RoundFacts): void {
  writeStrings(writer, participants);
  writeStrings(writer, proofHashes);
  writer.length64(asertHashes);
}

export function readFacts(reader: BincodeReader): RoundFacts {
  const participants = reader.list(8, () => reader.string());
  const proofHashes = reader.list(8, () => reader.string());
  return { participants, proofHashes, asertHashes: reader.number64() };
}
