/**
 * The rules that the state of every replica follows, as they are kept beside the journal: a node with others would apply the same
 * commands to another state. One line for each, so that an operator can read them with etcdctl.
 */

import { TesseraError } from '../../lib/errors.js';

/** Name → value, both printable and in one line. */
export type SharedRules = Readonly<Record<string, string>>;

/**
 * Rules to keep after a node with these rules has joined; undefined when they are there already. A rule that only one side
 * has is of another version, and is added. Throws `invalid_config`, which names the first rule that differs.
 */
export function joinRules(kept: string | undefined, own: SharedRules): string | undefined {
  const rules = new Map(kept === undefined ? [] : readRules(kept));
  for (const [name, value] of Object.entries(own).sort(byName)) {
    const other = rules.get(name) ?? value;
    if (other !== value) throw differentRule(name, value, other);
    rules.set(name, value);
  }
  const all = [...rules].sort(byName).map(([name, value]) => `${name} ${value}\n`);
  const text = all.join('');
  return text === kept ? undefined : text;
}

function readRules(text: string): [name: string, value: string][] {
  const lines = text.split('\n').filter((line) => line !== '');
  return lines.map((line) => {
    const space = line.indexOf(' ');
    return [line.slice(0, space), line.slice(space + 1)];
  });
}

function differentRule(name: string, own: string, kept: string): TesseraError {
  return new TesseraError(
    'invalid_config',
    `the journal in etcd was written by other rules: ${name} is "${own}" here and "${kept}" there; set the same on all mempool nodes`,
  );
}

function byName([a]: readonly [string, string], [b]: readonly [string, string]): number {
  return a < b ? -1 : 1;
}
