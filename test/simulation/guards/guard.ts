/** A guard of the program: a change of one place of the sources takes it out, or of two where a second guard stands behind the first. */

import type { Edit } from '../bundle.js';
import type { ThemeName } from '../themes.js';

export interface Guard {
  readonly name: string;
  /** Stories of this theme are the ones in which it is missed. */
  readonly theme: ThemeName;
  readonly edits: readonly Edit[];
}

export function guard(
  theme: ThemeName,
  name: string,
  file: string,
  find: string,
  put: string,
  ...behind: readonly Edit[]
): Guard {
  return { name, theme, edits: [{ file, find, put }, ...behind] };
}
