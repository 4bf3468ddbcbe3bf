/** `tessera tx sign`: signs the inputs of a transaction whose keys are given. It opens no connection. */

import type { SigningKey } from '../../chain/builders.js';
import { ADDRESS_VERSION_TEMP } from '../../chain/constants.js';
import { outputsPreimage, signableOf } from '../../chain/signable.js';
import { sign } from '../../crypto/ed25519.js';
import { TesseraError } from '../../lib/errors.js';
import { assertSound } from '../../lib/fault.js';
import { type FlagSpec, flag, type OwnCommand } from '../command.js';
import { warnOfTemporary } from '../output.js';
import { YES_FLAG } from '../wallet/connection.js';
import { ASKING_EXITS, confirm, isInteractive } from '../wallet/prompt.js';
import {
  type Draft,
  type DraftInput,
  draftText,
  outPointName,
  readDraft,
  STDIN,
  signatureFault,
  summaryOf,
  unsigned,
} from './draft.js';
import { findKeys, KEY_FLAGS } from './keys.js';
import { GENESIS_FLAG, unprovenInputs } from './previous.js';

const TRUST_FLAG: FlagSpec = flag(
  '--trust-amounts',
  'Signs without a proof of the amounts of the inputs: if they hold more than the file says, its author can take ' +
    'the rest.',
);

export const command: OwnCommand = {
  spec: {
    description: [
      'Reads a file of `tessera tx build`, shows on the error stream what it does, asks, and prints the signed file. ' +
        'Opens no connection, so it can run on a machine without a network. In a pipe it signs without asking.',
      'Every input needs its key. With --partial only inputs with a given key are signed; the next holder of keys ' +
        'signs the others. A signature covers all outputs: if they change, it is invalid.',
      'Only outputs to the address of an input with a given key are shown as `returns`. An input without a given key ' +
        'is marked: outputs to its address are payments, whoever has signed it.',
      'A signature does not cover fees, so anything that an input holds beyond the payment can be taken. The amounts ' +
        'are therefore checked by the transactions that made the inputs, or, for outputs of block 0, by the genesis ' +
        'file. An input without such a proof is not signed.',
      'Imported keys of a wallet are not derived from its words: export them, and name the file.',
    ],
    arguments: [{ name: 'FILE', description: 'The file. Default: standard input, also for -.' }],
    flags: [...KEY_FLAGS, flag('--partial', 'Signs what it can.'), GENESIS_FLAG, TRUST_FLAG, YES_FLAG],
    json: 'Prints the transaction on one line.',
    examples: {
      'tessera tx sign payment.json --data /var/lib/tessera/user > signed.json':
        'Signs with the wallet in the folder; asks for its passphrase.',
      'tessera tx sign payment.json --words-file words.txt > signed.json': 'Signs with words.',
    },
    exits: {
      1: 'a key is missing, or something in the file is wrong or not proven',
      ...ASKING_EXITS,
    },
  },
  async run(args, context) {
    const [file = STDIN] = args.positionals;
    const draft = await readDraft(file, context);
    assertSound(signatureFault(draft));
    const unproven = await unprovenInputs(draft, args, context);
    const open = unsigned(draft);
    // Inputs that are signed already count too: the summary says which are the signer's.
    const keys = await findKeys(new Set(draft.inputs.map(({ address }) => address)), args, context);
    try {
      context.stderr.write(summaryOf(draft, { own: new Set(keys.keys()), unproven }));
      const isTemporary = (address: string) => keys.get(address)?.addressVersion === ADDRESS_VERSION_TEMP;
      warnOfTemporary([...keys.keys()].filter(isTemporary), context);
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
  const why = `nothing proves what ${outPointName(outPoint)} holds; if it holds more, the rest can be taken as a fee`;
  const advice =
    'build the file again (tessera tx build), name the genesis file of the network for outputs of block 0 (--genesis)';
  return new TesseraError('malformed_transaction', `${why}: ${advice}, or trust the file (--${TRUST_FLAG.name})`);
}

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
