/**
 * Logging as a seam: services take a `Logger`; the node gives them a pino child, tests `silentLogger` or one that collects.
 */

/** One line at a level: facts for programs in `fields`, a sentence for people in `message`. Never a secret in either. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

const ignore = (): void => undefined;

/** Says nothing. */
export const silentLogger: Logger = { debug: ignore, info: ignore, warn: ignore, error: ignore };
