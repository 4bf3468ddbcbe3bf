/** A process for commands to run in: collects what they print, raises signals on demand. */

import { PassThrough } from 'node:stream';
import { type CliContext, type ParsedArgs, parseCommandLine } from '../../src/cli/command.js';
import { findCommand } from '../../src/cli/commands.js';
import { Writes } from '../../src/cli/writes.js';
import { createDeferred } from '../../src/lib/deferred.js';

export interface TestContext extends CliContext {
  out(): string;
  err(): string;
  raise(signal: 'SIGINT' | 'SIGTERM' | 'SIGHUP'): void;
  /** Number of signal listeners. */
  listeners(): number;
  /** Resolves with the status that `exit` was called with. */
  readonly exited: Promise<number>;
}

export function createContext(env: Readonly<Record<string, string>> = {}): TestContext {
  const written = { out: '', err: '' };
  const signals = new Set<readonly [signal: string, listener: () => void]>();
  const exited = createDeferred<number>();
  const onSignal: CliContext['onSignal'] = (signal, listener) => {
    const entry = [signal, listener] as const;
    signals.add(entry);
    return () => signals.delete(entry);
  };
  return {
    stdin: new PassThrough(),
    stdout: { write: (text) => (written.out += text) },
    stderr: { write: (text) => (written.err += text) },
    env,
    onSignal,
    writes: new Writes({ onSignal }),
    exit: (code) => exited.resolve(code),
    out: () => written.out,
    err: () => written.err,
    raise(signal) {
      for (const [name, listener] of [...signals]) if (name === signal) listener();
    },
    listeners: () => signals.size,
    exited: exited.promise,
  };
}

/** The arguments as the command of that name reads them. */
export async function parseFor(name: string, ...args: readonly string[]): Promise<ParsedArgs> {
  const { command } = await findCommand(name.split(' '));
  return parseCommandLine(command.spec, args);
}

/** For `start` with one role. */
export const noGroup = {
  createGroup(): never {
    throw new Error('one node is wanted');
  },
};
