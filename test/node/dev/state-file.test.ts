import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { sha3Hex } from '../../../src/crypto/sha3.js';
import { readState, writeState } from '../../../src/node/dev/state-file.js';

const FACTS = { height: 3, time: 1_800_000_000 };
let root = '';

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'tessera-state-'));
  const made = root;
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
});

async function saved(): Promise<{ readonly file: string; readonly folder: string }> {
  const [file, folder] = [join(root, 'chain.state'), join(root, 'from')];
  mkdirSync(join(folder, 'user', 'db', 'wallet'), { recursive: true });
  mkdirSync(join(folder, 'user', 'lock'));
  mkdirSync(join(folder, 'snapshots', '1'), { recursive: true });
  writeFileSync(join(folder, 'user', 'db', 'wallet', 'LOCK'), '');
  writeFileSync(join(folder, 'user', 'db', 'wallet', '000003.log'), Buffer.from([0, 1, 2, 255]));
  for (const name of [
    'dev-chain.json',
    'user/lock/CURRENT',
    'user/lock.url',
    'snapshots/1/snapshot.json',
    'mine.txt',
  ]) {
    writeFileSync(join(folder, name), name);
  }
  expect(await writeState(file, folder, FACTS)).toBe(readFileSync(file).length);
  return { file, folder };
}

/** A file whose checksum is right, as somebody could make it. */
function forged(header: unknown, content = ''): string {
  const rest = Buffer.concat([Buffer.from(`${JSON.stringify(header)}\n`), gzipSync(content)]);
  const file = join(root, 'forged.state');
  writeFileSync(file, Buffer.concat([Buffer.from(`tessera-dev-state 1 ${sha3Hex(rest)}\n`), rest]));
  return file;
}

describe('the state file of a dev network', () => {
  it('has what belongs to the chain, and nothing else', async () => {
    const { file } = await saved();
    const to = join(root, 'to');
    expect(await readState(file, to)).toBe(true);
    const names = readdirSync(to, { recursive: true, encoding: 'utf8' }).sort();
    const wallet = ['user', 'user/db', 'user/db/wallet', 'user/db/wallet/000003.log', 'user/db/wallet/LOCK'];
    expect(names).toEqual(['dev-chain.json', ...wallet]);
    expect([...readFileSync(join(to, 'user/db/wallet/000003.log'))]).toEqual([0, 1, 2, 255]);
  });

  it('may be missing: then the chain is new', async () => {
    expect(await readState(join(root, 'none'), join(root, 'to'))).toBe(false);
  });

  it('is refused when a byte of it has changed', async () => {
    const { file } = await saved();
    const bytes = readFileSync(file);
    for (const at of [101, bytes.length - 1]) {
      const wrong = Buffer.from(bytes);
      wrong[at] = (wrong[at] ?? 0) ^ 1;
      writeFileSync(file, wrong);
      await expect(readState(file, join(root, 'to'))).rejects.toMatchObject({ code: 'data_corrupt' });
    }
    writeFileSync(file, bytes.subarray(0, -3));
    await expect(readState(file, join(root, 'to'))).rejects.toMatchObject({ code: 'data_corrupt' });
    expect(existsSync(join(root, 'to'))).toBe(false);
  });

  it('is refused when it is something else, or of a newer version', async () => {
    const { file } = await saved();
    const bytes = readFileSync(file);
    writeFileSync(file, Buffer.concat([Buffer.from('tessera-dev-state 2'), bytes.subarray(19)]));
    await expect(readState(file, join(root, 'to'))).rejects.toThrow('has format 2, and this program knows 1');
    writeFileSync(file, '{"accounts":{}}');
    await expect(readState(file, join(root, 'to'))).rejects.toThrow('is not the state of a dev network');
  });

  it.each([
    '../outside',
    'user/../../outside',
    '/etc/passwd',
    'snapshots/1/user/x',
    'user/.hidden',
    'user//x',
    'tessera.json',
  ])('writes nothing outside of the chain: %s', async (path) => {
    const file = forged({ ...FACTS, files: [{ path, bytes: 1 }] }, 'x');
    await expect(readState(file, join(root, 'to'))).rejects.toMatchObject({ code: 'data_corrupt' });
    expect(readdirSync(root)).toEqual(['forged.state']);
  });

  it('unpacks no more than it says', async () => {
    const bomb = forged({ ...FACTS, files: [{ path: 'user/x', bytes: 1 }] }, '\0'.repeat(1_000_000));
    await expect(readState(bomb, join(root, 'to'))).rejects.toMatchObject({ code: 'data_corrupt' });
    const short = forged({ ...FACTS, files: [{ path: 'user/x', bytes: 9 }] }, 'x');
    await expect(readState(short, join(root, 'to'))).rejects.toMatchObject({ code: 'data_corrupt' });
  });
});
