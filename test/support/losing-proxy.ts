/**
 * A proxy for bytes of any protocol (gRPC to etcd), which swallows what the server answers, or holds up everything, while a test wants that. For HTTP,
 * where each request has a fate of its own, there is `lossy-proxy.ts`.
 */

import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

export class LosingProxy {
  /** While true, requests arrive and their answers do not; a connection that lost some is closed when it is set back. */
  #loses = false;
  readonly endpoint: string;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #spoilt = new Set<Socket>();

  static async start(target: string): Promise<LosingProxy> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new LosingProxy(server, new URL(target));
  }

  private constructor(server: Server, target: URL) {
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    this.endpoint = `http://127.0.0.1:${port}`;
    this.#server = server;
    server.on('connection', (client) => {
      const upstream = connect(Number(target.port), target.hostname);
      for (const socket of [client, upstream]) {
        this.#sockets.add(socket);
        socket.on('error', () => undefined);
        socket.on('close', () => {
          this.#sockets.delete(socket);
          client.destroy();
          upstream.destroy();
        });
      }
      client.pipe(upstream);
      upstream.on('data', (bytes) => {
        if (this.#loses) this.#spoilt.add(client);
        else client.write(bytes);
      });
    });
  }

  /** While true, nothing is forwarded and nobody is told, as on a line that is cut; what waits arrives when it is set back. */
  set isCut(value: boolean) {
    for (const socket of this.#sockets) value ? socket.pause() : socket.resume();
  }

  set loseAnswers(value: boolean) {
    this.#loses = value;
    if (value) return;
    for (const socket of this.#spoilt) socket.destroy();
    this.#spoilt.clear();
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }
}
