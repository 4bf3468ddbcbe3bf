/**
 * Programs that some tests need and that npm does not install. A test that needs one is left out where it is missing; the
 * end of the run says so, and how to get it.
 */

import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

interface Tool {
  /** Where to look, the first that exists wins. */
  readonly paths: readonly (string | undefined)[];
  /** How to get it on Debian. */
  readonly install: string;
}

/** Where scripts/install-python-tools.sh puts programs that run on Python. */
const PYTHON_TOOLS = process.env.TESSERA_PYTHON_TOOLS ?? join(homedir(), '.cache/tessera-python-tools');

const pythonTool = (name: string): Tool => ({
  // A folder without this file was left half made.
  paths: existsSync(join(PYTHON_TOOLS, 'installed.txt')) ? [join(PYTHON_TOOLS, 'bin', name)] : [],
  install: 'scripts/install-python-tools.sh, which needs python3 and python3-venv',
});

const TOOLS = {
  chromium: {
    paths: [
      process.env.CHROMIUM_PATH,
      // The same without windows: half the processor time.
      '/usr/bin/chromium-headless-shell',
      '/usr/bin/chromium',
      '/usr/bin/chromium-browser',
      '/usr/bin/google-chrome',
    ],
    install: 'apt-get install chromium-headless-shell, or chromium, or set CHROMIUM_PATH',
  },
  zsh: { paths: [process.env.ZSH_PATH, '/usr/bin/zsh', '/bin/zsh'], install: 'apt-get install zsh, or set ZSH_PATH' },
  fish: { paths: [process.env.FISH_PATH, '/usr/bin/fish'], install: 'apt-get install fish, or set FISH_PATH' },
  etcd: {
    paths: [process.env.ETCD_PATH, '/usr/bin/etcd', '/usr/local/bin/etcd'],
    install: 'apt-get install etcd-server, or set ETCD_PATH',
  },
  etcdctl: {
    paths: [process.env.ETCDCTL_PATH, '/usr/bin/etcdctl', '/usr/local/bin/etcdctl'],
    install: 'apt-get install etcd-client, or set ETCDCTL_PATH',
  },
  cc: {
    paths: [process.env.CC_PATH, '/usr/bin/cc', '/usr/bin/gcc', '/usr/bin/clang'],
    install: 'apt-get install gcc libc6-dev, or set CC_PATH',
  },
  versitygw: {
    paths: [process.env.VERSITYGW_PATH, join(homedir(), 'go/bin/versitygw'), '/usr/local/bin/versitygw'],
    install: 'go install github.com/versity/versitygw/cmd/versitygw@v1.8.0, or set VERSITYGW_PATH',
  },
  // With all that it needs: half of what npm would install for this package.
  jest: {
    paths: [process.env.JEST_PATH, join(homedir(), '.cache/tessera-jest/node_modules/jest')],
    install: 'npm install --prefix ~/.cache/tessera-jest jest@29.7.0, or set JEST_PATH',
  },
  'openapi-python-client': pythonTool('openapi-python-client'),
  schemathesis: pythonTool('schemathesis'),
} as const satisfies Record<string, Tool>;

export type ToolName = keyof typeof TOOLS;

/** The path of the program; undefined where it is missing. For `it.runIf(findTool('chromium') !== undefined)`. */
export function findTool(name: ToolName): string | undefined {
  return TOOLS[name].paths.find((path) => path !== undefined && existsSync(path));
}

/** One line for each program that is missing. */
export function missingTools(): string[] {
  return (Object.keys(TOOLS) as ToolName[])
    .filter((name) => findTool(name) === undefined)
    .map((name) => `${name} is not installed (${TOOLS[name].install})`);
}
