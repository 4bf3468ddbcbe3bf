import { describe, expect, it } from 'vitest';
import { transactionHash } from '../../src/chain/hash.js';
import { createdOutPoints } from '../../src/chain/transaction.js';
import type { Transaction, Utxo } from '../../src/chain/types.js';
import { Evidence, type Finding, type TransactionStatus } from '../../src/user/evidence.js';
import type { OwnTransaction } from '../../src/wallet/payments/outgoing.js';
import { NOBODY, paymentFromOutside, tokens } from '../support/wallet-fixtures.js';

type State = OwnTransaction['state'];
type Status = TransactionStatus['status'];

/** A chain of own transactions; each spends the second output, the change, of the one before. */
function chainOf(states: readonly State[]): readonly OwnTransaction[] {
  let before: Transaction | undefined;
  return states.map((state, i) => {
    const made: Transaction = paymentFromOutside([tokens(NOBODY, 1n), tokens(`own ${i}`, 9n)]);
    const inputs = before && [{ previousOut: { tHash: transactionHash(before), n: 1 }, script: [] }];
    const transaction = inputs === undefined ? made : { ...made, inputs };
    before = transaction;
    return {
      hash: transactionHash(transaction),
      transaction,
      kind: 'payment',
      peer: null,
      createdAt: 0,
      state,
      reason: '',
    };
  });
}

function changeOf({ hash, transaction }: OwnTransaction): Utxo {
  const change = createdOutPoints(transaction, hash)[1];
  if (change === undefined) throw new Error('no change');
  return [change.outPoint, change.txOut];
}

function inputOf({ transaction }: OwnTransaction): Utxo {
  const outPoint = transaction.inputs[0]?.previousOut;
  if (outPoint == null) throw new Error('no input');
  return [outPoint, tokens('own', 10n)];
}

function findings(chain: readonly OwnTransaction[], statuses: readonly (Status | undefined)[], unspent: Utxo[]) {
  const evidence = new Evidence(chain);
  evidence.note(unspent);
  const told = chain.flatMap(({ hash }, i): [string, TransactionStatus][] => {
    const status = statuses[i];
    return status === undefined ? [] : [[hash, { hash, status, info: '' }]];
  });
  return [...evidence.findings(new Map(told)).values()];
}

describe('what is known of a chain of own transactions (docs/wallet.md#payments)', () => {
  it.each<[string, State[], (Status | undefined)[], (chain: readonly OwnTransaction[]) => Utxo[], Finding[]]>([
    [
      'sends all of it again when the pool has lost it',
      ['sent', 'sent', 'sent'],
      [],
      (chain) => [inputOf(chain[0] as OwnTransaction)],
      ['missing', 'missing', 'missing'],
    ],
    [
      'sends a child again whose parent waits in the pool',
      ['sent', 'sent'],
      ['Pending'],
      (chain) => [inputOf(chain[0] as OwnTransaction)],
      ['admitted', 'missing'],
    ],
    [
      'finds children that were not admitted in no block, like their parent',
      ['sent', 'queued', 'queued'],
      [],
      (chain) => [inputOf(chain[0] as OwnTransaction)],
      ['missing', 'absent', 'absent'],
    ],
    [
      'takes the parents of what is in the chain for confirmed, also those whose answer was lost',
      ['queued', 'sent', 'sent'],
      [],
      (chain) => [changeOf(chain[2] as OwnTransaction)],
      ['confirmed', 'confirmed', 'confirmed'],
    ],
    [
      'sends a child again whose parent is in the chain',
      ['sent', 'sent'],
      ['Confirmed'],
      (chain) => [changeOf(chain[0] as OwnTransaction)],
      ['confirmed', 'missing'],
    ],
    ['settles a chain of which nothing is left', ['sent', 'sent'], [], () => [], ['confirmed', 'confirmed']],
    [
      'waits with what depends on a transaction of which nothing is known',
      ['queued', 'sent'],
      [],
      () => [],
      ['open', 'missing'],
    ],
  ])('%s', (_, states, statuses, unspent, expected) => {
    const chain = chainOf(states);
    expect(findings(chain, statuses, unspent(chain))).toEqual(expected);
  });
});

describe('a coin of somebody else whose transaction never was in a block (docs/wallet.md#payments)', () => {
  const chain = chainOf(['sent']);
  const [own] = chain as [OwnTransaction];
  const creator = inputOf(own)[0].tHash;

  function findingFor(known: Readonly<Record<string, Status>>): Finding | undefined {
    const evidence = new Evidence(chain);
    const statuses = Object.entries(known).map(([hash, status]) => [hash, { hash, status, info: '' }] as const);
    return evidence.findings(new Map(statuses)).get(own.hash);
  }

  it.each<[string, Record<string, Status>, Finding]>([
    [
      'sends again what the mempool node has rejected with it',
      { [creator]: 'Rejected', [own.hash]: 'Rejected' },
      'missing',
    ],
    ['sends again when only the rejection of the payment is known', { [own.hash]: 'Rejected' }, 'missing'],
    ['sends again when only the rejection of the other is known', { [creator]: 'Rejected' }, 'missing'],
    ['sends again when the other waits for its block', { [creator]: 'Pending' }, 'missing'],
    ['takes it for spent when the other is in a block', { [creator]: 'Confirmed' }, 'confirmed'],
    ['takes it for spent when the other is older than what the mempool node remembers', {}, 'confirmed'],
  ])('%s', (_, known, expected) => {
    expect(findingFor(known)).toBe(expected);
  });

  it('is asked about only when its status can decide, and by a name that can be asked for', () => {
    const from = (tHash: string, state: State): Evidence => {
      const inputs = [{ previousOut: { tHash, n: 0 }, script: [] }];
      return new Evidence([{ ...own, state, transaction: { ...own.transaction, inputs } }]);
    };
    const hash = `g${'7'.repeat(31)}`;
    const told = (status: Status) => new Map([[own.hash, { hash: own.hash, status, info: '' }]]);
    expect(from(hash, 'sent').creators(new Map())).toEqual([hash]);
    expect(from(hash, 'sent').creators(told('Rejected'))).toEqual([hash]);
    expect(from(hash, 'sent').creators(told('Pending'))).toEqual([]);
    expect(from(hash, 'sent').creators(told('Confirmed'))).toEqual([]);
    expect(from(hash, 'queued').creators(new Map())).toEqual([]);
    expect(from('not a hash', 'sent').creators(new Map())).toEqual([]);
  });
});
