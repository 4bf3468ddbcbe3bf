/**
 * The rules of the network that two nodes must share, as the handshake compares them: each by its name, so that a difference
 * can be named. A node brings the rules that its role follows; those that both ends bring must be equal or, if they are
 * lists, have a member in common.
 */

import { type Static, Type } from '@sinclair/typebox';
import { fault, type Verdict } from '../../lib/fault.js';

/** Rules that one node can bring. */
const MAX_RULES = 48;

/** The name of a rule (for one that is an option, the option's) → its value, or the hash of a long one. */
export const NetworkRules = Type.Record(
  Type.String({ pattern: '^[a-z][a-z0-9_.]{0,63}$' }),
  Type.String({ pattern: '^[\\x20-\\x7e]{1,160}$' }),
  { maxProperties: MAX_RULES, additionalProperties: false },
);
export type NetworkRules = Static<typeof NetworkRules>;

/**
 * Rules that are lists of words: two nodes need one word in common. In this way a network can change its producer keys while
 * it runs: the new one is added on all nodes, then used, then the old one is taken out.
 */
const LISTS: ReadonlySet<string> = new Set(['network.producer_keys']);

/** Names the first rule that differs; null when all rules that both have are compatible. */
export function rulesFault(own: NetworkRules, theirs: NetworkRules): Verdict {
  for (const [name, value] of Object.entries(own).sort(byName)) {
    const other = Object.hasOwn(theirs, name) ? theirs[name] : undefined;
    if (other === undefined || other === value || (LISTS.has(name) && haveCommonWord(value, other))) continue;
    return fault(
      'link_refused',
      `the two nodes have different rules of the network: ${name} is "${value}" on one and "${other}" on the other; set the same on all nodes`,
    );
  }
  return null;
}

function haveCommonWord(a: string, b: string): boolean {
  const words = new Set(b.split(' '));
  return a.split(' ').some((word) => words.has(word));
}

/** The rules in an order that does not depend on who wrote them down. */
export function listRules(rules: NetworkRules): [name: string, value: string][] {
  return Object.entries(rules).sort(byName);
}

function byName([a]: readonly [string, string], [b]: readonly [string, string]): number {
  return a < b ? -1 : 1;
}
