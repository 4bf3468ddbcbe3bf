/** The code of docs/client-library.md, as it stands there, against a real network: what a reader pastes must work. */

import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { createClient } from '../../src/sdk/client.js';
import { startDevNetwork } from '../support/started-dev-network.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);

/** One program of all blocks, each in a scope of its own. */
function programOf(page: string): string {
  const blocks = [...page.matchAll(/```js\n([\s\S]*?)```/g)].map(([, code = '']) =>
    code
      .replaceAll(/^import \* as (\w+) from '([^']+)';$/gm, "const $1 = await import('$2');")
      .replaceAll(/^import (\{[^}]+\}) from '([^']+)';$/gm, "const $1 = await import('$2');"),
  );
  expect(blocks.length).toBeGreaterThan(4);
  return blocks.map((code) => `await (async () => {\n${code}\n})();`).join('\n');
}

it('the code of docs/client-library.md runs, and does what it says', async () => {
  const page = await readFile(new URL('../../docs/client-library.md', import.meta.url), 'utf8');
  const network = await startDevNetwork();
  try {
    const { url = '', urls } = network;
    const program = programOf(page)
      .replaceAll('http://127.0.0.1:8080', url)
      .replaceAll('http://127.0.0.1:3003', urls.mempool)
      .replaceAll('http://127.0.0.1:3001', urls.storage)
      .replaceAll('http://127.0.0.1:3000', urls.user);
    // Node.js finds the package by its own name, as whoever has installed it does.
    const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', program], { cwd: ROOT });
    const hash = 'g[0-9a-f]{31}';
    const lines = [
      'paid: H',
      'paid by the node: H',
      'issued: \\d+ .* Storage node',
      'block \\d+ has \\d+ tr.*',
      '10 items: H',
    ];
    expect(stdout).toMatch(new RegExp(`^${[...lines, 'traded: H for H'].join('\n').replaceAll('H', hash)}\n$`));
    const [half = '', other = ''] = stdout.match(new RegExp(`${hash}`, 'g'))?.slice(-2) ?? [];
    const status = await createClient({ url }).queryTransactionStatus({ hashes: [half, other] });
    expect(Object.values(status).map((one) => one.status)).toEqual(['Confirmed', 'Confirmed']);
  } finally {
    await network.end();
  }
});
