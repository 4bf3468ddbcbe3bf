/**
 * `npm run test:compose`: builds the image, brings up the network of docker-compose.yml, runs the curl session of the README
 * against it, and takes it down with everything it kept. Where no engine answers it says so and ends with 0.
 *
 *   npm run test:compose -- --transcript docs/results/compose-DATE.md     writes down what was run and answered
 *   DOCKER_BUILD_FLAGS='--network host' npm run test:compose            flags for `docker build`
 *   PROMETHEUS_IMAGE=… npm run test:compose                             another image; without one the profile is left out
 */

import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';

const ROOT = new URL('..', import.meta.url);
const PROJECT = 'tessera-test';
const IMAGE = 'tessera-node:test';
const ROLES = ['storage', 'mempool', 'miner', 'user'] as const;
type Role = (typeof ROLES)[number];
/** Bytes. */
const MAX_IMAGE_BYTES = 250_000_000;
/** Time limit for waiting, in ms. */
const PATIENCE_MS = 120_000;
const LOOK_EVERY_MS = 500;
/** The image that docker-compose.yml names, unless another is given. */
const PROMETHEUS_IMAGE = process.env.PROMETHEUS_IMAGE ?? 'prom/prometheus:v2.53.4';
/** The account and the amount of the README's session. */
const ACCOUNT = 'a5684800b1fb871d78120745ca82847810763fdb6ffaed3f8a72a4ce5d4bb14d';
const AMOUNT = 72_072_000;
/** Characters of an answer that the transcript shows. */
const MAX_SHOWN = 700;

const environment = { ...process.env, TESSERA_IMAGE: IMAGE, PROMETHEUS_IMAGE };
const transcript: string[] = [];
let apiKey = '';

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Runs a program and returns its output. Throws with that output when the program fails, unless `mayFail`. */
function run(program: string, args: readonly string[], { mayFail = false } = {}): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    cwd: ROOT,
    env: environment,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  if (!mayFail && status !== 0) {
    throw new Error(`${program} ${args.join(' ')}: ${error?.message ?? `status ${status}`}\n${stdout}\n${stderr}`);
  }
  return stdout;
}

const works = (program: string, ...args: string[]): boolean => spawnSync(program, args).status === 0;

/** `docker compose`, else the older program of its own. */
const COMPOSE = works('docker', 'compose', 'version') ? ['docker', 'compose'] : ['docker-compose'];

function compose(...args: string[]): string {
  const [program = '', ...first] = COMPOSE;
  return run(program, [...first, '--project-name', PROJECT, ...args]);
}

function note(command: string, output: string): void {
  const text = output.trim();
  const shown = text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)} … (${text.length} characters)` : text;
  transcript.push('```', `$ ${command}`, ...(shown === '' ? [] : [shown]), '```', '');
}

function check(what: string, holds: boolean, detail = ''): void {
  if (!holds) throw new Error(`not so: ${what}${detail === '' ? '' : ` (${detail})`}`);
  say(`  ok: ${what}${detail === '' ? '' : ` (${detail})`}`);
  transcript.push(`- ${what}${detail === '' ? '' : `: ${detail}`}`);
}

function section(title: string): void {
  say(title);
  transcript.push('', `## ${title}`, '');
}

async function until<T>(what: string, look: () => T | undefined): Promise<T> {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const found = look();
    if (found !== undefined) return found;
    if (Date.now() > end) throw new Error(`waited in vain for ${what}\n${compose('logs', '--tail', '30')}`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}

const containerOf = (service: string): string => compose('ps', '-q', service).trim();
const inspect = (name: string, format: string): string => run('docker', ['inspect', '--format', format, name]).trim();
const healthy = (service: string) =>
  until(`${service} to be healthy`, () =>
    inspect(containerOf(service), '{{.State.Health.Status}}') === 'healthy' ? true : undefined,
  );

/** Evaluates JavaScript in the container, as its user. */
const inside = (service: string, code: string): string =>
  run('docker', ['exec', containerOf(service), 'node', '-e', `process.stdout.write(String(${code}))`]);

function buildImage(): void {
  section('The image');
  const flags = (process.env.DOCKER_BUILD_FLAGS ?? '').split(' ').filter((flag) => flag !== '');
  const started = Date.now();
  try {
    run('docker', ['build', ...flags, '--tag', IMAGE, '.']);
  } catch (error) {
    throw new Error('the image cannot be built; without a registry run scripts/make-base-images.sh first', {
      cause: error,
    });
  }
  say(`  built in ${Math.round((Date.now() - started) / 1_000)} s`);
  const size = Number(inspect(IMAGE, '{{.Size}}'));
  check('the image is smaller than 250 MB', size < MAX_IMAGE_BYTES, `${(size / 1e6).toFixed(1)} MB`);
  check('it runs as a user that is not root', inspect(IMAGE, '{{.Config.User}}') === '10001:10001', 'uid 10001');
  check('it has one volume', inspect(IMAGE, '{{json .Config.Volumes}}') === '{"/data":{}}', '/data');
  check('its health is /readyz', inspect(IMAGE, '{{json .Config.Healthcheck.Test}}').includes('/readyz'));
  const version = run('docker', ['run', '--rm', '--network', 'none', IMAGE, '--version']);
  note('docker run --rm tessera-node --version', version);
}

async function bringUp(): Promise<void> {
  section('The network');
  run('sh', ['deploy/make-secrets.sh']);
  apiKey = readFileSync(new URL('deploy/secrets/api-key', ROOT), 'utf8').trim();
  const started = Date.now();
  compose('up', '--detach', '--no-build');
  for (const role of ROLES) await healthy(role);
  check('all four nodes are healthy', true, `${((Date.now() - started) / 1_000).toFixed(0)} s after up`);
  note(
    'docker compose ps',
    run('docker', [
      'ps',
      '--filter',
      `label=com.docker.compose.project=${PROJECT}`,
      '--format',
      'table {{.Names}}\t{{.Status}}\t{{.Ports}}',
    ]),
  );
}

function checkHardening(): void {
  section('Hardening, seen from inside');
  for (const role of ROLES) {
    const facts = inside(
      role,
      `(() => {
        const { readFileSync, writeFileSync, rmSync } = require('node:fs');
        const writes = (file) => { try { writeFileSync(file, ''); rmSync(file); return true; } catch (e) { return e.code; } };
        const status = readFileSync('/proc/self/status', 'utf8');
        return JSON.stringify({
          uid: process.getuid(), root: writes('/app/x'), etc: writes('/etc/x'), data: writes('/data/x'), tmp: writes('/tmp/x'),
          caps: /CapEff:\\s+(\\w+)/.exec(status)[1], noNewPrivs: /NoNewPrivs:\\s+(\\d)/.exec(status)[1],
        });
      })()`,
    );
    const { uid, root, etc, data, tmp, caps, noNewPrivs } = JSON.parse(facts);
    const holds =
      uid === 10_001 && root === 'EROFS' && etc === 'EROFS' && data === true && tmp === true && noNewPrivs === '1';
    check(`${role}: not root, read-only but /data and /tmp, no capability`, holds && /^0+$/.test(caps), facts);
  }
}

/** Runs a line of the README with the API key; the body and the status of the answer. */
function curl(line: string): { readonly body: string; readonly status: number } {
  const keyed = line.replace(/^curl /, `curl -H 'x-api-key: ${apiKey}' -w '\\n%{http_code}' `);
  const output = run('sh', ['-c', keyed]);
  const at = output.lastIndexOf('\n');
  const body = output.slice(0, at);
  note(line.replace(/^curl /, 'curl -H "x-api-key: $(cat deploy/secrets/api-key)" '), body);
  return { body, status: Number(output.slice(at + 1)) };
}

/** Like `curl`, but not in the transcript. */
function ask(url: string): { readonly [member: string]: unknown } {
  return JSON.parse(run('curl', ['-s', '-H', `x-api-key: ${apiKey}`, url]));
}

const balance = (): number => {
  const answer = ask(`http://127.0.0.1:3003/v1/balances?address=${ACCOUNT}`);
  return (answer as { balance: { total: { tokens: number } } }).balance.total.tokens;
};

/** The `curl` lines of the README, in their order. */
function readmeSession(): string[] {
  const readme = readFileSync(new URL('README.md', ROOT), 'utf8');
  return readme.split('\n').filter((line) => line.startsWith('curl '));
}

async function runSession(): Promise<void> {
  section("The README's session");
  transcript.push('The lines of the README as they are, each with the key that protected routes ask for.', '');
  const before = balance();
  for (const line of readmeSession()) {
    const { body, status } = curl(line);
    const isMistake = line.endsWith('/seven');
    if (isMistake) check('a mistake is answered with a problem document', status === 400 && body.includes('"code"'));
    else if (status < 200 || status > 299) throw new Error(`${line}: ${status} ${body}`);
    if (line.includes('/v1/payments')) {
      await until('the payment in the balance', () => (balance() === before + AMOUNT ? true : undefined));
    }
  }
  check('the account has what was paid', balance() === before + AMOUNT, `${before} + ${AMOUNT} raw units`);
  const unkeyed = run('curl', ['-s', '-X', 'POST', 'http://127.0.0.1:3004/v1/wallet/addresses']);
  check('a protected route without the key is refused', unkeyed.includes('missing_api_key'));
}

async function restartOne(role: Role): Promise<void> {
  section(`A restart: ${role}`);
  const height = () =>
    Number((ask('http://127.0.0.1:3001/v1/blocks/latest') as never as Latest).block.block.header.b_num);
  const [before, beforeHeight] = [balance(), height()];
  const container = containerOf(role);
  const started = Date.now();
  run('docker', ['stop', container]);
  const took = Date.now() - started;
  check('SIGTERM ends it with status 0', inspect(container, '{{.State.ExitCode}}') === '0', `${took} ms`);
  run('docker', ['start', container]);
  for (const each of ROLES) await healthy(each);
  check('the balance is still there', balance() === before, String(before));
  const pay = readmeSession().find((line) => line.includes('/v1/payments')) ?? '';
  check('a payment is taken again', curl(pay).status < 300);
  await until('the second payment', () => (balance() === before + AMOUNT ? true : undefined));
  const now = await until('the next block in storage', () => (height() > beforeHeight ? height() : undefined));
  check('and arrives in a stored block', true, `block ${beforeHeight} before, ${now} now`);
}

interface Latest {
  readonly block: { readonly block: { readonly header: { readonly b_num: number } } };
}

async function monitor(): Promise<void> {
  section('Monitoring');
  if (!works('docker', 'image', 'inspect', PROMETHEUS_IMAGE) && !works('docker', 'pull', PROMETHEUS_IMAGE)) {
    say(`  left out: the image ${PROMETHEUS_IMAGE} is not here and no registry answers`);
    transcript.push('Left out: no image of Prometheus, and no registry that answers.', '');
    return;
  }
  compose('--profile', 'monitoring', 'up', '--detach', '--no-build', 'prometheus');
  const targets = await until('four targets that are up', () => {
    const answer = run('curl', ['-s', 'http://127.0.0.1:9090/api/v1/query?query=up'], { mayFail: true });
    if (!answer.startsWith('{')) return undefined;
    const found: { metric: { job: string }; value: [number, string] }[] = JSON.parse(answer).data.result;
    return found.filter(({ value }) => value[1] === '1').length === ROLES.length ? found : undefined;
  });
  check('Prometheus scrapes all nodes', true, targets.map(({ metric }) => metric.job).join(', '));
  const rules: { groups: { rules: { name: string; health: string }[] }[] } = JSON.parse(
    run('curl', ['-s', 'http://127.0.0.1:9090/api/v1/rules']),
  ).data;
  const alerts = rules.groups.flatMap((group) => group.rules);
  check(
    'the alert rules are loaded',
    alerts.length > 0 && alerts.every(({ health }) => health !== 'err'),
    String(alerts.length),
  );
  const height = run('curl', ['-s', 'http://127.0.0.1:9090/api/v1/query?query=tessera_block_height']);
  note("curl -s 'http://127.0.0.1:9090/api/v1/query?query=tessera_block_height'", height);
}

function saveTranscript(file: string): void {
  const engine = run('docker', ['version', '--format', '{{.Server.Version}}']).trim();
  const head = [
    '# The compose network, run for real',
    '',
    `Written by \`npm run test:compose -- --transcript ${file}\` on ${new Date().toISOString().slice(0, 10)}, Docker ${engine},`,
    `${COMPOSE.join(' ')}. Long answers are cut.`,
  ];
  writeFileSync(new URL(file, ROOT), `${[...head, ...transcript].join('\n').trimEnd()}\n`);
  say(`transcript: ${file}`);
}

async function main(): Promise<void> {
  if (!works('docker', 'info') || !works(COMPOSE[0] ?? '', ...COMPOSE.slice(1), 'version')) {
    say('test:compose skipped: no Docker engine with compose answers here (docker info, docker compose version)');
    return;
  }
  const at = process.argv.indexOf('--transcript');
  buildImage();
  try {
    await bringUp();
    checkHardening();
    await runSession();
    await restartOne('mempool');
    await restartOne('storage');
    await monitor();
  } finally {
    compose('--profile', 'monitoring', 'down', '--volumes', '--timeout', '10');
  }
  section('The end');
  const left = run('docker', ['ps', '-aq', '--filter', `label=com.docker.compose.project=${PROJECT}`]);
  check('`down -v` leaves nothing behind', left === '');
  if (at > 0) saveTranscript(process.argv[at + 1] ?? 'docs/results/compose-2026-11-21.md');
  say('test:compose passed');
}

await main().catch((error: unknown) => {
  for (let next = error; next instanceof Error; next = next.cause) say(`test:compose failed: ${next.message}`);
  process.exitCode = 1;
});
