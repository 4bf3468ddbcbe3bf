#!/usr/bin/env node
/**
 * The entry point: checks the version of Node.js, then loads the program. Nothing is imported before the check, and the
 * syntax is old on purpose, so that an old Node.js can run this file.
 */

/** The oldest version of Node.js that runs the program; `engines` in package.json says the same. */
const NEEDED = [20, 19];

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
const [neededMajor = 0, neededMinor = 0] = NEEDED;

if (major > neededMajor || (major === neededMajor && minor >= neededMinor)) {
  void import('./cli/program.js');
} else {
  process.stderr.write(
    `tessera: Node.js ${NEEDED.join('.')} or newer is needed, and this is ${process.versions.node}. See https://nodejs.org\n`,
  );
  process.exitCode = 1;
}

export {};
