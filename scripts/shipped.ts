/**
 * What is known of the packages that come with a release (`shipped-packages.ts`), after `npm run build`.
 *
 *   npx tsx scripts/shipped.ts sbom     prints their bill of materials, as CycloneDX
 *   npx tsx scripts/shipped.ts audit    fails at one in which a hole is known; tools of the developers may wait for their release
 */

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import {
  type Audit,
  type Bill,
  billOf,
  holesIn,
  type Lock,
  type Manifest,
  shippedPackages,
} from './shipped-packages.js';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const read = (file: string): string => readFileSync(`${ROOT}${file}`, 'utf8');

/** What npm prints; its status says whether it has found something. */
function npm<T>(...args: readonly string[]): T {
  const { stdout, stderr } = spawnSync('npm', args, { cwd: ROOT, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
  try {
    return JSON.parse(stdout) as T;
  } catch {
    throw new Error(`npm ${args.join(' ')}: ${stderr}`);
  }
}

const manifest = JSON.parse(read('package.json')) as Manifest;
const bill = npm<Bill>('sbom', '--sbom-format', 'cyclonedx');
const notices = ['dist/program/LICENSES.txt', 'dist/web/LICENSES.txt'].map(read);
const shipped = shippedPackages(bill, manifest, notices);

switch (process.argv[2]) {
  case 'sbom':
    process.stdout.write(`${JSON.stringify(billOf(bill, manifest, shipped), null, 2)}\n`);
    break;
  case 'audit': {
    const audit = npm<Partial<Audit>>('audit', '--json');
    if (audit.vulnerabilities === undefined) throw new Error(`npm audit: ${JSON.stringify(audit)}`);
    const holes = holesIn(audit.vulnerabilities, JSON.parse(read('package-lock.json')) as Lock, shipped);
    process.stdout.write(`${[...holes, `${shipped.size} packages, ${holes.length} with a known hole`].join('\n')}\n`);
    process.exitCode = holes.length === 0 ? 0 : 1;
    break;
  }
  default:
    throw new Error('sbom or audit?');
}
