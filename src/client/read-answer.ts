/** The text of an answer, bounded: a node that lies may send without an end, or little that unpacks to much. */

import { TesseraError } from '../lib/errors.js';

/** Throws `node_unreachable` when it has more bytes, unpacked. */
export async function readText({ body }: Response, maxBytes: number): Promise<string> {
  if (body === null) return '';
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body as ReadableStream<Uint8Array>) {
    bytes += chunk.length;
    // Leaving the loop cancels the rest.
    if (bytes > maxBytes) throw new TesseraError('node_unreachable', `the answer is larger than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return new TextDecoder().decode(Buffer.concat(chunks));
}
