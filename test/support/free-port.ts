/**
 * Ports for processes that are told theirs before they start, or that keep them while they are down. They are below those that
 * the system gives away by itself, to whoever listens at port 0 and to every connection; and each worker of the tests has
 * a range of its own, in which it gives none twice. So nobody takes a port between the moment it is given and its use.
 */

import { createServer } from 'node:net';

/** Up to 28,000: Linux gives away those from 32,768 on, and other systems those from 49,152 on. */
const FIRST = 10_000;
/** More workers than these share the ranges. */
const WORKERS = 9;
const PORTS = 2_000;

const worker = Number(process.env.VITEST_POOL_ID ?? 0) % WORKERS;
/** Somewhere in it: another run of the tests on this machine begins elsewhere. */
let next = Math.floor(Math.random() * PORTS);

/** A port of loopback at which nobody listens. */
export async function freePort(): Promise<number> {
  for (let tried = 0; tried < PORTS; tried++) {
    const port = FIRST + worker * PORTS + next;
    next = (next + 1) % PORTS;
    if (await isFree(port)) return port;
  }
  throw new Error('all ports of this worker are in use');
}

function isFree(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
