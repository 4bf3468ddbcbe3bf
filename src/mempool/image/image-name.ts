/**
 * Name of the image of the unspent outputs that is in force: the record `I` of the mempool's database. It becomes the record
 * of another image in one synced write, when that image is whole on the disk; a file that it does not name means nothing.
 */

import { Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { decodeRecord } from '../../db/decode-record.js';
import { fromUtf8, utf8 } from '../../lib/bytes.js';

/** Format of the image and of the records `U`: an image of another format is ignored. */
const FORMAT = 2;

const ImageJson = Type.Object({
  format: Type.Literal(FORMAT),
  id: Type.String({ pattern: '^[0-9a-f]{32}$' }),
  seq: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
  outputs: Type.Integer({ minimum: 0 }),
  checksum: Type.Integer({ minimum: 0, maximum: 0xffff_ffff }),
});

/** The first format had no number. */
const OtherFormat = Type.Object({ format: Type.Optional(Type.Integer()) });

export interface ImageName {
  /** 16 random bytes in hex: of the file, and in it. */
  readonly id: string;
  /** The command after which it was begun: what changed since then is in the records `U`. */
  readonly seq: number;
  readonly outputs: number;
  /** Checksum of all its bytes. */
  readonly checksum: number;
}

export function encodeImageName(name: ImageName): Uint8Array {
  return utf8(JSON.stringify({ format: FORMAT, ...name }));
}

/** Undefined for an image of another format. */
export function decodeImageName(bytes: Uint8Array): ImageName | undefined {
  return decodeRecord('name of an image', bytes, (reader) => {
    const name: unknown = JSON.parse(fromUtf8(reader.rest()));
    if (Value.Check(OtherFormat, name) && name.format !== FORMAT) return undefined;
    if (!Value.Check(ImageJson, name)) throw new RangeError('not as the schema asks');
    const { id, seq, outputs, checksum } = name;
    return { id, seq, outputs, checksum };
  });
}
