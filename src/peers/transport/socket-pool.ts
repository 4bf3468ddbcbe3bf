/**
 * The sockets that a listener holds. One that has not become a connection yet is nobody's: when there are too many of them,
 * the oldest one goes, so that a flood of idle sockets delays nobody who speaks at once.
 */

import type { Server } from 'node:http';
import type { Socket } from 'node:net';

export interface SocketPoolOptions {
  /** Sockets at once, connections included. */
  readonly maxSockets: number;
  /** Sockets at once that are not connections yet. */
  readonly maxIdle: number;
}

/** The two ends' addresses name a socket; with TLS there are two objects for it. */
const nameOf = (socket: Socket): string => `${socket.remoteAddress} ${socket.remotePort} ${socket.localPort}`;

export class SocketPool {
  readonly #options: SocketPoolOptions;
  readonly #sockets = new Map<string, Socket>();
  /** Idle sockets in order of arrival. */
  readonly #idle = new Map<string, Socket>();

  constructor(server: Server, options: SocketPoolOptions) {
    this.#options = options;
    server.on('connection', (socket: Socket) => this.#add(socket));
  }

  /** The socket is a connection now. */
  upgraded(socket: Socket): void {
    this.#idle.delete(nameOf(socket));
  }

  destroyAll(): void {
    for (const socket of this.#sockets.values()) socket.destroy();
  }

  #add(socket: Socket): void {
    const name = nameOf(socket);
    this.#sockets.set(name, socket);
    this.#idle.set(name, socket);
    socket.once('close', () => {
      if (this.#sockets.get(name) !== socket) return;
      this.#sockets.delete(name);
      this.#idle.delete(name);
    });
    const { maxSockets, maxIdle } = this.#options;
    if (this.#sockets.size > maxSockets || this.#idle.size > maxIdle) this.#dropOldest();
  }

  #dropOldest(): void {
    const [oldest] = this.#idle;
    if (oldest === undefined) return;
    const [name, socket] = oldest;
    this.#idle.delete(name);
    this.#sockets.delete(name);
    socket.destroy();
  }
}
