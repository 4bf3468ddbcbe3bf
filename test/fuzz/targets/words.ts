/**
 * The words of a wallet, as somebody types them or a file holds them. An input is the number of bytes of the BIP39 passphrase,
 * that word, and the text. Words are taken and mean the same when they are written out again, or they are refused with a
 * message that holds none of them.
 */

import { isTesseraError } from '../../../src/lib/errors.js';
import { DerivedKeys } from '../../../src/wallet/keys/derived-keys.js';
import { isEntropy, isSameWords, newWords, parseWords, wordsText } from '../../../src/wallet/keys/words.js';
import type { Dice } from '../dice.js';
import { type FuzzTarget, mustBe } from '../target.js';

/** All that a refusal may say: of what was typed, numbers only. */
const REFUSAL =
  /^(there are 12 or 24 words, not \d+|word \d+ is not in the list of BIP39|the words do not belong together: one of them is wrong, or two have changed places|a BIP39 passphrase has at most 256 bytes)$/;
const EXTRA_WORDS = ['', 'TREZOR', 'é\u0301', 'x'.repeat(200), '  ', '\u0000', '\ud83d\ude00'];
/** Keys are derived for one in so many: that takes two milliseconds. */
const DERIVED_ONE_IN = 16;

/** The words, in one of the ways in which people write them. */
function written(text: string, dice: Dice): string {
  const words = text.split(' ');
  if (dice.oneIn(4)) words.reverse();
  if (dice.oneIn(8)) words.splice(dice.below(words.length), 1, dice.pick(words));
  const joined = words.join(dice.pick([' ', '\n', '\t ', '\u3000', '\u00a0', ' \r\n']));
  return dice.pick([joined, joined.toUpperCase(), ` ${joined}\n`]);
}

function inputOf(extra: string, text: string): Uint8Array {
  const word = Buffer.from(extra);
  return Buffer.concat([Uint8Array.of(word.length), word, Buffer.from(text)]);
}

export const words: FuzzTarget = {
  name: 'words',
  seed(dice) {
    const made = newWords({ bytes: (length) => dice.bytes(length) }, dice.pick([12, 24]));
    return inputOf(dice.pick(EXTRA_WORDS), written(wordsText(made), dice));
  },
  async run(input) {
    const length = input[0] ?? 0;
    const extra = Buffer.from(input.subarray(1, 1 + length)).toString('utf8');
    const text = Buffer.from(input.subarray(1 + length)).toString('utf8');
    try {
      const found = parseWords(text, extra);
      mustBe(isEntropy(found.entropy), 'the words stand for another number of bytes');
      mustBe(isSameWords(parseWords(wordsText(found), found.extraWord), found), 'written out they are other words');
      if ((found.entropy[0] ?? 0) % DERIVED_ONE_IN === 0) (await DerivedKeys.of(found)).close();
      return 'words';
    } catch (error) {
      if (!isTesseraError(error, 'invalid_request')) throw error;
      mustBe(REFUSAL.test(error.message), `a refusal tells more than a place: ${error.message}`);
      return 'refused';
    }
  },
};
