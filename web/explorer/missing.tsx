/** Notice for something that is missing, or not there yet: it is looked for again with every block. */

import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { type ErrorCode, isTesseraError } from '../../src/sdk/client.js';
import { grouped } from '../shared/amounts.js';
import { Notice } from '../shared/components/notice.js';
import type { Resource } from '../shared/use-resource.js';
import { useChain } from './chain/use-chain.js';

export interface MissingProps {
  readonly resource: Resource<unknown>;
  /** The node's code for what it does not have. */
  readonly code: ErrorCode;
  /** `block 7`. */
  readonly what: string;
  /** Further text. */
  readonly more?: ComponentChildren;
  readonly children: ComponentChildren;
}

export function Missing({ resource, code, what, more, children }: MissingProps) {
  const { height } = useChain();
  const { value, error, reload } = resource;
  const isMissing = value === undefined && isTesseraError(error, code);
  // A new height is the reason to look again.
  useEffect(() => {
    if (isMissing) reload();
  }, [height, reload]);
  if (!isMissing) return <>{children}</>;
  return (
    <Notice title={`There is no ${what}`} kind="warning">
      <p>
        {height === undefined || height < 0 ? 'No block is stored yet.' : `The last block is ${grouped(height)}.`} This
        page shows it when it is stored.
      </p>
      {more}
    </Notice>
  );
}
