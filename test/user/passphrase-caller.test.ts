/** What asks for the passphrase of a wallet tells it who gives it: who has not failed does not wait for who has. */

import { afterAll, afterEach, beforeEach, expect, it } from 'vitest';
import type { PassphraseCaller } from '../../src/wallet/service.js';
import { ManualClock } from '../support/manual-clock.js';
import { createTestNet, type TestNet, type TestUser } from '../support/user.js';
import { NOBODY, PASSPHRASE, removeFolders } from '../support/wallet-fixtures.js';

const GUESSER: PassphraseCaller = { key: 'shop', address: '10.0.0.1' };
const OWNER: PassphraseCaller = { key: 'owner', address: '10.0.0.1' };
const ORDER = { address: NOBODY, amount: 5n, locktime: 0n };
const OFFER = {
  give: { kind: 'token', amount: 5n },
  want: { kind: 'token', amount: 6n },
  validFor: 60,
  peer: null,
  isReachable: false,
} as const;

let net: TestNet;
let node: TestUser;

// Its clock stands still: whoever has to wait waits for ever.
beforeEach(async () => {
  net = await createTestNet();
  node = await net.user({ clock: new ManualClock() });
});
afterEach(() => net.stop());
afterAll(removeFolders);

type Call = (passphrase: string, caller: PassphraseCaller) => Promise<unknown>;

it.each<readonly [string, Call]>([
  ['a payment', (passphrase, caller) => node.user.payAddress({ ...ORDER, passphrase, caller })],
  ['a payment to a peer', (passphrase, caller) => node.user.payPeer({ ...ORDER, address: '', passphrase, caller })],
  ['an offer', (passphrase, caller) => node.user.offerTrade({ ...OFFER, passphrase, caller })],
  ['an acceptance', (passphrase, caller) => node.user.acceptTrade({}, passphrase, caller)],
  ['a backup', (passphrase, caller) => node.wallet.coverage.backup(passphrase, caller)],
  ['a change', (passphrase, caller) => node.wallet.keystore.changePassphrase(passphrase, PASSPHRASE, caller)],
])('%s is answered at once while another key waits after a wrong passphrase', async (_, call) => {
  const failure = (made: Promise<unknown>): Promise<unknown> =>
    made.then(
      () => 'none',
      ({ code }: { readonly code: unknown }) => code,
    );
  expect(await failure(call('wrong', GUESSER))).toBe('wrong_passphrase');
  const waits = failure(call('wrong', GUESSER));
  expect(await failure(call(PASSPHRASE, OWNER))).not.toBe('wrong_passphrase');
  await net.stop();
  expect(await waits).toBe('shutting_down');
});
