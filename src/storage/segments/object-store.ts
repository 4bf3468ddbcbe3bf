/**
 * An S3-compatible object store as a place for files: lists, writes and reads them. A call may take long as long as it makes progress; one
 * that stands still for `timeoutMs` ends. A failure is `archive_incomplete`, with a sentence that holds no credentials.
 */

import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { ReadableStream } from 'node:stream/web';
import { S3mini, S3ServiceError } from 's3mini';
import { unreadable } from '../../db/database-error.js';
import { type Clock, systemClock, type Timer } from '../../lib/clock.js';
import { errorMessage, isTesseraError, TesseraError } from '../../lib/errors.js';

const READ_BYTES = 1024 * 1024;
/** Names that one request lists: the most that S3 gives. */
const LISTED = 1_000;
const MEDIA_TYPE = 'application/octet-stream';

export interface ObjectStoreOptions {
  /** URL of the service, such as `https://s3.example.net`, without the bucket. */
  readonly endpoint: string;
  readonly bucket: string;
  /** Beginning of all names, without a slash at its end. */
  readonly prefix: string;
  readonly region: string;
  readonly accessKey: string;
  readonly secretKey: string;
  /** Milliseconds without progress after which a call ends. */
  readonly timeoutMs: number;
}

export interface StoredObject {
  readonly name: string;
  readonly size: number;
}

export class ObjectStore {
  readonly #options: ObjectStoreOptions;
  readonly #clock: Clock;
  readonly #closing = new AbortController();
  #problem: string | null = null;

  constructor(options: ObjectStoreOptions, clock: Clock = systemClock) {
    this.#options = options;
    this.#clock = clock;
  }

  /** Why the last call failed; null when it succeeded. */
  get problem(): string | null {
    return this.#problem;
  }

  /** Ends the calls that are under way. */
  close(): void {
    this.#closing.abort();
  }

  /** Asks whether the store answers. */
  async probe(): Promise<void> {
    const page = await this.#call((client) => client.listObjectsPaged('/', `${this.#options.prefix}/`, 1));
    if (page == null) throw this.#failed(`has no bucket "${this.#options.bucket}"`);
  }

  /** All objects below the prefix, in the order of their names. */
  async *list(): AsyncGenerator<StoredObject> {
    const prefix = `${this.#options.prefix}/`;
    let token: string | undefined;
    do {
      const page = await this.#call((client) => client.listObjectsPaged('/', prefix, LISTED, token));
      if (page?.objects == null) throw this.#failed(`has no bucket "${this.#options.bucket}"`);
      for (const { Key: key, Size: size } of page.objects) yield { name: key.slice(prefix.length), size: Number(size) };
      token = page.nextContinuationToken;
    } while (token !== undefined);
  }

  /** Bytes of an object; undefined when there is no object of this name. */
  async sizeOf(name: string): Promise<number | undefined> {
    try {
      return await this.#call((client) => client.getContentLength(this.#key(name)));
    } catch (error) {
      if (isTesseraError(error) && error.details.status === 404) return undefined;
      throw error;
    }
  }

  async put(name: string, path: string): Promise<void> {
    const { size } = await stat(path);
    await this.#call(async (client, goesOn) => {
      const chunks = async function* (): AsyncGenerator<Uint8Array> {
        try {
          for await (const chunk of createReadStream(path, { highWaterMark: READ_BYTES, end: size - 1 })) {
            goesOn();
            yield chunk as Uint8Array;
          }
        } catch (error) {
          throw unreadable(path, errorMessage(error), error);
        }
      };
      const body = ReadableStream.from(chunks()) as globalThis.ReadableStream;
      const answer = await client.putObject(this.#key(name), body, MEDIA_TYPE, undefined, undefined, size);
      await answer.arrayBuffer();
    });
  }

  /** Passes on the bytes of an object as they come, all or those of a range. */
  async read(
    name: string,
    take: (chunk: Uint8Array) => unknown,
    range?: readonly [from: number, to: number],
  ): Promise<void> {
    await this.#call(async (client, goesOn) => {
      const answer = await client.getObjectRaw(this.#key(name), range === undefined, range?.[0], range?.[1]);
      for await (const chunk of answer.body ?? []) {
        goesOn();
        await take(chunk);
      }
    });
  }

  #key(name: string): string {
    return `${this.#options.prefix}/${name}`;
  }

  async #call<T>(work: (client: S3mini, goesOn: () => void) => Promise<T>): Promise<T> {
    const { endpoint, bucket, region, accessKey, secretKey, timeoutMs } = this.#options;
    const silence = new AbortController();
    let timer: Timer | undefined;
    const goesOn = (): void => {
      timer?.cancel();
      timer = this.#clock.after(timeoutMs, () => silence.abort());
    };
    const client = new S3mini({
      endpoint: `${endpoint.replace(/\/+$/, '')}/${bucket}`,
      region,
      accessKeyId: accessKey,
      secretAccessKey: secretKey,
      fetch: (url, init) => {
        const signal = AbortSignal.any([silence.signal, this.#closing.signal]);
        return fetch(url, { ...init, signal, redirect: 'error', duplex: 'half' } as RequestInit);
      },
    });
    goesOn();
    try {
      const result = await work(client, goesOn);
      this.#problem = null;
      return result;
    } catch (error) {
      if (silence.signal.aborted) throw this.#failed(`has been silent for ${timeoutMs} ms`);
      throw this.#refusal(error);
    } finally {
      timer?.cancel();
    }
  }

  #refusal(error: unknown): unknown {
    if (this.#closing.signal.aborted) return new TesseraError('shutting_down', 'the node is stopping');
    // Errors of the local file, or of the receiver of the bytes, stay as they are.
    const both = [error, (error as Error).cause];
    const own = both.find((one) => isTesseraError(one));
    if (own !== undefined || (error as NodeJS.ErrnoException).syscall?.match(/^(open|read|write|stat)$/))
      return own ?? error;
    const answer = both.find((one) => one instanceof S3ServiceError);
    if (answer === undefined) {
      const { cause } = error as Error;
      const { code } = (cause ?? error) as NodeJS.ErrnoException;
      return this.#failed(`cannot be reached (${code ?? errorMessage(error)})`);
    }
    const { status, serviceCode = '' } = answer;
    const code = /^[A-Za-z0-9]{1,40}$/.test(serviceCode) && serviceCode !== 'Unknown' ? ` ${serviceCode}` : '';
    const what = status === 401 || status === 403 ? 'refuses the credentials' : 'refuses';
    return this.#failed(`${what} (${status}${code})`, status);
  }

  /** The error for a failed call. It has no cause: answers of a store repeat the access key. */
  #failed(what: string, status?: number): TesseraError {
    const { endpoint, bucket } = this.#options;
    const message = `the object store at ${new URL(endpoint).host}, bucket ${bucket}, ${what}`;
    if (status !== 404) this.#problem = message;
    return new TesseraError('archive_incomplete', message, { details: { status } });
  }
}
