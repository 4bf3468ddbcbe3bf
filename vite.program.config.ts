/**
 * How the program is put together for running: `dist/program/program.cjs`, with every package in it but those of native code, and,
 * with `--mode small`, the files that load it or begin threads (docs/adr/0049-one-program-in-few-files.md). What others import, and
 * what tests and benchmarks import of the compiled files, is compiled file by file by tsc.
 */

import { readFileSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin, type Rolldown } from 'vite';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** They find their compiled parts beside their own files. */
const NATIVE = ['@node-rs/crc32', 'classic-level', 'snappy', 'sodium-native'];

/** Parts of Node.js that take milliseconds to load, and that most commands do without. */
const HEAVY = /^(?:node:)?(?:dns|https?|http2)$/;

const LICENSES = 'program/LICENSES.txt';
/** The heading of a package with nothing below it. */
const BARE = /^## (\S+) - [0-9].*\n(?=\n## \S+ - [0-9]|(?![\s\S]))/gm;

/** Of packages that have no file of their license: what they say elsewhere. */
const NOTICES: Readonly<Record<string, string>> = {
  '@bufbuild/protobuf': [
    commentOf('@bufbuild/protobuf/dist/esm/index.js'),
    'The text of the Apache License is below, at @grpc/grpc-js. Parts are under another one:',
    commentOf('@bufbuild/protobuf/dist/esm/wire/varint.js'),
  ].join('\n\n'),
  'abstract-logging': `MIT License (http://jsumners.mit-license.org/)

Copyright (c) James Sumners

${permissionOf('ajv')}`,
};

/** The comment that a file of a package begins with. */
function commentOf(file: string): string {
  const [comment = ''] = /^(?:\/\/.*\n)+/.exec(readFileSync(here(`node_modules/${file}`), 'utf8')) ?? [];
  return comment.replace(/^\/\/ ?/gm, '').trim();
}

/** The text of the MIT license without its first lines, as another package has it. */
function permissionOf(name: string): string {
  const text = readFileSync(here(`node_modules/${name}/LICENSE`), 'utf8');
  return text.slice(text.indexOf('Permission is hereby granted')).trim();
}

/** A script that is one function, of which V8 can keep the compiled code. */
const PROGRAM = {
  input: { program: here('src/start/entries.ts') },
  output: {
    format: 'cjs',
    codeSplitting: false,
    entryFileNames: 'program/[name].cjs',
    banner: "(function (exports, require, __filename, __dirname) { 'use strict';",
    footer: '})',
  },
} satisfies Rolldown.RolldownOptions;
const SMALL = {
  input: {
    main: here('src/main.ts'),
    // For scripts/compile-program.js.
    'program/load-program': here('src/start/load-program.ts'),
    // For deploy/healthcheck.js.
    'program/configuration': here('src/config/load.ts'),
    'program/network-process': here('src/start/network.ts'),
    'program/pow-worker': here('src/miner/pow-worker.ts'),
    'program/unicorn-worker': here('src/mempool/blocks/unicorn-worker.ts'),
    'program/verify-worker': here('src/ledger/verifier/verify-worker.ts'),
  },
  output: { entryFileNames: '[name].js', chunkFileNames: 'program/[name].js' },
} satisfies Rolldown.RolldownOptions;

export default defineConfig(({ mode }) => {
  const { input, output } = mode === 'small' ? SMALL : PROGRAM;
  return {
    root: here('.'),
    publicDir: false,
    logLevel: 'warn',
    ssr: { noExternal: true, external: NATIVE, target: 'node' },
    build: {
      ssr: true,
      outDir: here('dist'),
      emptyOutDir: false,
      target: 'node20',
      // Names and lines of a stack trace are to be read, as the options of `minify` below leave them.
      minify: false,
      sourcemap: true,
      // The notices of the packages that are copied into the program; the small files have no others.
      license: mode === 'small' ? false : { fileName: LICENSES },
      rolldownOptions: {
        input,
        // A busy machine is no news.
        checks: { pluginTimings: false },
        output: {
          ...output,
          // The text of the program stays in memory: without comments, and in one byte for each character.
          comments: { legal: false, jsdoc: false },
          minify: { compress: false, mangle: false, codegen: { removeWhitespace: false, asciiOnly: true } },
        },
      },
    },
    plugins: mode === 'small' ? [] : [emptied(here('dist/program')), laterLoaded(), noticed()],
  };
});

/** Loads a package of native code or a heavy part of Node.js with the first module that imports it, and not with the program. */
function laterLoaded(): Plugin {
  const prefix = '\0later:';
  return {
    name: 'tessera-later-loaded',
    apply: 'build',
    enforce: 'pre',
    resolveId(id, importer) {
      if (importer?.startsWith(prefix)) return { id, external: true };
      return NATIVE.includes(id) || HEAVY.test(id) ? prefix + id : null;
    },
    load: (id) =>
      id.startsWith(prefix) ? `module.exports = require(${JSON.stringify(id.slice(prefix.length))});` : null,
  };
}

/** Removes what an earlier build has left in the folder. */
function emptied(folder: string): Plugin {
  return {
    name: 'tessera-emptied',
    apply: 'build',
    buildStart: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Adds the notices of packages that have no file of their license, and fails at one whose notice is not known. */
function noticed(): Plugin {
  return {
    name: 'tessera-noticed',
    apply: 'build',
    enforce: 'post',
    generateBundle: {
      order: 'post',
      handler(_options, bundle) {
        const file = bundle[LICENSES];
        if (file?.type !== 'asset') return this.error(`there is no ${LICENSES}`);
        file.source = String(file.source).replace(BARE, (heading, name: string) => {
          const notice = NOTICES[name];
          if (notice === undefined)
            return this.error(`${name} has no file of its license: its notice belongs into NOTICES`);
          return `${heading}\n${notice}\n`;
        });
      },
    },
  };
}
