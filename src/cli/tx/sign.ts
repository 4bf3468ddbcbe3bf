/** `tessera tx sign`: signs the inputs of a transaction whose keys are given. It opens no connection. */

import type { SigningKey } from '../../chain/builders.js';
import { outputsPreimage, signableOf } from '../../chain/signable.js';
import { sign } from '../../crypto/ed25519.js';
import { TesseraError } from '../../lib/errors.js';
import { assertSound } from '../../lib/fault.js';
import type { Command } from '../command.js';
import { JSON_FLAG, YES_FLAG } from '../wallet/connection.js';
import { confirm, DECLINED, INTERRUPTED, isInteractive } from '../wallet/prompt.js';
import { type Draft, draftText, parseDraft, signatureFault, unsigned } from './draft.js';
import { nameOf, readInput, STDIN } from './input.js';
import { findKeys, KEY_FLAGS } from './keys.js';
import { summaryOf } from './summary.js';

export const command: Command = {
  spec: {
    name: 'tx sign',
    summary: 'Signs a transaction, without a network',
    description: [
      'Reads a file of `tessera tx build`, says on the error stream what it does, asks, and prints it signed. Opens no connection, so ' +
        'it can run on a machine that has none. In a pipe nobody can be asked: it signs what it has shown.',
      'Every input needs its key; with --partial those that have one are signed, and the others by the next holder of keys. A ' +
        'signature covers all outputs: when they are changed, it is worth nothing.',
      'Keys that were imported into a wallet do not follow from its words: export them, and name the file.',
    ],
    arguments: [{ name: 'FILE', description: 'The file; standard input when it is left out, or -.' }],
    flags: [
      ...KEY_FLAGS,
      { name: 'partial', description: 'Signs what it can.' },
      YES_FLAG,
      { ...JSON_FLAG, description: 'Prints the transaction on one line.' },
    ],
    examples: [
      {
        line: 'tessera tx sign payment.json --data /var/lib/tessera/user > signed.json',
        does: 'Signs with the wallet in the folder; asks for its passphrase.',
      },
      { line: 'tessera tx sign payment.json --words-file words.txt > signed.json', does: 'Signs with words.' },
    ],
    exits: {
      1: 'an input has no key, or something in the file is wrong',
      [DECLINED]: 'the answer to the question was no',
      [INTERRUPTED]: 'interrupted at a question',
    },
  },
  async run(args, context) {
    const [file = STDIN] = args.positionals;
    const draft = parseDraft(await readInput(file, context), nameOf(file));
    assertSound(signatureFault(draft));
    context.stderr.write(summaryOf(draft));
    const open = unsigned(draft);
    const keys = await findKeys(new Set(open.map(({ address }) => address)), args, context);
    const without = open.find(({ address }) => !keys.has(address));
    if (keys.size === 0 || (without !== undefined && !args.has('partial'))) {
      const whose = without === undefined ? 'nothing is left to be signed' : `no key is that of ${without.address}`;
      throw new TesseraError('invalid_signature', `${whose}: nothing was signed`);
    }
    if (!args.has('yes') && isInteractive(context)) await confirm('Sign?', context);
    const signed = signWith(keys, draft);
    for (const { seed } of keys.values()) seed.fill(0);
    context.stdout.write(draftText(signed, args.has('json')));
    return 0;
  },
};

/** Signs what has a key and no signature. */
export function signWith(keys: ReadonlyMap<string, SigningKey>, { inputs, outputs }: Draft): Draft {
  const preimage = outputsPreimage(outputs);
  const signed = inputs.map((input) => {
    const key = input.signature === null ? keys.get(input.address) : undefined;
    if (key === undefined) return input;
    const { publicKey, seed, addressVersion = null } = key;
    const signature = sign(seed, signableOf(preimage, input.outPoint));
    return { ...input, signature: { publicKey, signature, addressVersion } };
  });
  return { inputs: signed, outputs };
}
