/**
 * Inputs that are kept: those that once broke something, and those that lead into a corner. A file of `corpus/<target>/` is
 * one input in hex; its name says what it does. All are run before anything is made up.
 */

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sha3Hex } from '../../src/crypto/sha3.js';

const FOLDER = join(import.meta.dirname, 'corpus');
const LINE_LENGTH = 128;

export interface KeptInput {
  readonly name: string;
  readonly bytes: Uint8Array;
}

export function readCorpus(target: string): KeptInput[] {
  return namesOf(target).map((name) => {
    const text = readFileSync(join(FOLDER, target, name), 'latin1').replace(/\s/g, '');
    if (!/^([0-9a-f]{2})*$/.test(text)) throw new Error(`corpus/${target}/${name} is not hex`);
    return { name, bytes: Uint8Array.from(Buffer.from(text, 'hex')) };
  });
}

/** Keeps an input; gives its path. */
export function keepInput(target: string, bytes: Uint8Array): string {
  const path = join(FOLDER, target, `found-${sha3Hex(bytes).slice(0, 12)}.hex`);
  mkdirSync(join(FOLDER, target), { recursive: true });
  const lines =
    Buffer.from(bytes)
      .toString('hex')
      .match(new RegExp(`.{1,${LINE_LENGTH}}`, 'g')) ?? [];
  writeFileSync(path, `${lines.join('\n')}\n`);
  return path;
}

function namesOf(target: string): string[] {
  try {
    return readdirSync(join(FOLDER, target)).sort();
  } catch {
    return [];
  }
}
