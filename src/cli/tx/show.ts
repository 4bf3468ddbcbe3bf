/** `tessera tx show`: checks a transaction in a file, its signatures too, and says what it does. */

import { transactionHash } from '../../chain/hash.js';
import { assertSound } from '../../lib/fault.js';
import { type OwnCommand, printed } from '../command.js';
import { outPointName, readDraft, STDIN, signatureFault, summaryOf, transactionOf, unsigned } from './draft.js';
import { GENESIS_FLAG, unprovenInputs } from './previous.js';

export const command: OwnCommand = {
  spec: {
    description: [
      'Reads a file of `tessera tx build` or `tessera tx sign`, checks sums, addresses and signatures, and prints ' +
        'what it spends and pays. Needs no network: the file has the transactions that made the inputs, and their ' +
        'hashes prove the amounts. Missing ones are reported; `tessera tx sign` does not sign an input without its ' +
        'transaction.',
      'It has no keys, so it cannot tell change from a payment; `tessera tx sign` can.',
    ],
    arguments: [{ name: 'FILE', description: 'The file. Default: standard input, also for -.' }],
    flags: [GENESIS_FLAG],
    json: 'Prints {tx_hash, is_signed, to_sign, unproven} instead.',
    examples: {
      'tessera tx show payment.json': 'Shows what payment.json does.',
    },
    exits: { 1: 'the file is not a transaction, or something in it is wrong' },
  },
  async run(args, context) {
    const [file = STDIN] = args.positionals;
    const draft = await readDraft(file, context);
    assertSound(signatureFault(draft));
    const open = unsigned(draft);
    const unproven = await unprovenInputs(draft, args, context);
    const report = {
      tx_hash: open.length === 0 ? transactionHash(transactionOf(draft)) : null,
      is_signed: open.length === 0,
      to_sign: open.map(({ outPoint, address }) => ({ out_point: outPointName(outPoint), address })),
      unproven: unproven.map(({ outPoint }) => outPointName(outPoint)),
    };
    return printed(args, context, report, summaryOf(draft, { unproven }));
  },
};
