/** The form of a key for protected routes. */

/** Characters of a key, at least. */
const MIN_KEY_LENGTH = 16;
const SHA256_HEX = /^[0-9a-fA-F]{64}$/;

/** What is wrong with a configured key, as the end of a sentence that begins with its name; null when nothing is. */
export function apiKeyFault({
  key,
  sha256,
}: {
  readonly key?: string | undefined;
  readonly sha256?: string | undefined;
}) {
  if ((key === undefined) === (sha256 === undefined)) return 'needs either key or sha256';
  if (key !== undefined && key.length < MIN_KEY_LENGTH) return `has a key of less than ${MIN_KEY_LENGTH} characters`;
  if (sha256 !== undefined && !SHA256_HEX.test(sha256)) return 'has a sha256 that is not 64 hexadecimal digits';
  return null;
}
