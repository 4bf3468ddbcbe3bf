/** A run of a network in containers: commands, checks, and the transcript of both. */

import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { promisify } from 'node:util';

const ROOT = new URL('../..', import.meta.url);
const PROJECT = 'tessera-test';
export const IMAGE = 'tessera-node:test';
/** Bytes of output that a command may have. */
const MAX_OUTPUT = 64 * 1024 * 1024;
/** Time limit for waiting, in ms. */
const PATIENCE_MS = 180_000;
const LOOK_EVERY_MS = 500;
const UP_ATTEMPTS = 4;
/** Characters of an answer that the transcript shows. */
const MAX_SHOWN = 700;

export interface CurlAnswer {
  readonly body: string;
  readonly status: number;
}

export class Session {
  readonly #compose: readonly string[];
  readonly #transcript: string[] = [];
  #apiKey = '';

  /** Undefined where no engine with compose answers. */
  static async open(): Promise<Session | undefined> {
    if (!(await works('docker', 'info'))) return undefined;
    const ways = [['docker', 'compose'], ['docker-compose']];
    for (const way of ways) {
      const [program = '', ...first] = way;
      if (await works(program, ...first, 'version')) return new Session(way);
    }
    return undefined;
  }

  private constructor(compose: readonly string[]) {
    this.#compose = compose;
  }

  /** Runs a program and resolves with its output. Throws with that output when the program fails, unless `mayFail`. */
  async run(program: string, args: readonly string[], { mayFail = false } = {}): Promise<string> {
    const env = { ...process.env, TESSERA_IMAGE: IMAGE };
    try {
      return (await promisify(execFile)(program, args, { cwd: ROOT, env, maxBuffer: MAX_OUTPUT })).stdout;
    } catch (error) {
      const { stdout = '', stderr = '' } = error as { readonly stdout?: string; readonly stderr?: string };
      if (mayFail) return stdout;
      throw new Error(`${program} ${args.join(' ')}: ${(error as Error).message}\n${stdout}\n${stderr}`);
    }
  }

  compose(...args: string[]): Promise<string> {
    const [program = '', ...first] = this.#compose;
    return this.run(program, [...first, '--project-name', PROJECT, ...args]);
  }

  /** The image of the compose file for this variable is here, or comes from a registry. */
  async hasImage(name: string): Promise<boolean> {
    return (await works('docker', 'image', 'inspect', name)) || works('docker', 'pull', name);
  }

  say(text: string): void {
    process.stdout.write(`${text}\n`);
  }

  /** Text of the transcript alone. */
  write(...lines: string[]): void {
    this.#transcript.push(...lines);
  }

  note(command: string, output: string): void {
    const text = output.trim();
    const shown = text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)} … (${text.length} characters)` : text;
    this.write('```', `$ ${command}`, ...(shown === '' ? [] : [shown]), '```', '');
  }

  check(what: string, holds: boolean, detail = ''): void {
    if (!holds) throw new Error(`not so: ${what}${detail === '' ? '' : ` (${detail})`}`);
    this.say(`  ok: ${what}${detail === '' ? '' : ` (${detail})`}`);
    this.write(`- ${what}${detail === '' ? '' : `: ${detail}`}`);
  }

  section(title: string): void {
    this.say(title);
    this.write('', `## ${title}`, '');
  }

  async until<T>(what: string, look: () => T | undefined | Promise<T | undefined>): Promise<T> {
    const end = Date.now() + PATIENCE_MS;
    for (;;) {
      const found = await look();
      if (found !== undefined) return found;
      if (Date.now() > end)
        throw new Error(`waited in vain for ${what}\n${await this.compose('logs', '--tail', '30')}`);
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
  }

  /** Brings up a service with all that it depends on, again where a busy machine has made one of them look unhealthy. */
  async up(profile: string, service: string): Promise<void> {
    const args = ['--profile', profile, 'up', '--detach', '--no-build', service];
    for (let attempt = 1; ; attempt++) {
      try {
        await this.compose(...args);
        return;
      } catch (error) {
        if (attempt === UP_ATTEMPTS) throw error;
      }
    }
  }

  async containerOf(service: string): Promise<string> {
    const labels = { project: PROJECT, service };
    const filters = Object.entries(labels).flatMap(([name, value]) => [
      '--filter',
      `label=com.docker.compose.${name}=${value}`,
    ]);
    return (await this.run('docker', ['ps', '-aq', ...filters])).trim();
  }

  async inspect(name: string, format: string): Promise<string> {
    return (await this.run('docker', ['inspect', '--format', format, name])).trim();
  }

  async healthy(...services: string[]): Promise<void> {
    for (const service of services) {
      const container = await this.containerOf(service);
      await this.until(`${service} to be healthy`, async () =>
        (await this.inspect(container, '{{.State.Health.Status}}')) === 'healthy' ? true : undefined,
      );
    }
  }

  async listContainers(): Promise<void> {
    const filter = `label=com.docker.compose.project=${PROJECT}`;
    const format = 'table {{.Names}}\t{{.Status}}\t{{.Ports}}';
    this.note('docker compose ps', await this.run('docker', ['ps', '--filter', filter, '--format', format]));
  }

  /** Evaluates JavaScript in the container of a node, as its user; it may be a promise. */
  async inside(service: string, code: string): Promise<string> {
    const script = `(async () => process.stdout.write(String(await (${code}))))()`;
    return this.run('docker', ['exec', await this.containerOf(service), 'node', '-e', script]);
  }

  async makeSecrets(): Promise<void> {
    await this.run('sh', ['deploy/make-secrets.sh']);
    this.#apiKey = readFileSync(new URL('deploy/secrets/api-key', ROOT), 'utf8').trim();
  }

  get apiKey(): string {
    return this.#apiKey;
  }

  /** Runs a `curl` line with the API key, and writes it down; the body and the status of the answer. */
  async curl(line: string): Promise<CurlAnswer> {
    const keyed = line.replace(/^curl /, `curl -H 'x-api-key: ${this.#apiKey}' -w '\\n%{http_code}' `);
    const output = await this.run('sh', ['-c', keyed]);
    const at = output.lastIndexOf('\n');
    const body = output.slice(0, at);
    this.note(line.replace(/^curl /, 'curl -H "x-api-key: $(cat deploy/secrets/api-key)" '), body);
    return { body, status: Number(output.slice(at + 1)) };
  }

  /** Like `curl`, but not in the transcript. */
  async ask<T>(url: string): Promise<T> {
    return JSON.parse(await this.run('curl', ['-s', '-H', `x-api-key: ${this.#apiKey}`, url]));
  }

  /** Not root, no capability, and a disk of which only /data and /tmp take writes. */
  async checkHardening(...services: string[]): Promise<void> {
    this.section('Hardening, seen from inside');
    for (const service of services) {
      const facts = await this.inside(service, HARDENING);
      const { uid, root, etc, data, tmp, caps, noNewPrivs } = JSON.parse(facts);
      const holds =
        uid === 10_001 && root === 'EROFS' && etc === 'EROFS' && data === true && tmp === true && noNewPrivs === '1';
      this.check(
        `${service}: not root, read-only but /data and /tmp, no capability`,
        holds && /^0+$/.test(caps),
        facts,
      );
    }
  }

  async down(profile: string): Promise<void> {
    await this.compose('--profile', profile, 'down', '--volumes', '--timeout', '10');
  }

  async checkNothingLeft(): Promise<void> {
    this.section('The end');
    const left = await this.run('docker', ['ps', '-aq', '--filter', `label=com.docker.compose.project=${PROJECT}`]);
    this.check('`down -v` leaves nothing behind', left === '');
  }

  async saveTranscript(file: string, command: string): Promise<void> {
    const engine = (await this.run('docker', ['version', '--format', '{{.Server.Version}}'])).trim();
    const version = (await this.compose('version', '--short')).trim();
    const commit = (await this.run('git', ['rev-parse', '--short=7', 'HEAD'])).trim();
    const head = [
      '# The compose network',
      '',
      '| command | commit | date |',
      '|---|---|---|',
      `| \`${command}\` | ${commit} | ${new Date().toISOString().slice(0, 10)} |`,
      '',
      `Docker ${engine}, ${this.#compose.join(' ')} ${version}. Long answers are cut.`,
    ];
    writeFileSync(new URL(file, ROOT), `${[...head, ...this.#transcript].join('\n').trimEnd()}\n`);
    this.say(`transcript: ${file}`);
  }
}

async function works(program: string, ...args: string[]): Promise<boolean> {
  return promisify(execFile)(program, args).then(
    () => true,
    () => false,
  );
}

const HARDENING = `(() => {
  const { readFileSync, writeFileSync, rmSync } = require('node:fs');
  const writes = (file) => { try { writeFileSync(file, ''); rmSync(file); return true; } catch (e) { return e.code; } };
  const status = readFileSync('/proc/self/status', 'utf8');
  return JSON.stringify({
    uid: process.getuid(), root: writes('/app/x'), etc: writes('/etc/x'), data: writes('/data/x'), tmp: writes('/tmp/x'),
    caps: /CapEff:\\s+(\\w+)/.exec(status)[1], noNewPrivs: /NoNewPrivs:\\s+(\\d)/.exec(status)[1],
  });
})()`;
