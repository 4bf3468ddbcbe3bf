/** The dashboard's last row, made from the catalogue: a panel for each metric that no other panel shows. */

import { METRICS } from '../../src/observability/catalogue.js';

/** Title of the row; it and everything below it is made here. */
const ROW = 'More';
const PANEL = { width: 8, height: 8, columns: 3 };
const DATASOURCE = { type: 'prometheus', uid: `\${datasource}` };

interface Panel {
  readonly id: number;
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr: string }[];
}

export interface Dashboard {
  readonly panels: readonly Panel[];
}

/** The dashboard with every metric of the catalogue in it, as the text of its file. */
export function dashboardText(dashboard: Dashboard): string {
  const at = dashboard.panels.findIndex(({ title }) => title === ROW);
  const own = at < 0 ? dashboard.panels : dashboard.panels.slice(0, at);
  return `${JSON.stringify({ ...dashboard, panels: [...own, ...morePanels(own)] }, null, 2)}\n`;
}

function morePanels(own: readonly Panel[]): object[] {
  const shown = own.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)).join('\n');
  const missing = Object.entries(METRICS).filter(([name]) => !new RegExp(`\\b${name}(?![a-z])`).test(shown));
  if (missing.length === 0) return [];
  const top = Math.max(...own.map(({ gridPos }) => gridPos.y + gridPos.h));
  const firstId = Math.max(...own.map(({ id }) => id)) + 1;
  const row = { id: firstId, type: 'row', title: ROW, collapsed: false, gridPos: { h: 1, w: 24, x: 0, y: top } };
  const panels = missing.map(([name, { kind, help }], index) => ({
    id: firstId + 1 + index,
    type: 'timeseries',
    title: name,
    description: help,
    datasource: DATASOURCE,
    gridPos: {
      h: PANEL.height,
      w: PANEL.width,
      x: (index % PANEL.columns) * PANEL.width,
      y: top + 1 + Math.floor(index / PANEL.columns) * PANEL.height,
    },
    targets: [{ refId: 'A', datasource: DATASOURCE, expr: queryOf(name, kind), legendFormat: '{{instance}}' }],
  }));
  return [{ ...row, panels: [] }, ...panels];
}

function queryOf(name: string, kind: (typeof METRICS)[keyof typeof METRICS]['kind']): string {
  const selected = (metric: string) => `${metric}{job=~"$job", instance=~"$instance"}`;
  if (kind === 'gauge') return selected(name);
  if (kind === 'counter') return `rate(${selected(name)}[5m])`;
  return `histogram_quantile(0.99, sum by (instance, le) (rate(${selected(`${name}_bucket`)}[5m])))`;
}
