/** `tessera tx sign`: signs the inputs of a transaction whose keys are given. It opens no connection. */

import type { SigningKey } from '../../chain/builders.js';
import { outputsPreimage, signableOf } from '../../chain/signable.js';
import { sign } from '../../crypto/ed25519.js';
import { TesseraError } from '../../lib/errors.js';
import { assertSound } from '../../lib/fault.js';
import type { Command, FlagSpec } from '../command.js';
import { JSON_FLAG, YES_FLAG } from '../wallet/connection.js';
import { confirm, DECLINED, INTERRUPTED, isInteractive } from '../wallet/prompt.js';
import { type Draft, type DraftInput, draftText, outPointName, parseDraft, signatureFault, unsigned } from './draft.js';
import { nameOf, readInput, STDIN } from './input.js';
import { findKeys, KEY_FLAGS } from './keys.js';
import { GENESIS_FLAG, unprovenInputs } from './proven.js';
import { summaryOf } from './summary.js';

const TRUST_FLAG: FlagSpec = {
  name: 'trust-amounts',
  description:
    'Signs although nothing proves what the inputs hold: whoever made the file can take all that they hold beyond what it says.',
};

export const command: Command = {
  spec: {
    name: 'tx sign',
    summary: 'Signs a transaction, without a network',
    description: [
      'Reads a file of `tessera tx build`, says on the error stream what it does, asks, and prints it signed. Opens no connection, so ' +
        'it can run on a machine that has none. In a pipe nobody can be asked: it signs what it has shown.',
      'Every input needs its key; with --partial those that have one are signed, and the others by the next holder of keys. A ' +
        'signature covers all outputs: when they are changed, it is worth nothing.',
      'It says `returns` of what goes back to an address of an input whose key is given, and of nothing else. An input whose key is not ' +
        'given is marked: what goes to its address is a payment, whoever has signed it.',
      'A signature does not cover fees, so what an input holds beyond what is paid can be taken. The file therefore has the transactions ' +
        'that made the inputs, and their hashes are checked; outputs of block 0 are looked up in the genesis file. An input of which ' +
        'neither proves the amount is not signed.',
      'Keys that were imported into a wallet do not follow from its words: export them, and name the file.',
    ],
    arguments: [{ name: 'FILE', description: 'The file; standard input when it is left out, or -.' }],
    flags: [
      ...KEY_FLAGS,
      { name: 'partial', description: 'Signs what it can.' },
      GENESIS_FLAG,
      TRUST_FLAG,
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
      1: 'an input has no key, or something in the file is wrong or not proven',
      [DECLINED]: 'the answer to the question was no',
      [INTERRUPTED]: 'interrupted at a question',
    },
  },
  async run(args, context) {
    const [file = STDIN] = args.positionals;
    const draft = parseDraft(await readInput(file, context), nameOf(file));
    assertSound(signatureFault(draft));
    const unproven = await unprovenInputs(draft, args, context);
    const open = unsigned(draft);
    // Of inputs that are signed too: the summary says which are the signer's.
    const keys = await findKeys(new Set(draft.inputs.map(({ address }) => address)), args, context);
    try {
      context.stderr.write(summaryOf(draft, { own: new Set(keys.keys()), unproven }));
      const without = open.find(({ address }) => !keys.has(address));
      if (!open.some(({ address }) => keys.has(address)) || (without !== undefined && !args.has('partial'))) {
        const whose = without === undefined ? 'nothing is left to be signed' : `no key is that of ${without.address}`;
        throw new TesseraError('invalid_signature', `${whose}: nothing was signed`);
      }
      const blind = open.find((input) => keys.has(input.address) && unproven.includes(input));
      if (blind !== undefined && !args.has(TRUST_FLAG.name)) throw unknownAmount(blind);
      if (!args.has('yes') && isInteractive(context)) await confirm('Sign?', context);
      context.stdout.write(draftText(signWith(keys, draft), args.has('json')));
      return 0;
    } finally {
      for (const { seed } of keys.values()) seed.fill(0);
    }
  },
};

function unknownAmount({ outPoint }: DraftInput): TesseraError {
  const why = `nothing proves what ${outPointName(outPoint)} holds, and the rest can be taken as a fee when it holds more`;
  const advice =
    'build the file anew (tessera tx build), name the genesis file of the network for outputs of block 0 (--genesis)';
  return new TesseraError('malformed_transaction', `${why}: ${advice}, or trust the file (--${TRUST_FLAG.name})`);
}

/** Signs what has a key and no signature. */
export function signWith(keys: ReadonlyMap<string, SigningKey>, draft: Draft): Draft {
  const { inputs, outputs } = draft;
  const preimage = outputsPreimage(outputs);
  const signed = inputs.map((input) => {
    const key = input.signature === null ? keys.get(input.address) : undefined;
    if (key === undefined) return input;
    const { publicKey, seed, addressVersion = null } = key;
    const signature = sign(seed, signableOf(preimage, input.outPoint));
    return { ...input, signature: { publicKey, signature, addressVersion } };
  });
  return { ...draft, inputs: signed };
}
