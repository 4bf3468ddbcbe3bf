/** The two keys that blocks of a campaign are signed with: that of `config/dev.toml`, and one that takes over now and then. */

import { join } from 'node:path';
import { loadConfig } from '../../src/config/load.js';
import { PACKAGE_CONFIG_DIR } from '../../src/config/option-table.js';
import { keyPairFromSeed } from '../../src/crypto/ed25519.js';
import { toHex } from '../../src/lib/bytes.js';
import type { Environment } from '../support/processes.js';

const second = keyPairFromSeed(new Uint8Array(32).fill(0x52));
const { network } = loadConfig({ role: 'storage', file: join(PACKAGE_CONFIG_DIR, 'dev.toml'), env: {} }).config;

/** What each node is told. */
export const PRODUCER_KEYS: readonly string[] = [...network.producerKeys, toHex(second.publicKey)];

/** A mempool node that is started with this signs with the second key. */
export const SECOND_PRODUCER: Environment = { TESSERA_MEMPOOL__PRODUCER_KEY: toHex(second.seed) };
