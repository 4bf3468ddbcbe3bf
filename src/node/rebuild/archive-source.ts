/** The archive of a stopped storage node, as the source of a mempool state. */

import { existsSync } from 'node:fs';
import { blockCertificateFault, type Producers } from '../../chain/certificate.js';
import type { Genesis } from '../../chain/genesis.js';
import type { Config } from '../../config/schema.js';
import { DataDir } from '../../db/data-dir.js';
import { TesseraError } from '../../lib/errors.js';
import { readAdoptedBlock } from '../../mempool/state/adoption.js';
import { Archive } from '../../storage/archive/archive.js';
import { openArchiveFiles, segmentsOf } from '../archive-files.js';
import { producersOf } from '../producers.js';

/** Blocks of an archive, as a mempool node adopts them. */
export class ArchiveSource {
  readonly archive: Archive;
  readonly #directory: DataDir;

  private constructor(archive: Archive, directory: DataDir) {
    this.archive = archive;
    this.#directory = directory;
  }

  static async open(
    path: string,
    { config, genesis }: { readonly config: Config; readonly genesis: Genesis },
  ): Promise<ArchiveSource> {
    if (!existsSync(path)) throw new TesseraError('data_dir_invalid', `${path} does not exist: there is no archive`);
    const directory = await DataDir.open(path, { role: 'storage', networkName: config.network.name });
    try {
      const producers = producersOf(config, genesis);
      const rules = { genesis, producers, activationHeight: config.mining.asertActivationHeight };
      const archive = await Archive.open(
        { rules, cacheBytes: 0 },
        await openArchiveFiles(directory, await segmentsOf(directory, config)),
      );
      await archive.load();
      if (producers !== undefined) assertSigned(archive, producers);
      return new ArchiveSource(archive, directory);
    } catch (error) {
      await directory.close();
      throw error;
    }
  }

  async block(height: number) {
    const bytes = await this.archive.fullBlockBytes(height);
    if (bytes === undefined) throw new TesseraError('data_corrupt', `the archive has no block ${height}`);
    const told = height === this.archive.nextHeight - 1 ? await this.archive.roundFacts() : undefined;
    const facts =
      told === undefined
        ? null
        : { participants: told.participants, proofHashes: told.proofs, asertHashes: told.asert_hashes };
    // Nothing else runs in a process that rebuilds.
    return readAdoptedBlock(bytes, facts, async () => undefined);
  }

  close(): Promise<void> {
    return this.#directory.close();
  }
}

function assertSigned({ tip, tipCertificate }: Archive, producers: Producers): void {
  if (tip.hash === null) return;
  const unsigned = blockCertificateFault(producers, { height: tip.next - 1, hash: tip.hash }, tipCertificate);
  if (unsigned === null) return;
  throw new TesseraError(
    unsigned.code,
    `the last block of the archive is not one of this network: ${unsigned.message}`,
  );
}
