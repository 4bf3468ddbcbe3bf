/**
 * Limits how many bytes of large request bodies are processed at once. A list of transactions takes ten times its size as
 * objects, so that many valid ones at the same time would fill the memory. Here they wait as bytes: those of one address in
 * order of arrival, the addresses in turn. When too many wait, the address with the most bytes loses its last ones: a client
 * that floods the node gets 503 (rule P6), and keeps nobody else out.
 */

import type { ServerResponse } from 'node:http';
import fp from 'fastify-plugin';
import { TesseraError } from '../../lib/errors.js';
import { addressGroup, isLoopback } from '../../lib/ip-address.js';
import { TurnBudget } from '../../lib/turn-budget.js';

/** Smaller bodies are not counted. */
const SMALL_BYTES = 4 * 1024;
/** Maximum size of the bodies in progress, from parsing to the end of the answer. A single one may be larger. */
const MAX_AT_WORK_BYTES = 4 * 1024 * 1024;
/** The same for one address, except loopback: behind a proxy all requests come from there. */
const MAX_AT_WORK_OF_ADDRESS = MAX_AT_WORK_BYTES / 2;
/** Maximum size of the waiting bodies. */
const MAX_WAITING_BYTES = 32 * 1024 * 1024;

/** Bytes of large bodies that are read in one turn of the event loop, over all connections: two milliseconds, or one body. */
const BYTES_PER_TURN = 512 * 1024;

declare module 'fastify' {
  interface FastifyInstance {
    readonly bodyBudget: BodyBudget;
    /** Turns in which large bodies are read, in bytes. */
    readonly bodyTurns: TurnBudget;
  }
}

type Response = Pick<ServerResponse, 'once'>;

interface Waiting {
  readonly bytes: number;
  readonly start: () => void;
  readonly refuse: (error: TesseraError) => void;
}

/** The bodies of one address. */
interface Sender {
  readonly isLimited: boolean;
  atWork: number;
  waitingBytes: number;
  /** In the order in which they came. */
  readonly waiting: Set<Waiting>;
}

export class BodyBudget {
  #atWork = 0;
  #waitingBytes = 0;
  /** By address group; the first one is next. */
  readonly #senders = new Map<string, Sender>();

  /**
   * Undefined when a body of this size may be processed at once, else a promise that resolves when it may; it counts until its
   * response is closed. Rejects with `overloaded` when too much is waiting already, `aborted` when the client disconnects.
   */
  take(bytes: number, response: Response, address: string): Promise<void> | undefined {
    if (bytes < SMALL_BYTES) return undefined;
    const group = addressGroup(address);
    const sender = this.#senderOf(group, address);
    if (this.#waitingBytes > 0 || !this.#fits(bytes, sender)) return this.#wait(bytes, response, group, sender);
    this.#start(bytes, response, group, sender);
    return undefined;
  }

  #senderOf(group: string, address: string): Sender {
    const known = this.#senders.get(group);
    if (known !== undefined) return known;
    const sender = { isLimited: !isLoopback(address), atWork: 0, waitingBytes: 0, waiting: new Set<Waiting>() };
    this.#senders.set(group, sender);
    return sender;
  }

  #hasRoom(bytes: number): boolean {
    return this.#atWork === 0 || this.#atWork + bytes <= MAX_AT_WORK_BYTES;
  }

  #isWithinShare(bytes: number, { isLimited, atWork }: Sender): boolean {
    return !isLimited || atWork === 0 || atWork + bytes <= MAX_AT_WORK_OF_ADDRESS;
  }

  #fits(bytes: number, sender: Sender): boolean {
    return this.#hasRoom(bytes) && this.#isWithinShare(bytes, sender);
  }

  #start(bytes: number, response: Response, group: string, sender: Sender): void {
    this.#atWork += bytes;
    sender.atWork += bytes;
    response.once('close', () => {
      this.#atWork -= bytes;
      sender.atWork -= bytes;
      this.#forget(group, sender);
      this.#startNext();
    });
  }

  async #wait(bytes: number, response: Response, group: string, sender: Sender): Promise<void> {
    if (!this.#makeRoom(bytes, sender)) {
      this.#forget(group, sender);
      throw overloaded();
    }
    await new Promise<void>((resolve, refuse) => {
      const start = (): void => {
        this.#start(bytes, response, group, sender);
        resolve();
      };
      const waiting = { bytes, start, refuse };
      sender.waiting.add(waiting);
      sender.waitingBytes += bytes;
      this.#waitingBytes += bytes;
      response.once('close', () => {
        if (!this.#leave(waiting, sender)) return;
        refuse(new TesseraError('aborted', 'The client has disconnected.'));
        this.#forget(group, sender);
        this.#startNext();
      });
      // Those before it may be waiting only for the share of their address.
      this.#startNext();
    });
  }

  /** True when this many more bytes may wait. The address with the most gives up its last body, unless it is this one. */
  #makeRoom(bytes: number, sender: Sender): boolean {
    while (this.#waitingBytes + bytes > MAX_WAITING_BYTES) {
      const [most] = [...this.#senders.values()].sort((a, b) => b.waitingBytes - a.waitingBytes);
      const last = most === undefined ? undefined : [...most.waiting].at(-1);
      if (most === undefined || last === undefined || most.waitingBytes <= sender.waitingBytes + bytes) return false;
      this.#leave(last, most);
      last.refuse(overloaded());
    }
    return true;
  }

  #startNext(): void {
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      const [group, sender, waiting] = next;
      this.#leave(waiting, sender);
      // The other addresses come first then.
      this.#senders.delete(group);
      this.#senders.set(group, sender);
      waiting.start();
    }
  }

  /** The first body of the next address that has not used up its share, if there is room. */
  #next(): readonly [string, Sender, Waiting] | undefined {
    for (const [group, sender] of this.#senders) {
      const [waiting] = sender.waiting;
      if (waiting === undefined || !this.#isWithinShare(waiting.bytes, sender)) continue;
      return this.#hasRoom(waiting.bytes) ? [group, sender, waiting] : undefined;
    }
    return undefined;
  }

  #leave(waiting: Waiting, sender: Sender): boolean {
    if (!sender.waiting.delete(waiting)) return false;
    sender.waitingBytes -= waiting.bytes;
    this.#waitingBytes -= waiting.bytes;
    return true;
  }

  #forget(group: string, { atWork, waiting }: Sender): void {
    if (atWork === 0 && waiting.size === 0) this.#senders.delete(group);
  }
}

function overloaded(): TesseraError {
  return new TesseraError('overloaded', 'The node is processing too many large bodies; try again in a moment.');
}

export const bodyBudget = fp((app, _options, done) => {
  app.decorate('bodyBudget', new BodyBudget());
  app.decorate('bodyTurns', new TurnBudget(BYTES_PER_TURN));
  done();
});
