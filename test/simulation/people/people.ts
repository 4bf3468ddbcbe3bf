/** Who has coins in a world, and how they sign. */

import { addressOf } from '../../../src/chain/address.js';
import { assembleSigned, unsignedInput } from '../../../src/chain/builders.js';
import { outPointKey } from '../../../src/chain/transaction.js';
import type { OutPoint, Transaction, TxOut } from '../../../src/chain/types.js';
import type { KeyPair } from '../../../src/crypto/ed25519.js';
import { keyOf } from '../../support/peers.js';

export interface Person {
  readonly name: string;
  readonly key: KeyPair;
  readonly address: string;
}

export function personOf(name: string): Person {
  const key = keyOf(name);
  return { name, key, address: addressOf(key.publicKey) };
}

export interface Coin {
  readonly outPoint: OutPoint;
  readonly amount: bigint;
}

function keysOf(person: Person, coins: readonly Coin[]): ReadonlyMap<string, KeyPair> {
  return new Map(coins.map(({ outPoint }) => [outPointKey(outPoint), person.key]));
}

export function signedBy(person: Person, coins: readonly Coin[], outputs: readonly TxOut[]): Transaction {
  const inputs = coins.map(({ outPoint }) => unsignedInput(outPoint));
  return assembleSigned({ inputs, outputs }, keysOf(person, coins));
}
