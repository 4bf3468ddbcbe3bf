/** The entropy of the words is in memory no longer than it is used. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { BLANK_SCRYPT_COST } from '../../src/crypto/scrypt.js';
import { systemClock } from '../../src/lib/clock.js';
import { systemRandom } from '../../src/lib/random.js';
import { KEYSTORE_FILE, Keystore } from '../../src/wallet/keys/keystore.js';

it('is wiped by a keystore that looks at its words, and the words that it was given are not', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tessera-words-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const words = { entropy: Uint8Array.from(systemRandom.bytes(16)), extraWord: '' };
  const given = words.entropy.slice();
  const options = {
    file: join(folder, KEYSTORE_FILE),
    passphrase: 'wiped words',
    createIfMissing: true,
    allowBlankPassphrase: false,
    scryptCost: BLANK_SCRYPT_COST,
    words,
  };
  const modules = { random: systemRandom, clock: systemClock };
  (await Keystore.open(options, modules)).close();
  const read: Uint8Array[] = [];
  const { words: reads } = Keystore.prototype;
  Keystore.prototype.words = function watched(this: Keystore) {
    const found = reads.call(this);
    read.push(found.entropy);
    return found;
  };
  onTestFinished(() => {
    Keystore.prototype.words = reads;
  });
  const keystore = await Keystore.open(options, modules);
  expect(read).toEqual([new Uint8Array(16)]);
  expect(words.entropy).toEqual(given);
  expect(keystore.words().entropy).toEqual(given);
  keystore.close();
});
