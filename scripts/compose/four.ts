/** The network of `docker compose up`: four nodes, each role once, and Prometheus beside them. */

import { monitor } from './monitor.js';
import { AMOUNT, balanceAt, readmeLines, runReadme } from './readme.js';
import type { Session } from './session.js';

const ROLES = ['storage', 'mempool', 'miner', 'user'] as const;
type Role = (typeof ROLES)[number];
const MEMPOOL = 'http://127.0.0.1:3003';

export async function runFour(session: Session): Promise<void> {
  try {
    await bringUp(session);
    await session.checkHardening(...ROLES);
    session.write(
      '',
      'The lines of the README with the address of the node that each asks, and the key that protected routes ask for.',
    );
    await runReadme(session, linesOfFour(), MEMPOOL);
    const unkeyed = await session.run('curl', ['-s', '-X', 'POST', 'http://127.0.0.1:3004/v1/wallet/addresses']);
    session.check('a protected route without the key is refused', unkeyed.includes('missing_api_key'));
    await restartOne(session, 'mempool');
    await restartOne(session, 'storage');
    await monitor(session, { profile: 'monitoring', service: 'prometheus', port: 9090, targets: ROLES.length });
  } finally {
    await session.down('monitoring');
  }
}

async function bringUp(session: Session): Promise<void> {
  session.section('The network');
  const started = Date.now();
  await session.compose('up', '--detach', '--no-build');
  await session.healthy(...ROLES);
  session.check('all four nodes are healthy', true, `${((Date.now() - started) / 1_000).toFixed(0)} s after up`);
  await session.listContainers();
}

/** In the README the whole network has one address; here each node has its own. */
function linesOfFour(): string[] {
  return readmeLines().map((line) =>
    line.replace(/127\.0\.0\.1:8080(\/v1\/(\w+))/, (_all, path: string, first: string) => {
      const ports: Readonly<Record<string, number>> = { payments: 3000, wallet: 3000, blocks: 3001 };
      return `127.0.0.1:${ports[first] ?? 3003}${path}`;
    }),
  );
}

async function restartOne(session: Session, role: Role): Promise<void> {
  session.section(`A restart: ${role}`);
  const heightNow = () => heightAt(session, 'http://127.0.0.1:3001');
  const [before, height] = [await balanceAt(session, MEMPOOL), await heightNow()];
  const container = await session.containerOf(role);
  const started = Date.now();
  await session.run('docker', ['stop', container]);
  const took = Date.now() - started;
  session.check(
    'SIGTERM ends it with status 0',
    (await session.inspect(container, '{{.State.ExitCode}}')) === '0',
    `${took} ms`,
  );
  await session.run('docker', ['start', container]);
  await session.healthy(...ROLES);
  session.check('the balance is still there', (await balanceAt(session, MEMPOOL)) === before, String(before));
  const pay = linesOfFour().find((line) => line.includes('/v1/payments')) ?? '';
  session.check('a payment is taken again', (await session.curl(pay)).status < 300);
  await session.until('the second payment', async () =>
    (await balanceAt(session, MEMPOOL)) === before + AMOUNT ? true : undefined,
  );
  const now = await session.until('the next block in storage', async () => {
    const found = await heightNow();
    return found > height ? found : undefined;
  });
  session.check('and arrives in a stored block', true, `block ${height} before, ${now} now`);
}

interface Latest {
  readonly block: { readonly block: { readonly header: { readonly b_num: number } } };
}

export async function heightAt(session: Session, storageUrl: string): Promise<number> {
  return (await session.ask<Latest>(`${storageUrl}/v1/blocks/latest`)).block.block.header.b_num;
}
