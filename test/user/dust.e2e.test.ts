/** Dust: 50,000 outputs (200,000 with LONG_TESTS=1) at one address, told by the answering side of a real mempool, page by page. */

import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { UtxoTable } from '../../src/ledger/utxo/utxo-table.js';
import { systemClock } from '../../src/lib/clock.js';
import { silentLogger } from '../../src/lib/logger.js';
import { SignalSource } from '../../src/lib/signal.js';
import { Gateway, type GatewayModules } from '../../src/mempool/gateway.js';
import { createTestNet, type TestNet, until } from '../support/user.js';
import { NOBODY, PASSPHRASE, removeFolders, tokens } from '../support/wallet-fixtures.js';

const DUST = process.env.LONG_TESTS === undefined ? 50_000 : 200_000;
let net: TestNet | undefined;

afterEach(async () => {
  await net?.stop();
});
afterAll(removeFolders);

describe('an address with many outputs of nothing', () => {
  it('is refreshed, and the wallet pays', async () => {
    const utxos = new UtxoTable();
    const stub = {
      state: { utxos, head: { height: 0, hash: null } },
      applier: { confirmed: new SignalSource() },
      sync: { caughtUp: new SignalSource() },
      admission: { submit: async () => [] },
      statuses: { get: async () => new Map() },
      clock: systemClock,
      logger: silentLogger,
    };
    net = await createTestNet((network) => {
      const gateway = new Gateway({ ...stub, network } as unknown as GatewayModules);
      gateway.start();
    });
    const victim = await net.user({ aggregateAbove: 5 });
    await until(() => victim.user.inStep);
    const address = await victim.wallet.newAddress();
    const other = await victim.wallet.newAddress();
    for (let n = 0; n < DUST; n++) utxos.insert({ tHash: `g${'0'.repeat(31)}`, n }, tokens(address, 0n));
    utxos.insert({ tHash: `g${'1'.repeat(31)}`, n: 0 }, tokens(address, 40n));
    utxos.insert({ tHash: `g${'2'.repeat(31)}`, n: 0 }, tokens(other, 60n));
    let turns = 0;
    let refreshing = true;
    const turn = (): void => {
      turns += 1;
      if (refreshing) setImmediate(turn);
    };
    setImmediate(turn);
    await victim.wallet.refresh({ all: true });
    await until(() => victim.wallet.coins.totals().available === 100n);
    refreshing = false;
    // Each page is a request, a few steps and their writes: the loop went round all the time.
    expect(turns).toBeGreaterThan(DUST / 500);
    const { txHash } = await victim.user.payAddress({
      address: NOBODY,
      amount: 100n,
      locktime: 0n,
      passphrase: PASSPHRASE,
    });
    await until(() => victim.wallet.outgoing.get(txHash)?.state === 'sent');
    expect(victim.wallet.outgoing.get(txHash)?.transaction.inputs).toHaveLength(2);
  });
});
