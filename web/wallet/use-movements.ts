/** The history, live at its beginning and read on towards its end. */

import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import type { TesseraClient } from '../../src/sdk/client.js';
import { useStream } from '../shared/use-stream.js';
import {
  countToRead,
  EMPTY_LOG,
  type Movement,
  type MovementLog,
  PAGE,
  withNewest,
  withOlder,
} from './movement-log.js';
import { useSession } from './session.js';
import { useWallet } from './use-wallet.js';

/** Older ones are read when so many rows are left. */
const AHEAD = 30;

export interface Movements {
  readonly movements: readonly Movement[];
  readonly isLoading: boolean;
  readonly isAll: boolean;
  readonly error: Error | undefined;
  readonly onRange: (first: number, last: number) => void;
  readonly retry: () => void;
}

type Query = NonNullable<Parameters<TesseraClient['getWalletMovements']>[0]>;
export type MovementFilter = Pick<Query, 'direction' | 'state' | 'kind'>;

/** With a filter, the node may answer pages with few or none before the last. */
const ENOUGH = 20;

export function useMovements(filter: MovementFilter = {}): Movements {
  const { ask } = useSession();
  const { version } = useStream();
  const [log, setLog] = useState<MovementLog>(EMPTY_LOG);
  const [failure, setFailure] = useState<Error>();
  const reading = useRef<bigint>(undefined);
  const current = useRef(log);
  current.current = log;
  const key = JSON.stringify(filter);
  const newest = useWallet(`newest movements ${key}`, (node, signal) =>
    node.getWalletMovements({ limit: countToRead(current.current), ...filter }, { signal }),
  );

  // What has changed while the node was away may be on any page: it begins anew.
  useEffect(() => setLog(EMPTY_LOG), [version, key]);
  useEffect(() => {
    const { value } = newest;
    if (value !== undefined) setLog((old) => withNewest(old, value));
  }, [newest.value, version, key]);

  const older = useCallback(async () => {
    const { next: cursor } = current.current;
    if (cursor === undefined || cursor === null || reading.current === cursor) return;
    reading.current = cursor;
    setFailure(undefined);
    try {
      const page = await ask((node) => node.getWalletMovements({ limit: PAGE, cursor, ...filter }));
      setLog((old) => withOlder(old, cursor, page));
    } catch (error) {
      setFailure(error instanceof Error ? error : new Error(String(error)));
    } finally {
      reading.current = undefined;
    }
  }, [ask, key]);

  const isShort = log.movements.length < ENOUGH && typeof log.next === 'bigint';
  useEffect(() => {
    if (isShort) void older();
  }, [isShort, log.next, older]);

  const onRange = useCallback(
    (_first: number, last: number) => {
      if (last >= current.current.movements.length - AHEAD) void older();
    },
    [older],
  );
  const { movements, next } = log;
  return {
    movements,
    isLoading: next === undefined && newest.error === undefined,
    isAll: next === null,
    error: newest.value === undefined ? (newest.error ?? failure) : failure,
    onRange,
    retry: () => {
      newest.reload();
      void older();
    },
  };
}
