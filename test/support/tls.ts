/** Nodes with certificate files, in this process, on free ports; ended and removed together. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LOOPBACK_SECRET } from '../../src/config/checks.js';
import { createConfig } from '../../src/config/load.js';
import { Node } from '../../src/node/node.js';
import { NodeLogger } from '../../src/observability/logger.js';
import { NODE_CERT, NODE_TLS_KEY, OTHER_CERT } from './certificates.js';

export interface LoggedNode extends Node {
  /** Resolves with the first log line, past or future, that holds the text. */
  logged(text: string): Promise<string>;
}

export interface TlsNodes {
  /** The files, as an operator would have them. `other` signed nothing that is used here. */
  readonly files: { readonly cert: string; readonly key: string; readonly other: string };
  start(role: 'mempool' | 'storage', options: Readonly<Record<string, unknown>>): Promise<LoggedNode>;
  end(): Promise<void>;
}

export async function createTlsNodes(): Promise<TlsNodes> {
  const root = await mkdtemp(join(tmpdir(), 'tessera-test-'));
  const files = { cert: join(root, 'cert.pem'), key: join(root, 'key.pem'), other: join(root, 'other.pem') };
  await writeFile(files.cert, NODE_CERT);
  await writeFile(files.key, NODE_TLS_KEY, { mode: 0o600 });
  await writeFile(files.other, OTHER_CERT);
  const nodes: Node[] = [];
  return {
    files,
    async start(role, options) {
      const config = createConfig(role, {
        'node.data_dir': join(root, `${role}-${nodes.length}`),
        'network.secret': LOOPBACK_SECRET,
        'api.port': 0,
        'peers.port': 0,
        ...options,
      });
      const log = createLog();
      const logger = NodeLogger.create({ level: 'info', format: 'json' }, { out: { write: log.write } });
      const node = await Node.create(config, { logger });
      nodes.push(node);
      await node.start();
      return Object.assign(node, { logged: log.find });
    },
    async end() {
      for (const node of nodes.reverse()) await node.stop();
      await rm(root, { recursive: true, force: true });
    },
  };
}

function createLog() {
  const lines: string[] = [];
  const waiting = new Set<(line: string) => void>();
  return {
    write(line: string) {
      lines.push(line);
      for (const look of waiting) look(line);
    },
    find: (text: string) =>
      new Promise<string>((resolve) => {
        const found = lines.find((line) => line.includes(text));
        if (found !== undefined) return resolve(found);
        const look = (line: string): void => {
          if (!line.includes(text)) return;
          waiting.delete(look);
          resolve(line);
        };
        waiting.add(look);
      }),
  };
}
