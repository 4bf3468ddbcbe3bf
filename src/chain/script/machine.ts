/** The state of a running script (docs/chain.md#script-machine). Failing methods return `undefined` or `false`. */

import { equalBytes, utf8Length } from '../../lib/bytes.js';
import { MAX_SCRIPT_ITEM_SIZE } from '../constants.js';
import type { StackEntry } from '../types.js';

export class Machine {
  readonly main: StackEntry[] = [];
  readonly alt: StackEntry[] = [];
  conditions = 0;
  /** Position of the first condition that is false; null when all are true. */
  firstFalse: number | null = null;

  get active(): boolean {
    return this.firstFalse === null;
  }

  pushCondition(value: boolean): void {
    if (this.firstFalse === null && !value) this.firstFalse = this.conditions;
    this.conditions += 1;
  }

  popCondition(): boolean {
    if (this.conditions === 0) return false;
    this.conditions -= 1;
    if (this.firstFalse === this.conditions) this.firstFalse = null;
    return true;
  }

  toggleCondition(): boolean {
    if (this.conditions === 0) return false;
    const last = this.conditions - 1;
    if (this.firstFalse === null) this.firstFalse = last;
    else if (this.firstFalse === last) this.firstFalse = null;
    return true;
  }

  /** Fails for an opcode, which is no value, and for a text of more than 520 bytes. */
  push(entry: StackEntry): boolean {
    if (entry.kind === 'op') return false;
    if (entry.kind === 'bytes' && utf8Length(entry.text) > MAX_SCRIPT_ITEM_SIZE) return false;
    this.main.push(entry);
    return true;
  }

  pushNum(value: bigint): true {
    this.main.push({ kind: 'num', value });
    return true;
  }

  pushFlag(value: boolean): true {
    return this.pushNum(value ? 1n : 0n);
  }

  pushText(text: string): true {
    this.main.push({ kind: 'bytes', text });
    return true;
  }

  popNum(): bigint | undefined {
    const entry = this.main.pop();
    return entry?.kind === 'num' ? entry.value : undefined;
  }

  popText(): string | undefined {
    const entry = this.main.pop();
    return entry?.kind === 'bytes' ? entry.text : undefined;
  }

  popSignature(): Uint8Array | undefined {
    const entry = this.main.pop();
    return entry?.kind === 'signature' ? entry.bytes : undefined;
  }

  popPublicKey(): Uint8Array | undefined {
    const entry = this.main.pop();
    return entry?.kind === 'pubkey' ? entry.bytes : undefined;
  }

  /** Pops every entry of one kind from the top, the top one first. */
  popAll(kind: 'signature' | 'pubkey'): Uint8Array[] {
    const popped: Uint8Array[] = [];
    for (let top = this.main.at(-1); top !== undefined && top.kind === kind; top = this.main.at(-1)) {
      popped.push(top.bytes);
      this.main.pop();
    }
    return popped;
  }
}

/** True for every value but the number zero. */
export function isTruthy(entry: StackEntry): boolean {
  return entry.kind !== 'num' || entry.value !== 0n;
}

/** True when both entries have the same kind and content. */
export function equalEntries(a: StackEntry, b: StackEntry): boolean {
  switch (a.kind) {
    case 'op':
      return b.kind === 'op' && a.op === b.op;
    case 'num':
      return b.kind === 'num' && a.value === b.value;
    case 'bytes':
      return b.kind === 'bytes' && a.text === b.text;
    default:
      return b.kind === a.kind && equalBytes(a.bytes, b.bytes);
  }
}
