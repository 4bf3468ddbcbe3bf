/**
 * A cluster of etcd, below the calls of gRPC: one order of all writes, leases, watches, compaction. Its members can be away, slow, cut off, or
 * without a majority; and an answer can be lost, of a request that was done or not.
 */

import {
  create,
  type DescMessage,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import { status } from '@grpc/grpc-js';
import {
  KV,
  Lease,
  type RequestOp,
  type TxnRequest,
  Watch,
  WatchResponseSchema,
} from '../../../src/journal/etcd/generated/etcd-pb.js';
import type { Timer } from '../../../src/lib/clock.js';
import { Agreed, type EtcdCopy, type Kept, nameOf, type WatchEvent } from './etcd-agreed.js';
import { Stream, type UnaryCall } from './grpc.js';
import type { Wires } from './wires.js';
import type { Process, World } from './world.js';

/** Milliseconds until a majority has a write on disk. */
const COMMIT_MS = 6;
/** Milliseconds between two looks at whether a connection lives, and looks after which it does not. */
const LOOK_MS = 3_000;
const LOOKS = 3;
const PUT = 0;
const DELETION = 1;
const NO_DELETIONS = 1;

interface Member {
  process: Process;
  readonly host: string;
  readonly pending: Set<() => void>;
  readonly streams: Set<Stream>;
  /** Milliseconds that every answer takes longer. */
  slowness: number;
}

export class Etcd {
  readonly #world: World;
  readonly #wires: Wires;
  readonly members: readonly Member[];
  /** So many of the answers are lost. */
  losing = 0;
  readonly #agreed = new Agreed();
  readonly #watchers = new Set<Watcher>();
  #clerk: Process | undefined;

  constructor(world: World, wires: Wires, count = 3) {
    this.#world = world;
    this.#wires = wires;
    this.members = Array.from({ length: count }, (_, i) => {
      const member = {
        host: `10.0.9.${i + 1}`,
        pending: new Set<() => void>(),
        streams: new Set<Stream>(),
        slowness: 0,
      };
      return { ...member, process: this.#processOf(i) };
    });
  }

  get endpoints(): readonly string[] {
    return this.members.map(({ host }) => `http://${host}:2379`);
  }

  kill(index: number): void {
    const member = this.members[index];
    if (member === undefined || !member.process.isAlive) return;
    member.process.kill();
    for (const fail of [...member.pending]) fail();
    for (const stream of [...member.streams]) stream.end(status.UNAVAILABLE, 'the member is gone');
  }

  start(index: number): void {
    const member = this.members[index];
    if (member === undefined || member.process.isAlive) return;
    member.process = this.#processOf(index);
  }

  /** A machine loses its streams, as when the connection below them breaks. */
  endStreamsOf(host: string): void {
    for (const { streams } of this.members) {
      for (const stream of [...streams])
        if (stream.host === host) stream.end(status.UNAVAILABLE, 'the connection was lost');
    }
  }

  copy(): EtcdCopy {
    const { kept, revision, compacted, events, leases } = this.#agreed;
    const granted = [...leases].map(([id, { seconds }]) => [id, seconds] as const);
    return { kept, revision, compacted, events: [...events], leases: granted };
  }

  /** All members end, and have what a copy has: on their old disks, or as a new cluster that was made from a backup. */
  restore({ leases, events, ...copy }: EtcdCopy, asNew: boolean): void {
    const agreed = this.#agreed;
    for (const index of this.members.keys()) this.kill(index);
    for (const { timer } of agreed.leases.values()) timer.cancel();
    Object.assign(agreed, copy, { events: [...events] });
    // Who leads begins to count the time of each lease again.
    agreed.leases = new Map(leases.map(([id, seconds]) => [id, { seconds, timer: this.#expiry(id, seconds) }]));
    if (asNew) agreed.cluster++;
    for (const index of this.members.keys()) this.start(index);
  }

  /** Forgets the history of all but the last changes; the keys stay. */
  compact(spare: number): void {
    const agreed = this.#agreed;
    const to = agreed.revision - BigInt(spare);
    if (to <= agreed.compacted) return;
    agreed.compacted = to;
    agreed.events = agreed.events.filter(({ revision }) => revision > to);
  }

  /** True when most members hear each other and this one. */
  hasMajority(member: Member): boolean {
    const heard = this.members.filter(
      (other) =>
        other.process.isAlive &&
        other.process.held === undefined &&
        (other === member ||
          !(this.#wires.isCut(member.host, other.host) || this.#wires.isCut(other.host, member.host))),
    );
    return heard.includes(member) && heard.length * 2 > this.members.length;
  }

  /** A call of a process, which is answered once. */
  unary(call: UnaryCall): void {
    const caller = this.#world.current;
    const member = this.members.find(({ host }) => call.target.includes(host));
    if (caller === undefined || member === undefined) throw new Error('a call of etcd from outside of a world');
    let isOver = false;
    const finish = (run: () => void): void => {
      if (isOver) return;
      isOver = true;
      member.pending.delete(fail);
      deadline.cancel();
      run();
    };
    const answer = (error: object | null, bytes?: Uint8Array): void => finish(() => call.answered(error, bytes));
    const fail = (): void => {
      this.#world.later(caller, this.#wires.delay(member.host, caller.host), () =>
        answer({ code: status.UNAVAILABLE, message: 'the connection was lost' }),
      );
    };
    const left = Math.max(0, call.deadline - caller.clock.now());
    const deadline = this.#world.timer(caller, left, () =>
      answer({ code: status.DEADLINE_EXCEEDED, message: 'Deadline exceeded' }),
    );
    if (!member.process.isAlive) {
      fail();
      return;
    }
    member.pending.add(fail);
    if (this.#isCut(caller, member)) return;
    const luck = this.#wires.luck;
    const there = this.#wires.delay(caller.host, member.host) + member.slowness;
    this.#world.later(member.process, there, () => {
      if (luck.chance(this.losing / 2)) {
        fail();
        return;
      }
      const isRead = call.path.endsWith('/Range') && fromBinary(KV.method.range.input, call.request).serializable;
      if (!isRead && !this.hasMajority(member)) return;
      const commit = (): void => {
        if (!isRead && !this.hasMajority(member)) return;
        const done = this.#answer(call.path, call.request);
        if (luck.chance(this.losing / 2)) {
          fail();
          return;
        }
        if (this.#isCut(caller, member)) return;
        this.#world.later(caller, this.#wires.delay(member.host, caller.host) + member.slowness, () =>
          'bytes' in done ? answer(null, done.bytes) : answer({ ...done }),
        );
      };
      this.#world.later(member.process, luck.between(0.2, 1) * COMMIT_MS, commit);
    });
  }

  /** A call that streams both ways. */
  stream(target: string, path: string, deserialize: (bytes: Buffer) => unknown): Stream {
    const caller = this.#world.current;
    const member = this.members.find(({ host }) => target.includes(host));
    if (caller === undefined || member === undefined) throw new Error('a call of etcd from outside of a world');
    const world = this.#world;
    const send = (bytes: Uint8Array): void => {
      if (!member.process.isAlive) {
        world.later(caller, 1, () => stream.end(status.UNAVAILABLE, 'the member is gone'));
        return;
      }
      world.later(member.process, this.#wires.delay(caller.host, member.host) + member.slowness, () => {
        if (this.#isCut(caller, member) || !this.hasMajority(member)) return;
        this.#begin(path, bytes, stream, member);
      });
    };
    const stream: Stream = new Stream(caller.host, {
      deserialize,
      send,
      deliver: (run) => {
        if (this.#isCut(caller, member) || member.process.held !== undefined) return false;
        world.later(caller, this.#wires.delay(member.host, caller.host) + member.slowness, run);
        return true;
      },
      later: (ms, run) => void world.later(caller, ms, run),
      forget: () => member.streams.delete(stream),
    });
    member.streams.add(stream);
    let looks = 0;
    const look = (): void => {
      if (stream.isOver) return;
      looks = this.#isCut(caller, member) || member.process.held !== undefined ? looks + 1 : 0;
      if (looks >= LOOKS) stream.end(status.UNAVAILABLE, 'the member does not answer pings');
      else world.later(caller, LOOK_MS, look);
    };
    world.later(caller, LOOK_MS, look);
    return stream;
  }

  #processOf(index: number): Process {
    const process = this.#world.process(`etcd-${index + 1}`);
    process.host = `10.0.9.${index + 1}`;
    return process;
  }

  #isCut({ host }: Process, member: Member): boolean {
    return this.#wires.isCut(host, member.host) || this.#wires.isCut(member.host, host);
  }

  #begin(path: string, bytes: Uint8Array, stream: Stream, member: Member): void {
    if (path.endsWith('/LeaseKeepAlive')) {
      const { ID: id } = fromBinary(Lease.method.leaseKeepAlive.input, bytes);
      const seconds = this.#renew(id);
      stream.push(answerOf(Lease.method.leaseKeepAlive.output, { ID: id, TTL: BigInt(seconds) }));
      return;
    }
    const { requestUnion } = fromBinary(Watch.method.watch.input, bytes);
    if (requestUnion.case !== 'createRequest') throw new Error('only watches are begun');
    const { key, rangeEnd, startRevision, filters } = requestUnion.value;
    const agreed = this.#agreed;
    const header = this.#agreed.header();
    if (startRevision > 0n && startRevision <= agreed.compacted) {
      const gone = { header, created: true, canceled: true, compactRevision: agreed.compacted };
      stream.push(answerOf(WatchResponseSchema, gone));
      return;
    }
    stream.push(answerOf(WatchResponseSchema, { header, created: true }));
    const watcher: Watcher = {
      stream,
      member,
      from: nameOf(key),
      to: rangeEnd.length === 0 ? undefined : nameOf(rangeEnd),
      withDeletions: !filters.includes(NO_DELETIONS),
    };
    this.#watchers.add(watcher);
    if (startRevision > 0n) {
      for (const { revision, events } of agreed.events) if (revision >= startRevision) this.#tell(watcher, events);
    }
  }

  /** The answer of what is done now. */
  #answer(path: string, request: Uint8Array): Answer {
    switch (path.split('/').at(-1)) {
      case 'Range':
        return {
          bytes: answerOf(KV.method.range.output, this.#agreed.range(fromBinary(KV.method.range.input, request))),
        };
      case 'Txn':
        return { bytes: answerOf(KV.method.txn.output, this.#transact(fromBinary(KV.method.txn.input, request))) };
      case 'LeaseGrant': {
        const { TTL: seconds } = fromBinary(Lease.method.leaseGrant.input, request);
        const id = this.#agreed.nextLease++;
        this.#agreed.leases.set(id, { seconds: Number(seconds), timer: this.#expiry(id, Number(seconds)) });
        return {
          bytes: answerOf(Lease.method.leaseGrant.output, { header: this.#agreed.header(), ID: id, TTL: seconds }),
        };
      }
      case 'LeaseRevoke': {
        const { ID: id } = fromBinary(Lease.method.leaseRevoke.input, request);
        if (!this.#agreed.leases.has(id)) return { code: status.NOT_FOUND, message: 'requested lease not found' };
        this.#drop(id);
        return { bytes: answerOf(Lease.method.leaseRevoke.output, { header: this.#agreed.header() }) };
      }
      default:
        throw new Error(`a world's etcd does not know ${path}`);
    }
  }

  #transact({ compare, success, failure }: TxnRequest) {
    const succeeded = compare.every((one) => this.#agreed.holds(one));
    const responses = this.#write(succeeded ? success : failure);
    return { header: this.#agreed.header(), succeeded, responses };
  }

  #write(ops: readonly RequestOp[]) {
    const agreed = this.#agreed;
    const kept = new Map(agreed.kept);
    const revision = agreed.revision + 1n;
    const events: WatchEvent[] = [];
    const responses = ops.map(({ request }) => {
      if (request.case === 'requestRange') {
        return { response: { case: 'responseRange' as const, value: this.#agreed.range(request.value) } };
      }
      if (request.case === 'requestDeleteRange') {
        const { key, rangeEnd } = request.value;
        const gone = this.#agreed.between(nameOf(key), rangeEnd.length === 0 ? undefined : nameOf(rangeEnd));
        for (const one of gone) {
          if (kept.delete(nameOf(one.key)))
            events.push({ type: DELETION, kv: { key: one.key, modRevision: revision } });
        }
        return { response: { case: undefined } };
      }
      if (request.case !== 'requestPut') throw new Error('unknown operation');
      const { key, value, lease } = request.value;
      const before = kept.get(nameOf(key));
      const kv: Kept = {
        key,
        value,
        lease,
        createRevision: before?.createRevision ?? revision,
        modRevision: revision,
        version: (before?.version ?? 0n) + 1n,
      };
      kept.set(nameOf(key), kv);
      events.push({ type: PUT, kv });
      return { response: { case: undefined } };
    });
    if (events.length === 0) return responses;
    agreed.kept = kept;
    agreed.revision = revision;
    agreed.events.push({ revision, events });
    for (const watcher of this.#watchers) this.#tell(watcher, events);
    return responses;
  }

  #tell(watcher: Watcher, events: readonly WatchEvent[]): void {
    const { stream, from, to, withDeletions } = watcher;
    if (stream.isOver) {
      this.#watchers.delete(watcher);
      return;
    }
    const seen = events.filter(({ type, kv }) => {
      const name = nameOf(kv.key);
      return (to === undefined ? name === from : name >= from && name < to) && (withDeletions || type !== DELETION);
    });
    if (seen.length === 0) return;
    const shown = seen.map(({ type, kv }) => ({ type, kv: kv as MessageInitShape<DescMessage> & Kept }));
    stream.push(answerOf(WatchResponseSchema, { header: this.#agreed.header(), events: shown as never }));
  }

  #expiry(id: bigint, seconds: number): Timer {
    // Whoever leads the cluster counts; it is somebody else when that one is away.
    return this.#world.later(this.#timekeeper(), seconds * 1_000, () => {
      const granted = this.#agreed.leases.get(id);
      if (granted === undefined) return;
      if (this.members.some((member) => this.hasMajority(member))) this.#drop(id);
      else granted.timer = this.#expiry(id, seconds);
    });
  }

  /** A process that never ends. */
  #timekeeper(): Process {
    this.#clerk ??= this.#world.process('etcd');
    return this.#clerk;
  }

  #renew(id: bigint): number {
    const granted = this.#agreed.leases.get(id);
    if (granted === undefined) return 0;
    granted.timer.cancel();
    granted.timer = this.#expiry(id, granted.seconds);
    return granted.seconds;
  }

  #drop(id: bigint): void {
    const granted = this.#agreed.leases.get(id);
    granted?.timer.cancel();
    this.#agreed.leases.delete(id);
    const keys = [...this.#agreed.kept.values()].filter(({ lease }) => lease === id);
    const deletions = keys.map(({ key }) => ({
      request: { case: 'requestDeleteRange' as const, value: { key, rangeEnd: new Uint8Array() } },
    }));
    this.#write(deletions as never);
  }
}

type Answer = { readonly bytes: Uint8Array } | { readonly code: number; readonly message: string };

interface Watcher {
  readonly stream: Stream;
  readonly member: Member;
  readonly from: string;
  readonly to: string | undefined;
  readonly withDeletions: boolean;
}

function answerOf<T extends DescMessage>(schema: T, message: MessageInitShape<T>): Uint8Array {
  return toBinary(schema, create(schema, message) as MessageShape<T>);
}
