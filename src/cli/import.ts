/** `tessera import`: a chain of original nodes into the folder of a storage node. */

import { statSync } from 'node:fs';
import { eraView } from '../chain/eras.js';
import { loadConfig } from '../config/load.js';
import { hasService } from '../lib/roles.js';
import type { ImportedChain } from '../node/import/import-chain.js';
import type { Answers } from '../node/import/source.js';
import { flag, type OwnCommand, printed, UsageError } from './command.js';
import { CONFIG_FLAGS, configInput } from './config-flags.js';
import { eraText } from './genesis/show.js';
import { checkUrl } from './node-access.js';
import { withProgress } from './output.js';
import { showAmount } from './wallet/amounts.js';

export const command: OwnCommand = {
  spec: {
    description: [
      'Reads all blocks of --from and stores them in the data folder of a storage node that has never run. Each block and ' +
        'transaction is checked by the rules of its height, which the genesis file has (network.genesis_file, made by `tessera ' +
        'genesis import`). Rules that it does not know are found in the blocks, printed, and written into the file.',
      'SOURCE is the URL of the API of a storage node, with /v1 or with the older envelope routes, or a folder with the files ' +
        'blocks.json and transactions.json: lists of [key, data, place], as the API gives them.',
      'Each block is on disk before the next one. If interrupted, the same command continues; later it brings what is new. ' +
        'Then start the storage node, and a mempool node beside it (docs/moving-in.md).',
    ],
    flags: [
      flag('--from SOURCE', 'URL of a storage node, or a folder of exported blocks. Required.', {
        completes: 'folders',
      }),
      ...CONFIG_FLAGS,
    ],
    examples: {
      'tessera import --from https://storage.example.net:3001 --config storage.toml':
        'Imports the chain of a running network.',
      'tessera import --from ./export --config storage.toml': 'Imports from files.',
    },
    exits: { 1: 'not everything was imported: the message says why; what was imported is whole' },
  },
  async run(args, context) {
    const from = args.value('from');
    if (from === undefined) throw new UsageError('--from SOURCE is missing: the URL of a storage node, or a folder');
    const { config } = loadConfig({ role: 'storage', ...configInput(args, context) });
    if (!hasService(config.node.role, 'storage'))
      throw new UsageError('tessera import fills the folder of a storage node');
    const { importChain } = await import('../node/import/import-chain.js');
    const { ChainSource } = await import('../node/import/source.js');
    const onFound = (what: string): void => void context.stderr.write(`found ${what}\n`);
    return withProgress(['import', 'blocks'], context, async (long) => {
      const answers = await answersOf(from, long.signal);
      const imported = await importChain(new ChainSource(answers, long), { config, onFound, ...long }).finally(() =>
        answers.close?.(),
      );
      return printed(args, context, reportOf(imported, answers.name), textOf(imported, answers.name));
    });
  },
};

async function answersOf(from: string, signal: AbortSignal): Promise<Answers & { close?(): void }> {
  if (statSync(from, { throwIfNoEntry: false })?.isDirectory())
    return (await import('../node/import/folder-answers.js')).folderAnswers(from, { signal });
  return (await import('../node/import/http-answers.js')).httpAnswers(checkUrl(from, 'from'), { signal });
}

function reportOf({ lastHash, eras, ...numbers }: ImportedChain, source: string) {
  return { source, ...numbers, last_hash: lastHash, eras: eras.map(eraView) };
}

function textOf(chain: ImportedChain, source: string): string {
  const { blocks, imported, transactions, supply, unspent, lastHash, eras } = chain;
  return [
    `source        ${source}`,
    `blocks        ${blocks}, ${imported} of them now; the last is ${lastHash}`,
    `transactions  ${transactions}, coinbases included`,
    `supply        ${showAmount(supply)}`,
    `unspent       ${unspent} outputs`,
    ...eras.map((era) => `rules         ${eraText(era)}`),
  ].join('\n');
}
