/**
 * The certificates of stored blocks, kept beside them for those who are handed the blocks. Blocks from before a network had
 * producers have none, and need none: the certificate of a later block proves them.
 */

import {
  type BlockPlace,
  blockCertificateFault,
  type Certificate,
  isNamed,
  type Producers,
} from '../../chain/certificate.js';
import { PUBLIC_KEY_LENGTH, SIGNATURE_LENGTH } from '../../crypto/ed25519.js';
import type { Kv, KvBatch } from '../../db/kv.js';
import { concatBytes, fromHex, toHex } from '../../lib/bytes.js';
import { TesseraError } from '../../lib/errors.js';
import { CERTIFICATES, certificateKey } from './layout.js';
import { damaged } from './records.js';

export class Certificates {
  readonly #kv: Kv;
  readonly #producers: Producers | undefined;
  #isEmpty: boolean;
  #last: Certificate | undefined;

  private constructor(kv: Kv, producers: Producers | undefined, isEmpty: boolean) {
    this.#kv = kv;
    this.#producers = producers;
    this.#isEmpty = isEmpty;
  }

  /** Opens the certificates. `last`: height of the last stored block, -1 when there is none. */
  static async open(kv: Kv, producers: Producers | undefined, last: number): Promise<Certificates> {
    let isEmpty = true;
    for await (const _ of kv.entries({ ...CERTIFICATES, limit: 1 })) isEmpty = false;
    const certificates = new Certificates(kv, producers, isEmpty);
    certificates.#last = await certificates.at(last);
    return certificates;
  }

  /** True while no stored block has a certificate. */
  get isEmpty(): boolean {
    return this.#isEmpty;
  }

  /** Certificate of the last stored block. */
  get last(): Certificate | undefined {
    return this.#last;
  }

  async at(height: number): Promise<Certificate | undefined> {
    if (this.#isEmpty || height < 0) return undefined;
    const record = await this.#kv.get(certificateKey(height));
    return record && readCertificate(height, record);
  }

  /**
   * The certificate that came with a block, if it is by a producer of this network. Throws `block_refused` when it bears a
   * producer's name but not that producer's signature.
   */
  keepable(place: BlockPlace, certificate: Certificate | undefined): Certificate | undefined {
    if (this.#producers === undefined || !isNamed(this.#producers, certificate)) return undefined;
    const wrong = blockCertificateFault(this.#producers, place, certificate);
    if (wrong !== null) throw new TesseraError('block_refused', wrong.message, { details: { rule: 'certificate' } });
    return certificate;
  }

  put(height: number, { key, signature }: Certificate, batch: KvBatch): void {
    batch.put(certificateKey(height), concatBytes(fromHex(key), fromHex(signature)));
  }

  /** Notes the certificate of the last block that was stored, or that it has none. */
  stored(certificate: Certificate | undefined): void {
    this.#last = certificate;
    if (certificate !== undefined) this.#isEmpty = false;
  }
}

/** The certificate in the record of the block at `height`. Throws `data_corrupt` when it is cut. */
export function readCertificate(height: number, record: Uint8Array): Certificate {
  if (record.length !== PUBLIC_KEY_LENGTH + SIGNATURE_LENGTH)
    throw damaged(`the certificate of block ${height} is cut`);
  return { key: toHex(record.subarray(0, PUBLIC_KEY_LENGTH)), signature: toHex(record.subarray(PUBLIC_KEY_LENGTH)) };
}
