/** `npm run simulate`: puts the program and its simulated world into one file, and lets it run. `--help` has the options. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { bundle } from './bundle.js';
import type { Guard } from './guards/guard.js';
import { GUARDS } from './guards/guards.js';

const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** What a hunt found without a guard. */
interface Found {
  readonly seeds: number;
  readonly failed: readonly string[];
  readonly rules: readonly string[];
}

async function run(program: string, args: readonly string[]): Promise<number> {
  const child = spawn(process.execPath, [program, ...args], { stdio: 'inherit' });
  const [code] = await once(child, 'exit');
  return typeof code === 'number' ? code : 1;
}

/** The program without a guard. */
function without(guard: Guard): Promise<string> {
  return bundle(`without-${GUARDS.indexOf(guard)}`, guard.edits);
}

/** Hunts without a guard until a seed fails; without an answer, the process did not come to its end. */
async function huntWithout(guard: Guard, args: readonly string[]): Promise<Found | undefined> {
  const program = await without(guard);
  const child = spawn(process.execPath, [program, '--theme', guard.theme, ...args, '--json', '--quiet'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  await once(child, 'close');
  const [last] = text.trim().split('\n').slice(-1);
  return last?.startsWith('{') ? JSON.parse(last) : undefined;
}

/** Takes one guard after the other out, and tells which of them the judge misses. */
async function tryAll(guards: readonly Guard[], args: readonly string[]): Promise<number> {
  let found = 0;
  for (const guard of guards) {
    const what = await huntWithout(guard, args);
    if (what !== undefined && what.failed.length > 0) {
      found++;
      say(
        `${guard.name}: ${[...new Set(what.rules)].join(', ')} at seed ${what.failed[0]}, the ${what.seeds}. of "${guard.theme}" that was played`,
      );
    } else
      say(
        `${guard.name}: ${what === undefined ? 'the world itself has ended' : `not found in ${what.seeds} seeds of "${guard.theme}"`}`,
      );
  }
  say(`${found} found, ${guards.length - found} not found`);
  return found === guards.length ? 0 : 1;
}

/** All arguments but `--break` and its value. */
function others(args: readonly string[]): string[] {
  return args.filter((arg, i) => arg !== '--break' && args[i - 1] !== '--break' && !arg.startsWith('--break='));
}

const args = process.argv.slice(2);
const { break: broken } = parseArgs({ args, strict: false, options: { break: { type: 'string' } } }).values;
if (broken === undefined) process.exitCode = await run(await bundle(), args);
else if (broken === 'list') for (const { name } of GUARDS) say(name);
else {
  const names = broken === 'all' ? GUARDS.map(({ name }) => name) : String(broken).split(',');
  const guards = names.map((name) => {
    const guard = GUARDS.find((one) => one.name === name);
    if (guard === undefined) throw new Error(`no guard is called "${name}"; --break list names them`);
    return guard;
  });
  const [first, ...more] = guards;
  if (first === undefined || more.length > 0) process.exitCode = await tryAll(guards, others(args));
  else process.exitCode = await run(await without(first), others(args).concat('--break', first.name));
}
