/** `tessera doctor`: examines a node from outside, and says what is wrong and what to do. */

import { loadProcess } from '../config/load.js';
import type { Finding, Verdict } from '../node/doctor/finding.js';
import { type CliContext, flag, integerFlag, type OwnCommand, printed } from './command.js';
import { CONFIG_FLAGS, configInput } from './config-flags.js';
import { failureText } from './lifecycle.js';

const DEFAULT_TIMEOUT_S = 30;
const MAX_TIMEOUT_S = 600;
const WARNED = 3;

export const command: OwnCommand = {
  spec: {
    description: [
      'Checks the program, the configuration and its safety, the genesis file, certificates, the data folder with ' +
        'its owner, marker, lock and seals, free disk space, file descriptors, ports, the node itself if it runs, ' +
        'and each configured peer: whether it answers, accepts a link, and has the same time. Changes nothing; the ' +
        'node may run or not.',
      'Prints a line for each check: ok, warn or fail, the finding, and what to do. In a process with several roles ' +
        'it checks each node, or only that of --role.',
    ],
    flags: [...CONFIG_FLAGS, flag('--timeout SECONDS', `Seconds to wait in all. Default: ${DEFAULT_TIMEOUT_S}.`)],
    examples: {
      'tessera doctor --role storage --config /etc/tessera/storage.toml':
        'Checks everything that can be seen from this machine.',
      'tessera doctor --role user --json': 'Prints an array of {check, verdict, found, advice} for a program.',
    },
    exits: { 1: 'something is wrong (fail)', [WARNED]: 'nothing is wrong, but there are warnings (warn)' },
  },
  async run(args, context) {
    const timeoutMs = (integerFlag(args, 'timeout', 1, MAX_TIMEOUT_S) ?? DEFAULT_TIMEOUT_S) * 1_000;
    const { examineNode, examineProgram } = await import('../node/doctor/doctor.js');
    const findings: Finding[] = [];
    const show = (finding: Finding): void => {
      findings.push(finding);
      if (!args.has('json')) print(finding, context);
    };
    for (const finding of examineProgram()) show(finding);
    const nodes = load(() => loadProcess(configInput(args, context)).nodes, show) ?? [];
    for (const loaded of nodes) {
      const { role } = loaded.config.node;
      for await (const finding of examineNode(loaded, timeoutMs)) {
        show(nodes.length === 1 ? finding : { ...finding, check: `${role}: ${finding.check}` });
      }
    }
    const has = (verdict: Verdict): boolean => findings.some((finding) => finding.verdict === verdict);
    printed(args, context, findings, '');
    return has('fail') ? 1 : has('warn') ? WARNED : 0;
  },
};

/** Reports an invalid configuration, with which the node would not start, as a finding like any other. */
function load<T>(read: () => T, show: (finding: Finding) => void): T | undefined {
  try {
    return read();
  } catch (error) {
    const found = failureText(error).replace(/^tessera: /, '');
    show({ check: 'config', verdict: 'fail', found, advice: 'correct it; tessera config shows the result' });
    return undefined;
  }
}

function print({ check, verdict, found, advice }: Finding, { stdout }: CliContext): void {
  stdout.write(`${verdict.padEnd(5)} ${check}: ${found}\n`);
  if (advice !== undefined) stdout.write(`      → ${advice}\n`);
}
