/**
 * `tessera-node/wallet`: keys, addresses, payments, items and trades, built and signed where the keys are: in a page or a program. Runs
 * in browsers and in Node.js; opens no connection and keeps nothing (docs/client-library.md).
 */

export { addressOf, BURN_ADDRESS, isPayableAddress as isAddress } from '../chain/address.js';
export { decodeTransaction, encodeTransaction } from '../chain/codec.js';
export { transactionHash } from '../chain/hash.js';
export type {
  AddressVersion,
  Asset,
  DruidExpectation,
  DruidInfo,
  OutPoint,
  Transaction,
  TxIn,
  TxOut,
} from '../chain/types.js';
export { UnknownOutcome } from '../client/repeat.js';
export { NoAnswer } from '../client/transport.js';
export { type KeyPair, sign, verifySignature } from '../crypto/ed25519.js';
export { ERROR_CODES, type ErrorCode, isTesseraError, TesseraError } from '../lib/errors.js';
export type { Fault } from '../lib/fault.js';
export type { Account } from '../wallet/keys/derived-keys.js';
export type { Acceptance, Confirmation, Offer, TradeDocument } from '../wallet/trades/documents.js';
export { formatAmount, parseAmount, RAW_UNITS } from './amounts.js';
export {
  exportSecretKey,
  generateMnemonic,
  HdKeys,
  isMnemonic,
  keyPairOf,
  type MnemonicOptions,
  randomKeyPair,
} from './keys.js';
export {
  type Amount,
  balanceOf,
  buildPayment,
  type Funds,
  type ItemOptions,
  type PaymentOptions,
  parseTransaction,
  type SignedTransaction,
  signItemCreation,
  toCreateTransaction,
  transactionFault,
  type UnspentOutput,
  unspentOutputs,
} from './payments.js';
export { type ProofOptions, type ProvingClient, proveOutputs } from './proofs.js';
export { type SubmittingClient, submitTransactions } from './submit.js';
export {
  type AcceptedOffer,
  type AcceptOptions,
  acceptOffer,
  type ConfirmedTrade,
  type ConfirmOptions,
  completeTrade,
  confirmTrade,
  createOffer,
  type OfferOptions,
  readTradeDocument,
  type TradeNetwork,
  termsOf,
} from './trades.js';
