/** The text of an answer, bounded: a node that lies may send without an end, or little that unpacks to much. */

import { TesseraError } from '../lib/errors.js';

/** Throws `node_unreachable` when it has more bytes, unpacked. */
export async function readText({ body }: Response, maxBytes: number, signal?: AbortSignal): Promise<string> {
  if (body === null) return '';
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunksOf(body, signal)) {
    bytes += chunk.length;
    // Leaving the loop cancels the rest.
    if (bytes > maxBytes) throw new TesseraError('node_unreachable', `the answer is larger than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  const whole = new Uint8Array(bytes);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return new TextDecoder().decode(whole);
}

/** Chunks of the stream, until it ends or is aborted: the signal of a `fetch` may be garbage-collected while its body is read. */
export async function* chunksOf(body: ReadableStream<Uint8Array>, signal?: AbortSignal): AsyncGenerator<Uint8Array> {
  const reader = body.getReader();
  const cancel = (): void => void reader.cancel().catch(() => undefined);
  signal?.addEventListener('abort', cancel);
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) yield read.value;
    signal?.throwIfAborted();
  } finally {
    signal?.removeEventListener('abort', cancel);
    cancel();
  }
}
