/** The configuration of a node among others of its process: its folder, its ports, and the links to the others. */

import { join, resolve } from 'node:path';
import { factsOf, hasWallet, isFirstWallet, type NodeRole } from '../lib/roles.js';
import { DATA_ROOT } from './schema.js';
import { type Layer, merged, type Settings } from './settings.js';
import type { ConfigProblem } from './values.js';

export interface Place {
  readonly roles: readonly NodeRole[];
  /** Role of the node; undefined for the address that the nodes have in common. */
  readonly role: NodeRole | undefined;
}

/** Port of the HTTP API of several nodes at one address. */
export const JOINT_API_PORT = 8080;
/** Options that two nodes of one process cannot share; 0 is any free port. */
const OF_ONE_NODE = ['peers.port', 'peers.advertise', 'metrics.port'] as const;
/** Addresses at which a node that listens everywhere is reached. */
const EVERYWHERE: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };
const SOURCE = 'the process';
/** Name of the process in its log. */
const JOINT_NAME = 'network';

/** True for a node with an API address of its own: one alone, one with a port for its role, and a miner beside a user, for its wallet. */
export function hasOwnApi({ role, roles }: Place, settings: Settings): boolean {
  if (role === undefined) return false;
  if (roles.length === 1 || settings.get('api.port')?.isOfRole === true) return true;
  return hasWallet(role) && !isFirstWallet(role, roles);
}

/** The folder that has the folders of the nodes of a process. */
export function rootFolder(layers: readonly Layer[], cwd: string): string {
  const named = merged(layers).get('node.data_dir')?.value;
  return typeof named === 'string' ? named : resolve(cwd, DATA_ROOT);
}

/** Changes the settings of a node, or of the common address, in a process with several roles. */
export function place(
  at: Place,
  settings: Settings,
  { layers, cwd }: { readonly layers: readonly Layer[]; readonly cwd: string },
  problems: ConfigProblem[],
): void {
  placeFolder(at, settings, rootFolder(layers, cwd));
  placeApi(at, settings);
  if (at.role === undefined) return;
  for (const option of OF_ONE_NODE) {
    const setting = settings.get(option);
    if (setting === undefined || setting.isOfRole === true || setting.value === 0) continue;
    const problem = `each node of a process needs its own: leave it out, or set role.${at.role}.${option} and so on`;
    problems.push({ option, source: setting.source, problem });
  }
  for (const other of factsOf(at.role).dials) {
    if (!at.roles.includes(other)) continue;
    const address = peerAddress(merged(layers, other), other);
    if (address === undefined) continue;
    const path = `peers.${other}`;
    const setting = settings.get(path) ?? { value: [], source: SOURCE, rank: 0 };
    settings.set(path, { ...setting, value: [...new Set([address, ...(setting.value as readonly string[])])] });
  }
}

function placeFolder({ role }: Place, settings: Settings, root: string): void {
  const folder = settings.get('node.data_dir');
  if (folder?.isOfRole !== true) {
    const { source, rank } = folder ?? { source: 'default', rank: 0 };
    settings.set('node.data_dir', { value: role === undefined ? root : join(root, role), source, rank });
  }
  const name = settings.get('node.name');
  if (role === undefined) settings.set('node.name', name ?? { value: JOINT_NAME, source: 'default', rank: 0 });
  else if (name !== undefined && name.isOfRole !== true) {
    settings.set('node.name', { ...name, value: `${name.value}-${role}` });
  }
}

/** Sets the API port: nodes without an address of their own have that of the process. */
function placeApi(at: Place, settings: Settings): void {
  const port = settings.get('api.port');
  if (!hasOwnApi(at, settings)) {
    if (port === undefined) settings.set('api.port', { value: JOINT_API_PORT, source: 'default', rank: 0 });
  } else if (port?.isOfRole !== true && port?.value !== 0) {
    settings.delete('api.port');
  }
}

/** Address on which a node of the process accepts links; undefined for any free port, which is known when it listens. */
function peerAddress(settings: Settings, role: NodeRole): string | undefined {
  const advertised = settings.get('peers.advertise')?.value;
  // A certificate is for a name, so others must use the advertised one.
  if (settings.has('peers.tls.cert_file') && typeof advertised === 'string') return advertised;
  const port = settings.get('peers.port')?.value ?? factsOf(role).ports.peers;
  if (port === 0) return undefined;
  const named = String(settings.get('peers.host')?.value ?? '127.0.0.1');
  const host = EVERYWHERE[named] ?? named;
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** The folder with the key of the API at which a node is reached, when none is configured. */
export function keyFolder(at: Place, settings: Settings, root: string): string {
  return hasOwnApi(at, settings) ? String(settings.get('node.data_dir')?.value) : root;
}
