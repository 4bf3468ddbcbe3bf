import { describe, expect, it } from 'vitest';
import { addressOf, BURN_ADDRESS, p2shAddress } from '../../src/chain/address.js';
import { itemAsset, tokenAsset } from '../../src/chain/assets.js';
import * as builders from '../../src/chain/builders.js';
import { TOTAL_TOKENS } from '../../src/chain/constants.js';
import { druidSetFault, expectationsAreMet, PARTICIPANTS_DIFFER } from '../../src/chain/druid.js';
import { merkleRoot, txsHash } from '../../src/chain/hash.js';
import { txInsAddress } from '../../src/chain/signable.js';
import { isCoinbase, isCreate, outPointKey, spentOutPoints } from '../../src/chain/transaction.js';
import type { DruidInfo, Transaction, TxOut } from '../../src/chain/types.js';
import { keyPairFromSeed } from '../../src/crypto/ed25519.js';
import { transactionFault } from '../support/validate.js';
import * as reference from '../vectors/reference-library.js';

const [alice, bob] = [1, 2].map((byte) => keyPairFromSeed(new Uint8Array(32).fill(byte))) as [
  builders.SigningKey,
  builders.SigningKey,
];
const aliceAddress = addressOf(alice.publicKey);
const bobAddress = addressOf(bob.publicKey);
const tokens = { tHash: 'tokens', n: 0 };
const items = { tHash: 'items', n: 0 };
const utxo = new Map<string, TxOut>([
  [outPointKey(tokens), builders.txOut(tokenAsset(10n), aliceAddress)],
  [outPointKey(items), builders.txOut(itemAsset(1n, 'h'), bobAddress)],
]);
const keys = new Map([
  [outPointKey(tokens), alice],
  [outPointKey(items), bob],
]);
const isValid = (tx: Transaction) => transactionFault(tx, 0n, (point) => utxo.get(outPointKey(point))) === null;

describe('builders (docs/chain.md#builders)', () => {
  const inputs = [builders.unsignedInput(tokens)];
  const receiver = { address: bobAddress, asset: tokenAsset(7n) };
  const fee = { address: aliceAddress, asset: tokenAsset(3n) };

  it('build payments with a fee', () => {
    const tx = reference.paymentTransaction({ inputs, receiver, fee, locktime: 5n }, keys);
    expect(isValid(tx)).toBe(true);
    expect(tx).toMatchObject({ version: 6n, outputs: [{ locktime: 5n }], fees: [{ locktime: 0n }] });
  });

  it('leave inputs without a key as they are', () => {
    expect(reference.paymentTransaction({ inputs, receiver }, new Map()).inputs).toEqual(inputs);
  });

  it('pay to a script, and redeem from it', () => {
    const script = [{ kind: 'num' as const, value: 1n }];
    const tx = reference.p2shTransaction({ inputs, script, asset: tokenAsset(10n) }, keys);
    expect(isValid(tx) && reference.isP2sh(tx)).toBe(true);
    expect(tx.outputs[0]?.scriptPublicKey).toBe(p2shAddress(script));
    const redeem = builders.assemble({
      inputs: [reference.p2shRedeemInput(tokens, script)],
      outputs: [builders.txOut(tokenAsset(10n), bobAddress)],
    });
    expect(transactionFault(redeem, 0n, () => tx.outputs[0])).toBeNull();
  });

  it('burn what they are told, and zero tokens by default (docs/chain.md#builders)', () => {
    expect(BURN_ADDRESS).toBe('Hf0c21fdfd61f1f2320c9fd4c0b567ac245240d9a6a13a06c0b8be7a83809834');
    expect(reference.burnTransaction({ inputs }, keys).outputs).toEqual([builders.txOut(tokenAsset(0n), BURN_ADDRESS)]);
    expect(isValid(reference.burnTransaction({ inputs, asset: tokenAsset(10n) }, keys))).toBe(true);
  });

  it('build coinbases', () => {
    const tx = builders.coinbaseTransaction(4n, 100n, aliceAddress);
    expect([isCoinbase(tx), isCreate(tx), spentOutPoints(tx)]).toEqual([true, false, []]);
    expect(tx.outputs[0]?.locktime).toBe(104n);
    expect(builders.coinbaseTransaction(4n, 100n, aliceAddress, 0n).outputs[0]?.locktime).toBe(4n);
  });
});

describe('trades (docs/chain.md#druid-sets)', () => {
  const druid = 'DRUID0x1';
  const send = (expectations: DruidInfo['expectations']) =>
    reference.tradeSendTransaction(
      {
        inputs: [builders.unsignedInput(tokens)],
        outputs: [],
        receiver: { address: bobAddress, asset: tokenAsset(10n) },
        druidInfo: { druid, participants: 2n, expectations, genesisHash: 'h' },
      },
      keys,
    );
  const receive = (expectations: DruidInfo['expectations']) =>
    reference.tradeReceiveTransaction(
      {
        inputs: [builders.unsignedInput(items)],
        outputs: [],
        senderAddress: aliceAddress,
        druidInfo: { druid, participants: 2n, expectations, genesisHash: 'h' },
      },
      keys,
    );
  const aliceFrom = txInsAddress(send([]).inputs);
  const bobFrom = txInsAddress(receive([]).inputs);
  const item = { from: bobFrom, to: aliceAddress, asset: itemAsset(1n, 'h') };
  const payment = { from: aliceFrom, to: bobAddress, asset: tokenAsset(10n) };

  it('are met when each half does what the other expects', () => {
    const halves = [send([item]), receive([payment])];
    expect(halves.every(isValid)).toBe(true);
    expect(expectationsAreMet(druid, halves)).toBe(true);
    expect(druidSetFault(druid, halves)).toBeNull();
  });

  it.each([
    { ...item, from: aliceFrom },
    { ...item, to: bobAddress },
    { ...item, asset: itemAsset(2n, 'h') },
    { ...item, asset: itemAsset(1n, 'other') },
    { ...item, asset: itemAsset(1n, 'h', 'metadata') },
    { ...item, asset: tokenAsset(1n) },
  ])('are not met when one expects something else (case %#)', (other) => {
    expect(expectationsAreMet(druid, [send([other]), receive([payment])])).toBe(false);
  });

  it('are met twice by one output, and by nothing when nothing is expected', () => {
    expect(expectationsAreMet(druid, [send([item, item]), receive([payment])])).toBe(true);
    expect(expectationsAreMet('another', [send([item])])).toBe(true);
    expect(expectationsAreMet(druid, [send([item])])).toBe(false);
  });

  it('are invalid when a member counts other participants', () => {
    const other = receive([payment]);
    const changed = { ...other, druidInfo: { druid, participants: 3n, expectations: [payment], genesisHash: null } };
    expect(druidSetFault(druid, [send([item]), changed])).toBe(PARTICIPANTS_DIFFER);
  });
});

describe('small things', () => {
  it('the empty list has no root but a hash (docs/chain.md#hashes)', () => {
    expect(merkleRoot([])).toBe('');
    expect(txsHash([])).toBe('48dda5bbe9171a6656206ec56c595c5834b6cf38c5fe71bcb44fe43833aee9df');
  });

  it('a Merkle root splits at the largest power of two below', () => {
    const leaves = Array.from({ length: 11 }, (_, i) => `g${i}`);
    expect(new Set(leaves.map((_, n) => merkleRoot(leaves.slice(0, n + 1)))).size).toBe(11);
  });

  it.each([
    [0n, '0'],
    [72_072_000n, '1'],
    [108_108_000n, '1.5'],
    [1n, '0.000000013875013875013874'],
    [TOTAL_TOKENS, 'Value out of bounds'],
  ])('%s raw units display as %s (docs/chain.md#assets)', (amount, text) => {
    expect(reference.displayAmount(amount)).toBe(text);
  });
});
