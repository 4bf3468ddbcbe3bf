/** Checks whether a proof of work counts for a round: the rules that need nothing but the round. */

import { decodeTransaction } from '../../chain/codec.js';
import { coinbaseFault } from '../../chain/coinbase.js';
import { transactionHashOfBytes } from '../../chain/hash.js';
import { proofOfWorkFault } from '../../chain/pow.js';
import { fault, type Verdict } from '../../lib/fault.js';
import type { Round } from '../state/round.js';

export const NOT_MINED_NOW = fault('block_refused', 'Not block currently mined');
export const NOT_SELECTED = fault('block_refused', 'Not a selected participant of this block');

/** True for usual refusals: in each round some proofs come late or twice, and followers get proofs that all may send. */
export function isUsual(refusal: Verdict, leads: boolean): boolean {
  return refusal === NOT_MINED_NOW || (refusal === NOT_SELECTED && !leads);
}

/** Judges nonce and coinbase (encoded) of a proof for the round. Throws when the coinbase cannot be decoded. */
export function proofFault(round: Round, nonce: Uint8Array, coinbase: Uint8Array): Verdict {
  const unpaid = coinbaseFault(decodeTransaction(coinbase), BigInt(round.height), round.reward);
  if (unpaid !== null) return fault('block_refused', `Coinbase transaction invalid: ${unpaid.message}`);
  const weak = proofOfWorkFault({ ...round.header, nonce, miningTxHash: transactionHashOfBytes(coinbase) });
  return weak === null ? null : fault('block_refused', `Invalid PoW for block: ${weak.message}`);
}
