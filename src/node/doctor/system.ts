/** Checks the program and the machine: versions, secrets and certificates in files, descriptors, ports. */

import { X509Certificate } from 'node:crypto';
import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import type { LoadedConfig } from '../../config/load.js';
import type { Config } from '../../config/schema.js';
import { BACKUP_FORMAT } from '../../db/backup/listing.js';
import { lockHolder } from '../../db/folder-lock.js';
import { DATA_FORMAT } from '../../db/marker.js';
import { programVersion } from '../../lib/program-files.js';
import { PROTOCOL_VERSION } from '../../peers/link/frames.js';
import { descriptorLimit, planDescriptors } from '../descriptors.js';
import { readGenesis } from '../genesis-file.js';
import { genesisFingerprint } from '../network-rules.js';
import { readPem } from '../tls-files.js';
import { type Examination, type Finding, fail, ok, reasonOf, warn } from './finding.js';

/** Versions of Node.js on which the program is tested: `engines` in package.json. */
const TESTED = /^(20|22|24)\./;
const OTHERS = 0o077;
const DAY_MS = 86_400_000;
const RENEW_DAYS = 30;
/** The state of a listening socket in /proc/net/tcp. */
const LISTENS = '0A';

export function versions(): Finding {
  const { node } = process.versions;
  const shown = `tessera ${programVersion()}, Node.js ${node}; data format ${DATA_FORMAT}, backup format ${BACKUP_FORMAT}, peer protocol ${PROTOCOL_VERSION}`;
  if (TESTED.test(node) || Number.parseInt(node, 10) > 24) return ok('versions', shown);
  return warn('versions', shown, 'use Node.js 20, 22 or 24: this version is not supported');
}

/** Checks for settings that are allowed but probably unintended, and for secrets that others can read. */
export function configExamination({ config, file, warnings, values, sources }: LoadedConfig): Examination {
  return {
    name: 'config',
    async run() {
      const from = file === undefined ? 'no file' : file;
      return [
        ok('config', `valid, from ${from}`),
        ...warnings.map((text) => warn('config', text, 'see tessera config, and docs/operations.md')),
        ...secretFiles(values, file, sources),
        ...certificates(config),
        await genesis(config),
      ];
    },
  };
}

const SECRETS = ['network.secret', 'mempool.producer_key', 'wallet.passphrase'];
const SECRET_FILES = [
  'network.secret_file',
  'mempool.producer_key_file',
  'wallet.passphrase_file',
  'api.tls.key_file',
  'peers.tls.key_file',
];

function secretFiles(
  values: LoadedConfig['values'],
  file: string | undefined,
  sources: LoadedConfig['sources'],
): readonly Finding[] {
  const named = SECRET_FILES.flatMap((option) => {
    const path = values.get(option);
    return typeof path === 'string' ? [[option, path] as const] : [];
  });
  const inside = SECRETS.filter((option) => file !== undefined && sources.get(option) === `file ${file}`);
  const isShipped =
    values.get('wallet.genesis_seed_index') !== undefined ||
    values.get('network.secret') === 'loopback-only-test-secret';
  const own = file === undefined || isShipped ? [] : inside.map((option) => [option, file] as const);
  return [...named, ...own].flatMap(([option, path]) => {
    const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0;
    // The group may read, because services often get their secrets that way.
    if ((mode & OTHERS & ~0o040) === 0) return [];
    return [warn('secrets', `${path} (${option}) can be read by everyone`, `chmod o= ${path}`)];
  });
}

function certificates({ api, peers }: Config): readonly Finding[] {
  return [api.tls.certFile, peers.tls.certFile].flatMap((file) => {
    if (file === undefined) return [];
    try {
      const { validTo, subject } = new X509Certificate(readPem(file));
      const days = Math.floor((Date.parse(validTo) - Date.now()) / DAY_MS);
      const shown = `${file} (${subject.replaceAll('\n', ', ')}) is valid for ${days} days`;
      if (days < 0) return [fail('certificate', `${file} expired on ${validTo}`, 'renew it and restart the node')];
      return [
        days < RENEW_DAYS ? warn('certificate', shown, 'renew it and restart the node') : ok('certificate', shown),
      ];
    } catch (error) {
      return [fail('certificate', `${file}: ${reasonOf(error)}`, 'give the certificate chain as PEM')];
    }
  });
}

async function genesis({ network }: Config): Promise<Finding> {
  try {
    const fingerprint = genesisFingerprint(await readGenesis(network.genesisFile));
    return ok('genesis', `${network.genesisFile}, fingerprint ${fingerprint}`);
  } catch (error) {
    return fail('genesis', reasonOf(error), 'copy the file of the network; tessera genesis show compares');
  }
}

export function descriptors(): Finding {
  try {
    const { limit, warning } = planDescriptors(descriptorLimit());
    if (warning !== undefined) return warn('descriptors', warning, 'ulimit -n 8192, or LimitNOFILE of the service');
    return ok('descriptors', `this process may open ${limit} files and sockets`);
  } catch (error) {
    return fail('descriptors', reasonOf(error), 'ulimit -n 8192, or LimitNOFILE of the service');
  }
}

export function portExamination(config: Config): Examination {
  const { api, peers, metrics } = config;
  const ports = [
    ['api.port', api],
    ['peers.port', peers],
    ...(metrics.enabled ? ([['metrics.port', metrics]] as const) : []),
  ] as const;
  return {
    name: 'ports',
    async run() {
      const owner = await lockHolder(config.node.dataDir);
      const findings: Finding[] = [];
      for (const [option, { host, port }] of ports) findings.push(await portFinding(option, host, port, owner));
      return findings;
    },
  };
}

async function portFinding(option: string, host: string, port: number, owner: number | undefined): Promise<Finding> {
  const check = `${option} ${host}:${port}`;
  const code = await listenError(host, port);
  if (code === undefined) {
    if (owner === undefined || port === 0) return ok(check, 'free');
    return warn(check, `free, but process ${owner} uses the data folder`, 'is that the node of this configuration?');
  }
  if (code !== 'EADDRINUSE') return fail(check, `cannot be listened on (${code})`, 'choose another address or port');
  const holder = portHolder(port);
  if (holder !== undefined && holder === owner) return ok(check, `held by this node, process ${holder}`);
  if (holder === undefined && owner !== undefined) return ok(check, `held, probably by this node, process ${owner}`);
  const who = holder === undefined ? 'a process that this user cannot see' : `process ${holder}`;
  return fail(check, `held by ${who}`, `stop it, or choose another ${option}`);
}

/** The system's error code if it is not possible to listen on the port. */
function listenError(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}

function portHolder(port: number): number | undefined {
  const tables = ['/proc/net/tcp', '/proc/net/tcp6'];
  const inodes = new Set(tables.flatMap((table) => read(() => listeners(table, port), [])));
  const processes = read(() => readdirSync('/proc'), []).filter((name) => /^\d+$/.test(name));
  const holder = processes.find((pid) => socketsOf(pid).some((inode) => inodes.has(inode)));
  return holder === undefined ? undefined : Number(holder);
}

function listeners(table: string, port: number): string[] {
  const wanted = port.toString(16).toUpperCase().padStart(4, '0');
  return readFileSync(table, 'latin1')
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local = '', , state]) => local.endsWith(`:${wanted}`) && state === LISTENS)
    .map((fields) => fields[9] ?? '');
}

/** The sockets of a process, by inode; none for processes of other users. */
function socketsOf(pid: string): string[] {
  return read(() => readdirSync(`/proc/${pid}/fd`), []).flatMap((fd) => {
    const target = read(() => readlinkSync(`/proc/${pid}/fd/${fd}`), '');
    const inode = /^socket:\[(\d+)\]$/.exec(target)?.[1];
    return inode === undefined ? [] : [inode];
  });
}

/** Result of `look`, or `otherwise` after an error: processes and descriptors come and go meanwhile. */
function read<T>(look: () => T, otherwise: T): T {
  try {
    return look();
  } catch {
    return otherwise;
  }
}
