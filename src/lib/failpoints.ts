/**
 * Failpoints: named places where a test ends the process as kill -9 would, before and after each write, sync, rename
 * and send. Only whoever starts the program can arm one (docs/reliability.md#failpoints).
 * `test/reliability/failpoint-names.ts` lists them.
 */

import { writeSync } from 'node:fs';

/** The variable that names the failpoint: `PLACE:SUBJECT`, or `PLACE:SUBJECT@N` for the Nth time that it is passed. */
export const FAILPOINT_ENV = 'TESSERA_FAILPOINT';

const FORM = /^([^@]+?)(?:@([1-9][0-9]{0,8}))?$/;
const STDERR = 2;

interface Armed {
  readonly name: string;
  /** Number of passes that have no effect yet. */
  left: number;
}

let armed: Armed | undefined;

/** Arms the failpoint that the environment names, if NODE_ENV is `test`. Returns a message about the failpoint. */
export function armFailpoint(env: Readonly<Record<string, string | undefined>>): string | undefined {
  const text = env[FAILPOINT_ENV];
  if (text === undefined || text === '') return undefined;
  if (env.NODE_ENV !== 'test') return `${FAILPOINT_ENV} is for tests: without NODE_ENV=test it has no effect`;
  const [, name, times = '1'] = FORM.exec(text) ?? [];
  if (name === undefined) return `${FAILPOINT_ENV} names no failpoint: ${text}`;
  armed = { name, left: Number(times) };
  return `failpoint ${text} is armed: this process ends there`;
}

/** Ends the process, if this place is armed for this subject (a database, a file, a message). */
export function failpoint(place: string, subject: string): void {
  if (armed !== undefined) pass(armed, `${place}:${subject}`);
}

function pass(point: Armed, name: string): void {
  if (point.name !== name) return;
  point.left -= 1;
  if (point.left > 0) return;
  writeSync(STDERR, `failpoint ${name} reached\n`);
  process.kill(process.pid, 'SIGKILL');
}
