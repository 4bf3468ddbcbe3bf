/** Reads certificates and keys from the files that the configuration names. */

import { readFile } from 'node:fs/promises';
import { errorMessage, TesseraError } from '../lib/errors.js';

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
export async function readTlsFiles({ certFile, keyFile, caFile }: TlsFiles): Promise<TlsMaterial | undefined> {
  if (certFile === undefined || keyFile === undefined) return undefined;
  return {
    cert: await readPem(certFile),
    key: await readPem(keyFile),
    ...(caFile === undefined ? {} : { ca: await readPem(caFile) }),
  };
}

async function readPem(file: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (cause) {
    const message = `the certificate file ${file} cannot be read: ${errorMessage(cause)}`;
    throw new TesseraError('invalid_config', message, { cause });
  }
}
