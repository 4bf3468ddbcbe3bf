/** "Did you mean …?" for mistyped names. */

import { closestMatch } from 'leven';

/** The question `; did you mean api.port?`, with the nearest known name; empty when no name is close. */
export function didYouMean(name: string, known: readonly string[]): string {
  const near = closestMatch(name, known, { maxDistance: Math.max(2, Math.floor(name.length / 3)) });
  return near === undefined ? '' : `; did you mean ${near}?`;
}
