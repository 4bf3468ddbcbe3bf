/** Labels of the owner for addresses and transactions. The wallet keeps them unsealed: labels are no secrets. */

import { prefixRange } from '../db/keys.js';
import type { Kv } from '../db/kv.js';
import { fromUtf8, utf8, utf8Length } from '../lib/bytes.js';
import { TesseraError } from '../lib/errors.js';
import { keyText, labelKey, PREFIX } from './layout.js';
import { LABEL_KINDS, type Label, type LabelKind } from './service.js';
import type { WriteBuffer } from './write-buffer.js';

const MAX_LABELS = 10_000;
/** The most bytes of a label in UTF-8. */
const MAX_LABEL = 256;
const MAX_NAME = 128;

export class Labels {
  readonly #writes: WriteBuffer;
  readonly #texts = new Map<string, string>();

  private constructor(writes: WriteBuffer) {
    this.#writes = writes;
  }

  static async open(kv: Kv, writes: WriteBuffer): Promise<Labels> {
    const labels = new Labels(writes);
    for await (const [key, text] of kv.entries(prefixRange(PREFIX.label)))
      labels.#texts.set(keyText(key), fromUtf8(text));
    return labels;
  }

  get(kind: LabelKind, name: string): string | null {
    return this.#texts.get(`${kind} ${name}`) ?? null;
  }

  all(): readonly Label[] {
    return [...this.#texts].flatMap(([key, label]) => {
      const kind = LABEL_KINDS.find((one) => key.startsWith(`${one} `));
      return kind === undefined ? [] : [{ kind, name: key.slice(kind.length + 1), label }];
    });
  }

  /** Sets labels; durable when it resolves; all or none. An empty label removes the old one. Throws `invalid_request`. */
  async set(labels: readonly Label[]): Promise<void> {
    this.#writes.checkRoom();
    this.#writes.onFailure(this.stage(labels));
    await this.#writes.flush();
  }

  /** Stages labels as `set` does. Gives the function that takes them back. */
  stage(labels: readonly Label[]): () => void {
    const added = labels.filter(({ kind, name, label }) => label !== '' && this.get(kind, name) === null).length;
    if (this.#texts.size + added > MAX_LABELS) throw invalid(`a wallet has at most ${MAX_LABELS} labels`);
    for (const { name, label } of labels) {
      if (utf8Length(label) > MAX_LABEL) throw invalid(`a label has at most ${MAX_LABEL} bytes`);
      if (name === '' || utf8Length(name) > MAX_NAME) throw invalid(`a name has 1 to ${MAX_NAME} bytes`);
    }
    const before = labels.map(({ kind, name }) => ({ kind, name, label: this.get(kind, name) ?? '' }));
    this.#put(labels);
    return () => this.#put(before.reverse());
  }

  #put(labels: readonly Label[]): void {
    for (const { kind, name, label } of labels) {
      const key = labelKey(kind, name);
      if (label === '') {
        this.#texts.delete(`${kind} ${name}`);
        this.#writes.del(key);
      } else {
        this.#texts.set(`${kind} ${name}`, label);
        this.#writes.put(key, utf8(label));
      }
    }
  }
}

function invalid(message: string): TesseraError {
  return new TesseraError('invalid_request', message);
}
