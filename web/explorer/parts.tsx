/** Small parts of the pages of the explorer: links to what the chain has, kinds, assets, and what to do without an index. */

import { grouped } from '../shared/amounts.js';
import { Amount } from '../shared/components/amount.js';
import { Hash } from '../shared/components/hash.js';
import { Notice } from '../shared/components/notice.js';
import type { AssetView, TransactionSummary } from './chain/shapes.js';
import { useChain } from './chain/use-chain.js';
import { addressPath, blockPath, itemPath, transactionPath } from './paths.js';

export function BlockLink({ number }: { readonly number: bigint }) {
  return <a href={blockPath(number)}>{grouped(number)}</a>;
}

export function TransactionLink({ hash, isWhole = false }: { readonly hash: string; readonly isWhole?: boolean }) {
  return <Hash value={hash} href={transactionPath(hash)} isWhole={isWhole} />;
}

export function AddressLink({
  address,
  isWhole = false,
}: {
  readonly address: string | null;
  readonly isWhole?: boolean;
}) {
  if (address === null) return <span class="none">no address</span>;
  return <Hash value={address} href={addressPath(address)} isWhole={isWhole} />;
}

export function ItemLink({ hash }: { readonly hash: string }) {
  return <Hash value={hash} href={itemPath(hash)} />;
}

type TransactionKind = TransactionSummary['kind'];

const KINDS: Readonly<Record<TransactionKind, readonly [string, string]>> = {
  coinbase: ['Coinbase', 'The reward of a block'],
  genesis: ['Genesis', 'Of block 0'],
  issuance: ['Issuance', 'Set by the genesis file for its block'],
  creation: ['Item creation', 'Creates items'],
  trade: ['Trade', 'One of a set: all of them happen, or none'],
  payment: ['Payment', 'Spends outputs and makes others'],
};

export function Kind({ kind }: { readonly kind: TransactionKind }) {
  const [name, title] = KINDS[kind] ?? [kind, ''];
  return (
    <span class={`tag kind-${kind}`} title={title}>
      {name}
    </span>
  );
}

/** Why an amount is a guess. */
export const PAID_RULE =
  '“≈” marks a guess: the last of several outputs is taken for change and left out, because wallets put it there.';

/** Amount that a transaction has paid, without change. */
export function Paid({ value: { kind, tokens, paid } }: { readonly value: TransactionSummary }) {
  if (tokens === 0n) return kind === 'creation' ? <Kind kind={kind} /> : <span class="none">items</span>;
  return (
    <>
      {paid !== tokens && <span title={PAID_RULE}>≈ </span>}
      <Amount raw={paid} hasBoth={false} />
    </>
  );
}

/** Tokens, or a number of items of a class. `creator` names items that have no genesis hash of their own yet. */
export function Asset({ value, creator }: { readonly value: AssetView; readonly creator?: string }) {
  if (value.asset === 'token') return <Amount raw={value.amount} />;
  const hash = value.genesis_hash ?? creator;
  return (
    <span class="asset-item">
      <span class="amount">{grouped(value.amount)} ×</span>{' '}
      {hash === undefined ? <span class="none">item</span> : <ItemLink hash={hash} />}
    </span>
  );
}

/** Notice about a list that needs an index, and how to get it. */
export function NeedsIndex({ what }: { readonly what: string }) {
  const { index } = useChain();
  if (index?.state === 'building') {
    return (
      <Notice title="The index of the chain is being built" kind="warning">
        <p>
          {what} can be shown when it is done: {grouped((index.block_num ?? -1n) + 1n)} of {grouped(index.blocks)}{' '}
          blocks so far. This page goes on by itself.
        </p>
      </Notice>
    );
  }
  if (index?.state === 'waiting') {
    return (
      <Notice title="The index of the chain is waiting" kind="warning">
        <p>
          {what} can be shown when it goes on: <bdi>{index.problem}</bdi>
        </p>
      </Notice>
    );
  }
  return (
    <Notice title="This node keeps no index of the chain" kind="warning">
      <p>
        {what} can be shown by a storage node that has one. Its operator switches it on with{' '}
        <code>storage.index = true</code> in the configuration (or <code>TESSERA_STORAGE__INDEX=true</code>) and starts
        the node again.
      </p>
    </Notice>
  );
}
