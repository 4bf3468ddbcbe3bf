/** Inputs and outputs of a transaction, and their scripts taken apart. */

import { grouped } from '../shared/amounts.js';
import { Copy } from '../shared/components/hash.js';
import { SafeLine, SafeText } from '../shared/components/safe-text.js';
import type { Input, Output } from './chain/shapes.js';
import { useChain } from './chain/use-chain.js';
import { AddressLink, Asset, BlockLink, TransactionLink } from './parts.js';

export function InputView({ index, input }: { readonly index: number; readonly input: Input }) {
  const { source, script } = input;
  return (
    <li class="card">
      <div class="card-head">
        <span class="index">{index}</span>
        {source === null ? (
          <span class="none">spends nothing: it creates</span>
        ) : (
          <span>
            output {source.n} of <TransactionLink hash={source.tx_hash} />
            {source.block_num !== undefined && (
              <span class="none">
                {' '}
                in block <BlockLink number={source.block_num} />
              </span>
            )}
          </span>
        )}
      </div>
      {source?.asset !== undefined && source.amount !== undefined && (
        <p>
          <Asset
            value={{
              asset: source.asset,
              amount: source.amount,
              genesis_hash: source.genesis_hash ?? null,
              metadata: null,
            }}
            creator={source.tx_hash}
          />
        </p>
      )}
      {source?.address !== undefined && (
        <p>
          from <AddressLink address={source.address} />
        </p>
      )}
      <Script entries={script} />
    </li>
  );
}

export interface OutputViewProps {
  readonly output: Output;
  /** The transaction: items that it creates are named by it. */
  readonly creator: string;
}

export function OutputView({ output, creator }: OutputViewProps) {
  const { n, address, locktime, fee, metadata } = output;
  const { height = 0 } = useChain();
  return (
    <li class="card">
      <div class="card-head">
        <span class="index">{n}</span>
        {fee && <span class="tag">fee</span>}
        <Spent output={output} />
      </div>
      <p>
        <Asset value={output} creator={creator} />
      </p>
      <p>
        to <AddressLink address={address} />
      </p>
      {locktime > BigInt(height) && <p class="none">locked until block {grouped(locktime)}</p>}
      {metadata !== null && metadata !== '' && (
        <details>
          <summary>
            Metadata: <SafeLine text={metadata} limit={40} />
          </summary>
          <SafeText text={metadata} />
        </details>
      )}
    </li>
  );
}

function Spent({ output: { spent_by: spentBy, address } }: Pick<OutputViewProps, 'output'>) {
  if (spentBy === undefined) return null;
  if (spentBy === null) return <span class="tag good">{address === null ? 'cannot be spent' : 'unspent'}</span>;
  return (
    <span class="spent">
      <span class="tag">spent</span> by <TransactionLink hash={spentBy.tx_hash} />
    </span>
  );
}

type ScriptEntry = Input['script'][number];

const NAMES: Readonly<Record<ScriptEntry['kind'], string>> = {
  op: 'operation',
  signature: 'signature',
  pubkey: 'public key',
  num: 'number',
  bytes: 'text',
};

/** The entries of a script in the order in which they are executed (docs/chain.md#script-machine). */
function Script({ entries }: { readonly entries: readonly ScriptEntry[] }) {
  if (entries.length === 0) return <p class="none">empty script</p>;
  const text = entries.map(({ kind, value }) => (kind === 'op' ? value : `${kind}:${value}`)).join(' ');
  return (
    <details class="script">
      <summary>Script, {entries.length === 1 ? 'one entry' : `${entries.length} entries`}</summary>
      <ol>
        {entries.map(({ kind, value }, at) => (
          // A script never changes, and may hold the same entry twice.
          <li key={at} class={`entry ${kind}`}>
            <span class="entry-kind">{NAMES[kind]}</span>
            <code>{kind === 'bytes' ? <SafeLine text={value} limit={520} /> : value}</code>
          </li>
        ))}
      </ol>
      <Copy text={text} label="Copy the script" />
    </details>
  );
}
