import fs from 'node:fs';
import { cp, readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import './files.js';

it('what is asked of a file of a world that it does not know fails, and never reaches the real files', () => {
  expect(() => readFile('/world/mempool-1/journal')).toThrow('a world does not know readFile');
  expect(() => cp('/elsewhere', '/world/mempool-1', { recursive: true })).toThrow('a world does not know cp');
  expect(() => fs.readdirSync('/world/mempool-1')).toThrow('a world does not know readdirSync');
  expect(() => fs.closeSync(1_000_000_001)).toThrow('a world does not know closeSync');
});
