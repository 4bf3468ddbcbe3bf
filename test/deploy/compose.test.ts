/** docker-compose.yml and the files beside it: what they promise to the program, to each other, and to whoever runs them. */

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { createConfig, loadConfig } from '../../src/config/load.js';
import { CONFIG_FILE_ENV, OPTIONS } from '../../src/config/option-table.js';
import { NODE_ROLES } from '../../src/lib/roles.js';

/** What /app is in the image. */
const root = fileURLToPath(new URL('../../', import.meta.url));
const read = (file: string): string => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');

interface Service {
  readonly profiles?: readonly string[];
  readonly image: string;
  readonly user?: string;
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly pids_limit?: number;
  readonly mem_limit?: string;
  readonly restart?: string;
  readonly networks?: readonly string[] | Readonly<Record<string, { readonly ipv4_address: string }>>;
  readonly depends_on?: Readonly<Record<string, unknown>>;
  readonly environment?: Readonly<Record<string, string>>;
  readonly secrets?: readonly { readonly source: string; readonly target?: string }[];
  readonly volumes?: readonly string[];
  readonly ports?: readonly string[];
  readonly healthcheck?: unknown;
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly networks: Readonly<Record<string, { readonly internal?: boolean }>>;
  readonly volumes: Readonly<Record<string, unknown>>;
  readonly secrets: Readonly<Record<string, { readonly file: string }>>;
}

const text = read('docker-compose.yml');
const { services, networks, volumes, secrets } = parse(text, { merge: true }) as Compose;
const all = Object.entries(services);
const nodes = all.filter(([, { environment }]) => environment?.TESSERA_NODE__ROLE !== undefined);
const ofHa = (kind: string): string[] => Object.keys(services).filter((name) => new RegExp(`^${kind}\\d$`).test(name));
const networksOf = ({ networks: own = ['default'] }: Service): readonly string[] =>
  Array.isArray(own) ? own : Object.keys(own);

describe('docker-compose.yml', () => {
  it('sets only options that exist', () => {
    const known = new Set([...OPTIONS.map(({ env }) => env), CONFIG_FILE_ENV, 'TESSERA_IMAGE']);
    const named = [...text.matchAll(/TESSERA_[A-Z_]+/g)].map(([name]) => name);
    const perRole = /^TESSERA_ROLE__(MEMPOOL|STORAGE|MINER|USER)__/;
    expect(named.filter((name) => !known.has(name) && !known.has(name.replace(perRole, 'TESSERA_')))).toEqual([]);
  });

  it.each(nodes)('gives %s a configuration that the program takes', (_name, { environment = {} }) => {
    const files = { TESSERA_NETWORK__SECRET: 'a secret of this test', TESSERA_WALLET__PASSPHRASE: 'of this test' };
    const withoutFiles = Object.entries(environment).filter(
      ([name]) => !/SECRET_FILE|PASSPHRASE_FILE|TLS__/.test(name),
    );
    const inImage = withoutFiles.map(([name, value]) => [name, value.replace(/^\/app\//, root)]);
    const env = { ...Object.fromEntries(inImage), ...files, [CONFIG_FILE_ENV]: `${root}deploy/container.toml` };
    const role = environment.TESSERA_NODE__ROLE ?? '';
    for (const one of role.split(',')) {
      const { config } = loadConfig({ env: { ...env, TESSERA_NODE__ROLE: one } });
      expect(config.node.dataDir).toBe('/data');
    }
  });

  it.each(NODE_ROLES)('publishes the API of the %s node of the four on loopback alone', (role) => {
    const { port } = createConfig(role, { 'network.secret': 'a secret of this test' }).api;
    expect(services[role]?.ports).toEqual([`127.0.0.1:${port}:${port}`]);
  });

  it('publishes nothing beyond loopback, and no port twice', () => {
    const published = all.flatMap(([, { ports = [] }]) => ports);
    expect(published.filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([]);
    const outside = published.map((port) => port.split(':')[1]);
    expect(new Set(outside).size).toBe(outside.length);
  });

  it.each(all)('gives %s the least that it needs', (_name, service) => {
    expect(service).toMatchObject({
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
      pids_limit: expect.any(Number),
      mem_limit: expect.any(String),
      restart: 'unless-stopped',
    });
  });

  it('pins every image that it does not build', () => {
    const images = all.map(([, { image }]) => /:-(.*)\}$/.exec(image)?.[1] ?? image);
    const others = images.filter((image) => !image.startsWith('tessera-node:'));
    expect(others.filter((image) => !/:v?\d+\.\d+\.\d+$/.test(image))).toEqual([]);
  });

  it('declares what it uses, and uses what it declares', () => {
    const named = all.flatMap(([, { volumes: own = [] }]) => own.map((volume) => volume.split(':')[0] ?? ''));
    expect(named.filter((name) => !name.startsWith('./')).sort()).toEqual(Object.keys(volumes).sort());
    const mounted = all.flatMap(([, { secrets: own = [] }]) => own.map(({ source }) => source));
    expect([...new Set(mounted)].sort()).toEqual(Object.keys(secrets).sort());
    const joined = all.flatMap(([, service]) => networksOf(service));
    expect([...new Set(joined)].sort()).toEqual(['default', ...Object.keys(networks)].sort());
  });

  it('has every secret from a script, and none in git', () => {
    const scripts = read('deploy/make-secrets.sh') + read('deploy/make-etcd-certificates.sh');
    for (const { file } of Object.values(secrets)) {
      expect(file).toMatch(/^\.\/deploy\/secrets\//);
      const name = /([a-z-]+?)(?:\d|-key)?(?:-key)?(?:\.pem)?$/.exec(file)?.[1] ?? '';
      expect(scripts).toContain(name);
    }
    expect(read('deploy/secrets/.gitignore').split('\n')).toContain('*');
  });
});

describe('its profile ha', () => {
  it('has three of etcd, three mempool nodes, two storage nodes, two miners, a user, and a balancer', () => {
    const counts = ['etcd', 'mempool', 'storage', 'miner', 'user'].map((kind) => ofHa(kind).length);
    expect(counts).toEqual([3, 3, 2, 2, 1]);
    expect(services.balancer?.profiles).toEqual(['ha']);
  });

  it('is brought up by its balancer, without the four nodes of the other network', () => {
    const seen = new Set<string>();
    const visit = (name: string): void => {
      if (seen.has(name)) return;
      seen.add(name);
      for (const next of Object.keys(services[name]?.depends_on ?? {})) visit(next);
    };
    visit('balancer');
    const own = all.filter(([name, { profiles }]) => profiles?.includes('ha') && name !== 'prometheus-ha');
    expect([...seen].sort()).toEqual(own.map(([name]) => name).sort());
  });

  it('lets nobody but mempool nodes and Prometheus reach etcd, and etcd reach nobody', () => {
    const there = all.filter(([, service]) => networksOf(service).includes('etcd')).map(([name]) => name);
    expect(there.sort()).toEqual([...ofHa('etcd'), ...ofHa('mempool'), 'prometheus-ha'].sort());
    expect(networks.etcd?.internal).toBe(true);
    for (const name of ofHa('etcd')) expect(networksOf(services[name] as Service)).toEqual(['etcd']);
  });

  it('speaks TLS with certificates of both sides to etcd, and between its members', () => {
    for (const name of ofHa('etcd')) {
      const environment = services[name]?.environment ?? {};
      expect(environment).toMatchObject({ ETCD_CLIENT_CERT_AUTH: 'true', ETCD_PEER_CLIENT_CERT_AUTH: 'true' });
      const urls = Object.entries(environment).filter(
        ([key]) => /URLS$|CLUSTER$/.test(key) && !key.includes('METRICS'),
      );
      expect(urls.filter(([, value]) => !value.includes('https://') || value.includes('http://'))).toEqual([]);
    }
    for (const name of ofHa('mempool')) {
      const { TESSERA_JOURNAL__ENDPOINTS: endpoints = '' } = services[name]?.environment ?? {};
      expect(endpoints.split(',')).toEqual(ofHa('etcd').map((member) => `https://${member}:2379`));
    }
  });

  it('has the balancer at the address that the nodes trust', () => {
    const of = services.balancer?.networks as Readonly<Record<string, { readonly ipv4_address: string }>>;
    for (const name of [...ofHa('mempool'), ...ofHa('storage')]) {
      expect(services[name]?.environment?.TESSERA_API__TRUSTED_PROXIES).toBe(of.ha?.ipv4_address);
    }
  });

  it('has every node in the balancer, ready or only alive, and in the scrape configuration', () => {
    const balancer = read('deploy/haproxy/haproxy.cfg');
    const scrapes = read('deploy/prometheus/ha.yml');
    for (const role of ['mempool', 'storage'] as const) {
      const { port } = createConfig(role, { 'network.secret': 'a secret of this test' }).api;
      for (const name of ofHa(role)) {
        expect(balancer.split(`server ${name} ${name}:${port}`)).toHaveLength(3);
      }
    }
    for (const role of NODE_ROLES) {
      const { port } = createConfig(role, { 'network.secret': 'a secret of this test' }).metrics;
      for (const name of ofHa(role)) expect(scrapes).toContain(`"${name}:${port}"`);
    }
    for (const name of ofHa('etcd')) expect(scrapes).toContain(`"${name}:2381"`);
  });
});
