/**
 * The file of an image: the outputs of a table in pieces, read and written one after the other.
 *
 *   head    MAGIC ‖ id (16 bytes) ‖ command (u64) ‖ checksum
 *   piece   rows (u32) ‖ bytes of others (u32) ‖ rows (16 words each) ‖ others (`encodeCoins`) ‖ checksum
 *   end     0xffffffff (u32) ‖ 0 (u32) ‖ outputs (u64) ‖ checksum
 *
 * Numbers and words are little-endian. A checksum is the CRC-32 of all that comes before it, so that no piece can be missing, double
 * or in another place. Reading needs a piece of memory, however long the file is.
 */

import { type FileHandle, open } from 'node:fs/promises';
import { endianness } from 'node:os';
import { crc32 } from 'node:zlib';
import { Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import type { Utxo } from '../../chain/types.js';
import { decodeRecord } from '../../db/decode-record.js';
import { ROW_WORDS } from '../../ledger/utxo/output-words.js';
import type { UtxoTable } from '../../ledger/utxo/utxo-table.js';
import { asBuffer, fromHex, fromUtf8, utf8 } from '../../lib/bytes.js';
import { decodeCoins, encodeCoins } from '../state/records.js';

const MAGIC = Buffer.from('TUTXO\0\0\x01', 'latin1');
const ID_BYTES = 16;
const U64_BYTES = 8;
const CHECKSUM_BYTES = 4;
const HEAD_BYTES = MAGIC.length + ID_BYTES + U64_BYTES;
const PIECE_HEAD_BYTES = 8;
const ROW_BYTES = ROW_WORDS * 4;
/** Rows of a piece: copying them takes about a millisecond, adding them to a table three. */
const PIECE_ROWS = 4_096;
/** Slots that are looked at for a piece: a table may be mostly empty. */
const PIECE_SLOTS = 4 * PIECE_ROWS;
/** Outputs of a piece that fit no row. Each has at most some tens of kilobytes. */
const PIECE_OTHERS = 256;
const MAX_OTHER_BYTES = 64 * 1024 * 1024;
const END = 0xffff_ffff;
const FILE_MODE = 0o600;
const isLittleEndian = endianness() === 'LE';

/** Copies a table that may change meanwhile: an output that is there from beginning to end is in the image. */
export class ImageWriter {
  readonly #file: FileHandle;
  readonly #table: UtxoTable;
  readonly #rows = new Uint32Array(PIECE_ROWS * ROW_WORDS);
  #checksum = 0;
  #outputs = 0;
  #slot = 1;

  private constructor(file: FileHandle, table: UtxoTable) {
    this.#file = file;
    this.#table = table;
  }

  /** Begins the file; there must be none of that name. */
  static async create(path: string, name: Pick<ImageName, 'id' | 'seq'>, table: UtxoTable): Promise<ImageWriter> {
    const writer = new ImageWriter(await open(path, 'wx', FILE_MODE), table);
    try {
      await writer.#write(headOf(name));
      return writer;
    } catch (error) {
      await writer.close();
      throw error;
    }
  }

  /** Writes the next piece; false when there is none left. */
  async next(): Promise<boolean> {
    if (this.#slot >= this.#table.slotEnd) return false;
    const others: Utxo[] = [];
    let rows = 0;
    const end = Math.min(this.#table.slotEnd, this.#slot + PIECE_SLOTS);
    for (; this.#slot < end && rows < PIECE_ROWS && others.length < PIECE_OTHERS; this.#slot++) {
      if (!this.#table.isInUse(this.#slot)) continue;
      if (this.#table.copyRow(this.#slot, this.#rows, rows * ROW_WORDS)) rows++;
      else others.push([this.#table.outPoint(this.#slot), this.#table.output(this.#slot)]);
    }
    if (rows + others.length === 0) return true;
    const other = others.length === 0 ? new Uint8Array() : encodeCoins(others);
    const head = Buffer.allocUnsafe(PIECE_HEAD_BYTES);
    head.writeUInt32LE(rows, 0);
    head.writeUInt32LE(other.length, 4);
    await this.#write(Buffer.concat([head, asBuffer(toLittleEndian(this.#rows, rows)), other]));
    this.#outputs += rows + others.length;
    return true;
  }

  /** Writes the end; the image survives power loss then, as far as its file goes. */
  async finish(): Promise<Pick<ImageName, 'outputs' | 'checksum'>> {
    const end = Buffer.alloc(PIECE_HEAD_BYTES + U64_BYTES);
    end.writeUInt32LE(END, 0);
    end.writeBigUInt64LE(BigInt(this.#outputs), PIECE_HEAD_BYTES);
    await this.#write(end);
    await this.#file.sync();
    return { outputs: this.#outputs, checksum: this.#checksum };
  }

  close(): Promise<void> {
    return this.#file.close();
  }

  async #write(bytes: Uint8Array): Promise<void> {
    this.#checksum = crc32(bytes, this.#checksum);
    const checksum = Buffer.allocUnsafe(CHECKSUM_BYTES);
    checksum.writeUInt32LE(this.#checksum);
    await this.#file.writeFile(Buffer.concat([bytes, checksum]));
  }
}

/** Adds all outputs of the image to an empty table. A `RangeError` says that the file is not that image, whole. */
export async function readImage(
  path: string,
  name: ImageName,
  table: UtxoTable,
  onPiece: (outputs: number) => void,
): Promise<void> {
  const file = await open(path, 'r');
  try {
    await new ImageReader(file, name, table).read(onPiece);
  } finally {
    await file.close();
  }
}

interface Piece {
  readonly rows: number;
  readonly bytes: Buffer;
  readonly nextHead: Buffer;
}

class ImageReader {
  readonly #file: FileHandle;
  readonly #name: ImageName;
  readonly #table: UtxoTable;
  #at = 0;
  #checksum = 0;

  constructor(file: FileHandle, name: ImageName, table: UtxoTable) {
    this.#file = file;
    this.#name = name;
    this.#table = table;
  }

  async read(onPiece: (outputs: number) => void): Promise<void> {
    const head = await this.#bytes(HEAD_BYTES + CHECKSUM_BYTES);
    if (!this.#checked(head).equals(headOf(this.#name))) throw new RangeError('it is another image');
    const { size } = await this.#file.stat();
    this.#table.reserve(Math.min(this.#name.outputs, Math.floor(size / ROW_BYTES)));
    let outputs = 0;
    let next = this.#piece(await this.#bytes(PIECE_HEAD_BYTES));
    for (;;) {
      const piece = await next;
      if (piece.rows === END) break;
      // The disk reads the next piece while this one is added to the table.
      next = this.#piece(piece.nextHead);
      next.catch(() => undefined);
      outputs += this.#take(piece);
      onPiece(outputs);
    }
    const isWhole = outputs === this.#name.outputs && this.#checksum === this.#name.checksum;
    if (!isWhole) throw new RangeError('it has another end');
  }

  /** Reads the piece of a head, or the end, with the head of the next piece: one read of the disk for each. */
  async #piece(head: Buffer): Promise<Piece> {
    const rows = head.readUInt32LE(0);
    const other = head.readUInt32LE(4);
    if (rows !== END && (rows > PIECE_ROWS || other > MAX_OTHER_BYTES)) throw new RangeError('a piece is too long');
    const length = (rows === END ? U64_BYTES : rows * ROW_BYTES + other) + CHECKSUM_BYTES;
    // Rows begin at a multiple of 4, as words must.
    const body = await this.#bytes(length + (rows === END ? 0 : PIECE_HEAD_BYTES));
    this.#checksum = crc32(head, this.#checksum);
    return { rows, bytes: this.#checked(body.subarray(0, length)), nextHead: body.subarray(length) };
  }

  #take({ rows, bytes }: Piece): number {
    const words = fromLittleEndian(bytes, rows * ROW_WORDS);
    this.#table.insertRows(words, rows);
    const other = bytes.subarray(rows * ROW_BYTES);
    const others = other.length === 0 ? [] : decodeCoins(other);
    for (const [outPoint, txOut] of others) {
      // The table may have changed while it was copied, and an output may be in the image twice.
      if (this.#table.find(outPoint) === 0) this.#table.insert(outPoint, txOut);
    }
    return rows + others.length;
  }

  /** Bytes without the checksum at the end, which must be right. */
  #checked(bytes: Buffer): Buffer {
    const content = bytes.subarray(0, -CHECKSUM_BYTES);
    this.#checksum = crc32(content, this.#checksum);
    if (bytes.readUInt32LE(content.length) !== this.#checksum) throw new RangeError('a checksum is wrong');
    return content;
  }

  async #bytes(length: number): Promise<Buffer> {
    const bytes = Buffer.from(new ArrayBuffer(length));
    // A disk may give less than it has at once.
    for (let at = 0; at < length; ) {
      const { bytesRead } = await this.#file.read(bytes, at, length - at, this.#at);
      if (bytesRead === 0) throw new RangeError('it is cut off');
      at += bytesRead;
      this.#at += bytesRead;
    }
    return bytes;
  }
}

function headOf({ id, seq }: Pick<ImageName, 'id' | 'seq'>): Buffer {
  const command = Buffer.allocUnsafe(U64_BYTES);
  command.writeBigUInt64LE(BigInt(seq));
  return Buffer.concat([MAGIC, fromHex(id), command]);
}

/** The first `rows` rows as little-endian bytes. */
function toLittleEndian(words: Uint32Array, rows: number): Uint8Array {
  const bytes = Buffer.from(words.buffer, 0, rows * ROW_BYTES);
  return isLittleEndian ? bytes : Buffer.from(bytes).swap32();
}

/** The words in bytes that begin at a multiple of 4. */
function fromLittleEndian(bytes: Buffer, words: number): Uint32Array {
  const own = isLittleEndian ? bytes : Buffer.from(bytes.subarray(0, words * 4)).swap32();
  return new Uint32Array(own.buffer, own.byteOffset, words);
}

/** Format of the image and of the records `U`: an image of another format is ignored. */
const FORMAT = 2;

const ImageJson = Type.Object({
  format: Type.Literal(FORMAT),
  id: Type.String({ pattern: '^[0-9a-f]{32}$' }),
  seq: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
  outputs: Type.Integer({ minimum: 0 }),
  checksum: Type.Integer({ minimum: 0, maximum: 0xffff_ffff }),
});

/** Images of the first format had no format number. */
const OtherFormat = Type.Object({ format: Type.Optional(Type.Integer()) });

export interface ImageName {
  /** 16 random bytes in hex, in the name of the file and in the file. */
  readonly id: string;
  /** The command after which the image was begun: later changes are in the records `U`. */
  readonly seq: number;
  readonly outputs: number;
  readonly checksum: number;
}

export function encodeImageName(name: ImageName): Uint8Array {
  return utf8(JSON.stringify({ format: FORMAT, ...name }));
}

/** The image that a record names; undefined for an image of another format. */
export function decodeImageName(bytes: Uint8Array): ImageName | undefined {
  return decodeRecord('name of an image', bytes, (reader) => {
    const name: unknown = JSON.parse(fromUtf8(reader.rest()));
    if (Value.Check(OtherFormat, name) && name.format !== FORMAT) return undefined;
    if (!Value.Check(ImageJson, name)) throw new RangeError('not as the schema asks');
    const { id, seq, outputs, checksum } = name;
    return { id, seq, outputs, checksum };
  });
}
