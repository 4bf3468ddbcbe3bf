import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { devAccounts } from '../../../src/config/dev-accounts.js';
import { DevRecord } from '../../../src/node/dev/dev-record.js';

const WORDS = 'test test test test test test test test test test test junk';

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'tessera-record-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

describe('the record of a dev chain', () => {
  it('is not needed for the default accounts', async () => {
    const path = join(folder(), 'chain');
    const record = await DevRecord.open(path);
    expect(record.accounts).toEqual(devAccounts());
    expect(record.genesisFile).toBeUndefined();
    expect(existsSync(path)).toBe(false);
  });

  it('keeps the accounts and the clock of the chain', async () => {
    const path = folder();
    const first = await DevRecord.open(path, { mnemonic: WORDS, count: 2, balance: 9n });
    await first.setClockAhead(-5_000);
    const again = await DevRecord.open(path);
    expect([again.mnemonic, again.clockAhead, again.accounts]).toEqual([WORDS, -5_000, first.accounts]);
    expect(again.genesisFile).toBe(first.genesisFile);
    expect(readdirSync(path).sort()).toEqual(['dev-chain.json', 'genesis.json']);
  });

  it('refuses other accounts by the rule that differs, and takes the same ones', async () => {
    const path = folder();
    await DevRecord.open(path, { count: 2 });
    await expect(DevRecord.open(path, { count: 2 })).resolves.toBeDefined();
    await expect(DevRecord.open(path, { mnemonic: WORDS })).rejects.toMatchObject({
      code: 'data_dir_invalid',
      message: expect.stringMatching(
        /began with other accounts \(network\.genesis_file is [0-9a-f]{32}, .*[0-9a-f]{32}\)/,
      ),
    });
  });

  it('takes a folder of an earlier version for a chain with the default accounts', async () => {
    const path = folder();
    mkdirSync(join(path, 'storage'));
    await expect(DevRecord.open(path, { count: 3 })).rejects.toMatchObject({ code: 'data_dir_invalid' });
    expect((await DevRecord.open(path)).accounts).toEqual(devAccounts());
  });

  it.each([1e15, -1e15])('takes no clock that is beyond the year 9999: %d', async (ahead) => {
    const path = folder();
    const record = await DevRecord.open(path);
    await record.setClockAhead(253_402_300_799_000);
    expect((await DevRecord.open(path)).clockAhead).toBe(253_402_300_799_000);
    await record.setClockAhead(ahead);
    await expect(DevRecord.open(path)).rejects.toMatchObject({
      code: 'data_corrupt',
      message: expect.stringMatching(/dev-chain\.json: clock_ahead_ms is -?1000000000000000,/),
    });
  });

  it('says which file is damaged', async () => {
    const path = folder();
    writeFileSync(join(path, 'dev-chain.json'), '{"format":1}');
    await expect(DevRecord.open(path)).rejects.toMatchObject({
      code: 'data_corrupt',
      message: expect.stringContaining('dev-chain.json'),
    });
  });
});
