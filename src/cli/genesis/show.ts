/** `tessera genesis show`: checks a genesis file as a node does and shows what it says. */

import type { BlockRules } from '../../chain/block-rules.js';
import { type Era, eraView } from '../../chain/eras.js';
import { type Genesis, parseGenesis } from '../../chain/genesis.js';
import { errorMessage, TesseraError } from '../../lib/errors.js';
import { parseExactJson, parseJsonFile } from '../../lib/json.js';
import { MAX_DOCUMENT_FILE, readBounded } from '../../lib/read-bounded.js';
import { genesisFingerprint } from '../../node/network-rules.js';
import { type CliContext, type OwnCommand, type ParsedArgs, printed } from '../command.js';
import { showAmount } from '../wallet/amounts.js';

export const command: OwnCommand = {
  spec: {
    description: [
      'Reads the file as a node does when it starts, and prints its fingerprint, the outputs of block 0 and later ' +
        'issuances. Files with the same fingerprint start the same chain; nodes compare it when they link.',
    ],
    arguments: [{ name: 'FILE', required: true, description: 'The genesis file.' }],
    examples: {
      'tessera genesis show /etc/tessera/genesis.json': 'Shows the fingerprint and the first owners.',
    },
    exits: { 1: 'the file cannot be read, or a node would refuse it' },
  },
  async run(args, context) {
    const [file = ''] = args.positionals;
    const genesis = readGenesisFile(file);
    return printFacts(args, context, file, genesis);
  },
};

export function readGenesisFile(file: string): Genesis {
  try {
    return parseGenesis(parseJsonFile(readBounded(file, MAX_DOCUMENT_FILE)));
  } catch (cause) {
    throw new TesseraError('invalid_config', `${file}: ${errorMessage(cause)}`, { cause });
  }
}

/** The text of a genesis file, checked as nodes check it. Throws `invalid_config`. */
export function checkGenesisText(text: string): Genesis {
  return parseGenesis(parseExactJson(text));
}

function factsOf(file: string, genesis: Genesis) {
  const { transactions, bytes, signatureOperations, intervalMs, start, originalOrder } = genesis.blockRules;
  const outputs = [...genesis.transactions.values()].flatMap((transaction) => transaction.outputs);
  return {
    file,
    fingerprint: genesisFingerprint(genesis),
    outputs: outputs.map(({ scriptPublicKey, value }) => ({ address: scriptPublicKey, amount: value.amount })),
    issued_at_block_0: genesis.initialIssuance,
    issuances: genesis.issuances.map(({ address, amount, bNum }) => ({ address, amount, block_height: bNum })),
    block_rules: {
      max_transactions: transactions,
      max_bytes: bytes,
      max_signature_operations: signatureOperations,
      interval_ms: intervalMs,
      start,
      ...(originalOrder && { original_order: true }),
    },
    eras: genesis.eras.map(eraView),
    has_wallet_keys: genesis.walletSeeds.length > 0,
  };
}

export function eraText({ from, isOriginal, header, signatures, mempoolNodes, unicorn, find, draw }: Era): string {
  if (!isOriginal) return `from block ${from}: ours${draw === 'sha3' ? '' : `, draws by ${draw}`}`;
  const seeds = unicorn?.miners.length === 1 ? 'seeds and witnesses' : 'witnesses';
  const parts = [
    'those of original nodes',
    `headers "${header}"`,
    `signatures over the ${signatures}`,
    `rewards divided by ${mempoolNodes}`,
    unicorn === null ? 'unicorns not checked' : `${seeds} checked`,
    ...(find.length === 0 ? [] : [`to be found: ${find.join(', ')}`]),
  ];
  return `from block ${from}: ${parts.join(', ')}`;
}

function rulesText({ transactions, bytes, signatureOperations, intervalMs, start }: BlockRules): string {
  const pace = intervalMs === null ? 'the interval of the configuration' : `every ${intervalMs} ms`;
  const early = start === 'interval' ? '' : ', or as soon as one is full';
  return `at most ${transactions} single transactions, ${bytes} bytes, ${signatureOperations} signature operations; ${pace}${early}`;
}

/** Prints what is in the file; `more` has members of the JSON for programs. Returns the exit status, 0. */
export function printFacts(
  args: ParsedArgs,
  context: CliContext,
  file: string,
  genesis: Genesis,
  more: Readonly<Record<string, unknown>> = {},
): number {
  const facts = factsOf(file, genesis);
  const lines = [
    `file         ${file}`,
    `fingerprint  ${facts.fingerprint}`,
    `block 0      ${showAmount(facts.issued_at_block_0)} in ${facts.outputs.length} outputs`,
    ...facts.outputs.map(({ address, amount }) => `             ${address}  ${showAmount(amount)}`),
    ...facts.issuances.map(
      ({ address, amount, block_height: height }) =>
        `block ${String(height).padEnd(6)} ${address}  ${showAmount(amount)}`,
    ),
    `blocks       ${rulesText(genesis.blockRules)}`,
    ...genesis.eras.map((era) => `rules        ${eraText(era)}`),
    ...(facts.has_wallet_keys ? ['warning      the file holds private keys: for test networks only'] : []),
  ];
  return printed(args, context, { ...facts, ...more }, lines.join('\n'));
}
