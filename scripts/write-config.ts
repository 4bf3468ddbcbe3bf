/** Writes the generated files of `config/` again: `npx tsx scripts/write-config.ts`. A test fails when they are stale. */

import { writeFileSync } from 'node:fs';
import { devGenesis } from '../src/config/dev-accounts.js';
import { sampleConfig } from '../src/config/sample.js';

const target = (name: string) => new URL(`../config/${name}`, import.meta.url);
writeFileSync(target('default.toml'), sampleConfig());
writeFileSync(target('genesis-dev.json'), devGenesis());
