/** A trade in words: what this wallet gives, and what it gets for it. */

import { Amount } from '../../shared/components/amount.js';
import { Fact, Facts } from '../../shared/components/facts.js';
import { When } from '../../shared/components/when.js';
import { ItemCount } from '../parts.js';
import type { TradedAsset } from './documents.js';

export interface SidesProps {
  readonly give: TradedAsset;
  readonly get: TradedAsset;
  /** Unix seconds. */
  readonly until?: number | bigint;
}

export function Sides({ give, get, until }: SidesProps) {
  return (
    <Facts>
      <Fact name="You give">
        <AssetText asset={give} />
      </Fact>
      <Fact name="You get">
        <AssetText asset={get} />
      </Fact>
      {until !== undefined && (
        <Fact name="Until">
          <When seconds={BigInt(until)} />
        </Fact>
      )}
    </Facts>
  );
}

function AssetText({ asset }: { readonly asset: TradedAsset }) {
  return asset.kind === 'token' ? (
    <Amount raw={asset.amount} />
  ) : (
    <ItemCount count={asset.amount} genesis={asset.genesis_hash ?? ''} />
  );
}
