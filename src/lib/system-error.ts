/** Errors of the operating system, which are known by their codes. */

export function isSystemError(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && codes.some((code) => code === error.code);
}

/** What a promise that fails for a missing file or folder is caught with: nothing is there then. Throws all other errors. */
export function ifMissing(error: unknown): undefined {
  if (!isSystemError(error, 'ENOENT')) throw error;
}
