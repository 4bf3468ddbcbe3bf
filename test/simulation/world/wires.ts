/**
 * The network between the machines of a world: connections as TCP gives them. What is sent arrives in order, later, or the connection
 * ends; nothing is lost in the middle. A link between two machines can be cut in one direction or both, slow, or lossy, which
 * shows as pauses; and a connection can break with what is under way.
 */

import { TesseraError } from '../../../src/lib/errors.js';
import { formatAddress, type HostAndPort, parseAddress } from '../../../src/peers/address.js';
import {
  type Connection,
  type Frame,
  GUARD_BYTES,
  GUARD_REASON,
  type Guard,
  MAX_FRAME_BYTES,
  type Transport,
} from '../../../src/peers/transport/transport.js';
import type { Luck } from './luck.js';
import type { Process, World } from './world.js';

/** Milliseconds that a frame takes where nothing is wrong. */
const LEAST_MS = 0.1;
const MOST_MS = 1.5;
/** Milliseconds after which TCP sends again what was lost: at least, and at most. */
const LEAST_AGAIN_MS = 200;
const MOST_AGAIN_MS = 1_500;

/** What is wrong with one direction between two machines. */
export interface Weather {
  isCut: boolean;
  /** Milliseconds that everything takes longer. */
  delay: number;
  /** So many of the frames are lost, and sent again. */
  loss: number;
}

interface Listening {
  readonly owner: Process;
  readonly accept: (connection: Connection) => void;
}

export class Wires {
  readonly world: World;
  readonly luck: Luck;
  readonly #weather = new Map<string, Map<string, Weather>>();
  readonly #listening = new Map<string, Listening>();
  readonly wires = new Set<Wire>();

  constructor(world: World, luck: Luck) {
    this.world = world;
    this.luck = luck;
  }

  /** From one machine to another, both by their hosts. */
  weather(from: string, to: string): Weather {
    const known = this.#weather.get(from)?.get(to);
    if (known !== undefined) return known;
    const fair = { isCut: false, delay: 0, loss: 0 };
    const those = this.#weather.get(from) ?? new Map<string, Weather>();
    this.#weather.set(from, those.set(to, fair));
    return fair;
  }

  /** All links are well again; what waited goes on. */
  clearUp(): void {
    for (const those of this.#weather.values())
      for (const weather of those.values()) Object.assign(weather, { isCut: false, delay: 0, loss: 0 });
    this.changed();
  }

  /** What waited for a direction that is not cut any more goes on. */
  changed(): void {
    for (const wire of this.wires) wire.goOn();
  }

  /** Milliseconds of one message in a direction. */
  delay(from: string, to: string): number {
    const { delay, loss } = this.weather(from, to);
    const again = this.luck.chance(loss) ? this.luck.between(LEAST_AGAIN_MS, MOST_AGAIN_MS) : 0;
    return this.luck.between(LEAST_MS, MOST_MS) + delay * this.luck.between(0.5, 1.5) + again;
  }

  isCut(from: string, to: string): boolean {
    return this.weather(from, to).isCut;
  }

  /** The transport of a process on a machine. */
  transport(owner: Process, host: string): Transport {
    return {
      listen: async (at, onConnection) => this.#listen(owner, at, onConnection),
      dial: (address, signal, pass) => this.#dial({ owner, host }, address, signal, pass),
    };
  }

  async #listen(owner: Process, at: HostAndPort, accept: (connection: Connection) => void) {
    const name = formatAddress(at);
    if (this.#listening.get(name)?.owner.isAlive) throw new TesseraError('port_in_use', `${name} is in use`);
    const listening = { owner, accept };
    this.#listening.set(name, listening);
    owner.onDeath(() => this.#listening.get(name) === listening && this.#listening.delete(name));
    return {
      address: at,
      close: async () => {
        if (this.#listening.get(name) === listening) this.#listening.delete(name);
        for (const wire of this.wires) if (wire.listenerOwner === owner) wire.end('the listener was closed');
      },
    };
  }

  #dial(
    from: { readonly owner: Process; readonly host: string },
    address: string,
    signal: AbortSignal,
    pass: string | undefined,
  ): Promise<Connection> {
    const { world } = this;
    const { host } = parseAddress(address);
    const givenUp = (): TesseraError => new TesseraError('aborted', `dialing ${address} was given up`);
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(givenUp());
      signal.addEventListener('abort', () => reject(givenUp()), { once: true });
      const arrive = (): void => {
        // Nothing answers a machine that is not heard, or does not hear.
        if (this.isCut(from.host, host) || this.isCut(host, from.host)) return;
        const listening = this.#listening.get(address);
        if (listening === undefined) {
          const refused = `cannot reach ${address}: nobody listens there`;
          world.later(from.owner, this.delay(host, from.host), () => {
            reject(new TesseraError('peer_unreachable', refused));
          });
          return;
        }
        const wire = new Wire(this, { dialer: from, listener: { owner: listening.owner, host }, address, pass });
        this.wires.add(wire);
        world.later(listening.owner, 0, () => listening.accept(wire.listener));
        world.later(from.owner, this.delay(host, from.host), () => {
          if (signal.aborted) wire.dialer.cut('the dial was given up');
          else resolve(wire.dialer);
        });
      };
      world.later(from.owner, this.delay(from.host, host), arrive);
    });
  }
}

interface Party {
  readonly owner: Process;
  readonly host: string;
}

interface WireOptions {
  readonly dialer: Party;
  readonly listener: Party;
  readonly address: string;
  readonly pass: string | undefined;
}

/** A connection between two processes. */
export class Wire {
  readonly dialer: End;
  readonly listener: End;
  readonly #options: WireOptions;

  constructor(wires: Wires, options: WireOptions) {
    const { dialer, listener, address, pass } = options;
    this.#options = options;
    this.dialer = new End(wires, dialer, { remote: address, remoteHost: listener.host, pass: undefined });
    this.listener = new End(wires, listener, { remote: `${dialer.host}:40000`, remoteHost: dialer.host, pass });
    this.dialer.other = this.listener;
    this.listener.other = this.dialer;
    const forget = (): void => {
      if (this.dialer.isOver && this.listener.isOver) wires.wires.delete(this);
    };
    this.dialer.onOver = forget;
    this.listener.onOver = forget;
    // The system closes the sockets of a process that ends, and says so to the other end.
    dialer.owner.onDeath(() => this.dialer.die());
    listener.owner.onDeath(() => this.listener.die());
  }

  get listenerOwner(): Process {
    return this.#options.listener.owner;
  }

  get dialerOwner(): Process {
    return this.#options.dialer.owner;
  }

  get hosts(): readonly [string, string] {
    return [this.#options.dialer.host, this.#options.listener.host];
  }

  goOn(): void {
    this.dialer.goOn();
    this.listener.goOn();
  }

  /** Both ends find it broken; what is under way is lost. */
  end(reason: string): void {
    this.dialer.breakOff(reason);
    this.listener.breakOff(reason);
  }
}

type Parcel = { readonly frame: Frame } | { readonly farewell: string };

class End implements Connection {
  readonly remote: string;
  readonly remoteHost: string;
  readonly pass: string | undefined;
  other: End | undefined;
  onOver: () => void = () => undefined;
  readonly #wires: Wires;
  readonly #party: Party;
  /** What was sent and has not arrived. */
  #underWay: Parcel[] = [];
  #underWayBytes = 0;
  #sending = false;
  #inbox: Frame[] = [];
  #onMessage: ((frame: Frame) => void) | undefined;
  readonly #onClose: ((reason: string) => void)[] = [];
  #received = 0;
  #guard: Guard = () => (this.#received > GUARD_BYTES ? GUARD_REASON : undefined);
  #isPaused = false;
  #isClosing = false;
  #over: string | undefined;

  constructor(wires: Wires, party: Party, facts: Pick<Connection, 'remote' | 'remoteHost' | 'pass'>) {
    this.#wires = wires;
    this.#party = party;
    this.remote = facts.remote;
    this.remoteHost = facts.remoteHost;
    this.pass = facts.pass;
  }

  get isOver(): boolean {
    return this.#over !== undefined;
  }

  get bufferedAmount(): number {
    return this.#underWayBytes;
  }

  get bytesReceived(): number {
    return this.#received;
  }

  send(frame: Frame): void {
    if (this.isOver || this.#isClosing) return;
    this.#underWayBytes += frame.length;
    this.#put({ frame: typeof frame === 'string' ? frame : Uint8Array.from(frame) });
  }

  onMessage(listener: (frame: Frame) => void): void {
    this.#onMessage = listener;
    this.#drain();
  }

  onClose(listener: (reason: string) => void): void {
    const over = this.#over;
    if (over === undefined) this.#onClose.push(listener);
    else this.#later(0, () => listener(over));
  }

  guard(guard: Guard): void {
    this.#guard = guard;
  }

  sendPlain(): void {}

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    this.#drain();
  }

  close(): void {
    if (this.isOver || this.#isClosing) return;
    this.#isClosing = true;
    this.#put({ farewell: 'the peer closed the connection' });
    this.#later(this.#wires.luck.between(0, 20), () => this.#finish('closed by this node'));
  }

  cut(reason: string): void {
    if (this.isOver) return;
    this.#lose();
    this.#put({ farewell: 'the connection was lost' });
    this.#later(0, () => this.#finish(reason));
  }

  /** The process has ended. */
  die(): void {
    if (this.isOver) return;
    this.#over = 'the process has ended';
    this.#lose();
    this.#put({ farewell: 'the connection was lost' });
    this.onOver();
  }

  /** The machine has lost its power, and tells nobody. */
  vanish(): void {
    this.#over ??= 'the machine is gone';
    this.#lose();
    this.onOver();
  }

  breakOff(reason: string): void {
    if (this.isOver) return;
    this.#lose();
    this.#later(this.#wires.luck.between(0, 50), () => this.#finish(reason));
  }

  goOn(): void {
    if (this.#underWay.length > 0) this.#pump();
  }

  arrive(parcel: Parcel): void {
    if (this.isOver) return;
    if ('farewell' in parcel) {
      this.#finish(parcel.farewell);
      return;
    }
    const { frame } = parcel;
    this.#wires.world.mark(frame.length);
    this.#received += frame.length;
    const reason = frame.length > MAX_FRAME_BYTES ? 'Max payload size exceeded' : this.#guard(frame.length);
    if (reason !== undefined) {
      this.cut(reason);
      return;
    }
    this.#inbox.push(frame);
    this.#drain();
  }

  #put(parcel: Parcel): void {
    this.#underWay.push(parcel);
    this.#pump();
  }

  /** One after the other; what is cut off waits. */
  #pump(): void {
    const { other } = this;
    if (this.#sending || other === undefined) return;
    const [from, to] = [this.#party.host, other.#party.host];
    if (this.#wires.isCut(from, to)) return;
    this.#sending = true;
    // The last ones of a burst arrive together.
    const burst = this.#underWay.length;
    this.#wires.world.later(other.#party.owner, this.#wires.delay(from, to), () => {
      this.#sending = false;
      for (let i = 0; i < burst && !this.#wires.isCut(from, to); i++) {
        const parcel = this.#underWay.shift();
        if (parcel === undefined) break;
        if ('frame' in parcel) this.#underWayBytes -= parcel.frame.length;
        other.arrive(parcel);
      }
      if (this.#underWay.length > 0) this.#pump();
    });
  }

  #lose(): void {
    this.#underWay = [];
    this.#underWayBytes = 0;
  }

  #drain(): void {
    while (this.#onMessage !== undefined && !this.#isPaused) {
      const frame = this.#inbox.shift();
      if (frame === undefined) return;
      this.#onMessage(frame);
    }
  }

  #finish(reason: string): void {
    if (this.isOver) return;
    this.#over = reason;
    for (const listener of this.#onClose.splice(0)) listener(reason);
    this.onOver();
  }

  #later(ms: number, run: () => void): void {
    this.#wires.world.later(this.#party.owner, ms, run);
  }
}
