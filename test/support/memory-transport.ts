/**
 * Links inside one process, for tests of everything above a transport. Deterministic: frames arrive in the order sent, each
 * on its own microtask, or after a delay by the clock. A wire can be stalled, silenced, tampered with or cut.
 */

import type { Clock } from '../../src/lib/clock.js';
import { TesseraError } from '../../src/lib/errors.js';
import { formatAddress, type HostAndPort, parseAddress } from '../../src/peers/address.js';
import {
  type Connection,
  type Frame,
  GUARD_BYTES,
  GUARD_REASON,
  type Guard,
  MAX_FRAME_BYTES,
  type Transport,
} from '../../src/peers/transport/transport.js';

/** Looks at a frame on its way; what it returns arrives instead, undefined drops it. */
export type FrameFilter = (frame: Frame, from: 'dialer' | 'listener') => Frame | undefined;

/** A connection between two ends, as a test may treat it. */
export interface MemoryWire {
  /** The address that was dialed. */
  readonly address: string;
  readonly open: boolean;
  /** Frames go through this from now on; null takes it away. */
  filter(filter: FrameFilter | null): void;
  /** Frames wait in their sender's queue until `resume`. */
  stall(): void;
  resume(): void;
  /** Ends the connection for both at once, as a crash of one end does; frames under way are lost. */
  cut(): void;
}

/** A network of its own: its transports reach each other and nothing else. */
export interface MemoryHub {
  /** A transport for one node; every one sees the same addresses. */
  transport(): Transport;
  /** Every wire dialed so far, in that order. */
  readonly wires: readonly MemoryWire[];
  /** Connections accepted now and not closed. */
  readonly openWires: number;
  /** Lets go of wires that have ended, for tests that dial without end. */
  forgetEnded(): void;
}

export interface MemoryHubOptions {
  readonly maxFrameBytes?: number;
  /** Milliseconds by the clock that each frame takes; 0 is one microtask. */
  readonly delayMs?: number;
  /** Needed with `delayMs`. */
  readonly clock?: Clock;
}

interface End extends Connection {
  deliver(frame: Frame): void;
  ended(reason: string): void;
}

const FIRST_FREE_PORT = 20_000;

export function createMemoryHub(options: MemoryHubOptions = {}): MemoryHub {
  const listeners = new Map<string, (connection: Connection, wire: MemoryWire) => void>();
  const wires: MemoryWire[] = [];
  let nextPort = FIRST_FREE_PORT;

  const listen: Transport['listen'] = async (at, onConnection) => {
    const address: HostAndPort = { host: at.host, port: at.port === 0 ? nextPort++ : at.port };
    const name = formatAddress(address);
    if (listeners.has(name)) {
      throw new TesseraError('port_in_use', `cannot listen for peers on ${name}: the address is in use`);
    }
    const accepted = new Set<MemoryWire>();
    listeners.set(name, (connection, wire) => {
      accepted.add(wire);
      connection.onClose(() => accepted.delete(wire));
      onConnection(connection);
    });
    return {
      address,
      async close() {
        listeners.delete(name);
        for (const wire of accepted) wire.cut();
      },
    };
  };

  const dial: Transport['dial'] = async (address, signal, pass) => {
    parseAddress(address);
    if (signal.aborted) throw new TesseraError('aborted', `dialing ${address} was given up`);
    const accept = listeners.get(address);
    if (!accept) throw new TesseraError('peer_unreachable', `cannot reach ${address}: nobody listens there`);
    const { wire, dialer, listener } = createWire(address, options, pass);
    wires.push(wire);
    accept(listener, wire);
    return dialer;
  };

  return {
    transport: () => ({ listen, dial }),
    wires,
    get openWires() {
      return wires.filter((wire) => wire.open).length;
    },
    forgetEnded() {
      const open = wires.filter((wire) => wire.open);
      wires.splice(0, wires.length, ...open);
    },
  };
}

function createWire(
  address: string,
  options: MemoryHubOptions,
  pass: string | undefined,
): { wire: MemoryWire; dialer: Connection; listener: Connection } {
  const state = { open: true, stalled: false, filter: null as FrameFilter | null };
  const pumps: (() => void)[] = [];
  const { clock, delayMs = 0 } = options;
  const later = (run: () => void): void => {
    if (delayMs > 0 && clock) clock.after(delayMs, run);
    else queueMicrotask(run);
  };

  /** Queue of one direction. */
  const direction = (from: 'dialer' | 'listener', to: () => End) => {
    const queue: Frame[] = [];
    let bytes = 0;
    let underWay = 0;
    const arrive = (): void => {
      underWay--;
      if (!state.open || state.stalled) return;
      const frame = queue.shift();
      if (frame === undefined) return;
      bytes -= frame.length;
      const passed = state.filter === null ? frame : state.filter(frame, from);
      if (passed !== undefined) to().deliver(passed);
    };
    const pump = (): void => {
      while (underWay < queue.length) {
        underWay++;
        later(arrive);
      }
    };
    pumps.push(pump);
    return {
      get bytes() {
        return bytes;
      },
      push(frame: Frame) {
        queue.push(typeof frame === 'string' ? frame : Uint8Array.from(frame));
        bytes += frame.length;
        if (!state.stalled) pump();
      },
    };
  };

  const end = (reasons: readonly [dialer: string, listener: string]): void => {
    if (!state.open) return;
    state.open = false;
    queueMicrotask(() => dialer.ended(reasons[0]));
    queueMicrotask(() => listener.ended(reasons[1]));
  };
  const fail = (reason: string): void => end([reason, reason]);
  const bound = options.maxFrameBytes ?? MAX_FRAME_BYTES;

  const createEnd = (name: 'dialer' | 'listener', other: () => End, pass?: string): End => {
    const outgoing = direction(name, other);
    /** What has arrived and waits for a listener, or for the end of a pause. */
    const inbox: Frame[] = [];
    let onMessage: ((frame: Frame) => void) | undefined;
    const closeListeners: ((reason: string) => void)[] = [];
    let received = 0;
    let guard: Guard = () => (received > GUARD_BYTES ? GUARD_REASON : undefined);
    let isPaused = false;
    let endReason: string | undefined;
    const drain = (): void => {
      while (onMessage && !isPaused) {
        const frame = inbox.shift();
        if (frame === undefined) return;
        onMessage(frame);
      }
    };
    return {
      remote: address,
      remoteHost: parseAddress(address).host,
      pass,
      get bufferedAmount() {
        return outgoing.bytes;
      },
      get bytesReceived() {
        return received;
      },
      send(frame) {
        if (state.open) outgoing.push(frame);
      },
      onMessage(listener) {
        onMessage = listener;
        drain();
      },
      onClose(listener) {
        if (endReason === undefined) closeListeners.push(listener);
        else queueMicrotask(() => listener(endReason ?? ''));
      },
      guard(next) {
        guard = next;
      },
      sendPlain() {},
      pause() {
        isPaused = true;
      },
      resume() {
        isPaused = false;
        drain();
      },
      close() {
        // Behind what is queued, as a socket does it.
        later(() =>
          end(
            name === 'dialer'
              ? ['closed by this node', 'the peer closed the connection']
              : ['the peer closed the connection', 'closed by this node'],
          ),
        );
      },
      cut: fail,
      deliver(frame) {
        received += frame.length;
        const reason = frame.length > bound ? 'Max payload size exceeded' : guard(frame.length);
        if (reason !== undefined) {
          fail(reason);
          return;
        }
        inbox.push(frame);
        drain();
      },
      ended(reason) {
        endReason = reason;
        for (const listener of closeListeners.splice(0)) listener(reason);
      },
    };
  };

  const dialer: End = createEnd('dialer', () => listener);
  const listener: End = createEnd('listener', () => dialer, pass);
  const wire: MemoryWire = {
    address,
    get open() {
      return state.open;
    },
    filter(filter) {
      state.filter = filter;
    },
    stall() {
      state.stalled = true;
    },
    resume() {
      state.stalled = false;
      for (const pump of pumps) pump();
    },
    cut: () => fail('the connection was lost'),
  };
  return { wire, dialer, listener };
}
