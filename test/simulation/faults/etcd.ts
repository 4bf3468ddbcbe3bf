/** Faults of etcd and of its members. */

import type { Fault } from '../themes.js';
import type { Hand, Undo } from './hand.js';
import { cutFromEtcd, farFromEtcd } from './network.js';

/** At the end of the fault all members are as they were at its beginning. In some stories a mempool node has nothing that came since. */
function restoreEtcd(hand: Hand, { kind, where, other, much }: Fault): Undo | undefined {
  const { etcd, mempools, operator } = hand.stage;
  if (etcd === undefined || hand.isEtcdCopied) return undefined;
  hand.isEtcdCopied = true;
  const copy = etcd.copy();
  const comeBack = much < 0.5 ? cutFromEtcd(hand, mempools[where % mempools.length]) : () => undefined;
  return () => {
    etcd.restore(copy, other % 2 === 0);
    operator.restored(copy, kind === 'restore and keep etcd');
    comeBack();
  };
}

export function etcdFault(hand: Hand, fault: Fault): Undo | undefined {
  const { kind, where, much } = fault;
  const { etcd, wires, mempools } = hand.stage;
  if (etcd === undefined) return undefined;
  const index = where % etcd.members.length;
  const member = etcd.members[index];
  if (member === undefined) return undefined;
  switch (kind) {
    case 'kill etcd':
      etcd.kill(index);
      return () => etcd.start(index);
    case 'lose answers of etcd':
      etcd.losing = much * 0.6;
      return () => {
        etcd.losing = 0;
      };
    case 'slow etcd':
      member.slowness = much * 2_000;
      return () => {
        member.slowness = 0;
      };
    case 'far from etcd':
      return farFromEtcd(hand, mempools[where % mempools.length], much * 2_000);
    case 'miss a compaction': {
      const machine = mempools[where % mempools.length];
      const comeBack = cutFromEtcd(hand, machine);
      etcd.endStreamsOf(machine?.host ?? '');
      return () => {
        etcd.compact(0);
        comeBack();
      };
    }
    case 'restore etcd':
    case 'restore and keep etcd':
      return restoreEtcd(hand, fault);
    case 'compact etcd':
      etcd.compact(Math.floor(much * 10));
      return undefined;
    case 'isolate etcd': {
      const others = etcd.members.filter((one) => one !== member);
      const set = (isCut: boolean): void => {
        for (const { host } of others) {
          wires.weather(member.host, host).isCut = isCut;
          wires.weather(host, member.host).isCut = isCut;
        }
        wires.changed();
      };
      set(true);
      return () => set(false);
    }
    default:
      return undefined;
  }
}
