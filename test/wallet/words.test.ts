/** The words of a wallet against the published vectors of BIP39, and what somebody may mistype. */

import { describe, expect, it } from 'vitest';
import { fromHex, toHex } from '../../src/lib/bytes.js';
import { systemRandom } from '../../src/lib/random.js';
import { ACCOUNTS, DerivedKeys } from '../../src/wallet/keys/derived-keys.js';
import { newWords, parseWords, seedOfWords, wordsText } from '../../src/wallet/keys/words.js';

const ABOUT = `${'abandon '.repeat(11)}about`;

/** Entropy, words, seed with the BIP39 passphrase TREZOR. */
const VECTORS: readonly (readonly [string, string, string])[] = [
  [
    '00000000000000000000000000000000',
    ABOUT,
    'c55257c360c07c72029aebc1b53c05ed0362ada38ead3e3e9efa3708e53495531f09a6987599d18264c1e1c92f2cf141630c7a3c4ab7c81b2f001698e7463b04',
  ],
  [
    '7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f',
    'legal winner thank year wave sausage worth useful legal winner thank yellow',
    '2e8905819b8723fe2c1d161860e5ee1830318dbf49a83bd451cfb8440c28bd6fa457fe1296106559a3c80937a1c1069be3a3a5bd381ee6260e8d9739fce1f607',
  ],
  [
    '80808080808080808080808080808080',
    'letter advice cage absurd amount doctor acoustic avoid letter advice cage above',
    'd71de856f81a8acc65e6fc851a38d4d7ec216fd0796d0a6827a3ad6ed5511a30fa280f12eb2e47ed2ac03b5c462a0358d18d69fe4f985ec81778c1b370b652a8',
  ],
  [
    'ffffffffffffffffffffffffffffffff',
    'zoo zoo zoo zoo zoo zoo zoo zoo zoo zoo zoo wrong',
    'ac27495480225222079d7be181583751e86f571027b0497b5b5d11218e0a8a13332572917f0f8e5a589620c6f15b11c61dee327651a14c34e18231052e48c069',
  ],
  [
    '0000000000000000000000000000000000000000000000000000000000000000',
    `${'abandon '.repeat(23)}art`,
    'bda85446c68413707090a52022edd26a1c9462295029f2e60cd7c4f2bbd3097170af7a4d73245cafa9c3cca8d561a7c3de6f5d4a10be8ed2a5e608d68f92fcc8',
  ],
  [
    '15da872c95a13dd738fbf50e427583ad61f18fd99f628c417a61cf8343c90419',
    'beyond stage sleep clip because twist token leaf atom beauty genius food business side grid unable middle armed observe pair crouch tonight away coconut',
    'b15509eaa2d09d3efd3e006ef42151b30367dc6e3aa5e44caba3fe4d3e352e65101fbdb86a96776b91946ff06f8eac594dc6ee1d3e82a42dfe1b40fef6bcc3fd',
  ],
  [
    '18ab19a9f54a9274f03e5209a2ac8a91',
    'board flee heavy tunnel powder denial science ski answer betray cargo cat',
    '6eff1bb21562918509c73cb990260db07c0ce34ff0e3cc4a8cb3276129fbcb300bddfe005831350efd633909f476c45c88253276d9fd0df6ef48609e8bb7dca8',
  ],
];

describe('the words of a wallet', () => {
  it.each(VECTORS)('are those of BIP39 for %s, and give its seed', async (entropy, words, seed) => {
    expect(wordsText({ entropy: fromHex(entropy), extraWord: '' })).toBe(words);
    const parsed = parseWords(`  ${words.toUpperCase().replaceAll(' ', '\n')}\n`, 'TREZOR');
    expect(toHex(parsed.entropy)).toBe(entropy);
    expect(toHex(await seedOfWords(parsed))).toBe(seed);
  });

  it.each([12, 24] as const)('%i new ones are as many, and read back', (count) => {
    const words = newWords(systemRandom, count);
    expect(wordsText(words).split(' ')).toHaveLength(count);
    expect(parseWords(wordsText(words))).toEqual(words);
  });

  it('tells what is wrong by the place of a word, never by the word', () => {
    const typo = ABOUT.replace('abandon', 'abandonned');
    expect(() => parseWords(typo)).toThrow('word 1 is not in the list of BIP39');
    expect(() => parseWords(`${ABOUT} about`)).toThrow('there are 12 or 24 words, not 13');
    expect(() => parseWords(ABOUT.replace('about', 'zoo'))).toThrow(/do not belong together/);
    expect(() => parseWords('')).toThrow('not 0');
  });
});

describe('the keys of the words', () => {
  // These are for ever: somebody may have written such words down.
  const FIRST = {
    receive: 'e80399e07f804e49aef4ef5fad3f3d520b4e25fbc30aa628f01b841e11dc5f21',
    change: 'c0a6b0db1b8626c9253f851b06984833ee0173388fcb756dbda7a8ec231d586c',
    rewards: '29f172157feff44ed76fa7b6e250873f550f60c2516f227cf1d9116fb4a070ec',
    items: 'e59ef5563e407a9b9fca00533a1327703d4cd9ee0be31843291ed338e36be25c',
  };

  it('are the same in every version', async () => {
    const keys = await DerivedKeys.of(parseWords(ABOUT));
    const first = Object.fromEntries(ACCOUNTS.map((account) => [account, keys.address({ account, index: 0 })]));
    expect(first).toEqual(FIRST);
    expect(keys.fingerprint).toBe('a6e760c2');
  });

  it('are others with a BIP39 passphrase, and in each account and place', async () => {
    const plain = await DerivedKeys.of(parseWords(ABOUT));
    const other = await DerivedKeys.of(parseWords(ABOUT, 'extra'));
    const addresses = [plain, other].flatMap((keys) =>
      ACCOUNTS.flatMap((account) => [0, 1].map((index) => keys.address({ account, index }))),
    );
    expect(new Set(addresses).size).toBe(16);
    expect(other.fingerprint).not.toBe(plain.fingerprint);
  });
});
