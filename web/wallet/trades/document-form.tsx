/** Looking at what somebody has passed on: an offer to accept, or the answer to an own step, by file, text or link. */

import { useState } from 'preact/hooks';
import type { TradeResponse } from '../../../src/sdk/client.js';
import { useAction } from '../../shared/use-action.js';
import { Field, SecretField } from '../parts.js';
import { useSession } from '../session.js';
import { type Read, readDocument } from './documents.js';
import { Sides } from './sides.js';

/** Characters of a document with the largest transaction that created an item. */
const MAX_TEXT = 100_000;

const NEXT: Readonly<Record<'acceptance' | 'confirmation', string>> = {
  acceptance:
    'Somebody accepts an offer of this wallet. Confirm it, and pass the confirmation on: then both halves happen, or none.',
  confirmation:
    'The other party confirms a trade that this wallet has accepted. With this step both halves happen, or none.',
};

export interface DocumentFormProps {
  /** The part to look at first. */
  readonly text: string;
  readonly onDone: (trade: TradeResponse) => void;
}

export function DocumentForm({ text: given, onDone }: DocumentFormProps) {
  const { ask } = useSession();
  const { said, isBusy, run } = useAction();
  const [text, setText] = useState(given);
  const [passphrase, setPassphrase] = useState('');
  const read = readDocument(text);
  const send = ({ kind, document }: Read): Promise<TradeResponse> =>
    ask((node) =>
      kind === 'offer' ? node.acceptTrade({ offer: document, passphrase }) : node.completeTrade({ document }),
    );
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        if (read === undefined) return;
        void run(async () => {
          const trade = await send(read);
          setText('');
          onDone(trade);
          return 'Done.';
        });
      }}
    >
      <Field
        label="Document or link"
        id="document"
        fault={text.trim() !== '' && read === undefined ? 'This is no document of a trade.' : undefined}
      >
        <textarea
          id="document"
          class="field mono"
          rows={3}
          maxLength={MAX_TEXT}
          autocomplete="off"
          spellcheck={false}
          aria-describedby="document-hint"
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
      </Field>
      <Field label="Or a file" id="document-file">
        <input
          id="document-file"
          class="field"
          type="file"
          accept="application/json,.json"
          onChange={({ currentTarget }) => void currentTarget.files?.[0]?.text().then(setText)}
        />
      </Field>
      {read?.kind === 'offer' && (
        <>
          <Sides give={read.want} get={read.give} until={read.expiresAt} />
          <SecretField
            id="accept-passphrase"
            label="Passphrase of the wallet"
            value={passphrase}
            onChange={setPassphrase}
          />
        </>
      )}
      {read !== undefined && read.kind !== 'offer' && <p>{NEXT[read.kind]}</p>}
      <div class="buttons">
        <button type="submit" class="button main" disabled={isBusy || read === undefined}>
          {read === undefined || read.kind === 'offer' ? 'Accept' : 'Go on'}
        </button>
      </div>
      {said}
    </form>
  );
}
