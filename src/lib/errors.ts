/** The error of this project: a code of the catalogue, a sentence for people, details for programs. */

/** Codes that may leave the node, with their meanings. Lower snake case (decision H2). */
export const ERROR_CODES = {
  // The request itself
  invalid_request: 'The request does not have the shape that the operation asks for.',
  malformed_json: 'The body is not valid JSON.',
  malformed_transaction: 'A transaction cannot be decoded.',
  malformed_key_pair: 'A key pair cannot be decoded or does not belong to its address.',
  invalid_socket_address: 'The address is not a valid ip:port.',
  blank_passphrase: 'The new passphrase is blank.',
  too_many_outputs: 'The addresses have more unspent outputs than one answer lists.',
  no_addresses: 'No address was given.',
  payload_too_large: 'The body is larger than the node accepts.',
  unsupported_media_type: 'The body is not application/json.',
  idempotency_conflict: 'The x-cache-id was used before with another route or body.',
  idempotency_key_reused: 'The Idempotency-Key was used before for another request.',
  // Access
  missing_api_key: 'The route needs an API key and none was sent.',
  invalid_api_key: 'This node does not know the API key, or the key does not cover the route.',
  wrong_passphrase: 'The wallet passphrase is wrong.',
  rate_limited: 'Too many requests from this address.',
  unknown_host: 'The node is not known by the name in the Host header.',
  // Not found
  not_found: 'The node has no such route.',
  method_not_allowed: 'The route exists, but not with this method.',
  entry_not_found: 'No entry is stored under this key.',
  block_not_found: 'No block is stored at this number.',
  no_blocks: 'No block has been stored yet.',
  item_not_found: 'No item was created under this genesis hash.',
  trade_not_found: 'No trade of this wallet has this name.',
  payment_not_found: 'No payment of this wallet with this hash waits to be sent.',
  // Refused by the rules of the chain
  transaction_rejected: 'A rule of the chain refuses the transaction.',
  double_spend: 'An input is spent by another transaction.',
  unknown_input: 'An input does not exist or is still locked.',
  invalid_signature: 'A signature or script does not verify.',
  too_many_ancestors: 'The transaction is behind too many others that wait for a block.',
  mempool_full: 'The pool of this mempool node is full.',
  insufficient_funds: 'The wallet cannot pay this amount.',
  payment_refused: 'The payment cannot be constructed.',
  trade_refused: 'The trade cannot be made this way, or a document of it does not belong to it or was changed.',
  trade_closed: 'The trade is not open for this any more.',
  payment_sent: 'The payment may be in a block yet; it cannot be abandoned.',
  block_refused: 'A block fails verification and is not stored.',
  outcome_unknown:
    'It is not known whether the transactions were taken: send the same ones again; they happen only once.',
  // The node cannot do something, or not now
  mempool_unreachable: 'The mempool node cannot be reached or is not ready.',
  storage_unreachable: 'The storage node cannot be reached or is not ready.',
  peer_unreachable: 'No link to the peer could be opened.',
  link_refused: 'One of two nodes refuses a link to the other.',
  duplicate_link: 'The two nodes have a link already.',
  no_wallet: 'This node exposes no wallet.',
  wallet_unreadable: 'The wallet store cannot be read.',
  wallet_exists: 'The folder has a wallet with other words.',
  wallet_write_failed: 'The wallet store cannot be written.',
  refresh_failed: 'The refresh could not be requested.',
  not_mining: 'This node does not mine.',
  cannot_pay: 'This node cannot make payments.',
  archive_incomplete:
    'The archive does not have this now: it is being made whole, or its object store cannot be read; try again.',
  index_off: 'This storage node keeps no index of the chain.',
  index_incomplete: 'The index of the chain is being built and cannot answer yet; try again.',
  write_failed: 'The node cannot write to its disk now; nothing was accepted.',
  overloaded: 'The node has more work than it can take; try again.',
  shutting_down: 'The node is stopping.',
  internal_error: 'Something broke inside the node.',
  // The node itself
  invalid_config: 'The configuration is wrong.',
  port_in_use: 'Another program listens on the port.',
  data_dir_locked: 'Another process uses this data directory.',
  data_dir_invalid: 'The data directory does not belong to this node.',
  data_corrupt: 'Stored data fails its own checks; the node must not go on.',
  data_lost: 'Stored data that was acknowledged is missing; the node must not go on.',
  other_chain: 'Storage has other blocks than this mempool node; the node must not go on.',
  state_diverged:
    'The state of this mempool node differs from that of the others at its journal; the node must not go on.',
  database_failed: 'The database cannot be read or written: permissions, a full disk, too many open files.',
  protocol_violation: 'A peer broke the protocol.',
  aborted: 'The operation was cancelled.',
  // Commands
  node_unreachable: 'The API of the node cannot be reached.',
  backup_invalid: 'The folder holds no usable backup.',
} as const;

export type ErrorCode = keyof typeof ERROR_CODES;

export interface ErrorOptions {
  readonly cause?: unknown;
  /** Facts for programs and logs. Never holds a secret. */
  readonly details?: Readonly<Record<string, unknown>>;
}

/** An error with a code of the catalogue. `message` is written for the person who reads it. */
export class TesseraError extends Error {
  readonly code: ErrorCode;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, message: string, options: ErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'TesseraError';
    this.code = code;
    this.details = options.details ?? {};
  }
}

/** True when the value is a `TesseraError`, of the given code if one is named. */
export function isTesseraError(value: unknown, code?: ErrorCode): value is TesseraError {
  return value instanceof TesseraError && (code === undefined || value.code === code);
}

/** The text of anything that was thrown. */
export function errorMessage(value: unknown): string {
  return value instanceof Error ? value.message : String(value);
}
