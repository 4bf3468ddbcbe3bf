/** What the bill of materials of a release names, and what its audit looks at: what is copied into the program too. */

import { expect, it } from 'vitest';
import { type Bill, billOf, holesIn, shippedPackages } from '../../scripts/shipped-packages.js';

const MANIFEST = {
  name: 'node',
  version: '1.0.0',
  dependencies: { native: '^1.0.0' },
  optionalDependencies: { '@a/fast': '^2.0.0' },
};
const TOOL = { name: 'cdx:npm:package:development' };
const component = (ref: string, ...properties: { readonly name: string }[]) => ({ 'bom-ref': ref, properties });
const BILL: Bill = {
  components: [
    component('native@1.1.0'),
    component('loader@3.0.0'),
    component('@a/fast@2.0.0'),
    component('@a/server@4.0.1', TOOL),
    component('@a/server@3.0.0', TOOL),
    component('runner@5.0.0', TOOL),
  ],
  dependencies: [
    { ref: 'node@1.0.0', dependsOn: ['native@1.1.0', '@a/fast@2.0.0', '@a/server@4.0.1', 'runner@5.0.0'] },
    { ref: 'native@1.1.0', dependsOn: ['loader@3.0.0'] },
    { ref: 'runner@5.0.0', dependsOn: ['@a/server@3.0.0'] },
    { ref: '@a/server@4.0.1', dependsOn: [] },
  ],
};
const NOTICES = '# Licenses\n\n## @a/server - 4.0.1 (MIT)\n\n## Purpose\n\ntext\n';
const shipped = shippedPackages(BILL, MANIFEST, [NOTICES]);

it('are those that it depends on, with what they need, and those that are copied; no tool', () => {
  expect([...shipped].sort()).toEqual(['@a/fast@2.0.0', '@a/server@4.0.1', 'loader@3.0.0', 'native@1.1.0']);
  const bill = billOf(BILL, MANIFEST, shipped);
  expect(bill.components).toEqual(
    ['native@1.1.0', 'loader@3.0.0', '@a/fast@2.0.0', '@a/server@4.0.1'].map((ref) => component(ref)),
  );
  expect(bill.dependencies[0]).toEqual({
    ref: 'node@1.0.0',
    dependsOn: ['native@1.1.0', '@a/fast@2.0.0', '@a/server@4.0.1'],
  });
});

it('are all in the bill, or there is none', () => {
  const unknown = shippedPackages(BILL, MANIFEST, ['## lost - 1.0.0 (MIT)\n']);
  expect(() => billOf(BILL, MANIFEST, unknown)).toThrow('npm knows nothing of lost@1.0.0');
});

it('fail for a hole in the version that is copied, not for one in that of a tool', () => {
  const hole = (...nodes: string[]) => ({ severity: 'high', range: '<9', nodes });
  const lock = {
    packages: {
      'node_modules/@a/server': { version: '4.0.1' },
      'node_modules/runner/node_modules/@a/server': { version: '3.0.0' },
      'node_modules/runner': { version: '5.0.0' },
    },
  };
  const ofTools = {
    '@a/server': hole('node_modules/runner/node_modules/@a/server'),
    runner: hole('node_modules/runner'),
  };
  expect(holesIn(ofTools, lock, shipped)).toEqual([]);
  const ofProgram = { '@a/server': hole(...Object.keys(lock.packages)) };
  expect(holesIn(ofProgram, lock, shipped)).toEqual(['@a/server 4.0.1: high, in <9']);
});
