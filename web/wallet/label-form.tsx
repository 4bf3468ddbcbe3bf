/** What the owner calls a payment, a payee or an address: a form in which the name is changed or taken away. */

import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { LabelsResponse } from '../../src/sdk/client.js';
import { useAction } from '../shared/use-action.js';
import { useKeptFocus } from '../shared/use-kept-focus.js';
import { Field } from './parts.js';
import { useSession } from './session.js';

type Label = LabelsResponse['labels'][number];

/** Characters of two bytes that fit into the 256 bytes of a label, with the mark of a payee. */
const MAX_LENGTH = 120;

export interface LabelFormProps {
  readonly title: string;
  readonly field: string;
  readonly hint: string;
  /** The text as it is now. */
  readonly text: string;
  /** The label that keeps a text; an empty one takes it away. */
  readonly labelFor: (text: string) => Label;
  readonly onEnd: () => void;
  /** Whom or what it names. */
  readonly children: ComponentChildren;
}

export function LabelForm({ title, field, hint, text: old, labelFor, onEnd, children }: LabelFormProps) {
  const { ask } = useSession();
  const [text, setText] = useState(old);
  const { said, isBusy, run } = useAction();
  useKeptFocus();
  const save = async () => {
    await ask((node) => node.setWalletLabels({ labels: [labelFor(text.trim())] }));
    onEnd();
    return null;
  };
  return (
    <section class="panel" aria-labelledby="label-head">
      <h2 id="label-head">{title}</h2>
      <p>{children}</p>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          void run(save);
        }}
      >
        <Field label={field} id="own-label" hint={hint}>
          <input
            id="own-label"
            class="field"
            maxLength={MAX_LENGTH}
            autocomplete="off"
            aria-describedby="own-label-hint"
            ref={(input) => input?.focus()}
            value={text}
            onInput={({ currentTarget }) => setText(currentTarget.value)}
          />
        </Field>
        <div class="buttons">
          <button type="submit" class="button main" disabled={isBusy}>
            Save
          </button>
          <button type="button" class="button" onClick={onEnd}>
            Back
          </button>
        </div>
      </form>
      {said}
    </section>
  );
}
