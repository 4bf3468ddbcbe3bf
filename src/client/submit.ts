/** Sending transactions until it is known what became of them: the same ones happen once, however often they are sent. */

import { isTesseraError, type TesseraError } from '../lib/errors.js';
import { isPassing, mayHaveActed, type Repeating, repeat, UnknownOutcome } from './repeat.js';
import { NoAnswer } from './transport.js';

type Statuses = Readonly<Record<string, { readonly status: string }>>;

export interface Submitting extends Omit<Repeating, 'afterLoss'> {
  /** Sends them once. */
  readonly send: () => Promise<unknown>;
  /** Asks the node for the statuses. */
  readonly ask: () => Promise<Statuses>;
}

/** Throws the node's error when it refuses them, and `UnknownOutcome` when it is not known whether it has them. */
export async function submit(hashes: readonly string[], { send, ask, ...repeating }: Submitting): Promise<void> {
  let isLost = false;
  let isRefused = false;
  const attempt = async (): Promise<void> => {
    try {
      await send();
    } catch (error) {
      if (!isTesseraError(error) || error instanceof UnknownOutcome) throw error;
      // An earlier attempt may have been admitted, and mined since: then a refusal says nothing about it, but the statuses do.
      const found = isLost ? await areKnown(hashes, ask) : false;
      if (found === true) return;
      const isVerdict = !(mayHaveActed(error) || isPassing(error) || error instanceof NoAnswer);
      isRefused = isVerdict && found === false;
      isLost ||= mayHaveActed(error);
      throw isVerdict && found !== false ? found : error;
    }
  };
  try {
    await repeat(attempt, { ...repeating, afterLoss: 'repeat' });
  } catch (error) {
    throw isLost && !isRefused && isTesseraError(error) ? new UnknownOutcome(error) : error;
  }
}

/** Gives the error when nobody says. */
async function areKnown(hashes: readonly string[], ask: () => Promise<Statuses>): Promise<boolean | TesseraError> {
  try {
    const statuses = await ask();
    return hashes.every((hash) => ['Pending', 'Confirmed'].includes(statuses[hash]?.status ?? ''));
  } catch (error) {
    if (isTesseraError(error)) return error;
    throw error;
  }
}
