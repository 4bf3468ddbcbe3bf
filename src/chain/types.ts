/** The values of the chain: immutable data without behaviour; every u64 is a `bigint`. */

/** One output of one transaction. `tHash` is `g` + 31 hex digits, or any text for a genesis transaction; `n` is an i32. */
export interface OutPoint {
  readonly tHash: string;
  readonly n: number;
}

/** Tokens, in raw units (72,072,000 to the display unit). */
export interface TokenAsset {
  readonly kind: 'token';
  readonly amount: bigint;
}

/** Items of one kind. A null `genesisHash` is only found on the output that created them. */
export interface ItemAsset {
  readonly kind: 'item';
  readonly amount: bigint;
  readonly genesisHash: string | null;
  readonly metadata: string | null;
}

export type Asset = TokenAsset | ItemAsset;

/** An entry of a script. `op` is the declaration index of the opcode (see `script/opcodes.ts`), as on the wire. */
export type StackEntry =
  | { readonly kind: 'op'; readonly op: number }
  | { readonly kind: 'signature'; readonly bytes: Uint8Array }
  | { readonly kind: 'pubkey'; readonly bytes: Uint8Array }
  | { readonly kind: 'num'; readonly value: bigint }
  | { readonly kind: 'bytes'; readonly text: string };

/** Entries from the bottom of the stack to its top, which is the order of execution. */
export type Script = readonly StackEntry[];

export interface TxIn {
  /** The output spent; null for a coinbase or a create transaction. */
  readonly previousOut: OutPoint | null;
  readonly script: Script;
}

export interface TxOut {
  readonly value: Asset;
  /** Lowest current block number at which the output can be spent. */
  readonly locktime: bigint;
  /** An address text, not a script. Null outputs can never be spent. */
  readonly scriptPublicKey: string | null;
}

/** An entry of the chain's set of unspent outputs. */
export type Utxo = readonly [outPoint: OutPoint, txOut: TxOut];

/** Duty of another transaction with the same DRUID: to pay `asset` from the inputs named by `from` to `to`. */
export interface DruidExpectation {
  readonly from: string;
  readonly to: string;
  readonly asset: Asset;
}

export interface DruidInfo {
  readonly druid: string;
  readonly participants: bigint;
  readonly expectations: readonly DruidExpectation[];
  readonly genesisHash: string | null;
}

export interface Transaction {
  readonly inputs: readonly TxIn[];
  readonly outputs: readonly TxOut[];
  readonly version: bigint;
  /** Explicit fee outputs. Fee `i` is the outpoint `outputs.length + i` (decision B5). */
  readonly fees: readonly TxOut[];
  /** True in a block of original nodes: fee `i` takes the place of output `i`. No part of the bytes. */
  readonly feesReplace?: true;
  readonly druidInfo: DruidInfo | null;
}

/** Layouts of a header: the members that are hashed (docs/chain.md#header-layouts); `prime` has the target in `bits`. */
export type HeaderLayout = 'current' | 'prime' | 'oldest';

export interface BlockHeader {
  /** Layout of the header; `current` when left out. */
  readonly layout?: Exclude<HeaderLayout, 'current'>;
  /** True for a block that original nodes made (docs/chain.md#eras). No part of the hashed bytes. */
  readonly isOriginal?: true;
  /** Version of the header, a u32. */
  readonly version: number;
  readonly bits: bigint;
  readonly nonce: Uint8Array;
  readonly miningTxHash: string;
  readonly bNum: bigint;
  /** Time in Unix seconds, an i64. */
  readonly timestamp: bigint;
  /** Compact target as 4 big-endian bytes, or empty. */
  readonly difficulty: Uint8Array;
  /** ASCII of `<unicorn seed>-<witness>`; empty in block 0 of some chains. */
  readonly seedValue: Uint8Array;
  readonly previousHash: string | null;
  readonly merkleRoot: string;
  readonly txsHash: string;
}

export interface Block {
  readonly header: BlockHeader;
  /** Transaction hashes in block order; the coinbase is not among them. */
  readonly transactions: readonly string[];
}

/** A block with everything in it, as mempool and storage exchange it. */
export interface FullBlock {
  readonly block: Block;
  /** The transactions, in the order of `block.transactions`. */
  readonly transactions: readonly Transaction[];
  readonly miningTransaction: Transaction;
}

/** A block whose transactions are asked for one by one, and may be read from its bytes only then. A `FullBlock` is one. */
export interface OpenBlock extends Pick<FullBlock, 'block' | 'miningTransaction'> {
  readonly transactions: Pick<readonly Transaction[], 'length' | 'at'>;
}

/** Form of an address (docs/chain.md#addresses): null is the current one, 0 the short one, 99999 the temporary one. */
export type AddressVersion = null | 0 | 99999;

/** Name of a created item: `Create` takes the creating transaction's hash, `Default` the shared literal. */
export type GenesisHashSpec = 'Create' | 'Default';
