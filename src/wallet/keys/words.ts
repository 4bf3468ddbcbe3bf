/** The words of a wallet (BIP39, English): 12 or 24, and an optional BIP39 passphrase. Errors name a word by its position only. */

import { entropyToMnemonic, mnemonicToEntropy } from '@scure/bip39';
import { wordlist } from '@scure/bip39/wordlists/english.js';
import { pbkdf2Sha512 } from '../../crypto/hmac.js';
import { equalBytes, utf8Length } from '../../lib/bytes.js';
import { TesseraError } from '../../lib/errors.js';
import type { Random } from '../../lib/random.js';

export const WORD_COUNTS = [12, 24] as const;
export type WordCount = (typeof WORD_COUNTS)[number];

/** Bytes of entropy of 12 and 24 words. */
const ENTROPY_LENGTHS: Readonly<Record<WordCount, number>> = { 12: 16, 24: 32 };

/** Rounds of PBKDF2 with HMAC-SHA512, as BIP39 says. */
const SEED_ROUNDS = 2_048;
const SEED_LENGTH = 64;

/** The most bytes of a BIP39 passphrase in UTF-8. */
const MAX_EXTRA_WORD = 256;

export interface WalletWords {
  /** Entropy that the words stand for: 16 or 32 bytes. */
  readonly entropy: Uint8Array;
  /** The BIP39 passphrase; empty without one. A different one gives a different wallet; nothing tells which is right. */
  readonly extraWord: string;
}

export function newWords(random: Random, count: WordCount, extraWord = ''): WalletWords {
  checkExtraWord(extraWord);
  return { entropy: Uint8Array.from(random.bytes(ENTROPY_LENGTHS[count])), extraWord };
}

export function isEntropy(bytes: Uint8Array): boolean {
  return Object.values(ENTROPY_LENGTHS).includes(bytes.length);
}

export function isSameWords(a: WalletWords, b: WalletWords): boolean {
  return equalBytes(a.entropy, b.entropy) && a.extraWord.normalize('NFKD') === b.extraWord.normalize('NFKD');
}

export function wordsText({ entropy }: WalletWords): string {
  return entropyToMnemonic(entropy, wordlist);
}

/** Words that somebody has typed or kept in a file; case and spaces do not count. Throws `invalid_request`. */
export function parseWords(text: string, extraWord = ''): WalletWords {
  checkExtraWord(extraWord);
  const words = text.normalize('NFKD').toLowerCase().split(/\s+/).filter(Boolean);
  if (!WORD_COUNTS.some((count) => count === words.length)) {
    throw invalid(`there are ${WORD_COUNTS.join(' or ')} words, not ${words.length}`);
  }
  const wrong = words.findIndex((word) => !wordlist.includes(word));
  if (wrong !== -1) throw invalid(`word ${wrong + 1} is not in the list of BIP39`);
  try {
    return { entropy: mnemonicToEntropy(words.join(' '), wordlist), extraWord };
  } catch {
    throw invalid('the words do not belong together: one of them is wrong, or two have changed places');
  }
}

/** The 64-byte seed of BIP39. The caller must wipe it. The library's own function takes twenty times as long, at every start. */
export function seedOfWords(words: WalletWords): Promise<Uint8Array> {
  const salt = `mnemonic${words.extraWord}`.normalize('NFKD');
  return pbkdf2Sha512(wordsText(words), salt, SEED_ROUNDS, SEED_LENGTH);
}

function checkExtraWord(word: string): void {
  if (utf8Length(word) > MAX_EXTRA_WORD) throw invalid(`a BIP39 passphrase has at most ${MAX_EXTRA_WORD} bytes`);
}

function invalid(message: string): TesseraError {
  return new TesseraError('invalid_request', message);
}
