/** The interface for logging: services take a `Logger`. The node passes a pino child, tests a silent or collecting one. */

/** Writes one line at a level: facts for programs in `fields`, a sentence for people in `message`; never a secret in either. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

const ignore = (): void => undefined;

/** Logger that discards every line. */
export const silentLogger: Logger = { debug: ignore, info: ignore, warn: ignore, error: ignore };
