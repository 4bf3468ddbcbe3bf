/**
 * `npm run test:compose`: builds the image, runs `dev` in it, brings up a network of docker-compose.yml, uses it as the README does,
 * and takes it down with everything it kept. Where no engine answers it says so and ends with 0.
 *
 *   npm run test:compose -- --profile ha                                another network: small or ha
 *   npm run test:compose -- --transcript docs/results/compose.md   writes down what was run and answered
 *   npm run test:compose -- --no-build                                  with the image that is there
 *   DOCKER_BUILD_FLAGS='--network host' npm run test:compose            flags for `docker build`
 *   PROMETHEUS_IMAGE=… ETCD_IMAGE=… HAPROXY_IMAGE=… npm run test:compose    other images
 */

import { parseArgs } from 'node:util';
import { runFour } from './compose/four.js';
import { runHa } from './compose/ha.js';
import { IMAGE, Session } from './compose/session.js';
import { runSmall } from './compose/small.js';

/** Bytes. */
const MAX_IMAGE_BYTES = 250_000_000;
const PROFILES = { four: runFour, small: runSmall, ha: runHa } as const;
const DEV_URL = 'http://127.0.0.1:8080';

const { values: flags } = parseArgs({
  options: {
    profile: { type: 'string', default: 'four' },
    transcript: { type: 'string' },
    'no-build': { type: 'boolean', default: false },
  },
});

async function buildImage(session: Session): Promise<void> {
  const buildFlags = (process.env.DOCKER_BUILD_FLAGS ?? '').split(' ').filter((flag) => flag !== '');
  const started = Date.now();
  try {
    await session.run('docker', ['build', ...buildFlags, '--tag', IMAGE, '.']);
  } catch (error) {
    throw new Error('the image cannot be built; without a registry run scripts/make-base-images.sh first', {
      cause: error,
    });
  }
  session.say(`  built in ${Math.round((Date.now() - started) / 1_000)} s`);
}

async function checkImage(session: Session): Promise<void> {
  const size = Number(await session.inspect(IMAGE, '{{.Size}}'));
  session.check('the image is smaller than 250 MB', size < MAX_IMAGE_BYTES, `${(size / 1e6).toFixed(1)} MB`);
  const user = await session.inspect(IMAGE, '{{.Config.User}}');
  session.check('it runs as a user that is not root', user === '10001:10001', 'uid 10001');
  const volumes = await session.inspect(IMAGE, '{{json .Config.Volumes}}');
  session.check('it has one volume', volumes === '{"/data":{}}', '/data');
  const health = await session.inspect(IMAGE, '{{json .Config.Healthcheck.Test}}');
  session.check('its health is /readyz', health.includes('/readyz'));
  const version = await session.run('docker', ['run', '--rm', '--network', 'none', IMAGE, '--version']);
  session.note('docker run --rm tessera-node --version', version);
}

/** `docker run IMAGE dev`, as tight as a node, with its pages at one address. */
async function runDev(session: Session): Promise<void> {
  session.section('A dev network with one command');
  const tight = '--init --read-only --cap-drop ALL --security-opt no-new-privileges --tmpfs /tmp'.split(' ');
  const started = Date.now();
  const run = ['run', '--rm', '--detach', ...tight, '--publish', '127.0.0.1:8080:8080', IMAGE, 'dev'];
  const container = (await session.run('docker', run)).trim();
  try {
    const isReady = async () =>
      (await session.run('curl', ['-sf', `${DEV_URL}/readyz`], { mayFail: true })) === '' ? undefined : true;
    await session.until('the dev network', isReady);
    session.check(
      'docker run … dev: it is ready',
      true,
      `${((Date.now() - started) / 1_000).toFixed(1)} s, start of the container included`,
    );
    for (const [path, title] of [
      ['/', 'Tessera explorer'],
      ['/wallet', 'Tessera wallet'],
      ['/v1/docs', 'API'],
    ] as const) {
      const page = await session.run('curl', ['-sf', `${DEV_URL}${path}`]);
      session.check(
        `its page ${path}`,
        page.includes('<title>') && page.includes(title),
        /<title>(.*)<\/title>/.exec(page)?.[1],
      );
    }
    const payment =
      '{"kind":"address","address":"a5684800b1fb871d78120745ca82847810763fdb6ffaed3f8a72a4ce5d4bb14d","amount":1,"passphrase":""}';
    const answer = await session.run('curl', [
      '-s',
      `${DEV_URL}/v1/payments`,
      '-H',
      'content-type: application/json',
      '-d',
      payment,
    ]);
    session.check('a payment', answer.includes('tx_hash'), answer);
  } finally {
    await session.run('docker', ['stop', container]);
  }
}

async function main(): Promise<void> {
  const { profile, transcript } = flags;
  const network = Object.entries(PROFILES).find(([name]) => name === profile)?.[1];
  if (network === undefined) throw new Error(`--profile is one of ${Object.keys(PROFILES).join(', ')}`);
  const session = await Session.open();
  if (session === undefined) {
    process.stdout.write(
      'test:compose skipped: no Docker engine with compose answers here (docker info, docker compose version)\n',
    );
    return;
  }
  session.section('The image');
  if (!flags['no-build']) await buildImage(session);
  await checkImage(session);
  await session.makeSecrets();
  if (profile === 'four') await runDev(session);
  await network(session);
  await session.checkNothingLeft();
  const command = ['npm run test:compose', ...(profile === 'four' ? [] : [`-- --profile ${profile}`])].join(' ');
  if (transcript !== undefined) await session.saveTranscript(transcript, command);
  session.say('test:compose passed');
}

await main().catch((error: unknown) => {
  for (let next = error; next instanceof Error; next = next.cause) {
    process.stdout.write(`test:compose failed: ${next.message}\n`);
  }
  process.exitCode = 1;
});
