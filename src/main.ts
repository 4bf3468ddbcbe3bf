#!/usr/bin/env node
/**
 * The entry: tells a Node that is too old what it needs, and loads the program otherwise. Nothing is imported before that,
 * and the syntax is old on purpose, so that an old Node can read this file.
 */

/** The lowest version of Node that runs the program; `engines` in package.json says the same. */
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
