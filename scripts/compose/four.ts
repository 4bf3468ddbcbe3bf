/** The network of `docker compose up`: four nodes, each role once, and Prometheus beside them. */

import { AMOUNT, balanceAt, readmeLines, runReadme } from './readme.js';
import type { Session } from './session.js';

const ROLES = ['storage', 'mempool', 'miner', 'user'] as const;
type Role = (typeof ROLES)[number];
const MEMPOOL = 'http://127.0.0.1:3003';
/** The image that docker-compose.yml names, unless another is given. */
const PROMETHEUS_IMAGE = process.env.PROMETHEUS_IMAGE ?? 'prom/prometheus:v2.53.4';

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
    await monitor(session);
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

async function monitor(session: Session): Promise<void> {
  session.section('Monitoring');
  if (!(await session.hasImage(PROMETHEUS_IMAGE))) {
    session.say(`  left out: the image ${PROMETHEUS_IMAGE} is not here and no registry answers`);
    session.write('Left out: no image of Prometheus, and no registry that answers.', '');
    return;
  }
  await session.compose('--profile', 'monitoring', 'up', '--detach', '--no-build', 'prometheus');
  const url = 'http://127.0.0.1:9090/api/v1';
  const targets = await session.until('four targets that are up', async () => {
    const answer = await session.run('curl', ['-s', `${url}/query?query=up`], { mayFail: true });
    if (!answer.startsWith('{')) return undefined;
    const found: { metric: { job: string }; value: [number, string] }[] = JSON.parse(answer).data.result;
    return found.filter(({ value }) => value[1] === '1').length === ROLES.length ? found : undefined;
  });
  session.check('Prometheus scrapes all nodes', true, targets.map(({ metric }) => metric.job).join(', '));
  const { data } = await session.ask<{ data: { groups: { rules: { health: string }[] }[] } }>(`${url}/rules`);
  const alerts = data.groups.flatMap((group) => group.rules);
  const areLoaded = alerts.length > 0 && alerts.every(({ health }) => health !== 'err');
  session.check('the alert rules are loaded', areLoaded, String(alerts.length));
  const height = await session.run('curl', ['-s', `${url}/query?query=tessera_block_height`]);
  session.note(`curl -s '${url}/query?query=tessera_block_height'`, height);
}
