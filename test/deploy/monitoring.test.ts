/** The dashboard and the alerts name metrics and labels that nodes serve (src/observability/catalogue.ts). */

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { createConfig } from '../../src/config/load.js';
import { NODE_ROLES } from '../../src/lib/roles.js';
import { METRICS } from '../../src/observability/catalogue.js';
import { type Dashboard, dashboardText } from '../support/dashboard.js';

const read = (file: string): string => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');

const dashboard = JSON.parse(read('deploy/grafana/tessera.json')) as Dashboard;
const dashboardQueries = dashboard.panels.flatMap(({ title, targets = [] }) =>
  targets.map(({ expr }) => [title, expr] as const),
);

/** Name and expression of each rule: `expr: …` on one line, or `expr: |` and the deeper lines after it. */
const alerts = [
  ...read('deploy/prometheus/alerts.yml').matchAll(/- alert: (\w+)\n +expr: (\|\n((?: {10}.+\n)+)|.+\n)/g),
].map(([, name = '', line = '', block]) => [name, (block ?? line).trim()] as const);

interface Use {
  readonly name: string;
  readonly suffix: string;
  readonly labels: readonly string[];
}

/** Every metric that an expression names, with the labels it selects by. */
function usesIn(expression: string): Use[] {
  return [...expression.matchAll(/\b(tessera_[a-z_]+)(\{[^}]*\})?/g)].map(([, full = '', selector = '']) => {
    const suffix = /_(bucket|sum|count)$/.exec(full)?.[0] ?? '';
    const name = full in METRICS ? full : full.slice(0, full.length - suffix.length);
    const labels = [...selector.matchAll(/([a-z_]+)(?==|!=)/g)].map(([, label = '']) => label);
    return { name, suffix: full in METRICS ? '' : suffix, labels };
  });
}

/** What Prometheus itself adds to every series. */
const SCRAPE_LABELS = ['job', 'instance', 'le'];

function problemOf({ name, suffix, labels }: Use, expression: string): string | undefined {
  const metric = (METRICS as Readonly<Record<string, { kind: string; labels: readonly string[] }>>)[name];
  if (metric === undefined) return `${name} is not in the catalogue`;
  if ((suffix !== '') !== (metric.kind === 'histogram')) return `${name}${suffix}: it is a ${metric.kind}`;
  const isCounted = new RegExp(`(rate|increase)\\(${name}`).test(expression);
  if (metric.kind === 'counter' && !isCounted) return `${name} is a counter: take its rate or increase`;
  const known = [...metric.labels, ...SCRAPE_LABELS];
  const by = [...expression.matchAll(/by \(([^)]*)\)/g)].flatMap(([, list = '']) =>
    list.split(',').map((l) => l.trim()),
  );
  const single = usesIn(expression).length === 1 ? by : [];
  const unknown = [...labels, ...single].find((label) => !known.includes(label));
  return unknown === undefined ? undefined : `${name} has no label ${unknown}`;
}

describe.each([
  ['dashboard', dashboardQueries],
  ['alert', alerts],
] as const)('each query of the %s', (_kind, queries) => {
  it.each(queries)('names what nodes serve: %s', (_title, expression) => {
    const uses = usesIn(expression);
    expect(uses.map((use) => problemOf(use, expression)).filter((problem) => problem !== undefined)).toEqual([]);
    expect(uses.length > 0 || expression.startsWith('up{')).toBe(true);
  });
});

describe('the dashboard', () => {
  it('has a panel for each metric: the row More is made from the catalogue', async () => {
    await expect(dashboardText(dashboard)).toMatchFileSnapshot('../../deploy/grafana/tessera.json');
  });

  it('shows every metric of the catalogue', () => {
    // As the test above writes it with -u.
    const { panels } = JSON.parse(dashboardText(dashboard)) as Dashboard;
    const queries = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
    const shown = new Set(queries.flatMap((expression) => usesIn(expression).map(({ name }) => name)));
    expect(Object.keys(METRICS).filter((name) => !shown.has(name))).toEqual([]);
  });

  it('puts no panel over another', () => {
    const cells = dashboard.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, i) => `${x + (i % w)},${y + Math.floor(i / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
  });
});

describe('the alerts', () => {
  it('have different names, and there are as many expressions as alerts', () => {
    const names = [...read('deploy/prometheus/alerts.yml').matchAll(/- alert: (\w+)/g)].map(([, name]) => name);
    expect(alerts.map(([name]) => name)).toEqual(names);
    expect(new Set(names).size).toBe(names.length);
  });

  it('are explained in docs/operations.md', () => {
    const manual = read('docs/operations.md');
    expect(alerts.map(([name]) => name).filter((name) => !manual.includes(name))).toEqual([]);
  });
});

describe('the alert of failed answers', () => {
  it('counts what the node could not do, and not what a rule refuses with a 500 (test/api/request-result.test.ts)', () => {
    const [, expression = ''] = alerts.find(([name]) => name === 'TesseraHttpErrors') ?? [];
    expect(expression).toMatch(/rate\(tessera_http_request_duration_seconds_count\{result="failed"/);
    const critical = read('deploy/prometheus/alerts.yml')
      .split('- alert:')
      .filter((text) => text.includes('critical'));
    const byStatus = critical.filter((text) => /status=~?"5/.test(text));
    expect(byStatus).toEqual([]);
  });
});

describe('the scrape configuration', () => {
  it.each(NODE_ROLES)('asks the %s node on the port that it serves metrics on', (role) => {
    const { metrics } = createConfig(role, { 'network.secret': 'a secret of this test' });
    expect(read('deploy/prometheus/prometheus.yml')).toMatch(
      new RegExp(`job_name: tessera-${role}\\n.*"${role}:${metrics.port}"`),
    );
  });
});
