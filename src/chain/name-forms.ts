/** A name as people type it, which may be in capitals. */

/** The names that a text may be: itself, and in small letters, but for the `H` of an address of 63 digits. */
export function nameForms(text: string): readonly string[] {
  const small = text.toLowerCase();
  return [...new Set([text, /^[bgh]?[0-9a-f]+$/.test(small) ? small.replace(/^h/, 'H') : text])];
}
