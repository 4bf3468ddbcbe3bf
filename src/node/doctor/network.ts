/** Checks the node itself, if it runs, and its peers: whether they answer, agree to a link, and have the same time. */

import { get as httpGet } from 'node:http';
import { get as httpsGet } from 'node:https';
import { join } from 'node:path';
import type { Config } from '../../config/schema.js';
import { generateKeyPair } from '../../crypto/ed25519.js';
import { lockHolder, runningNode } from '../../db/folder-lock.js';
import { programVersion } from '../../lib/program-files.js';
import { systemRandom } from '../../lib/random.js';
import { formatAddress } from '../../peers/address.js';
import type { Identity } from '../../peers/link/handshake.js';
import { NODE_KEY_FILE, readNodeKey } from '../../peers/node-key.js';
import { probePeer } from '../../peers/probe.js';
import { WebSocketTransport } from '../../peers/transport/websocket-transport.js';
import { readGenesis } from '../genesis-file.js';
import { networkRules } from '../network-rules.js';
import { readTlsFiles, type TlsMaterial } from '../tls-files.js';
import { type Examination, type Finding, fail, ok, reasonOf, warn } from './finding.js';

/** Difference between two clocks, in seconds, above which there is a warning. */
const APART = 5;
const FAR_APART = 60;
const MAX_ANSWER = 64 * 1024;

/** Checks whether the node runs and is ready. */
export function readinessExamination(config: Config): Examination {
  return {
    name: 'node',
    async run(signal) {
      const pid = await lockHolder(config.node.dataDir);
      if (pid === undefined) return [ok('node', 'does not run')];
      try {
        const { status, body } = await ask(apiUrl(config).href, undefined, signal);
        const [isReady, reasons] = [status === 200, reasonsIn(body)];
        if (isReady && reasons === '') return [ok('node', `process ${pid} runs and is ready`)];
        const state = isReady ? 'ready, but degraded' : 'not ready';
        return [warn('node', `process ${pid} runs and is ${state}: ${reasons}`, 'wait, or see the rows below')];
      } catch (error) {
        const advice = 'is it starting? See its log; kill it only if it does nothing for minutes';
        return [
          warn('node', `process ${pid} uses the folder, and its API does not answer (${reasonOf(error)})`, advice),
        ];
      }
    },
  };
}

export function peerExaminations(config: Config): readonly Examination[] {
  const { mempool, storage, miner, user } = config.peers;
  const addresses = [...new Set([...mempool, ...storage, ...miner, ...user])];
  return addresses.map((address) => ({
    name: `peer ${address}`,
    run: (signal) => peerFindings(address, config, signal),
  }));
}

async function peerFindings(address: string, config: Config, signal: AbortSignal): Promise<readonly Finding[]> {
  const check = `peer ${address}`;
  const tls = readTlsFiles(config.peers.tls);
  try {
    const transport = new WebSocketTransport(tls === undefined ? {} : { tls });
    const modules = { transport, random: systemRandom };
    const { peer, isLinked } = await probePeer(address, await identityOf(config), modules, signal);
    const role = peer === undefined ? 'a node' : `a ${peer.role} node`;
    const trust = peer?.trusted === true ? ', with the same network.secret' : '';
    return [
      ok(check, isLinked ? `${role}, linked to this node` : `${role} agrees to a link${trust}`),
      await clockFinding(address, tls, signal),
    ];
  } catch (error) {
    const advice = 'is it up? Is its address right, its port open (docs/operations.md#troubleshooting-by-error-code)?';
    return [fail(check, reasonOf(error), advice)];
  }
}

/** The identity of this node in handshakes, with a temporary key if it has none yet. */
async function identityOf(config: Config): Promise<Identity> {
  const { node, network, peers } = config;
  const nodeKey = await readNodeKey(join(node.dataDir, NODE_KEY_FILE));
  return {
    network: network.name,
    role: node.role,
    address: peers.advertise ?? formatAddress({ host: peers.host, port: peers.port }),
    nodeKey: nodeKey ?? generateKeyPair(systemRandom),
    secret: network.secret,
    rules: networkRules(config, await readGenesis(network.genesisFile)),
    version: programVersion(),
  };
}

/** Compares the clock of a peer with ours: a port for links answers a request with its date. */
async function clockFinding(address: string, tls: TlsMaterial | undefined, signal: AbortSignal): Promise<Finding> {
  const check = `clock ${address}`;
  const asked = Date.now();
  try {
    const { date } = await ask(`${tls === undefined ? 'http' : 'https'}://${address}/`, tls, signal);
    const theirs = date === undefined ? Number.NaN : Date.parse(date);
    if (Number.isNaN(theirs))
      return warn(check, 'the peer does not tell its time', 'nothing to do: it is another version, or behind a proxy');
    // The date has whole seconds; ours is taken in the middle of the request.
    const apart = Math.round((theirs + 500 - (asked + Date.now()) / 2) / 1_000);
    const shown = `${Math.abs(apart)} s ${apart < 0 ? 'behind' : 'ahead of'} this machine`;
    const advice = 'set both clocks by NTP';
    if (Math.abs(apart) > FAR_APART) return fail(check, shown, advice);
    return Math.abs(apart) > APART ? warn(check, shown, advice) : ok(check, `within ${APART} s of this machine`);
  } catch (error) {
    return warn(check, `the peer does not tell its time (${reasonOf(error)})`, 'nothing to do if the row above is ok');
  }
}

/** URL where the running node has noted that it listens, whatever port it was started with; else the configured one. */
function apiUrl({ api, node }: Config): URL {
  const scheme = api.tls.certFile === undefined ? 'http' : 'https';
  const noted = runningNode(node.dataDir).url;
  const url = new URL('/readyz', noted ?? `${scheme}://${formatAddress({ host: api.host, port: api.port })}`);
  if (url.hostname === '0.0.0.0' || url.hostname === '[::]') url.hostname = '127.0.0.1';
  return url;
}

interface Asked {
  readonly status: number;
  readonly date: string | undefined;
  readonly body: string;
}

/** Sends a request. The certificate of this machine's own node is for another name, and not checked. */
function ask(url: string, tls: TlsMaterial | undefined, signal: AbortSignal): Promise<Asked> {
  return new Promise((resolve, reject) => {
    const own = { rejectUnauthorized: tls !== undefined, ...(tls?.ca === undefined ? {} : { ca: tls.ca }) };
    const get = url.startsWith('https:') ? httpsGet : httpGet;
    const request = get(url, { signal, agent: false, ...own }, (response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (text: string) => {
        if (body.length < MAX_ANSWER) body += text;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, date: response.headers.date, body }));
      response.on('error', reject);
    });
    request.on('error', reject);
  });
}

function reasonsIn(body: string): string {
  try {
    const { reasons } = JSON.parse(body) as { readonly reasons?: unknown };
    return Array.isArray(reasons) ? reasons.join('; ') : body.slice(0, 200);
  } catch {
    return body.slice(0, 200);
  }
}
