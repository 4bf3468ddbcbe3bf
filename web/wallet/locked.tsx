/** Form of a locked wallet: asks for the API key, once. */

import { useState } from 'preact/hooks';
import { Notice } from '../shared/components/notice.js';
import { Page } from '../shared/components/page.js';
import { keyFault } from './api-key.js';
import { Field } from './parts.js';
import { useSession } from './session.js';

export function Locked() {
  const { access, problem, enter } = useSession();
  const [text, setText] = useState('');
  const [fault, setFault] = useState<string>();
  if (access === 'checking') {
    return (
      <Page title="Wallet">
        <p class="loading" role="status">
          {problem === undefined ? 'Asking the node…' : <bdi>{problem}</bdi>}
        </p>
      </Page>
    );
  }
  return (
    <Page title="Wallet">
      {!isSecureContext && <Insecure />}
      <section class="panel" aria-labelledby="open">
        <h2 id="open">API key</h2>
        <form
          class="form"
          onSubmit={(event) => {
            event.preventDefault();
            const key = text.trim();
            const wrong = keyFault(key);
            setFault(wrong);
            if (wrong === undefined) enter(key);
          }}
        >
          <Field
            label="API key of this node"
            id="api-key"
            hint="It stays in the memory of this page and is stored nowhere. Where none is configured, the node has written one to api-key in its data folder."
          >
            <input
              id="api-key"
              class="field mono"
              type="password"
              autocomplete="off"
              spellcheck={false}
              aria-describedby="api-key-hint"
              value={text}
              onInput={({ currentTarget }) => setText(currentTarget.value)}
            />
          </Field>
          <div class="buttons">
            <button type="submit" class="button main">
              Open the wallet
            </button>
          </div>
        </form>
        <p role="alert" class="said bad-news">
          {fault ?? problem}
        </p>
      </section>
    </Page>
  );
}

/** Warning about http to another machine, where everything can be read on the way. */
export function Insecure() {
  return (
    <Notice title="This connection is not encrypted" kind="warning">
      <p>
        Whoever is between this browser and the node can read the API key and the passphrase. Use https: the node serves
        it with the files of <code>api.tls</code>, or behind a proxy.
      </p>
    </Notice>
  );
}
