/** Nodes that a test process starts do not outlive it. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, it } from 'vitest';
import { builtScript } from './built-script.js';
import { until } from './processes.js';

const SCRIPT = new URL('abandoned-network.ts', import.meta.url);

interface Left {
  readonly pid: number;
  readonly apiUrl: string;
  readonly folder: string;
}

/** Whether somebody listens there: the kernel answers for a process that is suspended too. */
async function isListening({ apiUrl }: Left): Promise<boolean> {
  const { hostname, port } = new URL(apiUrl);
  const socket = connect(Number(port), hostname);
  try {
    return await new Promise((resolve) => {
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    });
  } finally {
    socket.destroy();
  }
}

it('nodes end with the process that started them when it is killed, the suspended ones too', async () => {
  const runner = spawn(process.execPath, [await builtScript(SCRIPT)], { stdio: ['ignore', 'pipe', 'inherit'] });
  let left: readonly Left[] = [];
  try {
    const [line] = (await once(createInterface({ input: runner.stdout }), 'line')) as [string];
    left = JSON.parse(line) as Left[];
    expect(await Promise.all(left.map(isListening))).toEqual([true, true]);
    runner.kill('SIGKILL');
    await until('the end of both nodes', async () =>
      (await Promise.all(left.map(isListening))).includes(true) ? undefined : true,
    );
  } finally {
    runner.kill('SIGKILL');
    for (const one of left) {
      if (await isListening(one)) process.kill(one.pid, 'SIGKILL');
      await rm(dirname(one.folder), { recursive: true, force: true });
    }
  }
});
