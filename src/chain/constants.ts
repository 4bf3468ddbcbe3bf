/** The numbers and fixed texts of the chain (docs/chain.md#constants). */

/** Raw units of one display token. */
export const DISPLAY_UNIT = 72_072_000n;
/** The whole supply in raw units: 5 * 10^9 display tokens. Does not fit a double. */
export const TOTAL_TOKENS = 360_360_000_000_000_000n;
/** Raw units that block 0 of the reference network issues. */
export const DEFAULT_GENESIS_AMOUNT = 90_090_000_000_000_000n;

/** Largest u64. */
export const U64_MAX = 0xffff_ffff_ffff_ffffn;

/** Version of new transactions and headers. The chain accepts any. */
export const NETWORK_VERSION = 6;

/** First character of a transaction hash. */
export const TX_PREFIX = 'g';
/** Characters of a transaction hash, prefix included. */
export const TX_HASH_LENGTH = 32;
/** First character of a block hash. */
export const BLOCK_PREFIX = 'b';
/** Characters of a block hash, prefix included. */
export const BLOCK_HASH_LENGTH = 65;
/** First character of a pay-to-script-hash address. */
export const P2SH_PREFIX = 'H';
/** Characters of a standard or pay-to-script-hash address. */
export const STANDARD_ADDRESS_LENGTH = 64;
/** Characters of a version 0 address. */
export const V0_ADDRESS_LENGTH = 32;
/** Selector of version 0 addresses. */
export const ADDRESS_VERSION_V0 = 0;
/** Selector of temporary addresses. */
export const ADDRESS_VERSION_TEMP = 99_999;

/** Genesis hash shared by all items created with the specification `Default`. */
export const DEFAULT_GENESIS_HASH = 'default_genesis_hash';
/** Maximum size of the metadata of a created item, in UTF-8 bytes. */
export const MAX_METADATA_BYTES = 800;

/** Maximum size of a script in bytes, counted by entry: op 1, signature 64, public key 32, number 8, text its UTF-8 length. */
export const MAX_SCRIPT_SIZE = 10_000;
/** Maximum number of ops in a script, constants and skipped branches included. */
export const MAX_OPS_PER_SCRIPT = 201;
/** Maximum size of a text on the stack, in UTF-8 bytes. */
export const MAX_SCRIPT_ITEM_SIZE = 520;
/** Maximum number of entries on the main and alternative stacks together. */
export const MAX_STACK_SIZE = 1_000;
/** Maximum number of public keys of one multi-signature. */
export const MAX_PUB_KEYS_PER_MULTISIG = 20;

/** Maximum number of signature verifications in one transaction: more than 512 KiB of inputs paid to keys can have. */
export const MAX_TX_SIGNATURE_OPERATIONS = 2_000;
/** Signature verifications that a block has room for in every network (chain/block-rules.ts), and a DRUID set may need. */
export const MAX_BLOCK_SIGNATURE_OPERATIONS = 20_000;

/** Blocks until a coinbase can be spent. */
export const COINBASE_MATURITY = 100n;
/** Right shift of the unissued supply that gives the block reward. */
export const REWARD_ISSUANCE_SHIFT = 27n;
/** Raw units added to every reward: 8 display tokens. */
export const REWARD_SMOOTHING = 8n * DISPLAY_UNIT;

/** Leading zero bytes that a header hash needs without a target. */
export const MINING_DIFFICULTY = 1;
/** Seconds by which the time of a new block may be ahead of the clock of a storage node. */
export const MAX_BLOCK_AHEAD_SECONDS = 120;
/** Longest nonce of a header in bytes; the shortest has 1. */
export const MAX_NONCE_LENGTH = 32;

/** Name of the rule by which a transaction may spend outputs of earlier transactions of the same block. */
export const SPENDING_ORDER = 'in block order';

/** Single transactions in one block, where the genesis file says no other number (chain/block-rules.ts). */
export const BLOCK_SIZE_IN_TX = 2_000;
/** Maximum size of a transaction in bytes: room for some 1,500 inputs. */
export const MAX_TRANSACTION_BYTES = 512 * 1024;
/** Bytes of transactions that a block has room for in every network: the largest DRUID set always fits. */
export const MAX_BLOCK_TX_BYTES = 32 * 1024 * 1024;
/** The size in bytes at which the reference's library calls a block full. Nodes use BLOCK_SIZE_IN_TX. */
export const MAX_BLOCK_SIZE = 1_000;
