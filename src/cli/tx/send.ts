/** `tessera tx send`: sends signed transactions to a mempool node, again when an answer is lost. */

import { transactionHash } from '../../chain/hash.js';
import type { Transaction } from '../../chain/types.js';
import { TesseraError } from '../../lib/errors.js';
import { assertSound } from '../../lib/fault.js';
import { stringifyExact } from '../../lib/json.js';
import { ExitError, flag, type OwnCommand, UsageError } from '../command.js';
import { stillUnknown } from '../look-again.js';
import { whileWaiting } from '../output.js';
import { YES_FLAG } from '../wallet/connection.js';
import { ASKING_EXITS, confirm, isInteractive } from '../wallet/prompt.js';
import {
  type Draft,
  nameOf,
  outPointName,
  readDraft,
  STDIN,
  signatureFault,
  summaryOf,
  transactionOf,
  unsigned,
} from './draft.js';
import { connectToMempool, MEMPOOL_FLAGS, statusesNow, submit, waitForBlock } from './mempool-node.js';

export const command: OwnCommand = {
  spec: {
    description: [
      'Reads files of `tessera tx sign`, shows on the error stream what they do, asks, and sends them to a mempool ' +
        'node. The node admits all of them or none; a transaction may spend outputs of an earlier one. Prints their ' +
        'hashes. In a pipe it sends without asking.',
      'A transaction can be sent any number of times, but happens once. If an answer is lost, it is sent again for ' +
        'two minutes.',
    ],
    arguments: [{ name: 'FILE', rest: true, description: 'The files, in order. Default: standard input, also for -.' }],
    flags: [
      ...MEMPOOL_FLAGS,
      flag('-w, --wait', 'Waits until blocks have confirmed them, or one was rejected (status 1).'),
      YES_FLAG,
    ],
    json: 'Prints {transactions: [{tx_hash, status}]} on one line.',
    examples: {
      'tessera tx send signed.json': 'Asks, then sends it to the mempool node on this machine.',
      'tessera tx send signed.json --yes --wait': 'For a script: ends when a block has it.',
    },
    again: 'send it again: it happens only once; or it was accepted, but whether a block has it is not known',
    exits: {
      1: 'a transaction is unsigned or wrong, or the node refused it',
      ...ASKING_EXITS,
    },
  },
  async run(args, context) {
    const files = args.positionals.length === 0 ? [STDIN] : args.positionals;
    if (files.filter((file) => file === STDIN).length > 1) throw new UsageError('standard input is named twice');
    const transactions: Transaction[] = [];
    for (const file of files) {
      const draft = await readDraft(file, context);
      checkSigned(draft, nameOf(file));
      context.stderr.write(summaryOf(draft));
      transactions.push(transactionOf(draft));
    }
    const client = connectToMempool(args, context);
    if (!args.has('yes') && isInteractive(context)) await confirm(`Send to ${client.url}?`, context);
    await submit(transactions, client, context);
    const hashes = transactions.map((transaction) => transactionHash(transaction));
    if (!args.has('json')) context.stdout.write(hashes.map((hash) => `${hash}\n`).join(''));
    const isWaited = args.has('wait');
    const print = (statusAt: (index: number) => string): void => {
      const transactions = hashes.map((tx_hash, index) => ({ tx_hash, status: statusAt(index) }));
      if (args.has('json')) context.stdout.write(`${stringifyExact({ transactions })}\n`);
    };
    if (isWaited) {
      await whileWaiting('waiting for a block', waitForBlock(hashes, client, context), context).catch((error) => {
        const unknown = stillUnknown(error, hashes.join(' and '));
        if (unknown instanceof ExitError) print(() => 'Unknown');
        throw unknown;
      });
      print(() => 'Confirmed');
    } else if (args.has('json')) {
      const statuses = await statusesNow(hashes, client);
      print((index) => statuses[index] ?? 'Pending');
    }
    return 0;
  },
};

function checkSigned(draft: Draft, name: string): void {
  const [open] = unsigned(draft);
  if (open !== undefined) {
    throw new TesseraError(
      'invalid_signature',
      `${name}: ${outPointName(open.outPoint)} of ${open.address} is not signed`,
    );
  }
  assertSound(signatureFault(draft));
}
