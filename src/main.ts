#!/usr/bin/env node
/**
 * The entry point: checks the version of Node.js, then loads the program. Nothing is imported before the check, and the
 * syntax is old on purpose, so that an old Node.js can run this file.
 */

/**
 * The oldest version of each line of Node.js that runs the program, and the line from which on all do: `engines` in
 * package.json.
 */
const OLDEST: Readonly<Record<number, number>> = { 20: 19, 22: 13 };
const ALL_FROM = 24;

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
const oldest = OLDEST[major];

// A process that ends before the program has said anything else has failed.
process.exitCode = 1;

if (major >= ALL_FROM || (oldest !== undefined && minor >= oldest)) {
  void import('./start/load-program.js').then(({ loadProgram }) => loadProgram().program.startProgram());
} else {
  process.stderr.write(
    `tessera: Node.js 20.19, 22.13, 24 or newer is needed, and this is ${process.versions.node}. See https://nodejs.org\n`,
  );
}

export {};
