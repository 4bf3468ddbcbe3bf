/** Errors of the operating system, which are told apart by their codes. */

export function isSystemError(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && codes.some((code) => code === error.code);
}

/** Handler of a promise that fails for a missing file or folder: gives undefined. Throws all other errors. */
export function ifMissing(error: unknown): undefined {
  if (!isSystemError(error, 'ENOENT')) throw error;
}
