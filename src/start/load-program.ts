/** Loads the built program, with the code that V8 has compiled of it (docs/adr/0049-one-program-in-few-files.md). */

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire, Module } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Script } from 'node:vm';
import { programFile } from '../lib/program-files.js';

type Program = typeof import('./entries.js');
type ProgramFunction = (exports: Program, require: NodeJS.Require, file: string, folder: string) => void;

const FILE = fileURLToPath(programFile('program.cjs'));
/** SHA-256 (32 bytes) of the program and its compiled code, then that code. `scripts/compile-program.js` makes it with each build. */
export const COMPILED_FILE = `${FILE}.code`;
const SUM_BYTES = 32;

/** Checksum of a program and its compiled code. V8 itself compares only the length of the program. */
export function sumOf(source: Uint8Array, code: Uint8Array): Buffer {
  return createHash('sha256').update(source).update(code).digest();
}

export function loadProgram(): { readonly program: Program; readonly source: Buffer; readonly script: Script } {
  const source = readFileSync(FILE);
  const code = compiledCode(source);
  // One byte for each character: the build writes ASCII alone.
  const text = source.toString('latin1');
  const script = new Script(text, { filename: FILE, ...(code === undefined ? {} : { cachedData: code }) });
  const begin: ProgramFunction = (process as { readonly sourceMapsEnabled?: boolean }).sourceMapsEnabled
    ? asModule(text)
    : script.runInThisContext();
  const program = {} as Program;
  begin(program, createRequire(FILE), FILE, dirname(FILE));
  return { program, source, script };
}

/** The compiled code; undefined where there is none, or that of another program. V8 refuses the code of its other versions. */
function compiledCode(source: Buffer): Buffer | undefined {
  try {
    const file = readFileSync(COMPILED_FILE);
    const code = file.subarray(SUM_BYTES);
    return sumOf(source, code).equals(file.subarray(0, SUM_BYTES)) ? code : undefined;
  } catch {
    return undefined;
  }
}

/** The program compiled as a module: Node.js reads the source maps of modules, and not those of other scripts. */
function asModule(text: string): ProgramFunction {
  const module = new Module(FILE) as Module & { _compile(text: string, file: string): void };
  module._compile(`module.exports = ${text}`, FILE);
  return module.exports as ProgramFunction;
}
