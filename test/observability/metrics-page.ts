/** The page about the metrics, docs/metrics.md, made from the catalogue. */

import { NODE_ROLES } from '../../src/lib/roles.js';
import { METRICS, rolesOf } from '../../src/observability/catalogue.js';

const INTRODUCTION = `# Metrics

A node with \`metrics.enabled = true\` serves these at \`/metrics\` of its own port (\`metrics.port\`), in the text format of
Prometheus. This page is made from \`src/observability/catalogue.ts\`, and a test holds it against it;
\`npx vitest run test/observability -u\` writes it anew. Times are in seconds, sizes in bytes. Every label has a small set of
values: no address, hash or name of a client is ever one.
`;

/** Markdown. */
export function metricsDocument(): string {
  const rows = Object.entries(METRICS).map(([name, { kind, labels, help }]) => {
    const roles = rolesOf(name);
    const served = roles.length === NODE_ROLES.length ? 'all' : roles.join(', ');
    const labelText = labels.map((label: string) => `\`${label}\``).join(' ');
    return `| \`${name}\` | ${kind} | ${labelText} | ${served} | ${help} |`;
  });
  return [INTRODUCTION, '| metric | kind | labels | roles | meaning |', '|---|---|---|---|---|', ...rows, ''].join(
    '\n',
  );
}
