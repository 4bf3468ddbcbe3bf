/** Servers of benchmarks as processes of their own, so that the load generator takes nothing from them but the processor. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once as onceEvent } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export interface ServerProcess {
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts `file` (TypeScript beside this one); it prints its URL as its first line. */
export async function startServer(file: string, args: readonly string[]): Promise<ServerProcess> {
  const path = fileURLToPath(new URL(file, import.meta.url));
  const child: ChildProcess = spawn(process.execPath, ['--import', 'tsx', path, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (child.stdout === null) throw new Error('no output to read from');
  const [url] = (await onceEvent(createInterface({ input: child.stdout }), 'line')) as [string];
  return {
    url,
    async stop() {
      const gone = onceEvent(child, 'exit');
      child.kill('SIGTERM');
      await gone;
    },
  };
}
