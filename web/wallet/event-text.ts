/** Reads an event stream, piece by piece: the browser's own reader of such streams cannot send an API key. */

export interface StreamEvent {
  readonly name: string;
  readonly data: string;
}

/** Characters of an event at most: what sends more is no node. */
const MAX_EVENT = 1_000_000;

export class EventText {
  #rest = '';
  #name = '';
  #data: string[] = [];
  /** Characters of the data. */
  #size = 0;

  /** The events that end in this piece. Throws when it is no stream of events. */
  read(piece: string): readonly StreamEvent[] {
    const lines = `${this.#rest}${piece}`.split('\n');
    this.#rest = lines.pop() ?? '';
    if (this.#rest.length > MAX_EVENT) throw new Error('no stream of events');
    return lines.flatMap((line) => this.#line(line.replace(/\r$/, '')));
  }

  #line(line: string): readonly StreamEvent[] {
    const [, field = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (field === 'event') this.#name = value;
    if (field === 'data') {
      this.#data.push(value);
      this.#size += value.length + 1;
      if (this.#size > MAX_EVENT) throw new Error('no stream of events');
    }
    if (line !== '') return [];
    const event = { name: this.#name === '' ? 'message' : this.#name, data: this.#data.join('\n') };
    const isWhole = this.#data.length > 0;
    this.#name = '';
    this.#data = [];
    this.#size = 0;
    return isWhole ? [event] : [];
  }
}
