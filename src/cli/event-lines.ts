/** Events as lines for a terminal: whatever a node sends, it is shown as text. */

import type { ReceivedEvent } from '../client/events.js';
import { type JsonValue, parseExactJson, stringifyExact } from '../lib/json.js';
import { printable, printableJson } from '../lib/printable.js';

/** `{"id":"7-1","event":"block","data":{"block_num":7}}`; data that is not JSON is shown as a text. */
export function jsonLine({ id, name, data }: ReceivedEvent): string {
  const value = jsonOf(data);
  return printableJson(stringifyExact({ id, event: name, data: value === undefined ? data : value }));
}

/** `12:00:01 block block_num=7 hash=b1… transactions=2` */
export function textLine({ name, data }: ReceivedEvent): string {
  const value = jsonOf(data);
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  const members = isObject
    ? Object.entries(value)
        .filter(([, member]) => member !== null)
        .map(([member, of]) => `${member}=${typeof of === 'object' ? stringifyExact(of) : String(of)}`)
    : [data];
  return [new Date().toISOString().slice(11, 19), name, ...members].map((text) => printable(text)).join(' ');
}

/** Undefined for what is not JSON. */
function jsonOf(data: string): JsonValue | undefined {
  try {
    return parseExactJson(data, { anyName: true });
  } catch {
    return undefined;
  }
}
