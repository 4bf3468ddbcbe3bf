/** Rebuilds what a wallet knows of the chain: its store is copied aside, and its chain data is discarded. */

import { existsSync } from 'node:fs';
import { cp, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../../config/schema.js';
import { DataDir } from '../../db/data-dir.js';
import { systemClock } from '../../lib/clock.js';
import { TesseraError } from '../../lib/errors.js';
import { type StartedOver, startOver } from '../../wallet/start-over.js';

export interface RebuiltWallet extends StartedOver {
  readonly aside: string;
}

/** Payments of the last `hours` are sent again. Throws `data_dir_invalid` when there is no wallet, `data_dir_locked` while the node runs, `aborted`. */
export async function rebuildWallet(
  { node, network }: Config,
  hours: number,
  signal: AbortSignal,
): Promise<RebuiltWallet> {
  const { dataDir: path, role } = node;
  if (!existsSync(join(path, 'db', 'wallet'))) {
    throw new TesseraError('data_dir_invalid', `${path} holds no wallet: there is nothing to rebuild`);
  }
  const directory = await DataDir.open(path, { role, networkName: network.name });
  try {
    const aside = join(path, `before-rebuild-${new Date(systemClock.now()).toISOString().replaceAll(':', '')}`);
    await mkdir(aside, { mode: 0o700 });
    await cp(join(path, 'db'), join(aside, 'db'), { recursive: true });
    if (signal.aborted) throw new TesseraError('aborted', `nothing was changed; remove the copy in ${aside}`);
    return { ...(await startOver(await directory.open('wallet'), systemClock.now(), hours)), aside };
  } finally {
    await directory.close();
  }
}
