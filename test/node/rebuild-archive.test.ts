/**
 * `tessera rebuild --archive` in a network with producers: the last block of the archive needs the certificate of one of them
 * (docs/adr/0010-block-certificates.md), and what it refuses changes nothing.
 */

import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type Certificate, certifyBlock } from '../../src/chain/certificate.js';
import { createConfig } from '../../src/config/load.js';
import type { Config } from '../../src/config/schema.js';
import { type KeyPair, keyPairFromSeed } from '../../src/crypto/ed25519.js';
import { DataDir } from '../../src/db/data-dir.js';
import { concatBytes, fromHex, toHex } from '../../src/lib/bytes.js';
import { producersOf } from '../../src/node/producers.js';
import { rebuildMempool } from '../../src/node/rebuild/rebuild-mempool.js';
import { Archive } from '../../src/storage/archive/archive.js';
import { certificateKey } from '../../src/storage/archive/layout.js';
import { createTestChain, GENESIS, RULES } from '../support/storage/test-chain.js';

const LAST = 2;
const producer = keyPairFromSeed(new Uint8Array(32).fill(8));
const stranger = keyPairFromSeed(new Uint8Array(32).fill(9));
const chain = createTestChain().grow(LAST + 1);

let folder: string;
let config: Config;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tessera-rebuild-'));
  config = createConfig('mempool', {
    'network.secret': 'a secret of this test',
    'network.producer_keys': [toHex(producer.publicKey)],
    'node.data_dir': join(folder, 'mempool'),
    'mining.asert_activation_height': RULES.activationHeight,
    'mempool.verify_threads': 0,
  });
});
afterEach(() => rm(folder, { recursive: true }));

/** An archive whose last block has this certificate, whatever it is. */
async function archiveWith(certificate: Certificate | undefined): Promise<string> {
  const path = join(folder, 'storage');
  const directory = await DataDir.open(path, { role: 'storage', networkName: config.network.name });
  const kv = await directory.open('archive');
  const archive = await Archive.open({ rules: RULES }, { kv });
  for (const block of chain.blocks) await archive.store(block);
  if (certificate !== undefined) {
    const record = concatBytes(fromHex(certificate.key), fromHex(certificate.signature));
    await kv.write(kv.batch().put(certificateKey(LAST), record), { sync: true });
  }
  await directory.close();
  return path;
}

const rebuild = (archive: string) =>
  rebuildMempool({
    config,
    genesis: GENESIS,
    archive,
    signal: new AbortController().signal,
    onProgress: () => undefined,
  });

function signedBy(key: KeyPair, hash = chain.hash(LAST)): Certificate {
  return certifyBlock(key, producersOf(config, GENESIS)?.chain ?? '', { height: LAST, hash });
}

it.each<[what: string, certificate: () => Certificate | undefined]>([
  ['no certificate', () => undefined],
  ['the certificate of another key', () => signedBy(stranger)],
  ['the certificate of another block', () => signedBy(producer, chain.hash(1))],
  [
    'the name of a producer and the signature of another',
    () => ({ ...signedBy(stranger), key: toHex(producer.publicKey) }),
  ],
])('an archive whose last block has %s is refused, and nothing is changed', async (_what, certificate) => {
  const archive = await archiveWith(certificate());
  await expect(rebuild(archive)).rejects.toThrow(/the last block of the archive is not one of this network/);
  expect(existsSync(join(config.node.dataDir, 'db'))).toBe(false);
  expect((await readdir(config.node.dataDir)).filter((name) => name.startsWith('before-'))).toEqual([]);
});

it('one that a producer has signed is taken', async () => {
  expect(await rebuild(await archiveWith(signedBy(producer)))).toMatchObject({ height: LAST, carried: 0 });
});
