/** Rules between options, checked once every option is valid by itself. */

import { accessSync, constants } from 'node:fs';
import { modulusFault } from '../chain/unicorn.js';
import { toHex } from '../lib/bytes.js';
import { isAddressOrNetwork, isLoopback } from '../lib/ip-address.js';
import { factsOf, hasService } from '../lib/roles.js';
import { apiKeyFault } from './api-keys.js';
import { DEV_PRODUCER_SEED } from './dev-accounts.js';
import type { Config } from './schema.js';
import type { ConfigProblem } from './values.js';

/** The secret in the supplied role files. Everyone knows it, so a node that uses it must not be reachable from elsewhere. */
export const LOOPBACK_SECRET = 'loopback-only-test-secret';

type Report = (option: string, problem: string) => void;

/** Checks the rules between options and reports every one that is broken. */
export function checkConfig(config: Config, sourceOf: (path: string) => string) {
  const problems: ConfigProblem[] = [];
  const report: Report = (option, problem) => problems.push({ option, source: sourceOf(option), problem });
  checkApi(config, report);
  checkPorts(config, report);
  checkTls(config, report);
  checkNetwork(config, report);
  checkMining(config, report);
  checkJournal(config, report);
  checkSegments(config, report);
  return { problems, warnings: warningsOf(config) };
}

function checkApi({ api }: Config, report: Report): void {
  if (api.auth === 'open' && !isLoopback(api.host)) {
    report('api.auth', `"open" is allowed on loopback only, and api.host is ${api.host}; use "keys"`);
  }
  const wrongProxy = api.trustedProxies.find((proxy) => !isAddressOrNetwork(proxy));
  if (wrongProxy !== undefined) {
    report('api.trusted_proxies', `"${wrongProxy}" is neither an IP address nor a network such as 10.0.0.0/8`);
  }
  const names = new Set<string>();
  for (const { name, key, sha256 } of api.keys) {
    const wrong = apiKeyFault({ key, sha256 });
    if (wrong !== null) report('api.keys', `${name} ${wrong.message}`);
    if (names.has(name)) report('api.keys', `two keys have the name ${name}`);
    names.add(name);
  }
}

function checkPorts({ api, peers, metrics }: Config, report: Report): void {
  const used = new Map([[api.port, 'api.port']]);
  const others: [string, number][] = [['peers.port', peers.port]];
  if (metrics.enabled) others.push(['metrics.port', metrics.port]);
  for (const [option, port] of others) {
    const other = used.get(port);
    if (port !== 0 && other !== undefined) report(option, `${port} is the port of ${other} too; choose another`);
    used.set(port, option);
  }
}

function checkTls({ api, peers, network }: Config, report: Report): void {
  for (const [section, tls] of [
    ['api.tls', api.tls],
    ['peers.tls', peers.tls],
  ] as const) {
    if (tls.certFile !== undefined && tls.keyFile === undefined)
      report(`${section}.cert_file`, `needs ${section}.key_file`);
    if (tls.keyFile !== undefined && tls.certFile === undefined)
      report(`${section}.key_file`, `needs ${section}.cert_file`);
    checkReadable(`${section}.cert_file`, tls.certFile, report);
    checkReadable(`${section}.key_file`, tls.keyFile, report);
  }
  checkReadable('peers.tls.ca_file', peers.tls.caFile, report);
  checkReadable('network.genesis_file', network.genesisFile, report);
}

function checkReadable(option: string, file: string | undefined, report: Report): void {
  if (file === undefined) return;
  try {
    accessSync(file, constants.R_OK);
  } catch {
    report(option, `${file} cannot be read; it must be a readable file`);
  }
}

function checkNetwork({ node, network, peers }: Config, report: Report): void {
  const { secret } = factsOf(node.role);
  const isNeeded = secret === 'needed' || (secret === 'unsigned' && network.producerKeys.length === 0);
  if (isNeeded && network.secret === undefined) {
    report(
      'network.secret',
      `a ${node.role} node needs it, the same on all mempool and storage nodes; see network.secret_file`,
    );
  }
  if (network.secret === LOOPBACK_SECRET && !isLoopback(peers.host)) {
    report(
      'network.secret',
      `this is the sample secret, which everyone knows, and peers.host is ${peers.host}; choose one of your own`,
    );
  }
}

function checkJournal({ node, journal }: Config, report: Report): void {
  const { kind, endpoints, tls, user, password } = journal;
  if (kind === 'local' || !hasService(node.role, 'mempool')) return;
  const schemes = new Set(endpoints.map((endpoint) => new URL(endpoint).protocol));
  if (endpoints.length === 0) report('journal.endpoints', 'journal.kind is "etcd": name the members of the cluster');
  if (schemes.size > 1) report('journal.endpoints', 'some are https and some are http; make all of them https');
  if (user !== undefined && password === undefined) report('journal.user', 'needs journal.password_file');
  if (password !== undefined && user === undefined) report('journal.password', 'needs journal.user');
  if (tls.certFile !== undefined && tls.keyFile === undefined)
    report('journal.tls.cert_file', 'needs journal.tls.key_file');
  if (tls.keyFile !== undefined && tls.certFile === undefined)
    report('journal.tls.key_file', 'needs journal.tls.cert_file');
  for (const [option, file] of Object.entries({
    ca_file: tls.caFile,
    cert_file: tls.certFile,
    key_file: tls.keyFile,
  })) {
    checkReadable(`journal.tls.${option}`, file, report);
  }
}

function checkSegments({ storage: { segments } }: Config, report: Report): void {
  if (segments.store === 'local') return;
  for (const [option, value] of Object.entries({
    endpoint: segments.endpoint,
    bucket: segments.bucket,
    access_key: segments.accessKey,
    secret_key: segments.secretKey,
  })) {
    if (value === undefined) report(`storage.segments.${option}`, 'storage.segments.store is "s3": it is needed');
  }
}

function checkMining({ node, mining }: Config, report: Report): void {
  if (!hasService(node.role, 'mempool')) return;
  if (mining.minMiners > mining.partitionSize) {
    report('mining.min_miners', `${mining.minMiners} is more than mining.partition_size (${mining.partitionSize})`);
  }
  const { modulus, security } = mining.unicorn;
  const wrong = modulusFault(BigInt(modulus), security);
  if (wrong !== null) report('mining.unicorn.modulus', wrong.message);
}

function warningsOf({ node, network, mempool, peers, api }: Config): string[] {
  const warnings: string[] = [];
  const {
    dials: [needed],
    unlinked,
  } = factsOf(node.role);
  // A mempool node logs this itself, with the line to add.
  if (network.producerKeys.length === 0 && !hasService(node.role, 'mempool')) {
    warnings.push(
      'network.producer_keys is empty: blocks carry no proof of who made them, and are trusted because of the link they come from',
    );
  }
  if (mempool.producerKey === toHex(DEV_PRODUCER_SEED) && !isLoopback(peers.host)) {
    warnings.push(
      `mempool.producer_key is the published key of the dev network, and peers.host is ${peers.host}: everyone can sign blocks`,
    );
  }
  if (needed !== undefined && peers[needed].length === 0) warnings.push(`peers.${needed} is empty: ${unlinked}`);
  if (!isLoopback(api.host) && api.tls.certFile === undefined) {
    warnings.push(`api.host is ${api.host} without api.tls: keys and passphrases cross the network unencrypted`);
  }
  if (!isLoopback(peers.host) && peers.tls.certFile === undefined) {
    warnings.push(`peers.host is ${peers.host} without peers.tls: links can be read, and altered, on their way`);
  }
  return warnings;
}
