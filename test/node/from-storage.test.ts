/** A mempool node's state from storage nodes: what is told when none of them gives it. */

import { describe, expect, it } from 'vitest';
import { soleLeader } from '../../src/journal/journal.js';
import { TesseraError } from '../../src/lib/errors.js';
import { silentLogger } from '../../src/lib/logger.js';
import { FromStorage } from '../../src/node/roles/mempool/from-storage.js';
import { MemoryKv } from '../support/memory-kv.js';
import { chainFor, rulesFor } from '../support/mempool.js';
import { createBed } from '../support/peers.js';

/** A node with two storage nodes that cannot be reached. */
function setUp() {
  const rules = rulesFor([]);
  const { clock } = createBed('memory');
  const options = { rules, chain: chainFor(rules).rules, verifyThreads: 0, hashKey: new Uint8Array(8), clock };
  const told = { dialed: [] as string[], resigned: 0 };
  const dial = (address: string): Promise<never> => {
    told.dialed.push(address);
    return Promise.reject(new TesseraError('peer_unreachable', `${address} does not answer`));
  };
  const modules = {
    kv: new MemoryKv(),
    journal: { below: async () => ({ blocks: 0 }), isLed: async () => false },
    turn: { ...soleLeader, resign: () => void told.resigned++ },
    network: { dial },
    logger: silentLogger,
    onProgress: () => undefined,
  };
  return { fromStorage: new FromStorage(['one', 'two'], options, modules), told };
}

describe('a state from storage nodes', () => {
  it('throws the error of the last one when none gives its blocks, and lets another node try', async () => {
    const { fromStorage, told } = setUp();
    await expect(fromStorage.take(1)).rejects.toMatchObject({
      code: 'peer_unreachable',
      message: 'two does not answer',
    });
    expect(told).toEqual({ dialed: ['one', 'two'], resigned: 1 });
  });

  it('says that the node is stopping when it was stopped before the first was asked', async () => {
    const { fromStorage, told } = setUp();
    await fromStorage.stop();
    await expect(fromStorage.take(1)).rejects.toMatchObject({ code: 'shutting_down' });
    expect(told.dialed).toEqual([]);
  });
});
