/** Notices that a page shows instead of its contents: it loads, there is nothing, something failed. */

import type { ComponentChildren } from 'preact';
import { isTesseraError } from '../../../src/sdk/client.js';
import type { Resource } from '../use-resource.js';

export interface NoticeProps {
  readonly title: string;
  readonly kind?: 'plain' | 'warning' | 'failure';
  readonly children?: ComponentChildren;
}

export function Notice({ title, kind = 'plain', children }: NoticeProps) {
  return (
    <section class={`notice ${kind}`} role={kind === 'failure' ? 'alert' : 'status'}>
      <p class="notice-title">{title}</p>
      {children}
    </section>
  );
}

export interface LoadedProps<T> {
  readonly resource: Resource<T>;
  /** Name of what is loading, for those who cannot see that something moves. */
  readonly what: string;
  readonly children: (value: T) => ComponentChildren;
}

/** The value of a resource once it is there, and until then what there is to say. */
export function Loaded<T>({ resource, what, children }: LoadedProps<T>) {
  const { value, error, reload } = resource;
  if (value !== undefined) return <>{children(value)}</>;
  if (error !== undefined) return <Failed error={error} retry={reload} />;
  return (
    <p class="loading" role="status">
      Loading {what}…
    </p>
  );
}

export function Failed({ error, retry }: { readonly error: Error; readonly retry: () => void }) {
  const title = isTesseraError(error, 'node_unreachable') ? 'The node does not answer' : 'The node cannot say';
  return (
    <Notice title={title} kind="failure">
      <p>
        <bdi>{error.message}</bdi>
      </p>
      <button type="button" class="button" onClick={retry}>
        Try again
      </button>
    </Notice>
  );
}
