/**
 * What a client of the API reads: headers and body of an event stream, and an answer. An input is the number of a client and
 * the bytes that a server writes before it closes the connection. They are read as what they are, or refused with an error
 * that names the node; the lines shown of them hold no control characters.
 */

import { createServer, type Server, type Socket } from 'node:net';
import { failureText } from '../../../src/cli/lifecycle.js';
import { jsonLine, textLine } from '../../../src/cli/watch.js';
import { NodeClient } from '../../../src/client/client.js';
import { readEvents } from '../../../src/client/events.js';
import { utf8 } from '../../../src/lib/bytes.js';
import { createDeferred } from '../../../src/lib/deferred.js';
import { errorMessage, isTesseraError } from '../../../src/lib/errors.js';
import { stringifyExact } from '../../../src/lib/json.js';
import { Choices, changeValue, textOf } from '../choices.js';
import type { Dice } from '../dice.js';
import { type FuzzTarget, mustBe } from '../target.js';

const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u;
/** Milliseconds that a client waits for an answer that does not come. */
const TIMEOUT_MS = 2_000;
const MAX_EVENTS = 1_000;

/** A server on loopback that writes one text to whoever connects. */
class Liar {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #answer: Uint8Array = new Uint8Array();

  private constructor(server: Server) {
    this.#server = server;
    server.on('connection', (socket) => this.#say(socket));
  }

  static async start(): Promise<Liar> {
    const server = createServer();
    const ready = createDeferred<void>();
    server.listen(0, '127.0.0.1', () => ready.resolve());
    await ready.promise;
    return new Liar(server);
  }

  get url(): string {
    const address = this.#server.address();
    return `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
  }

  answer(bytes: Uint8Array): void {
    this.#answer = bytes;
  }

  stop(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }

  #say(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => this.#sockets.delete(socket));
    socket.once('data', () => socket.end(this.#answer));
  }
}

async function readStream(url: string): Promise<string> {
  let events = 0;
  for await (const { id, event } of readEvents({ url, signal: AbortSignal.timeout(TIMEOUT_MS) })) {
    mustBe(id === '' || /^[\x21-\x7e]+$/.test(id), 'an id cannot be sent back');
    if (event !== undefined) {
      mustBe(!UNSAFE.test(textLine(event)), 'a control character is shown');
      mustBe(!UNSAFE.test(jsonLine(event)), 'a control character is shown in JSON');
      JSON.parse(jsonLine(event));
    }
    events += 1;
    if (events === MAX_EVENTS) break;
  }
  return events > 0 ? 'events' : 'no events';
}

async function ask(url: string): Promise<string> {
  const client = new NodeClient({ url, timeoutMs: TIMEOUT_MS, maxAnswerBytes: 64 * 1024 });
  const answer: unknown = await client.api.getSupply();
  if (answer !== undefined) stringifyExact(answer);
  return 'answer';
}

const EVENTS = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n';
const ANSWER = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n';

function streamOf(dice: Dice): string {
  const events = Array.from({ length: dice.below(5) }, (_, i) => {
    const data = textOf(changeValue({ block_num: i, hash: 'b1', reason: null }, new Choices(dice.bytes(24))));
    return `id: 7-${i}\nevent: block\ndata: ${data.slice(0, 2_000)}\n\n`;
  });
  return `retry: 1000\nid: 7-0\n\n: heartbeat\n\n${events.join('')}`;
}

function responseOf(dice: Dice): string {
  const isStream = dice.oneIn(2);
  const problem = 'HTTP/1.1 409 Conflict\r\ncontent-type: application/problem+json\r\n';
  const head = isStream ? EVENTS : dice.pick([ANSWER, problem]);
  const value = changeValue(
    { total: 1, issued: 2, detail: 'no', code: 'invalid_request' },
    new Choices(dice.bytes(24)),
  );
  const body = isStream ? streamOf(dice) : textOf(value).slice(0, 4_000);
  if (dice.oneIn(4)) {
    const size = utf8(body).length.toString(16);
    return `${head}transfer-encoding: chunked\r\n\r\n${size}\r\n${body}\r\n0\r\n\r\n`;
  }
  const length = dice.oneIn(2) ? `content-length: ${utf8(body).length}\r\n` : '';
  return `${head}${length}connection: close\r\n\r\n${body}`;
}

let liar: Liar | undefined;

export const answers: FuzzTarget = {
  name: 'answers',
  seed: (dice) => Buffer.concat([Uint8Array.of(dice.below(2)), utf8(responseOf(dice))]),
  async run(input) {
    liar ??= await Liar.start();
    liar.answer(input.subarray(1));
    try {
      return await ((input[0] ?? 0) % 2 === 0 ? readStream(liar.url) : ask(liar.url));
    } catch (error) {
      if (!isTesseraError(error)) throw error;
      mustBe(!UNSAFE.test(failureText(error).replaceAll('\n', '')), 'a control character is in the message');
      mustBe(error.code !== 'internal_error' || errorMessage(error) !== '', 'an error says nothing');
      return error.code;
    }
  },
  async close() {
    liar?.stop();
    liar = undefined;
  },
};
