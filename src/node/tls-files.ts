/** Reads certificates and keys from the files that the configuration names. */

import { errorMessage, TesseraError } from '../lib/errors.js';
import { MAX_WRITTEN_FILE, readBounded } from '../lib/read-bounded.js';

export interface TlsMaterial {
  readonly cert: Buffer;
  readonly key: Buffer;
  readonly ca?: Buffer;
}

interface TlsFiles {
  readonly certFile?: string | undefined;
  readonly keyFile?: string | undefined;
  readonly caFile?: string | undefined;
}

/** The content of the files; undefined when TLS is not configured. Throws `invalid_config` naming the file. */
export function readTlsFiles({ certFile, keyFile, caFile }: TlsFiles): TlsMaterial | undefined {
  if (certFile === undefined || keyFile === undefined) return undefined;
  return {
    cert: readPem(certFile),
    key: readPem(keyFile),
    ...(caFile === undefined ? {} : { ca: readPem(caFile) }),
  };
}

/** The content of a file of certificates or of a key. Throws `invalid_config` naming the file. */
export function readPem(file: string): Buffer {
  try {
    return readBounded(file, MAX_WRITTEN_FILE);
  } catch (cause) {
    const message = `the certificate file ${file} cannot be read: ${errorMessage(cause)}`;
    throw new TesseraError('invalid_config', message, { cause });
  }
}
