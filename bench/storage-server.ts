/**
 * A storage node of the benchmark of catching up, in a process of its own: `DIR GENESIS-FILE THREADS [PEER]`. It tells its parent where it
 * listens, catches up with the peer, if there is one, and tells what that took; on `stop` it tells what it has used, and ends.
 */

import { readFile } from 'node:fs/promises';
import type { StorageLine } from './catch-up.bench.js';
import { compiled } from './contest.js';
import { threadTime } from './turns.js';

const { parseGenesis } = await compiled<typeof import('../src/chain/genesis.js')>('chain/genesis.js');
const { keyPairFromSeed } = await compiled<typeof import('../src/crypto/ed25519.js')>('crypto/ed25519.js');
const { sha3Bytes } = await compiled<typeof import('../src/crypto/sha3.js')>('crypto/sha3.js');
const { DataDir } = await compiled<typeof import('../src/db/data-dir.js')>('db/data-dir.js');
const { Verifier } = await compiled<typeof import('../src/ledger/verifier/verifier.js')>('ledger/verifier/verifier.js');
const { systemClock: clock } = await compiled<typeof import('../src/lib/clock.js')>('lib/clock.js');
const { parseExactJson } = await compiled<typeof import('../src/lib/json.js')>('lib/json.js');
const { silentLogger: logger } = await compiled<typeof import('../src/lib/logger.js')>('lib/logger.js');
const { systemRandom: random } = await compiled<typeof import('../src/lib/random.js')>('lib/random.js');
const { openArchiveFiles } = await compiled<typeof import('../src/node/archive-files.js')>('node/archive-files.js');
const { noMetrics: metrics } =
  await compiled<typeof import('../src/observability/metrics.js')>('observability/metrics.js');
const { LinkNetwork } = await compiled<typeof import('../src/peers/link-network.js')>('peers/link-network.js');
const { WebSocketTransport } = await compiled<typeof import('../src/peers/transport/websocket-transport.js')>(
  'peers/transport/websocket-transport.js',
);
const { Archive } = await compiled<typeof import('../src/storage/archive/archive.js')>('storage/archive/archive.js');
const { RunningStorageService } =
  await compiled<typeof import('../src/storage/storage-service.js')>('storage/storage-service.js');

const [dir = '', genesisFile = '', threads = '1', peer] = process.argv.slice(2);
const say = (line: StorageLine): void => {
  process.send?.(line);
};
process.on('disconnect', () => process.exit());

const dataDir = await DataDir.open(dir, { role: 'storage', networkName: 'bench' });
const scripts = new Verifier({ threads: Number(threads) });
const genesis = parseGenesis(parseExactJson(await readFile(genesisFile, 'utf8')));
const rules = { genesis, activationHeight: 3 };
const archive = await Archive.open({ rules }, { ...(await openArchiveFiles(dataDir)), scripts });
const limits = {
  maxLinks: 8,
  maxLinksPerAddress: 8,
  dialTimeoutMs: 60_000,
  heartbeatMs: 60_000,
  reconnectMaxMs: 30_000,
};
const network = new LinkNetwork(
  {
    network: 'bench',
    role: 'storage',
    nodeKey: keyPairFromSeed(sha3Bytes(`bench storage ${peer}`)),
    listen: { host: '127.0.0.1', port: 0 },
    peers: peer === undefined ? [] : [peer],
    rules: {},
    secret: 'a secret of the benchmark',
    limits,
  },
  { transport: new WebSocketTransport({}), clock, random, logger, metrics },
);
const options = { catchUp: { requestTimeoutMs: 120_000 } };
const service = new RunningStorageService(options, { archive, network, clock, logger, metrics });

let [first, main, all] = [0, 0, process.cpuUsage()];
const used = (): StorageLine & { readonly kind: 'used' } => {
  const { user, system } = process.cpuUsage(all);
  return { kind: 'used', clock: performance.now() - first, main: threadTime() - main, all: (user + system) / 1_000 };
};
const count = (): void => {
  [first, main, all] = [performance.now(), threadTime(), process.cpuUsage()];
};
// What was there before is not counted: the code is compiled with the first blocks.
const WARM_UP = 3;
archive.blockStored.on(({ height }) => height === WARM_UP && count());
service.caughtUp.on(({ height, target }) => {
  if (target > WARM_UP && height >= target) say(used());
});
process.on('message', (word) => {
  if (word === 'start') count();
  if (word === 'used') say(used());
  if (word === 'stop') process.exit();
});
await service.start();
await network.start();
say({ kind: 'listening', address: network.address });
