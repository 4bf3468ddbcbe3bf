/** The journal in etcd, on a real etcd. */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { EtcdClient, EtcdLogin } from '../../src/journal/etcd/etcd-client.js';
import { EtcdJournal, type EtcdJournalOptions } from '../../src/journal/etcd/etcd-journal.js';
import { KV } from '../../src/journal/etcd/generated/etcd-pb.js';
import type { JournalEntry } from '../../src/journal/journal.js';
import { toHex, utf8 } from '../../src/lib/bytes.js';
import { systemClock } from '../../src/lib/clock.js';
import { createDeferred } from '../../src/lib/deferred.js';
import { silentLogger } from '../../src/lib/logger.js';
import { systemRandom } from '../../src/lib/random.js';
import { noMetrics } from '../../src/observability/metrics.js';
import { NODE_CERT, NODE_TLS_KEY } from '../support/certificates.js';
import { type Etcd, hasEtcd, post, startEtcd } from '../support/etcd.js';
import { LosingProxy } from '../support/losing-proxy.js';
import { removeFolders, temporaryFolder } from '../support/wallet-fixtures.js';
import { journalContract } from './journal-contract.js';

let etcd: Etcd;
const name = (): string => toHex(systemRandom.bytes(8));

function create(prefix: string, options: Partial<EtcdJournalOptions> = {}, clock = systemClock): EtcdJournal {
  return new EtcdJournal(
    {
      etcd: { endpoints: [etcd.endpoint], callTimeout: 2_000 },
      prefix,
      replica: 'one',
      process: name(),
      timeout: 60_000,
      ...options,
    },
    { clock, metrics: noMetrics, logger: silentLogger },
  );
}

async function open(prefix: string, options: Partial<EtcdJournalOptions> = {}): Promise<EtcdJournal> {
  const journal = create(prefix, options);
  await journal.start();
  return journal;
}

/** Texts of all entries, as a reader that begins at the first one gets them. */
async function textsOf(journal: EtcdJournal, count: number): Promise<string[]> {
  const got: string[] = [];
  const all = createDeferred<void>();
  const subscription = journal.subscribe(
    1,
    async (entries) => {
      for (const { payload } of entries) got.push(Buffer.from(payload).toString());
      if (got.length >= count) all.resolve();
    },
    all.reject,
  );
  await all.promise;
  await subscription.stop();
  return got;
}

const append = (journal: EtcdJournal, text: string): Promise<number> => journal.append(Buffer.from(text)).durable;
const texts = (from: number, to: number): string[] => Array.from({ length: to - from }, (_, i) => `entry ${from + i}`);

describe.runIf(hasEtcd)('on a real etcd', () => {
  beforeAll(async () => {
    etcd = await startEtcd();
  });
  afterAll(() => etcd.dispose());

  journalContract('etcd', async () => {
    const prefix = `${name()}/`;
    return { open: () => open(prefix), dispose: async () => undefined };
  });

  it('is one order for all that write, each entry once', async () => {
    const prefix = `${name()}/`;
    const journals = await Promise.all(['one', 'two', 'three'].map((replica) => open(prefix, { replica })));
    const written = journals.map(async (journal, i) => {
      for (let n = 0; n < 100; n++) await append(journal, `${i}: ${n}`);
    });
    const [first = [], ...others] = await Promise.all(journals.map((journal) => textsOf(journal, 300)));
    await Promise.all(written);
    expect(new Set(first).size).toBe(300);
    for (const other of others) expect(other).toEqual(first);
    for (const i of [0, 1, 2]) {
      expect(first.filter((text) => text.startsWith(`${i}:`))).toEqual(
        Array.from({ length: 100 }, (_, n) => `${i}: ${n}`),
      );
    }
    for (const journal of journals) await journal.close();
  });

  it('tells where it ends, whoever has written there', async () => {
    const prefix = `${name()}/`;
    const [one, two] = [await open(prefix), await open(prefix, { replica: 'two' })];
    expect(await two.sync()).toBe(0);
    const numbers = await Promise.all(texts(0, 10).map((text) => append(one, text)));
    expect(await two.sync()).toBe(numbers.at(-1));
    const last = await append(two, 'entry 10');
    expect(await one.sync()).toBe(last);
    for (const journal of [one, two]) await journal.close();
  });

  it('finds the end of a journal of an older version, which says nowhere where it ends', async () => {
    const prefix = `${name()}/`;
    const one = await open(prefix);
    for (const text of texts(0, 3)) await append(one, text);
    const last = Math.max(...(await Promise.all(texts(3, 5).map((text) => append(one, text)))));
    const client = new EtcdClient({ endpoints: [etcd.endpoint], callTimeout: 60_000 });
    await client.call(KV.method.txn, {
      success: [{ request: { case: 'requestDeleteRange', value: { key: utf8(`${prefix}head`) } } }],
    });
    const two = await open(prefix, { replica: 'two' });
    expect(two.head).toBe(last);
    client.close();
    for (const journal of [one, two]) await journal.close();
  });

  it('lets nobody write by other rules, and adds those of a newer version', async () => {
    const prefix = `${name()}/`;
    const opened = (rules: Readonly<Record<string, string>>) => open(prefix, { rules });
    const both = await Promise.all([opened({ genesis: 'a' }), opened({ genesis: 'a' })]);
    const refused = create(prefix, { rules: { genesis: 'b' } });
    await expect(refused.start()).rejects.toMatchObject({
      code: 'invalid_config',
      message: expect.stringContaining('genesis is "b" here'),
    });
    const newer = await opened({ genesis: 'a', reward: '1' });
    const other = create(prefix, { rules: { genesis: 'a', reward: '2' } });
    await expect(other.start()).rejects.toThrow(/reward is "2" here and "1" there/);
    for (const journal of [...both, refused, newer, other]) await journal.close();
  });

  it('waits for etcd, says so, and has every entry once when etcd was killed under it (rule P1)', async () => {
    const journal = await open(`${name()}/`);
    const appended = texts(0, 200).map(async (text, i) => {
      if (i === 100) await etcd.kill();
      return append(journal, text);
    });
    await expect.poll(() => journal.problem).toMatch(/waits for etcd/);
    await etcd.start();
    await Promise.all(appended);
    expect((await textsOf(journal, 200)).toSorted()).toEqual(texts(0, 200).toSorted());
    await expect.poll(() => journal.problem).toBeNull();
    await journal.close();
  });

  it('sends an entry again whose answer was lost, and etcd takes it once', async () => {
    const proxy = await LosingProxy.start(etcd.endpoint);
    const journal = await open(`${name()}/`, { etcd: { endpoints: [proxy.endpoint], callTimeout: 500 } });
    proxy.loseAnswers = true;
    const appended = append(journal, 'entry 0');
    await expect.poll(() => journal.problem).toMatch(/waits for etcd/);
    proxy.loseAnswers = false;
    await appended;
    await append(journal, 'entry 1');
    expect(await textsOf(journal, 2)).toEqual(texts(0, 2));
    await journal.close();
    await proxy.close();
  });

  it('gives an entry up in time when etcd does not answer, and may have it all the same', async () => {
    const journal = await open(`${name()}/`, { timeout: 500 });
    await etcd.kill();
    await expect(append(journal, 'entry 0')).rejects.toMatchObject({ code: 'mempool_unreachable' });
    await etcd.start();
    await expect.poll(() => journal.problem).toBeNull();
    expect(await textsOf(journal, 1)).toEqual(texts(0, 1));
    await journal.close();
  });

  it('begins when etcd does, and not before', async () => {
    await etcd.kill();
    let isOpen = false;
    const opening = open(`${name()}/`).finally(() => {
      isOpen = true;
    });
    expect(isOpen).toBe(false);
    await etcd.start();
    const journal = await opening;
    expect(journal.head).toBe(0);
    await journal.close();
  });

  it('keeps an entry that is larger than etcd takes in parts', async () => {
    const journal = await open(`${name()}/`);
    const large = 'a large block '.repeat(400_000);
    await Promise.all([append(journal, 'entry 0'), append(journal, large), append(journal, 'entry 1')]);
    expect(await textsOf(journal, 3)).toEqual(['entry 0', large, 'entry 1']);
    await journal.close();
  });

  it('reads what the history of etcd has no more', async () => {
    const prefix = `${name()}/`;
    const journal = await open(prefix);
    for (const text of texts(0, 40)) await append(journal, text);
    await etcd.compactHistory();
    expect(await textsOf(journal, 40)).toEqual(texts(0, 40));
    await journal.close();
  });

  it('forgets what no replica wants, and what another one wants stays', async () => {
    const prefix = `${name()}/`;
    const [one, two] = [await open(prefix), await open(prefix, { replica: 'two' })];
    const numbers: number[] = [];
    for (const text of texts(0, 10)) numbers.push(await append(one, text));
    await textsOf(two, 10);
    await two.compact(numbers[3] ?? 0);
    await one.compact(numbers[8] ?? 0);
    const failed = createDeferred<unknown>();
    one.subscribe(numbers[2] ?? 0, async () => undefined, failed.resolve);
    expect(await failed.promise).toMatchObject({ code: 'data_corrupt', message: /rebuild/ });
    const got: string[] = [];
    const subscription = one.subscribe(
      numbers[3] ?? 0,
      async (entries) => void got.push(...entries.map(({ payload }) => Buffer.from(payload).toString())),
      failed.reject,
    );
    await expect.poll(() => got).toEqual(texts(3, 10));
    await subscription.stop();
    await Promise.all([one.close(), two.close()]);
  });

  it('counts no node that has said nothing for its lifetime, and that one starts from what is left', async () => {
    const prefix = `${name()}/`;
    const two = await open(prefix, { replica: 'two' });
    let passed = 0;
    const one = create(prefix, {}, { ...systemClock, monotonic: () => systemClock.monotonic() + passed });
    await one.start();
    const numbers: number[] = [];
    for (let n = 0; n < 10; n++) numbers.push(await append(one, `entry ${n}`));
    const baseAfter = async (seq: number | undefined): Promise<number> => {
      await one.compact(seq ?? 0);
      return one.base();
    };
    // It is there for its lifetime from when its mark was first seen as it is.
    expect(await baseAfter(numbers[5])).toBe(1);
    passed += 3_500_000;
    expect(await baseAfter(numbers[5])).toBe(1);
    await textsOf(two, 10);
    await two.compact(numbers[1] ?? 0);
    passed += 3_500_000;
    expect(await baseAfter(numbers[5])).toBe(numbers[1]);
    passed += 3_500_000;
    expect(await baseAfter(numbers[5])).toBe(numbers[1]);
    passed += 200_000;
    expect(await baseAfter(numbers[5])).toBe(numbers[5]);
    await two.close();
    const again = create(prefix, { replica: 'two' });
    await again.start();
    expect(await baseAfter(numbers[8])).toBe(numbers[5]);
    await Promise.all([one, again].map((journal) => journal.close()));
  });

  it.each([25, -25])('counts a node whose clock is %i hours ahead, and that one counts the others', async (hours) => {
    const prefix = `${name()}/`;
    const right = await open(prefix);
    const wrong = create(
      prefix,
      { replica: 'two' },
      { ...systemClock, now: () => systemClock.now() + hours * 3_600_000 },
    );
    await wrong.start();
    const last = await append(right, 'entry');
    await textsOf(wrong, 1);
    for (const journal of [right, wrong]) {
      await journal.compact(last);
      expect(await journal.base()).toBe(journal === right ? 1 : last);
    }
    await Promise.all([right, wrong].map((journal) => journal.close()));
  });

  it('keeps what waits for a block as long as one node alone has it', async () => {
    const prefix = `${name()}/`;
    const one = await open(prefix);
    const numbers: number[] = [];
    for (let n = 0; n < 10; n++) numbers.push(await append(one, `entry ${n}`));
    expect(await one.below()).toEqual({ blocks: 0, stored: -1 });
    const asked: number[] = [];
    const storedBefore = (seq: number): number => asked.push(seq);
    await one.compact(numbers[8] ?? 0, { waiting: numbers[2] ?? 0, blocks: 3, storedBefore });
    expect(await one.base()).toBe((numbers[2] ?? 0) + 1);
    // Blocks and what is left are all that there was.
    expect([await one.below(), asked]).toEqual([{ blocks: 3, stored: 1 }, [await one.base()]]);
    const two = await open(prefix, { replica: 'two' });
    await two.compact(numbers[6] ?? 0, { waiting: numbers[2] ?? 0, blocks: 4 });
    expect(await two.base()).toBe(numbers[6]);
    // What is cut off may wait for a block.
    expect(await two.below()).toBeUndefined();
    for (const node of [one, two]) await node.compact(numbers[8] ?? 0, { waiting: numbers[8] ?? 0, blocks: 5 });
    expect([await two.base(), await two.below()]).toEqual([numbers[8], { blocks: 5 }]);
    await Promise.all([one, two].map((journal) => journal.close()));
  });

  it('tells a program that another one has taken its name: its folder is a copy', async () => {
    const prefix = `${name()}/`;
    const original = await open(prefix);
    const copy = await open(prefix);
    const number = await append(copy, 'one');
    await expect(original.compact(number)).rejects.toMatchObject({ code: 'data_dir_invalid' });
    await copy.compact(number);
    await Promise.all([original, copy].map((journal) => journal.close()));
  });

  it('stops a reader that waits for etcd, also in the middle of trimming', async () => {
    const own = await startEtcd();
    const journal = await open('a/', { etcd: { endpoints: [own.endpoint], callTimeout: 500 } });
    const failed = createDeferred<unknown>();
    const subscription = journal.subscribe(
      1,
      async ([first]) => {
        await own.kill();
        await journal.compact(first?.seq ?? 0);
      },
      failed.resolve,
    );
    await append(journal, 'entry 0');
    expect(await failed.promise).toMatchObject({ code: 'database_failed' });
    const waiting = journal.subscribe(1, async () => undefined, failed.reject);
    await expect.poll(() => journal.problem).toMatch(/waits for etcd/);
    await Promise.all([subscription.stop(), waiting.stop(), journal.close()]);
    await own.dispose();
  });

  /** Journals at an etcd of their own, which is replaced by an older copy, or by one that others have written to since. */
  async function restorable() {
    const own = await startEtcd();
    onTestFinished(() => own.dispose());
    const openOwn = async (options: Partial<EtcdJournalOptions> = {}): Promise<EtcdJournal> => {
      const journal = await open('a/', { etcd: { endpoints: [own.endpoint], callTimeout: 500 }, ...options });
      onTestFinished(() => journal.close());
      return journal;
    };
    const first = await openOwn();
    await append(first, 'entry 0');
    await first.close();
    const older = await own.copy();
    const other = await openOwn({ replica: 'two' });
    for (const text of texts(0, 10)) await append(other, `another ${text}`);
    await other.close();
    const grown = await own.copy();
    await own.restore(older);
    return { own, openOwn, older, grown };
  }

  it.each(['older', 'grown'] as const)(
    'ends a reader when etcd was restored from an older copy: %s (rule P3)',
    async (which) => {
      const { own, openOwn, ...copies } = await restorable();
      const journal = await openOwn();
      await append(journal, 'entry 1');
      const failed = createDeferred<unknown>();
      const read: string[] = [];
      const note = async (entries: readonly JournalEntry[]): Promise<void> => {
        for (const { payload } of entries) read.push(Buffer.from(payload).toString());
      };
      journal.subscribe(1, note, failed.resolve);
      await expect.poll(() => read).toEqual(texts(0, 2));
      await own.restore(copies[which]);
      expect(await failed.promise).toMatchObject({ code: 'data_corrupt', message: /older copy/ });
      expect(read).toEqual(texts(0, 2));
    },
  );

  it.each(['older', 'grown'] as const)(
    'takes nothing from a node that knows an entry which it has lost, and does not let it begin: %s',
    async (which) => {
      const { own, openOwn, ...copies } = await restorable();
      const journal = await openOwn();
      await append(journal, 'entry 1');
      const { last } = journal;
      await own.restore(copies[which]);
      await expect(append(journal, 'entry 2')).rejects.toMatchObject({ code: 'data_corrupt' });
      await expect(journal.compact(last.seq)).rejects.toMatchObject({ code: 'data_corrupt' });
      const again = create('a/', { etcd: { endpoints: [own.endpoint], callTimeout: 500 } });
      await expect(again.start(last)).rejects.toMatchObject({ code: 'data_corrupt', message: /older copy/ });
      // What an earlier version has written says which number alone.
      if (which === 'older')
        await expect(again.start({ seq: last.seq })).rejects.toMatchObject({ code: 'data_corrupt' });
      await again.close();
      const witness = await openOwn({ replica: 'three' });
      expect(await textsOf(witness, which === 'older' ? 1 : 11)).not.toContain('entry 2');
    },
  );

  it('goes on from the last entry that a state has, in another cluster of etcd too, and tells an older state its name', async () => {
    const prefix = `${name()}/`;
    const journal = await open(prefix);
    const numbers = await Promise.all(texts(0, 5).map((text) => append(journal, text)));
    const seq = numbers[3] ?? 0;
    const known = await open(prefix, { replica: 'two' });
    await known.start({ seq });
    expect(known.last).toEqual({ seq, id: expect.stringMatching(/^[0-9a-f]{16}-0+3$/), cluster: journal.cluster });
    await known.start({ ...known.last, cluster: 'another' });
    expect(known.cluster).toBe(journal.cluster);
    // What nobody wants is forgotten: then it is the cluster that tells.
    for (const node of [journal, known]) await node.compact(numbers.at(-1) ?? 0);
    const forgotten = { seq, id: 'gone-000000000003', cluster: journal.cluster };
    await known.start(forgotten);
    expect(known.last).toEqual({ seq, cluster: journal.cluster });
    await expect(known.start({ ...forgotten, cluster: 'another' })).rejects.toThrow(/another cluster/);
    await Promise.all([journal.close(), known.close()]);
  });

  it('speaks TLS with a certificate and a password, and says what is wrong with them', async () => {
    const folder = await temporaryFolder();
    const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
    await writeFile(cert, NODE_CERT);
    await writeFile(key, NODE_TLS_KEY);
    const files = ['--cert-file', cert, '--key-file', key, '--trusted-ca-file', cert, '--client-cert-auth'];
    const own = await startEtcd(files, { https: true });
    const tls = { ca: Buffer.from(NODE_CERT), cert: Buffer.from(NODE_CERT), key: Buffer.from(NODE_TLS_KEY) };
    const options = { endpoints: [own.endpoint], callTimeout: 2_000, tls };
    const user = new EtcdLogin('root', 'the password of etcd');
    const before = await open('a/', { etcd: options });
    await append(before, 'entry 0');
    await own.demandPassword(user, { ...tls, rejectUnauthorized: true });
    const journal = await open('a/', { etcd: { ...options, user } });
    expect(await textsOf(journal, 1)).toEqual(texts(0, 1));
    for (const wrong of [
      options,
      { ...options, user: new EtcdLogin('root', 'another') },
      { ...options, tls: undefined },
    ]) {
      const refused = create('a/', { etcd: wrong });
      const starting = refused.start();
      await expect.poll(() => refused.problem).toMatch(/waits for etcd/);
      expect(refused.problem).not.toContain(user.password);
      await Promise.all([refused.close(), expect(starting).rejects.toMatchObject({ code: 'shutting_down' })]);
    }
    // A member that was started again knows no token any more.
    const read: string[] = [];
    const ended = createDeferred<unknown>();
    const note = async (entries: readonly JournalEntry[]): Promise<void> => {
      for (const { payload } of entries) read.push(Buffer.from(payload).toString());
    };
    journal.subscribe(1, note, ended.resolve);
    await expect.poll(() => read).toEqual(texts(0, 1));
    await own.kill();
    await own.start();
    await append(journal, 'entry 1');
    await expect.poll(() => read).toEqual(texts(0, 2));
    await Promise.all([before.close(), journal.close()]);
    await own.dispose();
    await removeFolders();
  });

  it('loses no entry while users and roles change, and while etcd asks for none', async () => {
    const folder = await temporaryFolder();
    const key = join(folder, 'key');
    await writeFile(key, systemRandom.bytes(64));
    // Such a token names the revision of the users that it was given at: each change makes it old.
    const own = await startEtcd(['--auth-token', `jwt,priv-key=${key},sign-method=HS256,ttl=10m`]);
    const user = new EtcdLogin('root', 'the password of etcd');
    await own.demandPassword(user, {});
    const manage = async (what: string, body = {}): Promise<void> => {
      const { token } = (await post(`${own.endpoint}/v3/auth/authenticate`, { ...user })) as { readonly token: string };
      await post(`${own.endpoint}/v3/auth/${what}`, body, { headers: { authorization: token } });
    };
    const journal = await open('a/', { etcd: { endpoints: [own.endpoint], callTimeout: 60_000, user } });
    await append(journal, 'entry 0');
    await manage('user/add', { name: 'another', password: 'another' });
    await append(journal, 'entry 1');
    await manage('role/add', { name: 'another' });
    expect(await journal.sync()).toBe(journal.head);
    await manage('user/grant', { user: 'another', role: 'another' });
    const many = texts(2, 40).map((text) => append(journal, text));
    await Promise.all([...many, manage('user/delete', { name: 'another' })]);
    await manage('disable');
    const late = await open('a/', { etcd: { endpoints: [own.endpoint], callTimeout: 60_000, user } });
    await append(late, 'entry 40');
    await post(`${own.endpoint}/v3/auth/enable`, {});
    await append(journal, 'entry 41');
    await append(late, 'entry 42');
    expect(await textsOf(late, 43)).toEqual(texts(0, 43));
    await Promise.all([journal.close(), late.close()]);
    await own.dispose();
    await removeFolders();
  });
});
