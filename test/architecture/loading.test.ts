/** What a process loads before it does anything: a node starts in a second because it leaves out what it does not use. */

import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const SRC = fileURLToPath(new URL('../../src', import.meta.url));
/** `import … from 'x'`, `export … from 'x'` and `import 'x'`; not `import type`, and not `import(…)`. */
const STATIC_IMPORT = /^(?:import|export)(?! type\b)(?:[^'";]*?\bfrom)? '([^']+)';/gm;

/** The packages that a file imports, itself or through files of `src`, before any of its functions is called. */
function packagesOf(entry: string): ReadonlySet<string> {
  const packages = new Set<string>();
  const seen = new Set<string>();
  const visit = (file: string): void => {
    if (seen.has(file)) return;
    seen.add(file);
    for (const [, name = ''] of readFileSync(file, 'utf8').matchAll(STATIC_IMPORT)) {
      if (name.startsWith('.')) visit(normalize(join(dirname(file), name.replace(/\.js$/, '.ts'))));
      else if (!name.startsWith('node:'))
        packages.add(
          name
            .split('/')
            .slice(0, name.startsWith('@') ? 2 : 1)
            .join('/'),
        );
    }
  };
  visit(join(SRC, entry));
  return packages;
}

describe('what is loaded at the start', () => {
  it('has no gRPC in a node, whose journal in etcd is loaded when it has one', () => {
    expect([...packagesOf('node/roles/mempool/etcd-journal.ts')]).toEqual(
      expect.arrayContaining(['@bufbuild/protobuf', '@grpc/grpc-js']),
    );
    for (const entry of ['node/node.ts', 'node/dev-network.ts', 'node/node-group.ts']) {
      const packages = packagesOf(entry);
      expect(packages).toContain('fastify');
      expect([...packages].filter((name) => /grpc|protobuf/.test(name))).toEqual([]);
    }
  });

  it('has one package of others in the command line before a command is called, of 4 kB', () => {
    expect([...packagesOf('cli/program.ts')]).toEqual(['leven']);
  });
});
