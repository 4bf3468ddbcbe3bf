/**
 * What a node does, as types. Made from the operations of the API by `npm run openapi`: change those, not this file. Integers of
 * 64 bits are bigints, both ways.
 */

import type { CallOptions, OperationRow } from '../calls.js';

/** Items of an address, the kinds in the order in which the chain learned of them. */
export interface AddressItemsResponse {
  readonly items: readonly ({
    /** Genesis hash of the item: what names it. */
    readonly genesis_hash: string;
    /** Number of items, at most 2^63-1. */
    readonly amount: bigint;
  })[];
  /** Cursor of the next page; null at the end. */
  readonly next: string | null;
  /** The answer is that after this block; null in an empty chain. */
  readonly as_of_block: bigint | null;
}

/** Unspent outputs of an address, newest first. */
export interface AddressOutputsResponse {
  readonly outputs: readonly ({
    readonly out_point: OutPoint;
    /** What it holds. */
    readonly asset: 'token' | 'item';
    /** Raw token units, or items. */
    readonly amount: bigint;
    /** Genesis hash of the items; null for tokens. */
    readonly genesis_hash: string | null;
    /** Free text from the creator of the items. */
    readonly metadata: string | null;
    /** The number of the first block that may spend it; 0 for any. */
    readonly locktime: bigint;
    /** A transaction hash: g and 31 hex digits; transactions of the first block may have other names. */
    readonly tx_hash: string;
    /** Number of its block. */
    readonly block_num: bigint;
    /** Its place in the block; the coinbase comes last. */
    readonly tx_num: number;
    /** When its block was made, in Unix seconds. */
    readonly time: bigint;
  })[];
  /** Cursor of the next page; null at the end. */
  readonly next: string | null;
  /** The answer is that after this block; null in an empty chain. */
  readonly as_of_block: bigint | null;
}

/** Transactions of an address, newest first. A page behind a cursor has the same entries for ever. */
export interface AddressTransactionsResponse {
  readonly transactions: readonly ({
    /** A transaction hash: g and 31 hex digits; transactions of the first block may have other names. */
    readonly tx_hash: string;
    /** Number of its block. */
    readonly block_num: bigint;
    /** Its place in the block; the coinbase comes last. */
    readonly tx_num: number;
    /** When its block was made, in Unix seconds. */
    readonly time: bigint;
    /**
     * coinbase: the reward of a block. genesis: of block 0. issuance: set by the genesis file for its block.
     * creation: of items. trade: one of a set that happens together or not at all. payment: every other one.
     */
    readonly kind: 'coinbase' | 'genesis' | 'issuance' | 'creation' | 'trade' | 'payment';
    /** Raw units that it pays to the address. */
    readonly received: bigint;
    /** Raw units that it spends from the address. */
    readonly sent: bigint;
    /** The same of items; at most 16 kinds. */
    readonly items: readonly ({
      /** Genesis hash of the item: what names it. */
      readonly genesis_hash: string;
      /** Items that it pays to the address. */
      readonly received: bigint;
      /** Items that it spends from the address. */
      readonly sent: bigint;
    })[];
    /** Kinds of items in all. */
    readonly item_count: bigint;
  })[];
  /** Cursor of the next page; null at the end. */
  readonly next: string | null;
  /** The answer is that after this block; null in an empty chain. */
  readonly as_of_block: bigint | null;
}

/** An asset, tagged by its kind. */
export type ApiAsset = TokenApiAsset | ItemApiAsset;

/** An asset in the form of the chain: an object whose only key names the kind. */
export type AssetValue = TokenValue | ItemValue;

/** Whether blocks are made by themselves from now on. */
export interface AutomineRequest {
  /** True: blocks are made by themselves. False: only for who asks for them. */
  readonly automine: boolean;
}

/** What holds now. */
export interface AutomineResponse {
  /** True: blocks are made by themselves. False: only for who asks for them. */
  readonly automine: boolean;
}

/** A backup file. */
export interface BackupResponse {
  /** The text of the file, as `tessera wallet restore` takes it. */
  readonly backup: string;
}

/** Addresses to look up. */
export interface BalancesQueryRequest {
  readonly addresses: readonly string[];
}

/** What the given addresses hold, including outputs of the block being mined and locked ones. */
export interface BalancesResponse {
  readonly balance: {
    /** Unspent outputs by address, in the order asked; addresses without any are absent. */
    readonly address_list: { readonly [name: string]: readonly OutpointEntry[] };
    readonly total: {
      /** Sum of all tokens, in raw units. */
      readonly tokens: bigint;
      /** Number of items by genesis hash. */
      readonly items: { readonly [name: string]: bigint };
    };
  };
}

/** Header of a block. */
export interface BlockHeader {
  /** Version of the format. */
  readonly version: bigint;
  /** Unused by mining; kept for the hash. */
  readonly bits: bigint;
  /** The nonce that meets the target, and the hash of the coinbase. */
  readonly nonce_and_mining_tx_hash: readonly [Nonce, CoinbaseHash];
  /** Number of the block. */
  readonly b_num: bigint;
  /** When it was made, in Unix seconds; absent from the `oldest` layout of the original node. */
  readonly timestamp?: bigint;
  /**
   * Compact target, four bytes; empty for the fixed difficulty, absent from the `prime` and `oldest` layouts of the
   * original node.
   */
  readonly difficulty?: readonly number[];
  /** ASCII of the unicorn seed and witness. */
  readonly seed_value: readonly number[];
  /** Hash of the block before it; null for block 0. */
  readonly previous_hash: string | null;
  /** Merkle root and hash over the list of transaction hashes. */
  readonly txs_merkle_root_and_hash: readonly [string, string];
}

/** A block, and its place in the chain. */
export interface BlockMeta {
  readonly type: 'block';
  /** Number of the block. */
  readonly block_num: bigint;
  /** Number of its transactions with the coinbase. */
  readonly tx_len: number;
}

/** Transactions of a block, in order. */
export interface BlockTransactionsResponse {
  readonly transactions: readonly ({
    /** A transaction hash: g and 31 hex digits; transactions of the first block may have other names. */
    readonly tx_hash: string;
    /** Number of its block. */
    readonly block_num: bigint;
    /** Its place in the block; the coinbase comes last. */
    readonly tx_num: number;
    /** When its block was made, in Unix seconds. */
    readonly time: bigint;
    /**
     * coinbase: the reward of a block. genesis: of block 0. issuance: set by the genesis file for its block.
     * creation: of items. trade: one of a set that happens together or not at all. payment: every other one.
     */
    readonly kind: 'coinbase' | 'genesis' | 'issuance' | 'creation' | 'trade' | 'payment';
    /** Size of the transaction, encoded. */
    readonly bytes: bigint;
    /** Number of its inputs. */
    readonly input_count: bigint;
    /** Number of its outputs, fees included. */
    readonly output_count: bigint;
    /** Raw units in its outputs and fees. */
    readonly tokens: bigint;
    /**
     * Raw units that were paid: those in its outputs, without the last of several outputs of tokens when it spends
     * any. Wallets put their change there; the chain does not mark it, so this is a guess.
     */
    readonly paid: bigint;
  })[];
  /** Cursor of the next page; null at the end. */
  readonly next: string | null;
}

/** A stored block or transaction. */
export interface BlockchainEntryResponse {
  /** Block hash or transaction hash of the entry. */
  readonly key: string;
  /** The block or transaction. */
  readonly data: StoredBlockData | StoredTransactionData;
  readonly item_meta: BlockchainItemMetaResponse;
}

/** What a stored entry is, and its place in the chain. */
export type BlockchainItemMetaResponse = BlockMeta | TransactionMeta;

/** What an address has, and how much has happened to it. */
export interface ChainAddress {
  /** A payment address: 64 hex digits (32 for addresses of version 0). */
  readonly address: string;
  /** Raw units in its unspent outputs, locked ones included. */
  readonly tokens: bigint;
  /** Raw units that came to it in all, as digits: change counts. */
  readonly received: string;
  /** Raw units that went from it in all, as digits. */
  readonly sent: string;
  /** Transactions that pay it or spend from it. */
  readonly transaction_count: bigint;
  /** Its unspent outputs. */
  readonly unspent_count: bigint;
  /** Kinds of items that it holds. */
  readonly item_count: bigint;
  /** The first of these transactions; null when there is none. */
  readonly first_seen: {
    /** A transaction hash: g and 31 hex digits; transactions of the first block may have other names. */
    readonly tx_hash: string;
    /** Number of its block. */
    readonly block_num: bigint;
    /** Its place in the block; the coinbase comes last. */
    readonly tx_num: number;
    /** When its block was made, in Unix seconds. */
    readonly time: bigint;
  } | null;
  /** The last one. */
  readonly last_seen: {
    /** A transaction hash: g and 31 hex digits; transactions of the first block may have other names. */
    readonly tx_hash: string;
    /** Number of its block. */
    readonly block_num: bigint;
    /** Its place in the block; the coinbase comes last. */
    readonly tx_num: number;
    /** When its block was made, in Unix seconds. */
    readonly time: bigint;
  } | null;
  /** The answer is that after this block; null in an empty chain. */
  readonly as_of_block: bigint | null;
}

/** What a list of blocks says of one. */
export interface ChainBlock {
  /** Number of the block. */
  readonly block_num: bigint;
  /** Its hash. */
  readonly hash: string;
  /** Hash of the block before it; null for block 0. */
  readonly previous_hash: string | null;
  /** When it was made, in Unix seconds. */
  readonly time: bigint;
  /** Number of its transactions with the coinbase. */
  readonly transactions: bigint;
  /** Transactions up to this block, itself included, coinbases left out. */
  readonly transactions_so_far: bigint;
  /** Size of the block with all its transactions, encoded. */
  readonly bytes: bigint;
  /** Compact target, eight hex digits; empty for the fixed difficulty, a hash that begins with a zero byte. */
  readonly difficulty: string;
  /** What its coinbase pays, in raw units. */
  readonly reward: bigint;
  /** Raw units issued up to this block, itself included. */
  readonly issued: bigint;
  /** The address that its coinbase pays. */
  readonly miner: string | null;
  /** Hash of its coinbase. */
  readonly coinbase: string;
}

/** Blocks, newest first. */
export interface ChainBlocksResponse {
  readonly blocks: readonly ChainBlock[];
  /** `before` for the next page: the number of the last block of this one; null at the end. */
  readonly next: bigint | null;
  /** The answer is that after this block; null in an empty chain. */
  readonly as_of_block: bigint | null;
}

/** How far the index of the chain is. */
export interface ChainIndexResponse {
  /** off: storage.index is false. building: blocks are missing in it. waiting: it cannot go on now. */
  readonly state: 'off' | 'building' | 'ready' | 'waiting';
  /** The last block in it. */
  readonly block_num: bigint | null;
  /** Blocks that this node stores. */
  readonly blocks: bigint;
  /** Why it cannot go on now. */
  readonly problem: string | null;
}

/** An item, and how many have it. */
export interface ChainItem {
  /** Genesis hash of the item: what names it. */
  readonly genesis_hash: string;
  /** Free text from its creator: show it as text and nothing else. */
  readonly metadata: string | null;
  /** The address that it was first created for. */
  readonly creator: string | null;
  /** How many were created, as digits. */
  readonly issued: string;
  /** The transaction that first created it. */
  readonly created: {
    /** A transaction hash: g and 31 hex digits; transactions of the first block may have other names. */
    readonly tx_hash: string;
    /** Number of its block. */
    readonly block_num: bigint;
    /** Its place in the block; the coinbase comes last. */
    readonly tx_num: number;
    /** When its block was made, in Unix seconds. */
    readonly time: bigint;
  };
  /** Addresses that hold some. */
  readonly holder_count: bigint;
  /** Transactions with some in an input or output. */
  readonly transfer_count: bigint;
  /** The answer is that after this block; null in an empty chain. */
  readonly as_of_block: bigint | null;
}

/** An output, and the transaction that spends it. */
export interface ChainOutput {
  /** A transaction hash: g and 31 hex digits; transactions of the first block may have other names. */
  readonly tx_hash: string;
  /** Index of the output. */
  readonly n: number;
  /** Address of the output; null when nobody can spend it. */
  readonly address: string | null;
  /** What it holds. */
  readonly asset: 'token' | 'item';
  /** Raw token units, or items. */
  readonly amount: bigint;
  /** Genesis hash of the items; null for tokens. */
  readonly genesis_hash: string | null;
  /** Free text from the creator of the items. */
  readonly metadata: string | null;
  /** The number of the first block that may spend it; 0 for any. */
  readonly locktime: bigint;
  /** A fee output. */
  readonly fee: boolean;
  /** Number of the block that made it. */
  readonly block_num: bigint;
  /** What spends it; null while it is unspent. */
  readonly spent_by: {
    /** The transaction that spends it. */
    readonly tx_hash: string;
    /** Index of the input that spends it. */
    readonly input: number;
    /** Number of the block of that transaction. */
    readonly block_num: bigint;
  } | null;
  /** The answer is that after this block; null in an empty chain. */
  readonly as_of_block: bigint | null;
}

/** A transaction, the outputs it spends, and the transactions that spend its own. */
export interface ChainTransaction {
  /** A transaction hash: g and 31 hex digits; transactions of the first block may have other names. */
  readonly tx_hash: string;
  /** Number of its block. */
  readonly block_num: bigint;
  /** Its place in the block; the coinbase comes last. */
  readonly tx_num: number;
  /** When its block was made, in Unix seconds. */
  readonly time: bigint;
  /**
   * coinbase: the reward of a block. genesis: of block 0. issuance: set by the genesis file for its block. creation:
   * of items. trade: one of a set that happens together or not at all. payment: every other one.
   */
  readonly kind: 'coinbase' | 'genesis' | 'issuance' | 'creation' | 'trade' | 'payment';
  /** Size of the transaction, encoded. */
  readonly bytes: bigint;
  /** Number of its inputs. */
  readonly input_count: bigint;
  /** Number of its outputs, fees included. */
  readonly output_count: bigint;
  /** Raw units in its outputs and fees. */
  readonly tokens: bigint;
  /**
   * Raw units that were paid: those in its outputs, without the last of several outputs of tokens when it spends any.
   * Wallets put their change there; the chain does not mark it, so this is a guess.
   */
  readonly paid: bigint;
  /** Hash of its block. */
  readonly block_hash: string;
  /** Blocks from its own to the last one: 1 in the last block. */
  readonly confirmations: bigint;
  /** Version of the format. */
  readonly version: bigint;
  /** Index of the first input listed. */
  readonly first_input: bigint;
  /** At most 500, from `first_input` on; fewer when what they spend is large. */
  readonly inputs: readonly ({
    /** The output that it spends; null for what creates: coinbases, issuances, items. */
    readonly source: {
      /** A transaction hash: g and 31 hex digits; transactions of the first block may have other names. */
      readonly tx_hash: string;
      /** Index of the output. */
      readonly n: number;
      /** Address of the output; null when nobody can spend it. */
      readonly address: string | null;
      /** What it holds. */
      readonly asset: 'token' | 'item';
      /** Raw token units, or items. */
      readonly amount: bigint;
      /** Genesis hash of the items; null for tokens. */
      readonly genesis_hash: string | null;
      /** Free text from the creator of the items. */
      readonly metadata: string | null;
      /** The number of the first block that may spend it; 0 for any. */
      readonly locktime: bigint;
      /** A fee output. */
      readonly fee: boolean;
      /** Number of the block that made it. */
      readonly block_num: bigint;
    } | null;
    /** Its script, from the bottom of the stack to the top. */
    readonly script: readonly ({
      /** What it is. */
      readonly kind: 'op' | 'signature' | 'pubkey' | 'num' | 'bytes';
      /** Name of the operation, hex digits of a key or signature, digits, or text. */
      readonly value: string;
    })[];
  })[];
  /** Index of the first output listed. */
  readonly first_output: bigint;
  /** Outputs, then fees; at most 500, from `first_output` on. */
  readonly outputs: readonly ({
    /** Index of the output. */
    readonly n: number;
    /** Address of the output; null when nobody can spend it. */
    readonly address: string | null;
    /** What it holds. */
    readonly asset: 'token' | 'item';
    /** Raw token units, or items. */
    readonly amount: bigint;
    /** Genesis hash of the items; null for tokens. */
    readonly genesis_hash: string | null;
    /** Free text from the creator of the items. */
    readonly metadata: string | null;
    /** The number of the first block that may spend it; 0 for any. */
    readonly locktime: bigint;
    /** A fee output. */
    readonly fee: boolean;
    /** What spends it; null while it is unspent. */
    readonly spent_by: {
      /** The transaction that spends it. */
      readonly tx_hash: string;
      /** Index of the input that spends it. */
      readonly input: number;
      /** Number of the block of that transaction. */
      readonly block_num: bigint;
    } | null;
  })[];
  /** Null unless it is part of a trade. */
  readonly trade: {
    /** The name of the trade. Text of strangers. */
    readonly druid: string;
    /** Number of transactions in it. */
    readonly participants: bigint;
    /** The other transactions of the trade; at most 100. */
    readonly partners: readonly string[];
    /** What it asks of the others; at most 500. `from` names inputs, `to` is an address. */
    readonly expectations: readonly ({
      readonly from: string;
      readonly to: string;
      /** What it holds. */
      readonly asset: 'token' | 'item';
      /** Raw token units, or items. */
      readonly amount: bigint;
      /** Genesis hash of the items; null for tokens. */
      readonly genesis_hash: string | null;
      /** Free text from the creator of the items. */
      readonly metadata: string | null;
    })[];
  } | null;
  /** The answer is that after this block; null in an empty chain. */
  readonly as_of_block: bigint | null;
}

/** A change of the wallet passphrase. */
export interface ChangePassphraseRequest {
  /** The current passphrase. */
  readonly old_passphrase: string;
  /** The new passphrase; not blank. */
  readonly new_passphrase: string;
}

/** Hash of the coinbase. */
export type CoinbaseHash = string;

/** Items to create. For a mempool node, the client signs them; other nodes sign them with their wallet. */
export interface CreateItemRequest {
  /** Create makes a class of its own, Default adds to the shared class. Upper or lower case. */
  readonly genesis_hash_spec: string;
  /** Number of items to create. */
  readonly item_amount: bigint;
  /** Free text, at most 800 bytes of UTF-8. */
  readonly metadata?: string | null;
  /** Hex ed25519 key of the creator. Required by a mempool node, else ignored. */
  readonly public_key?: string | null;
  /** Address that gets the items. Required by a mempool node, else ignored. */
  readonly script_public_key?: string | null;
  /**
   * Hex ed25519 signature over the hex text of SHA3-256("Item:<item_amount>"). Required by a mempool node, else
   * ignored.
   */
  readonly signature?: string | null;
}

/** A signed transaction. */
export interface CreateTransaction {
  readonly inputs: readonly CreateTxIn[];
  readonly outputs: readonly CreateTxOut[];
  /** Version of the transaction; any number is accepted and kept. */
  readonly version: bigint;
  /** Outputs that pay fees. */
  readonly fees?: readonly CreateTxOut[] | null;
  readonly druid_info?: DruidInfo | null;
}

/** Transactions to submit. */
export interface CreateTransactionsRequest {
  /** Admitted together or not at all. */
  readonly transactions: readonly CreateTransaction[];
}

/** What was admitted to the mempool. */
export interface CreateTransactionsResponse {
  /** The admitted transactions by hash. */
  readonly transactions: { readonly [name: string]: TxOutputSummary };
}

/** An output to spend, and the script that spends it. In effect a script_signature is required. */
export interface CreateTxIn {
  /** The output to spend. Null only in answers, for a coinbase. */
  readonly previous_out: OutPoint | null;
  readonly script_signature?: CreateTxInScript | null;
}

/** The script that spends an output: the short form of pay-to-public-key-hash, or a whole script. */
export type CreateTxInScript = Pay2PkHScript | StackScript;

/** An output. */
export interface CreateTxOut {
  readonly value: AssetValue;
  /** Number of the first block in which it can be spent; 0 is at once. */
  readonly locktime: bigint;
  /** Address that is paid. */
  readonly script_public_key?: string | null;
}

/** A header to find a nonce for, and its reward. */
export interface CurrentBlock {
  readonly block: BlockHeader;
  /** Block reward in raw token units. */
  readonly reward: bigint;
}

/** The block being mined; null before the first. */
export interface CurrentBlockResponse {
  readonly block: CurrentBlock | null;
}

/** What this node is and serves. */
export interface DebugData {
  /** The /v1 paths mounted on this node. */
  readonly node_api: readonly string[];
  /** Connected mempool and storage nodes. */
  readonly node_peers: readonly PeerInfo[];
  /** Type of this node: Mempool, Storage, Miner, User, or several with slashes between them. */
  readonly node_type: string;
  /** Proof-of-work difficulty by route; empty when none is asked for. */
  readonly routes_pow: { readonly [name: string]: bigint };
}

/** Transactions to decode. */
export interface DeserializeTransactionsRequest {
  readonly transactions: readonly string[];
}

/** Decoded transactions. */
export interface DeserializeTransactionsResponse {
  readonly transactions: readonly CreateTransaction[];
}

/** An account that is funded in block 0 and whose keys everyone knows. */
export interface DevAccount {
  /** The number of the account, or `user` or `miner`. */
  readonly account: string;
  /** A payment address: 64 hex digits (32 for addresses of version 0). */
  readonly address: string;
  /** Raw units that it has in block 0. */
  readonly tokens: bigint;
}

/** What this dev network is. */
export interface DevFactsResponse {
  readonly accounts: readonly DevAccount[];
  /** Base URL of the API of each node, by role. */
  readonly urls: { readonly [name: string]: string };
  /** Milliseconds between blocks; null when they are made on demand. */
  readonly interval_ms: bigint | null;
  /** False while blocks are made only for who asks for them. */
  readonly automine: boolean;
  /** Unix seconds on the clock of the chain. */
  readonly time: number;
}

/** One of the two members. */
export interface DevTimeRequest {
  /** Sets the clock to this time. */
  readonly time?: number;
  /** Moves the clock on by so many seconds. */
  readonly advance?: number;
}

/** The clock of the chain. */
export interface DevTimeResponse {
  /** Unix seconds on the clock of the chain. */
  readonly time: number;
}

/** Whom to ask for a donation. */
export interface DonationRequest {
  /** ip:port of the node to ask. */
  readonly address: string;
}

/** The last donations that were asked for, newest first. */
export interface DonationRequestsResponse {
  readonly requests: readonly ({
    /** Place in the list of all, which never changes. */
    readonly number: bigint;
    /** The node that was asked. */
    readonly peer: string;
    /** Unix seconds. */
    readonly asked_at: bigint;
    /**
     * accepted: the peer says that it pays; the funds come with a block. declined: it does not pay. unanswered: it
     * said nothing in time, and may still pay.
     */
    readonly outcome: 'accepted' | 'declined' | 'unanswered';
    /** Any text that the peer sent; or why there is no answer. */
    readonly reason: string | null;
  })[];
}

/** A payment that another transaction of the same trade must make. */
export interface DruidExpectation {
  /** Digest of the inputs of the paying party. */
  readonly from: string;
  /** Address that must be paid. */
  readonly to: string;
  readonly asset: AssetValue;
}

/** What the other transactions must pay. */
export type DruidExpectations = readonly DruidExpectation[];

/** Ties transactions together: all of them enter a block, or none. */
export interface DruidInfo {
  /** Name of the trade. */
  readonly druid: string;
  /** Number of transactions that belong together. */
  readonly participants: bigint;
  /** What the other transactions must pay; one may stand without a list. */
  readonly expectations: DruidExpectations | DruidExpectation;
  readonly genesis_hash?: string | null;
}

/** Nothing. */
export type EmptyRequest = object;

/** Keys to look up. */
export interface EntriesQueryRequest {
  readonly keys: readonly string[];
}

/** A payment out of nothing but the wallet of the miner, or from any address. */
export interface FaucetRequest {
  /** Who is paid. */
  readonly address: string;
  /** Raw units. By default 72,072,000,000, which is 1,000 display units. */
  readonly amount?: bigint;
  /** Address that is spent from without its key, in networks with --impersonate. */
  readonly from?: string;
  /** True: `amount` is the balance afterwards. What is too much goes to the miner, if the network impersonates. */
  readonly set?: boolean;
}

/** The payment of the faucet. */
export interface FaucetResponse {
  /** Null when the balance was the wanted one. */
  readonly tx_hash: string | null;
  /** Who is paid: with `set`, the miner if the balance was too large. */
  readonly to_address: string;
  /** Raw token units; 72,072,000 of them are one display unit. */
  readonly amount: bigint;
  /**
   * The block that the payment is in; null when the network makes its blocks at an interval, or only for who asks for
   * them.
   */
  readonly block_num: bigint | null;
}

/** Health of the node. */
export interface HealthResponse {
  readonly status: 'ok' | 'degraded' | 'unavailable';
  /** Why the node is degraded or not ready; empty when it is ok. */
  readonly reasons: readonly string[];
}

/** Key pairs to import. */
export interface ImportKeypairsRequest {
  /** Key pairs by payment address; the address must belong to the key. All are imported or none. */
  readonly addresses: { readonly [name: string]: Keypair };
}

/** The imported addresses. */
export interface ImportKeypairsResponse {
  /** The imported addresses. */
  readonly imported: readonly string[];
  /**
   * An extension of the contract: the addresses among them of version 99999. Other keys can have the same address,
   * and spend from it.
   */
  readonly temporary_addresses?: readonly string[];
}

/** The node will create the items. */
export interface ItemAcceptedResponse {
  /** Number of items requested. */
  readonly item_amount: bigint;
}

/** Items of one class. */
export interface ItemApiAsset {
  readonly kind: 'item';
  /** Number of items. */
  readonly amount: bigint;
  /** Hash of the transaction that created the item, if known; the name of its class. */
  readonly genesis_hash?: string | null;
  /** Free text from the creator. */
  readonly metadata?: string | null;
}

/** The created items. */
export interface ItemCreatedResponse {
  readonly asset: ApiAsset;
  /** Address the items were created for. */
  readonly to_address: string;
  /** Hash of the creating transaction. */
  readonly tx_hash: string;
}

/** Holders of an item, the largest amount first. */
export interface ItemHoldersResponse {
  readonly holders: readonly ({
    readonly address: string;
    /** Number of items, at most 2^63-1. */
    readonly amount: bigint;
  })[];
  /** Cursor of the next page; null at the end. */
  readonly next: string | null;
  /** The answer is that after this block; null in an empty chain. */
  readonly as_of_block: bigint | null;
}

/** How an item was created. */
export interface ItemInfoResponse {
  readonly genesis_hash: string;
  /** Free text from the creator. */
  readonly metadata: string | null;
  /** Number of items created. */
  readonly total_amount: bigint;
  readonly created: {
    readonly block_num: bigint;
    /** A transaction hash: g and 31 hex digits; transactions of the first block may have other names. */
    readonly tx_hash: string;
  };
  /** Address the items were created for. */
  readonly creator_address: string | null;
}

/** A payment with items from the wallet of this node. */
export interface ItemPaymentRequest {
  /** What address names. */
  readonly kind: 'address' | 'ip';
  /** A payment address (kind address) or the ip:port of a node (kind ip). */
  readonly address: string;
  /** The class of the items: the hash of the transaction that created them, or default_genesis_hash. */
  readonly genesis_hash: string;
  /** How many; 0 and more than 2^63 - 1 cannot be paid (422). */
  readonly amount: bigint;
  /** Number of the first block in which the payee can spend it; null means 0. */
  readonly locktime?: bigint | null;
  /** The passphrase of the wallet. */
  readonly passphrase: string;
}

/** Transactions with items of one kind, newest first. */
export interface ItemTransfersResponse {
  readonly transfers: readonly ({
    /** A transaction hash: g and 31 hex digits; transactions of the first block may have other names. */
    readonly tx_hash: string;
    /** Number of its block. */
    readonly block_num: bigint;
    /** Its place in the block; the coinbase comes last. */
    readonly tx_num: number;
    /** When its block was made, in Unix seconds. */
    readonly time: bigint;
    /**
     * coinbase: the reward of a block. genesis: of block 0. issuance: set by the genesis file for its block.
     * creation: of items. trade: one of a set that happens together or not at all. payment: every other one.
     */
    readonly kind: 'coinbase' | 'genesis' | 'issuance' | 'creation' | 'trade' | 'payment';
    /** Items of this kind in its outputs, at most 2^63-1. */
    readonly amount: bigint;
    /** Whose they were; at most 8. */
    readonly from: readonly ({
      readonly address: string;
      /** Number of items, at most 2^63-1. */
      readonly amount: bigint;
    })[];
    /** Addresses that they come from, in all. */
    readonly from_count: bigint;
    /** Whose they are then; at most 8. */
    readonly to: readonly ({
      readonly address: string;
      /** Number of items, at most 2^63-1. */
      readonly amount: bigint;
    })[];
    /** Addresses that they go to, in all. */
    readonly to_count: bigint;
  })[];
  /** Cursor of the next page; null at the end. */
  readonly next: string | null;
  /** The answer is that after this block; null in an empty chain. */
  readonly as_of_block: bigint | null;
}

/** Items of one class, in the form of the chain. */
export interface ItemValue {
  readonly Item: {
    /** Number of items. */
    readonly amount: bigint;
    readonly genesis_hash?: string | null;
    readonly metadata?: string | null;
  };
}

/** The bytes of a transaction and their hash. */
export interface JsonSerializedTransaction {
  /** A transaction hash: g and 31 hex digits; transactions of the first block may have other names. */
  readonly txn_hash_hex: string;
  /** The bytes of the transaction (bincode) in hex. */
  readonly txn_hex: string;
}

/** A key pair. Holds the private key: whoever has it can spend. */
export interface Keypair {
  /** ed25519 public key in hex. */
  readonly public_key: string;
  /** Private key in hex: PKCS#8 v2 (85 bytes); on import also the 32-byte seed or the 64-byte secret. */
  readonly secret_key: string;
  /** null for the current form of address, 0 the short, 99999 the temporary. */
  readonly address_version?: bigint | null;
}

/** The key pairs of the wallet. */
export interface KeypairsResponse {
  /** Key pairs by payment address. */
  readonly addresses: { readonly [name: string]: Keypair };
}

/** Labels to set. */
export interface LabelsRequest {
  readonly labels: readonly ({
    /** What name is. */
    readonly kind: 'address' | 'transaction';
    /** The address, or the hash of the transaction. */
    readonly name: string;
    /** At most 256 bytes of UTF-8; empty takes the label away. */
    readonly label: string;
  })[];
}

/** The labels of the wallet. */
export interface LabelsResponse {
  readonly labels: readonly ({
    /** What name is. */
    readonly kind: 'address' | 'transaction';
    /** The address, or the hash of the transaction. */
    readonly name: string;
    /** At most 256 bytes of UTF-8; empty takes the label away. */
    readonly label: string;
  })[];
}

/** The latest stored block. */
export interface LatestBlockResponse {
  readonly block: StoredBlockData;
}

/** How many blocks to make. */
export interface MakeBlocksRequest {
  /** How many; 1 by default. */
  readonly count?: number;
  /** Time of the blocks. The clock goes on from there. */
  readonly time?: number;
}

/** The blocks that were made. */
export interface MakeBlocksResponse {
  /** Numbers of the blocks, in order. */
  readonly block_nums: readonly bigint[];
}

/** What waits, as blocks to come. */
export interface MempoolResponse {
  /** Transactions that wait for a block, or for others of their trade. */
  readonly transactions: bigint;
  /** Their size, encoded. */
  readonly bytes: bigint;
  /** Those being made, and at most 8 after them. */
  readonly blocks: readonly ({
    /** Number of the block. */
    readonly block_num: bigint;
    /** True: it is certain. False: it may change with what comes. */
    readonly being_made: boolean;
    /** Number of its transactions. */
    readonly transactions: bigint;
    /** Their size, encoded. */
    readonly bytes: bigint;
    /** Its first transactions, in the order of service; at most 50. */
    readonly first: readonly ({
      /** A transaction hash: g and 31 hex digits; transactions of the first block may have other names. */
      readonly tx_hash: string;
      /** Size of the transaction, encoded. */
      readonly bytes: bigint;
      /** When it was first seen, in Unix seconds. */
      readonly time: bigint;
    })[];
  })[];
}

/** A page of the history. */
export interface MovementsResponse {
  readonly movements: readonly ({
    /** Place in the history, in the order in which the wallet learned of them. It never changes. */
    readonly number: bigint;
    /** Null when the wallet does not know which transaction it was. */
    readonly tx_hash: string | null;
    /** Its hash in the chain, when a copy with another unsigned version was mined. */
    readonly chain_hash: string | null;
    /**
     * merge joins own outputs. import: funds that came with a key. unexplained: a change whose block the wallet has
     * not seen.
     */
    readonly kind: 'payment' | 'donation' | 'item' | 'merge' | 'reward' | 'trade' | 'import' | 'genesis' | 'unexplained';
    /** self: everything stays in the wallet, but the fee. */
    readonly direction: 'in' | 'out' | 'self';
    /** queued: durable here. sent: admitted by the mempool. Then confirmed in a block, or rejected. */
    readonly state: 'queued' | 'sent' | 'confirmed' | 'rejected';
    /** Why it was rejected. */
    readonly reason: string | null;
    /** The node that was paid, for payments of kind ip. */
    readonly peer: string | null;
    /** Raw units that came, went or were paid to itself, without change and fee. */
    readonly amount: bigint;
    /** The same of items, by genesis hash. */
    readonly items: { readonly [name: string]: bigint };
    /** What the balance has changed by, in raw units. */
    readonly net: bigint;
    /** Raw units, when this wallet has paid it. */
    readonly fee: bigint | null;
    /** Number of its block, if the wallet has seen it. */
    readonly block_num: bigint | null;
    /** Time of its block, in Unix seconds. */
    readonly block_time: bigint | null;
    /** Unix seconds; when the wallet learned of it. */
    readonly seen_at: bigint | null;
    /** Addresses that have signed it, as far as known; at most 4. */
    readonly from: readonly string[];
    /** At most 16 of each side. */
    readonly outputs: readonly ({
      readonly address: string | null;
      /** Raw units, or items. */
      readonly amount: bigint;
      /** Genesis hash of the items; null for tokens. */
      readonly item: string | null;
      /** It came to this wallet by this movement. */
      readonly own: boolean;
    })[];
    /** Outputs in all. */
    readonly output_count: bigint;
    /** What the owner calls it. */
    readonly label: string | null;
  })[];
  /** Cursor of the next page; null at the end. A page behind a filter may be short, or empty, before it. */
  readonly next: bigint | null;
}

/** A new payment address. */
export interface NewAddressResponse {
  /** A new payment address. */
  readonly address: string;
}

/** The nonce. */
export type Nonce = readonly number[];

/** One output of one transaction. */
export interface OutPoint {
  /** Hash of the transaction. */
  readonly t_hash: string;
  /** Index of the output. */
  readonly n: number;
}

/** Payments of the wallet. */
export interface OutgoingTxsResponse {
  /** Pairs of hash and transaction, oldest first. */
  readonly transactions: readonly (readonly [PaymentHash, StoredTransactionData])[];
}

/** An output and what it holds. */
export interface OutpointEntry {
  readonly out_point: OutPoint;
  readonly value: AssetValue;
}

/** The passphrase of the wallet. */
export interface PassphraseRequest {
  /** The passphrase of the wallet. */
  readonly passphrase: string;
}

/** A signature, and the key that it is made with. */
export interface Pay2PkH {
  /** Hex digest that is signed: SHA3-256 over the JSON of all outputs and of the previous output of this input. */
  readonly signable_data?: string | null;
  /** ed25519 signature over the 64 characters of signable_data, in hex. */
  readonly signature: string;
  /** ed25519 public key in hex. */
  readonly public_key: string;
  /** How the address comes from the key: null is the current form, 0 the short, 99999 the temporary. */
  readonly address_version?: bigint | string | null;
}

/** The short form of pay-to-public-key-hash. */
export interface Pay2PkHScript {
  readonly Pay2PkH: Pay2PkH;
}

/** The payment is queued (kind address) or sent (kind ip). */
export interface PaymentAcceptedResponse {
  /** The address of the request. */
  readonly to_address: string;
  readonly amount: ApiAsset;
  /** Hash of the payment; null for kind ip. */
  readonly tx_hash: string | null;
  /**
   * An extension of the contract: the paid address, if it is one of this wallet and of version 99999. Other keys can
   * have the same address, and spend from it.
   */
  readonly temporary_addresses?: readonly string[];
}

/** Hash of a payment. */
export type PaymentHash = string;

/** Payments of the wallet and their states. */
export interface PaymentHistoryResponse {
  /** Oldest first; the most recent 10,000. */
  readonly transactions: readonly ({
    /** Transaction hash. */
    readonly tx_hash: string;
    /** Its purpose; merge joins small outputs of the wallet. */
    readonly kind: 'payment' | 'donation' | 'item' | 'merge' | 'trade';
    /** queued: durable here. sent: admitted by the mempool. Then confirmed in a block, or rejected. */
    readonly state: 'queued' | 'sent' | 'confirmed' | 'rejected';
    /** Why it was rejected. */
    readonly reason: string | null;
    /** The node that was paid, for payments of kind ip. */
    readonly peer: string | null;
    /** Seconds since the Unix epoch. */
    readonly created_at: bigint;
    readonly outputs: readonly ({
      readonly address: string | null;
      readonly value: AssetValue;
      /** True for what stays in the wallet, such as change. */
      readonly own: boolean;
    })[];
    /** Raw units that were paid, without change and fee. */
    readonly amount: bigint;
    /** Raw units. */
    readonly fee: bigint | null;
    /** True when everything but the fee stays in the wallet. */
    readonly to_self: boolean;
    /** Number of its block, if the wallet has seen it. */
    readonly block_num: bigint | null;
    /** Unix seconds of its block. */
    readonly block_time: bigint | null;
    /** What the owner calls it. */
    readonly label: string | null;
  })[];
}

/** A payment from the wallet of this node. */
export interface PaymentRequest {
  /** What address names. */
  readonly kind: 'address' | 'ip';
  /** A payment address (kind address) or the ip:port of a node (kind ip). */
  readonly address: string;
  /** Raw token units; 0 and more than 2^63 - 1 cannot be paid (422). */
  readonly amount: bigint;
  /** Number of the first block in which the payee can spend it; null means 0. */
  readonly locktime?: bigint | null;
  /** The passphrase of the wallet. */
  readonly passphrase: string;
}

/** A connected mempool or storage node. */
export interface PeerInfo {
  /** Socket address, ip:port. */
  readonly address: string;
  /** What the peer is. */
  readonly node_type: 'Mempool' | 'Storage';
  /** Version of its program, as it says; missing when it did not say. */
  readonly version?: string;
}

/** One entry of a script. */
export type PrettyStackEntry = {
  /** Name of an opcode. */
  readonly Op: string;
} | {
  /** A signature of 64 bytes, as hex text or as a list of byte values. */
  readonly Signature: string | readonly number[];
} | {
  /** A public key of 32 bytes, as hex text or as a list of byte values. */
  readonly PubKey: string | readonly number[];
} | {
  /** A number. */
  readonly Num: bigint;
} | {
  /** A text, as hex text or as a list of byte values. */
  readonly Bytes: string | readonly number[];
};

/** Addresses to ask the mempool about. */
export interface RefreshRequest {
  /** Addresses to refresh; ignored when all is true. */
  readonly addresses?: readonly string[];
  /** True: every address of the wallet. */
  readonly all?: boolean;
}

/** The state file that was written. */
export interface SavedStateResponse {
  /** Path of the file on the machine of the network. */
  readonly file: string;
  /** Its size. */
  readonly bytes: bigint;
  /** Number of the last block in it. */
  readonly block_num: bigint;
}

/** What was found. */
export interface SearchResponse {
  /** What the text names, at most 8 of a kind. */
  readonly found: readonly ({
    /** What it is. */
    readonly kind: 'block' | 'transaction' | 'item' | 'address';
    /** Its hash, or the address. */
    readonly name: string;
    /** Number of the block, or of the block of the transaction. */
    readonly block_num: bigint | null;
  })[];
}

/** Transactions to encode. */
export interface SerializeTransactionsRequest {
  readonly transactions: readonly CreateTransaction[];
}

/** Encoded transactions. */
export interface SerializeTransactionsResponse {
  readonly transactions: readonly JsonSerializedTransaction[];
}

/** The chain, the wallets and the clock as they were at a moment. */
export interface SnapshotResponse {
  /** Number of the snapshot. */
  readonly id: number;
  /** Number of the last block in it. */
  readonly block_num: bigint;
  /** Unix seconds on the clock of the chain. */
  readonly time: number;
}

/** The snapshots that are kept. */
export interface SnapshotsResponse {
  /** Oldest first. */
  readonly snapshots: readonly SnapshotResponse[];
}

/** A whole script. */
export interface StackScript {
  readonly stack: readonly PrettyStackEntry[];
}

/** A stored block. */
export interface StoredBlockData {
  readonly block: {
    readonly header: BlockHeader;
    /** Hashes of its transactions in order, without the coinbase. */
    readonly transactions: readonly string[];
  };
}

/** A stored transaction in the form of the chain: scripts as stacks, keys and signatures as byte lists. */
export interface StoredTransactionData {
  readonly inputs: readonly object[];
  readonly outputs: readonly object[];
  readonly version: bigint;
  readonly fees: readonly object[];
  readonly druid_info: object | null;
}

/** Token supply in raw units. */
export interface SupplyResponse {
  /** Fixed total supply, in raw units. */
  readonly total: bigint;
  /** Issued supply, in raw units. */
  readonly issued: bigint;
}

/** What was moved. */
export interface SweepResponse {
  /** Hashes of the transactions, which are queued. */
  readonly transactions: readonly string[];
  /** Raw units that they move. */
  readonly tokens: bigint;
  /** Raw units that stay, because they are locked or wait for a block. */
  readonly tokens_left: bigint;
}

/** Tokens. */
export interface TokenApiAsset {
  readonly kind: 'token';
  /** Raw token units; 72,072,000 of them are one display unit. */
  readonly amount: bigint;
}

/** Addresses by their tokens, in raw units; the largest amount first. */
export interface TokenHoldersResponse {
  readonly holders: readonly ({
    readonly address: string;
    /** Number of items, at most 2^63-1. */
    readonly amount: bigint;
  })[];
  /** Cursor of the next page; null at the end. */
  readonly next: string | null;
  /** The answer is that after this block; null in an empty chain. */
  readonly as_of_block: bigint | null;
}

/** Tokens, in the form of the chain. */
export interface TokenValue {
  /** Raw token units. */
  readonly Token: bigint;
}

/** A transaction, as POST /v1/transactions takes it. */
export interface TraceRequest {
  readonly transaction: CreateTransaction;
}

/** The scripts of a transaction, run. */
export interface TraceResponse {
  readonly inputs: readonly ({
    /** Why the script is not true; null when it is. */
    readonly fault: string | null;
    /** Up to the one that fails. */
    readonly steps: readonly TraceStep[];
  })[];
}

/** An entry of a script, run. */
export interface TraceStep {
  /** An opcode, a number, a text in quotes, or the hex of a key or signature. */
  readonly entry: string;
  /** False in a branch that is not taken. */
  readonly is_taken: boolean;
  /** The last 20 entries of the stack afterwards, its top last. */
  readonly stack: readonly string[];
}

/** An offer to accept. */
export interface TradeAcceptRequest {
  /** The offer. */
  readonly offer: object;
  /** The passphrase of the wallet. */
  readonly passphrase: string;
}

/** What the other party has answered. */
export interface TradeCompleteRequest {
  /** The acceptance of an own offer, or the confirmation of an own acceptance. */
  readonly document: object;
}

/** What the wallet gives, and what it wants for that. */
export interface TradeOfferRequest {
  readonly give: ApiAsset;
  readonly want: ApiAsset;
  /** Seconds in which it can be accepted; 3600 by default. */
  readonly valid_for?: bigint | null;
  /** ip:port of a node to send the offer to. Without it the offer is a document to pass on. */
  readonly peer?: string | null;
  /** The offer names this node, which then takes acceptances over links. Always so with peer. */
  readonly reachable?: boolean;
  /** The passphrase of the wallet. */
  readonly passphrase: string;
}

/** A trade as this wallet sees it. */
export interface TradeResponse {
  /** The name of the trade, the same for both parties. */
  readonly trade_id: string;
  /** The maker has made the offer, the taker accepts it. */
  readonly side: 'maker' | 'taker';
  /**
   * received: an offer of somebody else. open: an own offer. accepted: the maker has to confirm. agreed: both halves
   * can come into a block. done: they have. cancelling: the own half is out, and a block must have its inputs first.
   * The others are ends.
   */
  readonly state: 'received' | 'open' | 'accepted' | 'agreed' | 'cancelling' | 'done' | 'cancelled' | 'expired' | 'failed';
  /** Why it ended without success. */
  readonly reason: string | null;
  readonly give: ApiAsset;
  readonly get: ApiAsset;
  /** Metadata of the items that the maker gives, proven by their name, if the offer shows their creation. */
  readonly metadata: string | null;
  /** Unix seconds. */
  readonly created_at: bigint;
  /** Unix seconds until which the offer can be accepted and confirmed. */
  readonly expires_at: bigint;
  /** host:port of the other node, when it can be reached over a link. */
  readonly peer: string | null;
  /** Where this wallet is paid. */
  readonly address: string | null;
  /** Where the other party is paid. */
  readonly counterparty: string | null;
  /** Hash of the own half, once there is one. */
  readonly tx_hash: string | null;
  /** The offer, to be passed on to the node that may accept it. */
  readonly offer: object;
  /** The acceptance, for the maker. */
  readonly acceptance: object | null;
  /** The confirmation, for the taker. */
  readonly confirmation: object | null;
}

/** Trades of the wallet. */
export interface TradesResponse {
  /** Newest first: all that have not ended, and the last 1,000 others. */
  readonly trades: readonly TradeResponse[];
}

/** A transaction, and its place in the chain. */
export interface TransactionMeta {
  readonly type: 'tx';
  /** Number of the block that holds it. */
  readonly block_num: bigint;
  /** Its place in the block. */
  readonly tx_num: number;
}

/** The first output of a transaction. */
export interface TxOutputSummary {
  /** Address of the first output; empty when it has none. */
  readonly address: string;
  readonly asset: ApiAsset;
}

/** Status by transaction hash; unknown hashes are absent. */
export type TxStatusMap = { readonly [name: string]: TxStatusResponse };

/** Transactions to look up. */
export interface TxStatusQueryRequest {
  readonly hashes: readonly string[];
}

/** The status of a transaction. */
export interface TxStatusResponse {
  readonly status: TxStatusTypeResponse;
  /** When it was first seen, in Unix seconds. */
  readonly timestamp: bigint;
  /** The block that holds it, what it waits for, or the rule that failed. */
  readonly additional_info: string;
}

/** Pending: admitted, its block not stored yet. Confirmed: in a stored block. Rejected: it breaks a rule. */
export type TxStatusTypeResponse = 'Pending' | 'Confirmed' | 'Rejected';

/** A transaction that waits, and its place. */
export interface WaitingResponse {
  /** A transaction hash: g and 31 hex digits; transactions of the first block may have other names. */
  readonly tx_hash: string;
  /** Size of the transaction, encoded. */
  readonly bytes: bigint;
  /** When it was first seen, in Unix seconds. */
  readonly time: bigint;
  /** What it waits for, in words. */
  readonly info: string;
  /** The block that it is likely to be in; null if that is far away, or others of its trade are missing. */
  readonly place: {
    /** Number of the block. */
    readonly block_num: bigint;
    /** True: it is certain. False: it may change with what comes. */
    readonly being_made: boolean;
    /** Transactions that are served before it. */
    readonly ahead: bigint;
  } | null;
  /** Waiting transactions that it spends from, and others of its trade. */
  readonly behind: readonly string[];
  /** Its outputs; at most 50. */
  readonly outputs: readonly ({
    readonly address: string | null;
    readonly asset: ApiAsset;
  })[];
  /** Number of its outputs. */
  readonly output_count: bigint;
}

/** What the wallet of this node holds. */
export interface WalletInfoResponse {
  /** Outputs by owning address. */
  readonly addresses: { readonly [name: string]: readonly OutpointEntry[] };
  /** Spendable tokens, in display units. */
  readonly available_total: number;
  /** Spendable tokens, in raw units. */
  readonly available_total_tokens: bigint;
  /** Locked tokens, for example young coinbases, in display units. */
  readonly locked_total: number;
  /** Locked tokens, in raw units. */
  readonly locked_total_tokens: bigint;
  /** All tokens held, in display units. */
  readonly running_total: number;
  /** All tokens held, in raw units. */
  readonly running_total_tokens: bigint;
  /** Number of items by genesis hash. */
  readonly item_total: { readonly [name: string]: bigint };
  /**
   * An extension of the contract: up to 1,000 addresses of the wallet of version 99999. Other keys can have the same
   * address, and spend from it.
   */
  readonly temporary_addresses?: readonly string[];
}

/** Items that the wallet holds, by genesis hash. */
export interface WalletItemsResponse {
  readonly items: readonly ({
    /** The class of the items. */
    readonly genesis_hash: string;
    /** How many the wallet holds. */
    readonly amount: bigint;
    /** How many of them can be spent now. */
    readonly available: bigint;
    /**
     * Free text from the creator. Null when there is none, and when the wallet has not seen the creation: a storage
     * node tells it then (GET /v1/items/{genesis_hash}).
     */
    readonly metadata: string | null;
  })[];
}

/** An event of `events()`: `id` is what `lastEventId` resumes after. */
export type NodeEvent =
  /** Topic blocks, event `block`: the block is stored, as far as this node knows. */
  | { readonly id: string; readonly name: 'block'; readonly data: {
      /** Number of the block. */
      readonly block_num: bigint;
      /** Hash of the block. */
      readonly hash: string;
      /** Number of its transactions without the coinbase. */
      readonly transactions: bigint;
    } }
  /** Topic transactions, event `transaction`: the state of a transaction has changed. */
  | { readonly id: string; readonly name: 'transaction'; readonly data: {
      /** A transaction hash: g and 31 hex digits; transactions of the first block may have other names. */
      readonly hash: string;
      readonly status: 'admitted' | 'confirmed' | 'rejected';
      /** Of a confirmed transaction: number of its block. */
      readonly block_num: bigint | null;
      /** Of a rejected transaction: the rule that it breaks. */
      readonly reason: string | null;
    } }
  /** Topic wallet, event `payment`: a transaction of the wallet is confirmed or rejected. */
  | { readonly id: string; readonly name: 'payment'; readonly data: {
      /** A transaction hash: g and 31 hex digits; transactions of the first block may have other names. */
      readonly hash: string;
      readonly kind: 'payment' | 'donation' | 'item' | 'merge' | 'trade';
      readonly status: 'confirmed' | 'rejected';
      /** Of a rejected payment: why. */
      readonly reason: string | null;
    } }
  /** Topic wallet, event `balance`: the token totals have changed. */
  | { readonly id: string; readonly name: 'balance'; readonly data: {
      /** Everything the wallet holds, in raw units. */
      readonly running: bigint;
      /** What can be spent now, in raw units. */
      readonly available: bigint;
      /** What cannot be spent yet, in raw units. */
      readonly locked: bigint;
    } }
  /**
   * Event `reset`: events after the given Last-Event-ID are no longer kept, so read the state anew. Event `lagged`:
   * the reader is too slow; the stream ends.
   */
  | { readonly id: string; readonly name: 'reset'; readonly data: {
      /** The id to resume after. */
      readonly last_event_id: string;
    } }
  /**
   * Event `reset`: events after the given Last-Event-ID are no longer kept, so read the state anew. Event `lagged`:
   * the reader is too slow; the stream ends.
   */
  | { readonly id: string; readonly name: 'lagged'; readonly data: {
      /** The id to resume after. */
      readonly last_event_id: string;
    } };

/** A method for each operation of a node. */
export interface Operations {
  /**
   * What this node is, what it serves, and its peers.
   *
   * `GET /v1/debug` of mempool, storage, miner, user nodes.
   */
  getDebug(args?: Readonly<Record<string, never>>, options?: CallOptions): Promise<DebugData>;
  /**
   * The OpenAPI description of this node’s routes.
   *
   * `GET /v1/openapi.json` of mempool, storage, miner, user nodes.
   */
  getOpenApi(args?: Readonly<Record<string, never>>, options?: CallOptions): Promise<object>;
  /**
   * Whether the process answers.
   *
   * `GET /livez` of mempool, storage, miner, user nodes.
   */
  getLiveness(args?: Readonly<Record<string, never>>, options?: CallOptions): Promise<HealthResponse>;
  /**
   * Whether the node can do its work.
   *
   * For load balancers: a node that answers 503 should get no traffic. A degraded one does its work but for a part.
   * The reasons are listed.
   *
   * `GET /readyz` of mempool, storage, miner, user nodes.
   */
  getReadiness(args?: Readonly<Record<string, never>>, options?: CallOptions): Promise<HealthResponse>;
  /**
   * The balances of addresses.
   *
   * Addresses that hold nothing are absent from the list; that is not an error. Outputs are in the order of their
   * hashes. If the addresses together have more than 100,000 unspent outputs, the answer is 400.
   *
   * `GET /v1/balances` of mempool nodes.
   * @throws {TesseraError} too_many_outputs, mempool_unreachable
   */
  getBalances(args: {
    /** An address; repeat it for several. */
    readonly address: readonly string[];
  }, options?: CallOptions): Promise<BalancesResponse>;
  /**
   * The balances of many addresses.
   *
   * `POST /v1/balances/query` of mempool nodes.
   * @throws {TesseraError} too_many_outputs, mempool_unreachable
   */
  queryBalances(args: BalancesQueryRequest, options?: CallOptions): Promise<BalancesResponse>;
  /**
   * Total and issued token supply.
   *
   * `GET /v1/supply` of mempool nodes.
   * @throws {TesseraError} mempool_unreachable
   */
  getSupply(args?: Readonly<Record<string, never>>, options?: CallOptions): Promise<SupplyResponse>;
  /**
   * What waits, as blocks to come.
   *
   * An extension of the contract. The blocks after those being made are a guess.
   *
   * `GET /v1/mempool` of mempool nodes.
   * @throws {TesseraError} mempool_unreachable
   */
  getMempool(args?: Readonly<Record<string, never>>, options?: CallOptions): Promise<MempoolResponse>;
  /**
   * The place of a transaction that waits.
   *
   * An extension of the contract.
   *
   * `GET /v1/mempool/{tx_hash}` of mempool nodes.
   * @throws {TesseraError} entry_not_found, mempool_unreachable
   */
  getWaitingTransaction(args: {
    /** A transaction hash: g and 31 hex digits; transactions of the first block may have other names. */
    readonly tx_hash: string;
  }, options?: CallOptions): Promise<WaitingResponse>;
  /**
   * Submit signed transactions.
   *
   * All are admitted or none. 201 means that they survive a restart of the node. The answer is the same for
   * transactions that were admitted before. Malformed transactions give 400; those that break a rule give 500 with
   * the hash and the rule in the detail: do not send them again unchanged.
   *
   * `POST /v1/transactions` of mempool nodes.
   * @throws {TesseraError} malformed_transaction, transaction_rejected, double_spend, invalid_signature,
   * mempool_full, write_failed, outcome_unknown, mempool_unreachable, unknown_input, too_many_ancestors
   */
  createTransactions(args: CreateTransactionsRequest | Uint8Array, options?: CallOptions): Promise<CreateTransactionsResponse>;
  /**
   * The status of transactions.
   *
   * `GET /v1/transactions/status` of mempool nodes.
   * @throws {TesseraError} mempool_unreachable
   */
  getTransactionStatus(args?: {
    /** A transaction hash; repeat it for several. */
    readonly hash?: readonly string[];
    /** Another name for hash; one of the two is required. */
    readonly tx_hash?: readonly string[];
  }, options?: CallOptions): Promise<TxStatusMap>;
  /**
   * The status of many transactions.
   *
   * `POST /v1/transactions/status:query` of mempool nodes.
   * @throws {TesseraError} mempool_unreachable
   */
  queryTransactionStatus(args: TxStatusQueryRequest, options?: CallOptions): Promise<TxStatusMap>;
  /**
   * Create items.
   *
   * On a mempool node the client signs: public_key, script_public_key and signature are required and the answer is
   * 201. On a node with a wallet the node signs and the answer is 202; only there can it take an Idempotency-Key.
   * Where both are at one address, an item with one of these three members is for the mempool node, and any other for
   * the wallet.
   *
   * `POST /v1/items` of mempool, miner, user nodes. Protected: needs an API key. Repeated after a lost answer, with
   * an idempotency key, and does its thing once.
   * @throws {TesseraError} malformed_transaction, transaction_rejected, double_spend, invalid_signature,
   * mempool_full, write_failed, outcome_unknown, mempool_unreachable, payment_refused, no_wallet, wallet_unreadable,
   * wallet_write_failed
   */
  createItem(args: CreateItemRequest, options?: CallOptions): Promise<ItemCreatedResponse | ItemAcceptedResponse>;
  /**
   * A stored block or transaction.
   *
   * `GET /v1/blockchain-entries/{key}` of storage nodes.
   * @throws {TesseraError} entry_not_found, archive_incomplete, storage_unreachable
   */
  getBlockchainEntry(args: {
    /**
     * A block hash, a transaction hash, or nLastBlockHashKey, nIndexedBlockHashKey_<16 hex digits>,
     * nIndexedTxHashKey_<16 hex digits>_<8 hex digits>.
     */
    readonly key: string;
  }, options?: CallOptions): Promise<BlockchainEntryResponse>;
  /**
   * Many stored blocks or transactions.
   *
   * In the order of the keys; keys without an entry are left out.
   *
   * `POST /v1/blockchain-entries/query` of storage nodes.
   * @throws {TesseraError} archive_incomplete, storage_unreachable
   */
  queryBlockchainEntries(args: EntriesQueryRequest, options?: CallOptions): Promise<readonly BlockchainEntryResponse[]>;
  /**
   * Blocks by number.
   *
   * In the order of the numbers; numbers without a stored block are left out.
   *
   * `GET /v1/blocks` of storage nodes.
   * @throws {TesseraError} archive_incomplete, storage_unreachable
   */
  getBlocks(args: {
    /** Number of a block; repeat it for several. */
    readonly num: readonly (bigint | number)[];
  }, options?: CallOptions): Promise<readonly BlockchainEntryResponse[]>;
  /**
   * The latest stored block.
   *
   * `GET /v1/blocks/latest` of storage nodes.
   * @throws {TesseraError} no_blocks, archive_incomplete, storage_unreachable
   */
  getLatestBlock(args?: Readonly<Record<string, never>>, options?: CallOptions): Promise<LatestBlockResponse>;
  /**
   * A block by number.
   *
   * `GET /v1/blocks/{num}` of storage nodes.
   * @throws {TesseraError} block_not_found, archive_incomplete, storage_unreachable
   */
  getBlock(args: {
    /** Number of a block. */
    readonly num: bigint | number;
  }, options?: CallOptions): Promise<BlockchainEntryResponse>;
  /**
   * How an item was created.
   *
   * An extension of the contract that several clients call.
   *
   * `GET /v1/items/{genesis_hash}` of storage nodes.
   * @throws {TesseraError} item_not_found, archive_incomplete, storage_unreachable
   */
  getItem(args: {
    /** Hash of the transaction that created the item. */
    readonly genesis_hash: string;
  }, options?: CallOptions): Promise<ItemInfoResponse>;
  /**
   * How far the index of the chain is.
   *
   * An extension of the contract. Answers whether there is an index or not.
   *
   * `GET /v1/chain/index` of storage nodes.
   */
  getChainIndex(args?: Readonly<Record<string, never>>, options?: CallOptions): Promise<ChainIndexResponse>;
  /**
   * Blocks, newest first.
   *
   * An extension of the contract, answered from the index of the node (`storage.index`). Its ETag changes with each
   * block.
   *
   * `GET /v1/chain/blocks` of storage nodes.
   * @throws {TesseraError} index_off, index_incomplete
   */
  getChainBlocks(args?: {
    /** Entries of the page; 20 by default. */
    readonly limit?: bigint | number;
    /** Only blocks with smaller numbers. */
    readonly before?: bigint | number;
    /** Only blocks whose number is a multiple of it: a chart of a long chain needs no more. */
    readonly step?: bigint | number;
  }, options?: CallOptions): Promise<ChainBlocksResponse>;
  /**
   * What a list of blocks says of one.
   *
   * An extension of the contract. By number or hash; it never changes.
   *
   * `GET /v1/chain/blocks/{block}` of storage nodes.
   * @throws {TesseraError} index_off, index_incomplete, archive_incomplete, block_not_found
   */
  getChainBlock(args: {
    /** Number or hash of a block. */
    readonly block: string;
  }, options?: CallOptions): Promise<ChainBlock>;
  /**
   * The transactions of a block, in order.
   *
   * An extension of the contract. A page never changes.
   *
   * `GET /v1/chain/blocks/{block}/transactions` of storage nodes.
   * @throws {TesseraError} index_off, index_incomplete, archive_incomplete, block_not_found
   */
  getBlockTransactions(args: {
    /** Number or hash of a block. */
    readonly block: string;
  } & {
    /** Entries of the page; 25 by default. */
    readonly limit?: bigint | number;
    /** `next` of the page before this one. What it is made of may change. */
    readonly cursor?: string;
  }, options?: CallOptions): Promise<BlockTransactionsResponse>;
  /**
   * A transaction, the outputs it spends, and what spends its own.
   *
   * An extension of the contract, answered from the index of the node (`storage.index`). Its ETag changes with each
   * block.
   *
   * `GET /v1/chain/transactions/{tx_hash}` of storage nodes.
   * @throws {TesseraError} index_off, index_incomplete, archive_incomplete, entry_not_found
   */
  getChainTransaction(args: {
    /** A transaction hash: g and 31 hex digits; transactions of the first block may have other names. */
    readonly tx_hash: string;
  } & {
    /** Index of the first input to list; 0 by default. */
    readonly first_input?: bigint | number;
    /** Index of the first output to list; 0 by default. */
    readonly first_output?: bigint | number;
  }, options?: CallOptions): Promise<ChainTransaction>;
  /**
   * An output, and the transaction that spends it.
   *
   * An extension of the contract, answered from the index of the node (`storage.index`). Its ETag changes with each
   * block.
   *
   * `GET /v1/chain/outputs/{tx_hash}/{n}` of storage nodes.
   * @throws {TesseraError} index_off, index_incomplete, archive_incomplete, entry_not_found
   */
  getChainOutput(args: {
    /** A transaction hash: g and 31 hex digits; transactions of the first block may have other names. */
    readonly tx_hash: string;
    /** Index of the output; fees come after the outputs. */
    readonly n: bigint | number;
  }, options?: CallOptions): Promise<ChainOutput>;
  /**
   * What a number, hash or address names.
   *
   * An extension of the contract. Nothing found is an empty list.
   *
   * `GET /v1/chain/search` of storage nodes.
   * @throws {TesseraError} index_off, index_incomplete, archive_incomplete
   */
  searchChain(args: {
    /**
     * The number of a block, or a hash of a block, transaction or item, or an address: whole, or six or more
     * characters of its beginning; or words of the metadata of items, or their beginnings.
     */
    readonly q: string;
  }, options?: CallOptions): Promise<SearchResponse>;
  /**
   * What an address has.
   *
   * An extension of the contract, answered from the index of the node (`storage.index`). Its ETag changes with each
   * block. An address that the chain has not seen has nothing.
   *
   * `GET /v1/chain/addresses/{address}` of storage nodes.
   * @throws {TesseraError} index_off, index_incomplete, archive_incomplete
   */
  getChainAddress(args: {
    /** A payment address: 64 hex digits (32 for addresses of version 0). */
    readonly address: string;
  }, options?: CallOptions): Promise<ChainAddress>;
  /**
   * The items of an address.
   *
   * An extension of the contract, answered from the index of the node (`storage.index`). Its ETag changes with each
   * block.
   *
   * `GET /v1/chain/addresses/{address}/items` of storage nodes.
   * @throws {TesseraError} index_off, index_incomplete
   */
  getAddressItems(args: {
    /** A payment address: 64 hex digits (32 for addresses of version 0). */
    readonly address: string;
  } & {
    /** Entries of the page; 25 by default. */
    readonly limit?: bigint | number;
    /** `next` of the page before this one. What it is made of may change. */
    readonly cursor?: string;
  }, options?: CallOptions): Promise<AddressItemsResponse>;
  /**
   * The unspent outputs of an address, newest first.
   *
   * An extension of the contract, answered from the index of the node (`storage.index`). Its ETag changes with each
   * block.
   *
   * `GET /v1/chain/addresses/{address}/outputs` of storage nodes.
   * @throws {TesseraError} index_off, index_incomplete, archive_incomplete
   */
  getAddressOutputs(args: {
    /** A payment address: 64 hex digits (32 for addresses of version 0). */
    readonly address: string;
  } & {
    /** Entries of the page; 25 by default. */
    readonly limit?: bigint | number;
    /** `next` of the page before this one. What it is made of may change. */
    readonly cursor?: string;
  }, options?: CallOptions): Promise<AddressOutputsResponse>;
  /**
   * The history of an address, newest first.
   *
   * An extension of the contract, answered from the index of the node (`storage.index`). Its ETag changes with each
   * block.
   *
   * `GET /v1/chain/addresses/{address}/transactions` of storage nodes.
   * @throws {TesseraError} index_off, index_incomplete, archive_incomplete
   */
  getAddressTransactions(args: {
    /** A payment address: 64 hex digits (32 for addresses of version 0). */
    readonly address: string;
  } & {
    /** Entries of the page; 25 by default. */
    readonly limit?: bigint | number;
    /** `next` of the page before this one. What it is made of may change. */
    readonly cursor?: string;
  }, options?: CallOptions): Promise<AddressTransactionsResponse>;
  /**
   * Addresses by their tokens, the largest amount first.
   *
   * An extension of the contract, answered from the index of the node (`storage.index`). Its ETag changes with each
   * block. Who gets more or less between two pages may be on both or on neither.
   *
   * `GET /v1/chain/holders` of storage nodes.
   * @throws {TesseraError} index_off, index_incomplete
   */
  getTokenHolders(args?: {
    /** Entries of the page; 25 by default. */
    readonly limit?: bigint | number;
    /** `next` of the page before this one. What it is made of may change. */
    readonly cursor?: string;
  }, options?: CallOptions): Promise<TokenHoldersResponse>;
  /**
   * An item, and how many have it.
   *
   * An extension of the contract, answered from the index of the node (`storage.index`). Its ETag changes with each
   * block.
   *
   * `GET /v1/chain/items/{genesis_hash}` of storage nodes.
   * @throws {TesseraError} index_off, index_incomplete, archive_incomplete, item_not_found
   */
  getChainItem(args: {
    /** Genesis hash of an item. */
    readonly genesis_hash: string;
  }, options?: CallOptions): Promise<ChainItem>;
  /**
   * The holders of an item, the largest amount first.
   *
   * An extension of the contract, answered from the index of the node (`storage.index`). Its ETag changes with each
   * block. Who gets more or less between two pages may be on both or on neither.
   *
   * `GET /v1/chain/items/{genesis_hash}/holders` of storage nodes.
   * @throws {TesseraError} index_off, index_incomplete, archive_incomplete, item_not_found
   */
  getItemHolders(args: {
    /** Genesis hash of an item. */
    readonly genesis_hash: string;
  } & {
    /** Entries of the page; 25 by default. */
    readonly limit?: bigint | number;
    /** `next` of the page before this one. What it is made of may change. */
    readonly cursor?: string;
  }, options?: CallOptions): Promise<ItemHoldersResponse>;
  /**
   * The transfers of an item, newest first.
   *
   * An extension of the contract, answered from the index of the node (`storage.index`). Its ETag changes with each
   * block.
   *
   * `GET /v1/chain/items/{genesis_hash}/transfers` of storage nodes.
   * @throws {TesseraError} index_off, index_incomplete, archive_incomplete, item_not_found
   */
  getItemTransfers(args: {
    /** Genesis hash of an item. */
    readonly genesis_hash: string;
  } & {
    /** Entries of the page; 25 by default. */
    readonly limit?: bigint | number;
    /** `next` of the page before this one. What it is made of may change. */
    readonly cursor?: string;
  }, options?: CallOptions): Promise<ItemTransfersResponse>;
  /**
   * The block being mined.
   *
   * `GET /v1/mining/current-block` of miner nodes.
   * @throws {TesseraError} not_mining
   */
  getCurrentBlock(args?: Readonly<Record<string, never>>, options?: CallOptions): Promise<CurrentBlockResponse>;
  /**
   * Payments of the wallet.
   *
   * `GET /v1/transactions/outgoing` of miner, user nodes.
   * @throws {TesseraError} no_wallet, wallet_unreadable
   */
  getOutgoingTransactions(args?: {
    /** An extension of the contract: only the most recent ones; 10,000 by default. */
    readonly limit?: bigint | number;
  }, options?: CallOptions): Promise<OutgoingTxsResponse>;
  /**
   * Payments of the wallet with their states.
   *
   * An extension of the contract: the state of each payment of this node, with the reason of a rejection.
   *
   * `GET /v1/wallet/history` of miner, user nodes. Protected: needs an API key.
   * @throws {TesseraError} no_wallet, wallet_unreadable
   */
  getWalletHistory(args?: {
    /** Only the most recent ones; 10,000 by default. Older ones are in /v1/wallet/movements. */
    readonly limit?: bigint | number;
  }, options?: CallOptions): Promise<PaymentHistoryResponse>;
  /**
   * The balance of the wallet.
   *
   * `GET /v1/wallet` of miner, user nodes.
   * @throws {TesseraError} no_wallet, wallet_unreadable
   */
  getWallet(args?: {
    /** Page of unspent outputs, 25 to a page, from 0. Without it all are returned. */
    readonly page?: bigint | number;
    /** True: the spent outputs instead; page is then ignored. */
    readonly spent?: boolean;
  }, options?: CallOptions): Promise<WalletInfoResponse>;
  /**
   * Make a new payment address.
   *
   * `POST /v1/wallet/addresses` of miner, user nodes. Protected: needs an API key.
   * @throws {TesseraError} no_wallet, wallet_unreadable, wallet_write_failed
   */
  createWalletAddress(args?: Readonly<Record<string, never>>, options?: CallOptions): Promise<NewAddressResponse>;
  /**
   * Export the key pairs, private keys included.
   *
   * Whoever sees the answer can spend everything in the wallet.
   *
   * `GET /v1/wallet/keypairs` of miner, user nodes. Protected: needs an API key.
   * @throws {TesseraError} no_wallet, wallet_unreadable
   */
  exportKeypairs(args?: Readonly<Record<string, never>>, options?: CallOptions): Promise<KeypairsResponse>;
  /**
   * Import key pairs.
   *
   * All are imported or none. Afterwards the balance of the imported addresses is refreshed.
   *
   * `POST /v1/wallet/keypairs` of miner, user nodes. Protected: needs an API key.
   * @throws {TesseraError} malformed_key_pair, no_wallet, wallet_unreadable, wallet_write_failed, refresh_failed
   */
  importKeypairs(args: ImportKeypairsRequest, options?: CallOptions): Promise<ImportKeypairsResponse>;
  /**
   * Change the passphrase of the wallet.
   *
   * `PUT /v1/wallet/passphrase` of miner, user nodes. Protected: needs an API key.
   * @throws {TesseraError} blank_passphrase, wrong_passphrase, no_wallet, wallet_unreadable, wallet_write_failed
   */
  changePassphrase(args: ChangePassphraseRequest, options?: CallOptions): Promise<undefined>;
  /**
   * Refresh the balance of addresses from the mempool.
   *
   * `POST /v1/wallet/running-total:refresh` of miner, user nodes. Protected: needs an API key.
   * @throws {TesseraError} no_addresses, no_wallet, wallet_unreadable, refresh_failed, mempool_unreachable
   */
  refreshRunningTotal(args?: RefreshRequest, options?: CallOptions): Promise<undefined>;
  /**
   * Pay from the wallet of this node.
   *
   * Kind address: the payment is built, signed and queued, and survives a restart. Kind ip: the peer is asked for an
   * address and paid. The passphrase is checked first.
   *
   * `POST /v1/payments` of miner, user nodes. Protected: needs an API key. Repeated after a lost answer, with an
   * idempotency key, and does its thing once.
   * @throws {TesseraError} invalid_socket_address, wrong_passphrase, insufficient_funds, payment_refused, no_wallet,
   * cannot_pay, peer_unreachable, mempool_unreachable, wallet_unreadable, wallet_write_failed
   */
  createPayment(args: PaymentRequest, options?: CallOptions): Promise<PaymentAcceptedResponse>;
  /**
   * Give up a payment that was never admitted.
   *
   * An extension of the contract. A queued payment that no mempool node has admitted becomes rejected, and so do
   * those that spend its change; their inputs come back. A payment that may still come into a block is refused with
   * 409.
   *
   * `POST /v1/payments/{tx_hash}/abandon` of miner, user nodes. Protected: needs an API key.
   * @throws {TesseraError} payment_not_found, payment_sent, mempool_unreachable, no_wallet, cannot_pay,
   * wallet_unreadable, wallet_write_failed
   */
  abandonPayment(args: {
    /** Hash of the payment. */
    readonly tx_hash: string;
  }, options?: CallOptions): Promise<undefined>;
  /**
   * The history of the wallet, in and out.
   *
   * An extension of the contract: every movement of the wallet, by pages. The movements that are not rejected add up
   * to the balance. A page that was read once has the same movements for ever.
   *
   * `GET /v1/wallet/movements` of miner, user nodes. Protected: needs an API key.
   * @throws {TesseraError} no_wallet, wallet_unreadable
   */
  getWalletMovements(args?: {
    /** Movements of the page; 100 by default. */
    readonly limit?: bigint | number;
    /** Number of the first movement: `next` of the page before. */
    readonly cursor?: bigint | number;
    /** Newest first by default. */
    readonly order?: 'newest' | 'oldest';
    /**
     * merge joins own outputs. import: funds that came with a key. unexplained: a change whose block the wallet has
     * not seen.
     */
    readonly kind?: 'payment' | 'donation' | 'item' | 'merge' | 'reward' | 'trade' | 'import' | 'genesis' | 'unexplained';
    /** queued: durable here. sent: admitted by the mempool. Then confirmed in a block, or rejected. */
    readonly state?: 'queued' | 'sent' | 'confirmed' | 'rejected';
    /** self: everything stays in the wallet, but the fee. */
    readonly direction?: 'in' | 'out' | 'self';
    /** Only movements that name it. */
    readonly address?: string;
    /** Unix seconds, included. */
    readonly from?: bigint | number;
    /** Unix seconds, included. */
    readonly to?: bigint | number;
    /** Number of the first block. */
    readonly from_block?: bigint | number;
    /** Number of the last block. */
    readonly to_block?: bigint | number;
    /**
     * Only what was made for the request with this Idempotency-Key: one movement, or none if nothing was made or the
     * key has expired.
     */
    readonly idempotency_key?: string;
  }, options?: CallOptions): Promise<MovementsResponse>;
  /**
   * The labels of addresses and transactions.
   *
   * An extension of the contract.
   *
   * `GET /v1/wallet/labels` of miner, user nodes. Protected: needs an API key.
   * @throws {TesseraError} no_wallet, wallet_unreadable
   */
  getWalletLabels(args?: Readonly<Record<string, never>>, options?: CallOptions): Promise<LabelsResponse>;
  /**
   * Label addresses and transactions.
   *
   * An extension of the contract. All are set or none; others stay. A wallet has at most 10,000.
   *
   * `PUT /v1/wallet/labels` of miner, user nodes. Protected: needs an API key.
   * @throws {TesseraError} no_wallet, wallet_unreadable, wallet_write_failed
   */
  setWalletLabels(args: LabelsRequest, options?: CallOptions): Promise<undefined>;
  /**
   * Items of the wallet, with their metadata.
   *
   * An extension of the contract.
   *
   * `GET /v1/wallet/items` of miner, user nodes. Protected: needs an API key.
   * @throws {TesseraError} no_wallet, wallet_unreadable
   */
  getWalletItems(args?: Readonly<Record<string, never>>, options?: CallOptions): Promise<WalletItemsResponse>;
  /**
   * Pay with items from the wallet of this node.
   *
   * An extension of the contract. It works as a payment of tokens does; only the asset differs.
   *
   * `POST /v1/item-payments` of miner, user nodes. Protected: needs an API key. Repeated after a lost answer, with an
   * idempotency key, and does its thing once.
   * @throws {TesseraError} invalid_socket_address, wrong_passphrase, insufficient_funds, payment_refused, no_wallet,
   * cannot_pay, peer_unreachable, mempool_unreachable, wallet_unreadable, wallet_write_failed
   */
  createItemPayment(args: ItemPaymentRequest, options?: CallOptions): Promise<PaymentAcceptedResponse>;
  /**
   * Offer a trade.
   *
   * An extension of the contract. The wallet sets aside what it gives until the trade ends. Pass the offer in the
   * answer on to the node that may accept it; with `peer` it was sent there.
   *
   * `POST /v1/trades` of miner, user nodes. Protected: needs an API key. Repeated after a lost answer, with an
   * idempotency key, and does its thing once.
   * @throws {TesseraError} invalid_socket_address, peer_unreachable, wrong_passphrase, insufficient_funds,
   * payment_refused, trade_refused, trade_closed, no_wallet, cannot_pay, wallet_unreadable, wallet_write_failed
   */
  offerTrade(args: TradeOfferRequest, options?: CallOptions): Promise<TradeResponse>;
  /**
   * Accept the offer of a trade.
   *
   * An extension of the contract. What the offer wants is kept aside. When the offer names a node, the acceptance is
   * brought to it over a link until the offer expires; else the acceptance in the answer is for its maker. The same
   * offer again gives the same answer.
   *
   * `POST /v1/trades/accept` of miner, user nodes. Protected: needs an API key.
   * @throws {TesseraError} wrong_passphrase, insufficient_funds, payment_refused, trade_refused, trade_closed,
   * no_wallet, cannot_pay, wallet_unreadable, wallet_write_failed
   */
  acceptTrade(args: TradeAcceptRequest, options?: CallOptions): Promise<TradeResponse>;
  /**
   * Go on with a trade by the document of the other party.
   *
   * An extension of the contract. For the maker this is the acceptance, and the confirmation in the answer is for the
   * taker; for the taker it is the confirmation. The own half is sent. A document that does not fit to the trade is
   * refused with 422.
   *
   * `POST /v1/trades/complete` of miner, user nodes. Protected: needs an API key.
   * @throws {TesseraError} trade_not_found, trade_refused, trade_closed, no_wallet, cannot_pay, wallet_unreadable,
   * wallet_write_failed
   */
  completeTrade(args: TradeCompleteRequest, options?: CallOptions): Promise<TradeResponse>;
  /**
   * Trades of the wallet.
   *
   * An extension of the contract.
   *
   * `GET /v1/trades` of miner, user nodes. Protected: needs an API key.
   * @throws {TesseraError} no_wallet, cannot_pay, wallet_unreadable
   */
  getTrades(args?: Readonly<Record<string, never>>, options?: CallOptions): Promise<TradesResponse>;
  /**
   * A trade of the wallet.
   *
   * An extension of the contract.
   *
   * `GET /v1/trades/{trade_id}` of miner, user nodes. Protected: needs an API key.
   * @throws {TesseraError} trade_not_found, no_wallet, cannot_pay, wallet_unreadable
   */
  getTrade(args: {
    /** The name of the trade. */
    readonly trade_id: string;
  }, options?: CallOptions): Promise<TradeResponse>;
  /**
   * Cancel a trade.
   *
   * An extension of the contract. Nothing is kept for it any more. When the own half is out, its inputs are paid back
   * to the wallet, and the trade is cancelled when a block has that; it may take place before.
   *
   * `POST /v1/trades/{trade_id}/cancel` of miner, user nodes. Protected: needs an API key.
   * @throws {TesseraError} trade_not_found, trade_closed, no_wallet, cannot_pay, wallet_unreadable,
   * wallet_write_failed
   */
  cancelTrade(args: {
    /** The name of the trade. */
    readonly trade_id: string;
  }, options?: CallOptions): Promise<TradeResponse>;
  /**
   * The backup file of the wallet.
   *
   * An extension of the contract: words, keys that they do not cover, and labels, sealed under the passphrase of the
   * wallet.
   *
   * `POST /v1/wallet/backup` of miner, user nodes. Protected: needs an API key.
   * @throws {TesseraError} wrong_passphrase, no_wallet, wallet_unreadable
   */
  backupWallet(args: PassphraseRequest, options?: CallOptions): Promise<BackupResponse>;
  /**
   * Move funds to addresses that the words cover.
   *
   * An extension of the contract: moves all tokens and items from addresses that the words do not cover to new ones
   * that they cover.
   *
   * `POST /v1/wallet/sweep` of miner, user nodes. Protected: needs an API key.
   * @throws {TesseraError} no_wallet, wallet_unreadable, wallet_write_failed
   */
  sweepWallet(args?: Readonly<Record<string, never>>, options?: CallOptions): Promise<SweepResponse>;
  /**
   * Ask a peer for a donation.
   *
   * Whether the peer gives one is in GET /v1/donation-requests.
   *
   * `POST /v1/donation-requests` of user nodes. Protected: needs an API key. Repeated after a lost answer, with an
   * idempotency key, and does its thing once.
   * @throws {TesseraError} invalid_socket_address, no_wallet, cannot_pay, peer_unreachable, wallet_unreadable,
   * wallet_write_failed
   */
  requestDonation(args: DonationRequest, options?: CallOptions): Promise<undefined>;
  /**
   * What peers said that were asked for a donation.
   *
   * An extension of the contract: the last 1,000 requests, newest first, with those that were declined.
   *
   * `GET /v1/donation-requests` of user nodes. Protected: needs an API key.
   * @throws {TesseraError} no_wallet, cannot_pay
   */
  getDonationRequests(args?: {
    /** How many at most; 100 by default. */
    readonly limit?: bigint | number;
  }, options?: CallOptions): Promise<DonationRequestsResponse>;
  /**
   * Encode transactions.
   *
   * Touches no mempool and no wallet.
   *
   * `POST /v1/transactions:serialize` of user nodes.
   * @throws {TesseraError} malformed_transaction
   */
  serializeTransactions(args: SerializeTransactionsRequest, options?: CallOptions): Promise<SerializeTransactionsResponse>;
  /**
   * Decode transactions.
   *
   * Scripts of the pay-to-public-key-hash shape come back as Pay2PkH.
   *
   * `POST /v1/transactions:deserialize` of user nodes.
   * @throws {TesseraError} malformed_transaction
   */
  deserializeTransactions(args: DeserializeTransactionsRequest, options?: CallOptions): Promise<DeserializeTransactionsResponse>;
  /**
   * The accounts, addresses and clock of this dev network.
   *
   * `GET /v1/dev` of mempool, storage, miner, user nodes.
   */
  getDevFacts(args?: Readonly<Record<string, never>>, options?: CallOptions): Promise<DevFactsResponse>;
  /**
   * Pays tokens to any address.
   *
   * From the wallet of the miner, or with `from` out of any address, without its key, if the network impersonates.
   * Where blocks are made on demand the answer comes when the payment is in a block; where they are made at an
   * interval, or only for who asks, it comes at once.
   *
   * `POST /v1/dev/faucet` of mempool, storage, miner, user nodes. Protected: needs an API key.
   * @throws {TesseraError} insufficient_funds, payment_refused, wrong_passphrase, wallet_write_failed,
   * transaction_rejected, double_spend, shutting_down
   */
  payFromFaucet(args: FaucetRequest, options?: CallOptions): Promise<FaucetResponse>;
  /**
   * Makes blocks now, even if they are empty.
   *
   * What waits for a block is in the first of them. The answer comes when all are stored.
   *
   * `POST /v1/dev/blocks` of mempool, storage, miner, user nodes. Protected: needs an API key.
   * @throws {TesseraError} mempool_unreachable, shutting_down
   */
  makeBlocks(args?: MakeBlocksRequest, options?: CallOptions): Promise<MakeBlocksResponse>;
  /**
   * Holds mining, or lets it go on.
   *
   * While mining is held, admitted transactions wait, and only `POST /v1/dev/blocks` makes a block, even where blocks
   * are made at an interval. When mining goes on, they are in the next block. A network that was started with
   * --no-mining begins so.
   *
   * `POST /v1/dev/automine` of mempool, storage, miner, user nodes. Protected: needs an API key.
   * @throws {TesseraError} mempool_unreachable, shutting_down
   */
  setAutomine(args: AutomineRequest, options?: CallOptions): Promise<AutomineResponse>;
  /**
   * The clock of the chain.
   *
   * `GET /v1/dev/time` of mempool, storage, miner, user nodes.
   */
  getDevTime(args?: Readonly<Record<string, never>>, options?: CallOptions): Promise<DevTimeResponse>;
  /**
   * Sets the clock of the chain, or moves it on.
   *
   * All nodes go by it: the times of blocks, the expiry of trades, the times in histories. It goes on from there, and
   * is never set to before the last block. Waiting times of nodes do not change.
   *
   * `POST /v1/dev/time` of mempool, storage, miner, user nodes. Protected: needs an API key.
   * @throws {TesseraError} shutting_down
   */
  setDevTime(args?: DevTimeRequest, options?: CallOptions): Promise<DevTimeResponse>;
  /**
   * Runs the scripts of a transaction step by step.
   *
   * Nothing is posted. For each input: every entry of its script, the stack after it, and why the script is not true.
   * That one is true does not mean that it may spend its output: that is the answer of POST /v1/transactions.
   *
   * `POST /v1/dev/trace` of mempool, storage, miner, user nodes.
   * @throws {TesseraError} malformed_transaction
   */
  traceScripts(args: TraceRequest, options?: CallOptions): Promise<TraceResponse>;
  /**
   * The snapshots that are kept.
   *
   * `GET /v1/dev/snapshots` of mempool, storage, miner, user nodes.
   */
  getSnapshots(args?: Readonly<Record<string, never>>, options?: CallOptions): Promise<SnapshotsResponse>;
  /**
   * Takes a snapshot of the chain, the wallets and the clock.
   *
   * The nodes are stopped for it and started again, on the same ports. The last 16 snapshots are kept.
   *
   * `POST /v1/dev/snapshots` of mempool, storage, miner, user nodes. Protected: needs an API key.
   * @throws {TesseraError} shutting_down
   */
  takeSnapshot(args?: EmptyRequest, options?: CallOptions): Promise<SnapshotResponse>;
  /**
   * Goes back to a snapshot.
   *
   * The nodes stop and start again on the same ports. Event streams end; a reader that resumes gets the event
   * `reset`, and forgets what it knows. All snapshots stay.
   *
   * `POST /v1/dev/snapshots/{id}/revert` of mempool, storage, miner, user nodes. Protected: needs an API key.
   * @throws {TesseraError} not_found, shutting_down
   */
  revertToSnapshot(args?: {
    /** Number of the snapshot. */
    readonly id: number;
  } & EmptyRequest, options?: CallOptions): Promise<SnapshotResponse>;
  /**
   * Writes the state file now.
   *
   * The file that --state names, which is also written when the network stops. The nodes are away for a moment.
   *
   * `POST /v1/dev/state` of mempool, storage, miner, user nodes. Protected: needs an API key.
   * @throws {TesseraError} write_failed, shutting_down
   */
  saveState(args?: EmptyRequest, options?: CallOptions): Promise<SavedStateResponse>;
}

/** What the client knows of each operation. */
export const TABLE: { readonly [Id in keyof Operations]: OperationRow } = {
  getDebug: { method: 'GET', path: '/v1/debug', roles: ['mempool', 'storage', 'miner', 'user'], reads: true, exact: { routes_pow: { '*': 1 } } },
  getOpenApi: { method: 'GET', path: '/v1/openapi.json', roles: ['mempool', 'storage', 'miner', 'user'], reads: true },
  getLiveness: { method: 'GET', path: '/livez', roles: ['mempool', 'storage', 'miner', 'user'], reads: true },
  getReadiness: { method: 'GET', path: '/readyz', roles: ['mempool', 'storage', 'miner', 'user'], reads: true, also: [503] },
  getBalances: { method: 'GET', path: '/v1/balances', roles: ['mempool'], reads: true, exact: { balance: { address_list: { '*': { '*': { value: { Token: 1, Item: { amount: 1 } } } } }, total: { tokens: 1, items: { '*': 1 } } } } },
  queryBalances: { method: 'POST', path: '/v1/balances/query', roles: ['mempool'], body: true, reads: true, exact: { balance: { address_list: { '*': { '*': { value: { Token: 1, Item: { amount: 1 } } } } }, total: { tokens: 1, items: { '*': 1 } } } } },
  getSupply: { method: 'GET', path: '/v1/supply', roles: ['mempool'], reads: true, exact: { total: 1, issued: 1 } },
  getMempool: { method: 'GET', path: '/v1/mempool', roles: ['mempool'], reads: true, exact: { transactions: 1, bytes: 1, blocks: { '*': { block_num: 1, transactions: 1, bytes: 1, first: { '*': { bytes: 1, time: 1 } } } } } },
  getWaitingTransaction: { method: 'GET', path: '/v1/mempool/{tx_hash}', roles: ['mempool'], reads: true, exact: { bytes: 1, time: 1, place: { block_num: 1, ahead: 1 }, outputs: { '*': { asset: { amount: 1 } } }, output_count: 1 } },
  createTransactions: { method: 'POST', path: '/v1/transactions', roles: ['mempool'], body: true, exact: { transactions: { '*': { asset: { amount: 1 } } } } },
  getTransactionStatus: { method: 'GET', path: '/v1/transactions/status', roles: ['mempool'], reads: true, exact: { '*': { timestamp: 1 } } },
  queryTransactionStatus: { method: 'POST', path: '/v1/transactions/status:query', roles: ['mempool'], body: true, reads: true, exact: { '*': { timestamp: 1 } } },
  createItem: { method: 'POST', path: '/v1/items', roles: ['mempool', 'miner', 'user'], body: true, apiKey: true, idempotencyKey: true, exact: { asset: { amount: 1 }, item_amount: 1 } },
  getBlockchainEntry: { method: 'GET', path: '/v1/blockchain-entries/{key}', roles: ['storage'], reads: true, exact: { data: { block: { header: { version: 1, bits: 1, b_num: 1, timestamp: 1 } }, version: 1 }, item_meta: { block_num: 1 } } },
  queryBlockchainEntries: { method: 'POST', path: '/v1/blockchain-entries/query', roles: ['storage'], body: true, reads: true, exact: { '*': { data: { block: { header: { version: 1, bits: 1, b_num: 1, timestamp: 1 } }, version: 1 }, item_meta: { block_num: 1 } } } },
  getBlocks: { method: 'GET', path: '/v1/blocks', roles: ['storage'], reads: true, exact: { '*': { data: { block: { header: { version: 1, bits: 1, b_num: 1, timestamp: 1 } }, version: 1 }, item_meta: { block_num: 1 } } } },
  getLatestBlock: { method: 'GET', path: '/v1/blocks/latest', roles: ['storage'], reads: true, exact: { block: { block: { header: { version: 1, bits: 1, b_num: 1, timestamp: 1 } } } } },
  getBlock: { method: 'GET', path: '/v1/blocks/{num}', roles: ['storage'], reads: true, exact: { data: { block: { header: { version: 1, bits: 1, b_num: 1, timestamp: 1 } }, version: 1 }, item_meta: { block_num: 1 } } },
  getItem: { method: 'GET', path: '/v1/items/{genesis_hash}', roles: ['storage'], reads: true, exact: { total_amount: 1, created: { block_num: 1 } } },
  getChainIndex: { method: 'GET', path: '/v1/chain/index', roles: ['storage'], reads: true, exact: { block_num: 1, blocks: 1 } },
  getChainBlocks: { method: 'GET', path: '/v1/chain/blocks', roles: ['storage'], reads: true, exact: { blocks: { '*': { block_num: 1, time: 1, transactions: 1, transactions_so_far: 1, bytes: 1, reward: 1, issued: 1 } }, next: 1, as_of_block: 1 } },
  getChainBlock: { method: 'GET', path: '/v1/chain/blocks/{block}', roles: ['storage'], reads: true, exact: { block_num: 1, time: 1, transactions: 1, transactions_so_far: 1, bytes: 1, reward: 1, issued: 1 } },
  getBlockTransactions: { method: 'GET', path: '/v1/chain/blocks/{block}/transactions', roles: ['storage'], reads: true, exact: { transactions: { '*': { block_num: 1, time: 1, bytes: 1, input_count: 1, output_count: 1, tokens: 1, paid: 1 } } } },
  getChainTransaction: { method: 'GET', path: '/v1/chain/transactions/{tx_hash}', roles: ['storage'], reads: true, exact: { block_num: 1, time: 1, bytes: 1, input_count: 1, output_count: 1, tokens: 1, paid: 1, confirmations: 1, version: 1, first_input: 1, inputs: { '*': { source: { amount: 1, locktime: 1, block_num: 1 } } }, first_output: 1, outputs: { '*': { amount: 1, locktime: 1, spent_by: { block_num: 1 } } }, trade: { participants: 1, expectations: { '*': { amount: 1 } } }, as_of_block: 1 } },
  getChainOutput: { method: 'GET', path: '/v1/chain/outputs/{tx_hash}/{n}', roles: ['storage'], reads: true, exact: { amount: 1, locktime: 1, block_num: 1, spent_by: { block_num: 1 }, as_of_block: 1 } },
  searchChain: { method: 'GET', path: '/v1/chain/search', roles: ['storage'], reads: true, exact: { found: { '*': { block_num: 1 } } } },
  getChainAddress: { method: 'GET', path: '/v1/chain/addresses/{address}', roles: ['storage'], reads: true, exact: { tokens: 1, transaction_count: 1, unspent_count: 1, item_count: 1, first_seen: { block_num: 1, time: 1 }, last_seen: { block_num: 1, time: 1 }, as_of_block: 1 } },
  getAddressItems: { method: 'GET', path: '/v1/chain/addresses/{address}/items', roles: ['storage'], reads: true, exact: { items: { '*': { amount: 1 } }, as_of_block: 1 } },
  getAddressOutputs: { method: 'GET', path: '/v1/chain/addresses/{address}/outputs', roles: ['storage'], reads: true, exact: { outputs: { '*': { amount: 1, locktime: 1, block_num: 1, time: 1 } }, as_of_block: 1 } },
  getAddressTransactions: { method: 'GET', path: '/v1/chain/addresses/{address}/transactions', roles: ['storage'], reads: true, exact: { transactions: { '*': { block_num: 1, time: 1, received: 1, sent: 1, items: { '*': { received: 1, sent: 1 } }, item_count: 1 } }, as_of_block: 1 } },
  getTokenHolders: { method: 'GET', path: '/v1/chain/holders', roles: ['storage'], reads: true, exact: { holders: { '*': { amount: 1 } }, as_of_block: 1 } },
  getChainItem: { method: 'GET', path: '/v1/chain/items/{genesis_hash}', roles: ['storage'], reads: true, exact: { created: { block_num: 1, time: 1 }, holder_count: 1, transfer_count: 1, as_of_block: 1 } },
  getItemHolders: { method: 'GET', path: '/v1/chain/items/{genesis_hash}/holders', roles: ['storage'], reads: true, exact: { holders: { '*': { amount: 1 } }, as_of_block: 1 } },
  getItemTransfers: { method: 'GET', path: '/v1/chain/items/{genesis_hash}/transfers', roles: ['storage'], reads: true, exact: { transfers: { '*': { block_num: 1, time: 1, amount: 1, from: { '*': { amount: 1 } }, from_count: 1, to: { '*': { amount: 1 } }, to_count: 1 } }, as_of_block: 1 } },
  getCurrentBlock: { method: 'GET', path: '/v1/mining/current-block', roles: ['miner'], reads: true, exact: { block: { block: { version: 1, bits: 1, b_num: 1, timestamp: 1 }, reward: 1 } } },
  getOutgoingTransactions: { method: 'GET', path: '/v1/transactions/outgoing', roles: ['miner', 'user'], reads: true, exact: { transactions: { '*': { 1: { version: 1 } } } } },
  getWalletHistory: { method: 'GET', path: '/v1/wallet/history', roles: ['miner', 'user'], reads: true, apiKey: true, exact: { transactions: { '*': { created_at: 1, outputs: { '*': { value: { Token: 1, Item: { amount: 1 } } } }, amount: 1, fee: 1, block_num: 1, block_time: 1 } } } },
  getWallet: { method: 'GET', path: '/v1/wallet', roles: ['miner', 'user'], reads: true, exact: { addresses: { '*': { '*': { value: { Token: 1, Item: { amount: 1 } } } } }, available_total_tokens: 1, locked_total_tokens: 1, running_total_tokens: 1, item_total: { '*': 1 } } },
  createWalletAddress: { method: 'POST', path: '/v1/wallet/addresses', roles: ['miner', 'user'], apiKey: true },
  exportKeypairs: { method: 'GET', path: '/v1/wallet/keypairs', roles: ['miner', 'user'], reads: true, apiKey: true, exact: { addresses: { '*': { address_version: 1 } } } },
  importKeypairs: { method: 'POST', path: '/v1/wallet/keypairs', roles: ['miner', 'user'], body: true, apiKey: true },
  changePassphrase: { method: 'PUT', path: '/v1/wallet/passphrase', roles: ['miner', 'user'], body: true, apiKey: true, empty: true },
  refreshRunningTotal: { method: 'POST', path: '/v1/wallet/running-total:refresh', roles: ['miner', 'user'], body: true, apiKey: true, empty: true },
  createPayment: { method: 'POST', path: '/v1/payments', roles: ['miner', 'user'], body: true, apiKey: true, idempotencyKey: true, exact: { amount: { amount: 1 } } },
  abandonPayment: { method: 'POST', path: '/v1/payments/{tx_hash}/abandon', roles: ['miner', 'user'], apiKey: true, empty: true },
  getWalletMovements: { method: 'GET', path: '/v1/wallet/movements', roles: ['miner', 'user'], reads: true, apiKey: true, exact: { movements: { '*': { number: 1, amount: 1, items: { '*': 1 }, net: 1, fee: 1, block_num: 1, block_time: 1, seen_at: 1, outputs: { '*': { amount: 1 } }, output_count: 1 } }, next: 1 } },
  getWalletLabels: { method: 'GET', path: '/v1/wallet/labels', roles: ['miner', 'user'], reads: true, apiKey: true },
  setWalletLabels: { method: 'PUT', path: '/v1/wallet/labels', roles: ['miner', 'user'], body: true, apiKey: true, empty: true },
  getWalletItems: { method: 'GET', path: '/v1/wallet/items', roles: ['miner', 'user'], reads: true, apiKey: true, exact: { items: { '*': { amount: 1, available: 1 } } } },
  createItemPayment: { method: 'POST', path: '/v1/item-payments', roles: ['miner', 'user'], body: true, apiKey: true, idempotencyKey: true, exact: { amount: { amount: 1 } } },
  offerTrade: { method: 'POST', path: '/v1/trades', roles: ['miner', 'user'], body: true, apiKey: true, idempotencyKey: true, exact: { give: { amount: 1 }, get: { amount: 1 }, created_at: 1, expires_at: 1 } },
  acceptTrade: { method: 'POST', path: '/v1/trades/accept', roles: ['miner', 'user'], body: true, apiKey: true, exact: { give: { amount: 1 }, get: { amount: 1 }, created_at: 1, expires_at: 1 } },
  completeTrade: { method: 'POST', path: '/v1/trades/complete', roles: ['miner', 'user'], body: true, apiKey: true, exact: { give: { amount: 1 }, get: { amount: 1 }, created_at: 1, expires_at: 1 } },
  getTrades: { method: 'GET', path: '/v1/trades', roles: ['miner', 'user'], reads: true, apiKey: true, exact: { trades: { '*': { give: { amount: 1 }, get: { amount: 1 }, created_at: 1, expires_at: 1 } } } },
  getTrade: { method: 'GET', path: '/v1/trades/{trade_id}', roles: ['miner', 'user'], reads: true, apiKey: true, exact: { give: { amount: 1 }, get: { amount: 1 }, created_at: 1, expires_at: 1 } },
  cancelTrade: { method: 'POST', path: '/v1/trades/{trade_id}/cancel', roles: ['miner', 'user'], apiKey: true, exact: { give: { amount: 1 }, get: { amount: 1 }, created_at: 1, expires_at: 1 } },
  backupWallet: { method: 'POST', path: '/v1/wallet/backup', roles: ['miner', 'user'], body: true, reads: true, apiKey: true },
  sweepWallet: { method: 'POST', path: '/v1/wallet/sweep', roles: ['miner', 'user'], apiKey: true, exact: { tokens: 1, tokens_left: 1 } },
  requestDonation: { method: 'POST', path: '/v1/donation-requests', roles: ['user'], body: true, apiKey: true, idempotencyKey: true, empty: true },
  getDonationRequests: { method: 'GET', path: '/v1/donation-requests', roles: ['user'], reads: true, apiKey: true, exact: { requests: { '*': { number: 1, asked_at: 1 } } } },
  serializeTransactions: { method: 'POST', path: '/v1/transactions:serialize', roles: ['user'], body: true, reads: true },
  deserializeTransactions: { method: 'POST', path: '/v1/transactions:deserialize', roles: ['user'], body: true, reads: true, exact: { transactions: { '*': { inputs: { '*': { script_signature: { Pay2PkH: { address_version: 1 }, stack: { '*': { Num: 1 } } } } }, outputs: { '*': { value: { Token: 1, Item: { amount: 1 } }, locktime: 1 } }, version: 1, fees: { '*': { value: { Token: 1, Item: { amount: 1 } }, locktime: 1 } }, druid_info: { participants: 1, expectations: { '*': { asset: { Token: 1, Item: { amount: 1 } } }, asset: { Token: 1, Item: { amount: 1 } } } } } } } },
  getDevFacts: { method: 'GET', path: '/v1/dev', roles: ['mempool', 'storage', 'miner', 'user'], reads: true, exact: { accounts: { '*': { tokens: 1 } }, interval_ms: 1 } },
  payFromFaucet: { method: 'POST', path: '/v1/dev/faucet', roles: ['mempool', 'storage', 'miner', 'user'], body: true, apiKey: true, exact: { amount: 1, block_num: 1 } },
  makeBlocks: { method: 'POST', path: '/v1/dev/blocks', roles: ['mempool', 'storage', 'miner', 'user'], body: true, apiKey: true, exact: { block_nums: { '*': 1 } } },
  setAutomine: { method: 'POST', path: '/v1/dev/automine', roles: ['mempool', 'storage', 'miner', 'user'], body: true, apiKey: true },
  getDevTime: { method: 'GET', path: '/v1/dev/time', roles: ['mempool', 'storage', 'miner', 'user'], reads: true },
  setDevTime: { method: 'POST', path: '/v1/dev/time', roles: ['mempool', 'storage', 'miner', 'user'], body: true, apiKey: true },
  traceScripts: { method: 'POST', path: '/v1/dev/trace', roles: ['mempool', 'storage', 'miner', 'user'], body: true, reads: true },
  getSnapshots: { method: 'GET', path: '/v1/dev/snapshots', roles: ['mempool', 'storage', 'miner', 'user'], reads: true, exact: { snapshots: { '*': { block_num: 1 } } } },
  takeSnapshot: { method: 'POST', path: '/v1/dev/snapshots', roles: ['mempool', 'storage', 'miner', 'user'], body: true, apiKey: true, exact: { block_num: 1 } },
  revertToSnapshot: { method: 'POST', path: '/v1/dev/snapshots/{id}/revert', roles: ['mempool', 'storage', 'miner', 'user'], body: true, apiKey: true, exact: { block_num: 1 } },
  saveState: { method: 'POST', path: '/v1/dev/state', roles: ['mempool', 'storage', 'miner', 'user'], body: true, apiKey: true, exact: { bytes: 1, block_num: 1 } },
};

/** 64-bit integers in the data of events. */
export const EVENT_SHAPES: OperationRow['exact'] = { block: { block_num: 1, transactions: 1 }, transaction: { block_num: 1 }, balance: { running: 1, available: 1, locked: 1 } };
