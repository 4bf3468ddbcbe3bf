/**
 * `npm run test:clients`: clients that generators of other languages make of openapi/dev.json, which has every route. Each is
 * generated and compiled, and sends a payment that is signed here, until it is confirmed on a dev network. Fetches the generators
 * and what their clients need from the package registries.
 *
 *   npm run test:clients                    all of them
 *   npm run test:clients -- go rust         these
 *
 * What the machine lacks is named and left out. What is generated and compiled is kept in node_modules/.cache/clients.
 */

import { execFile, spawnSync } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { DevAccount } from '../../../src/config/dev-accounts.js';
import { parseExactJson, stringifyExact } from '../../../src/lib/json.js';
import { DevNetwork } from '../../../src/node/dev-network.js';
import { NodeLogger } from '../../../src/observability/logger.js';
import { createClient } from '../../../src/sdk/client.js';
import { buildPayment, toCreateTransaction, unspentOutputs } from '../../../src/sdk/wallet.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const CACHE = join(ROOT, 'node_modules/.cache/clients');
const DOCUMENT = join(ROOT, 'openapi/dev.json');
const OAPI_CODEGEN = 'github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2';
const OPENAPI_GENERATOR = 'org.openapitools:openapi-generator-cli:7.25.0';
const PYTHON_CLIENT = 'openapi-python-client==0.29.1';
/** Time limit of one program, in ms: a compiler on a busy machine. */
const PATIENCE_MS = 900_000;
/** Lines that are shown of what a program said that failed. */
const LINES = 12;
const MAX_OUTPUT = 64 * 1024 * 1024;

type Run = (program: string, ...args: string[]) => Promise<string>;

interface GeneratedClient {
  /** Programs that the machine must have. */
  readonly needs: readonly string[];
  /** Generates and compiles in the folder of `run`; the command line that pays. */
  readonly make: (run: Run, folder: string) => Promise<readonly [program: string, ...args: string[]]>;
}

const execute = promisify(execFile);
const say = (text: string): unknown => process.stdout.write(`${text}\n`);
const program = (name: string, folder: string, as = name): Promise<void> =>
  copyFile(fileURLToPath(new URL(name, import.meta.url)), join(folder, as));

const last = (text: string): string => text.split('\n').slice(-LINES).join('\n');

/** Runs openapi-generator, which Maven fetches. */
async function generate(run: Run, kind: string, document = DOCUMENT, ...options: string[]): Promise<void> {
  const copied = `-DoutputDirectory=${CACHE}`;
  await run('mvn', '-q', 'dependency:copy', `-Dartifact=${OPENAPI_GENERATOR}`, copied);
  const [, name, version] = OPENAPI_GENERATOR.split(':');
  const jar = join(CACHE, `${name}-${version}.jar`);
  await run('java', '-jar', jar, 'generate', '-g', kind, '-i', document, '-o', 'generated', ...options);
}

async function pythonWith(run: Run, folder: string, ...packages: string[]): Promise<string> {
  await run('python3', '-m', 'venv', 'python');
  const python = join(folder, 'python/bin/python');
  await run(python, '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...packages);
  return python;
}

/** The contents that the body of a POST may have. */
function bodyOf(path: unknown): Record<string, unknown> {
  const { post } = path as { post: { requestBody: { content: Record<string, unknown> } } };
  return post.requestBody.content;
}

const CLIENTS: Readonly<Record<string, GeneratedClient>> = {
  'openapi-python-client': {
    needs: ['python3'],
    make: async (run, folder) => {
      const python = await pythonWith(run, folder, PYTHON_CLIENT);
      await program('../programs/generate.py', folder, 'generate.py');
      // Where a body may be JSON or bytes, the generator forgets an import.
      const document = parseExactJson(await readFile(DOCUMENT)) as { paths: Record<string, unknown> };
      const content = bodyOf(document.paths['/v1/transactions']);
      delete content['application/octet-stream'];
      await writeFile(join(folder, 'dev.json'), stringifyExact(document));
      const said = await run(python, 'generate.py', 'dev.json', 'generated');
      const warnings = said.replace('Generating generated', '').trim();
      if (warnings !== '') throw new Error(warnings);
      await program('pay_python_client.py', folder);
      return [python, 'pay_python_client.py'];
    },
  },
  'typescript-axios': {
    needs: ['java', 'mvn'],
    make: async (run, folder) => {
      await generate(run, 'typescript-axios', DOCUMENT, '--additional-properties=importFileExtension=.js');
      await writeFile(join(folder, 'package.json'), '{ "type": "module", "private": true }');
      await run('npm', 'install', '--no-audit', '--no-fund', 'axios@1');
      await program('pay-axios.ts', folder);
      await program('../programs/exact-json.ts', folder, 'exact-json.ts');
      const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
      const flags = '--ignoreConfig --strict --target ES2023 --module NodeNext --types node --skipLibCheck --noEmit';
      await run(
        process.execPath,
        tsc,
        ...flags.split(' '),
        '--typeRoots',
        join(ROOT, 'node_modules/@types'),
        'pay-axios.ts',
      );
      return [process.execPath, '--import', import.meta.resolve('tsx'), 'pay-axios.ts'];
    },
  },
  go: {
    needs: ['go'],
    make: async (run, folder) => {
      await mkdir(join(folder, 'client'), { recursive: true });
      const made = ['-generate', 'types,client', '-package', 'client', '-o', 'client/client.go'];
      await run('go', 'run', OAPI_CODEGEN, ...made, DOCUMENT);
      await program('pay.go', folder);
      await writeFile(join(folder, 'go.mod'), 'module pay\n\ngo 1.24\n');
      await run('go', 'mod', 'tidy');
      await run('go', 'vet', './...');
      await run('go', 'build', '-o', 'pay', '.');
      return [join(folder, 'pay')];
    },
  },
  python: {
    needs: ['java', 'mvn', 'python3'],
    make: async (run, folder) => {
      await generate(run, 'python');
      const python = await pythonWith(run, folder, './generated');
      await program('pay_generated.py', folder);
      return [python, 'pay_generated.py'];
    },
  },
  rust: {
    needs: ['java', 'mvn', 'cargo'],
    make: async (run, folder) => {
      // The generator takes a format that it does not know for one of 32 bits.
      const document = join(folder, 'dev.json');
      await writeFile(document, (await readFile(DOCUMENT, 'utf8')).replaceAll('"uint64"', '"int64"'));
      await generate(run, 'rust', document, '--additional-properties=preferUnsignedInt=true');
      await mkdir(join(folder, 'generated/examples'), { recursive: true });
      await program('pay.rs', folder, 'generated/examples/pay.rs');
      const manifest = ['--manifest-path', 'generated/Cargo.toml'];
      await run('cargo', 'add', '--quiet', ...manifest, '--dev', 'tokio', '--features', 'macros,rt,time');
      await run('cargo', 'build', '--quiet', ...manifest, '--target-dir', 'target', '--example', 'pay');
      return [join(folder, 'target/debug/examples/pay')];
    },
  },
};

/** Signs a payment of everything that the account has but one token, and writes the request; its hash. */
async function signed(url: string, file: string, from: DevAccount, to: DevAccount): Promise<string> {
  const node = createClient({ url });
  const unspent = unspentOutputs(await node.getBalances({ address: [from.address] }));
  const { transaction, hash } = buildPayment({ unspent, keys: [from.keyPair], to: to.address, amount: 72_072_001n });
  await writeFile(file, stringifyExact({ transactions: [toCreateTransaction(transaction)] }));
  return hash;
}

async function test(name: string, client: GeneratedClient, network: DevNetwork, account: number): Promise<void> {
  const folder = join(CACHE, name);
  await mkdir(folder, { recursive: true });
  const run: Run = async (file, ...args) =>
    (await execute(file, args, { cwd: folder, timeout: PATIENCE_MS, maxBuffer: MAX_OUTPUT })).stdout;
  const [command, ...args] = await client.make(run, folder);
  const { url = '' } = network;
  const [from, to] = network.accounts.accounts.slice(account, account + 2);
  if (from === undefined || to === undefined) throw new Error('too few accounts');
  const hash = await signed(url, join(folder, 'request.json'), from, to);
  const issued = await run(command, ...args, url, 'request.json', hash);
  const supply = String((await createClient({ url }).getSupply()).issued);
  if (issued !== supply) throw new Error(`it reads a supply of ${issued}, which is ${supply}`);
}

const asked = process.argv.slice(2);
const dataDir = await mkdtemp(join(tmpdir(), 'tessera-clients-'));
const logger = NodeLogger.create({ level: 'silent', format: 'json' });
const network = new DevNetwork({ dataDir, ports: 'any', port: 0 }, { logger });
const counts = { passed: 0, failed: 0, skipped: 0 };
try {
  await network.start();
  for (const [at, [name, client]] of Object.entries(CLIENTS).entries()) {
    if (asked.length > 0 && !asked.includes(name)) continue;
    const lacking = client.needs.filter((one) => spawnSync(one, [one === 'go' ? 'version' : '--version']).status !== 0);
    if (lacking.length > 0) {
      say(`${name}: left out, this machine has no ${lacking.join(', ')}`);
      counts.skipped++;
      continue;
    }
    try {
      await test(name, client, network, at);
      say(`${name}: generated, compiled, paid, confirmed`);
      counts.passed++;
    } catch (error) {
      const { stdout = '', stderr = '' } = error as { readonly stdout?: string; readonly stderr?: string };
      say(`${name}: ${error instanceof Error ? error.message : String(error)}\n${last(stdout)}${last(stderr)}`);
      counts.failed++;
    }
  }
} finally {
  await network.stop();
  await rm(dataDir, { recursive: true, force: true });
}
say(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
process.exitCode = counts.failed > 0 ? 1 : 0;
