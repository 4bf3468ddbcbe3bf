/**
 * The commands of the journal: everything that changes the state of the mempool, and their bytes. Times are unix seconds
 * and were read from the clock when the command was made, so that applying it needs no clock.
 */

import { type BincodeReader, BincodeWriter } from '../../chain/bincode.js';
import { decodeRecord } from '../../db/decode-record.js';
import { TesseraError } from '../../lib/errors.js';
import { type RoundFacts, readFacts, writeFacts } from './round-facts.js';

/** Transactions whose scripts and sums were checked. The members of a group are admitted together or not at all. */
export interface TransactionsCommand {
  readonly kind: 'transactions';
  readonly time: number;
  readonly groups: readonly (readonly Uint8Array[])[];
}

/**
 * Cuts the template of the next block. `miners` are the addresses of the miners that are linked, in the order of joining.
 */
export interface CutBlockCommand {
  readonly kind: 'cut-block';
  readonly time: number;
  readonly miners: readonly string[];
  /** From a version that cut whatever was in the pool: applied again, it must give the same block. */
  readonly keepsAll?: true;
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

/** A storage node has the block on disk. */
export interface BlockStoredCommand {
  readonly kind: 'block-stored';
  readonly height: number;
  readonly hash: string;
}

/** The next block as storage has it, which this node did not make or has lost; it was checked against the state. */
export interface BlockAdoptedCommand {
  readonly kind: 'block-adopted';
  /** The FullBlock. */
  readonly block: Uint8Array;
  /** Null where storage does not know them. */
  readonly facts: RoundFacts | null;
}

export type Command =
  | TransactionsCommand
  | CutBlockCommand
  | ProofCommand
  | CloseBlockCommand
  | BlockStoredCommand
  | BlockAdoptedCommand;

/** Records hold the index: new ones go to the end. The first `cut-block` is the one that keeps all. */
const TAGS = [
  'transactions',
  'cut-block',
  'proof',
  'close-block',
  'block-stored',
  'block-adopted',
  'cut-block',
] as const;

/** Every command is written here and copied out. */
const scratch = new BincodeWriter();

export function encodeCommand(command: Command): Uint8Array {
  const writer = scratch.reset();
  const { kind } = command;
  writer.u8(kind === 'cut-block' && command.keepsAll ? TAGS.indexOf(kind) : TAGS.lastIndexOf(kind));
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
      writer.bytes(command.block);
      writer.u8(command.facts === null ? 0 : 1);
      if (command.facts !== null) writeFacts(writer, command.facts);
      break;
  }
  return writer.toBytes();
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
      return { kind, time, groups: reader.list(8, () => reader.list(8, () => reader.bytes())) };
    }
    case 'cut-block': {
      const time = reader.number64();
      const miners = reader.list(8, () => reader.string());
      return tag === TAGS.indexOf(kind) ? { kind, time, miners, keepsAll: true } : { kind, time, miners };
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
    default:
      throw new TesseraError('data_corrupt', 'unknown command');
  }
}
