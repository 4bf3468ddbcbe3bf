/** Keeping the wallet: the backup file, the passphrase, and the API key of this tab. */

import { useState } from 'preact/hooks';
import { isTesseraError } from '../../../src/sdk/client.js';
import { Notice } from '../../shared/components/notice.js';
import { Page } from '../../shared/components/page.js';
import { useAction } from '../../shared/use-action.js';
import { SecretField } from '../parts.js';
import { saveFile } from '../save-file.js';
import { useSession } from '../session.js';
import { useOrders } from '../use-orders.js';

export function SafetyPage() {
  return (
    <Page title="Security">
      <Backup />
      <ChangePassphrase />
      <Key />
      <Notice title="The words">
        <p>
          Twelve or 24 recovery words restore every key that this wallet makes. No page and no route shows them:{' '}
          <code>tessera wallet words</code> does, on the machine of the node.
        </p>
      </Notice>
    </Page>
  );
}

function Backup() {
  const { ask } = useSession();
  const [passphrase, setPassphrase] = useState('');
  const { said, isBusy, run } = useAction();
  const make = async () => {
    const { backup } = await ask((node) => node.backupWallet({ passphrase }));
    setPassphrase('');
    saveFile(backup, `tessera-wallet-backup-${new Date().toISOString().slice(0, 10)}.json`);
    return 'The browser has saved the backup file. Keep a copy away from this machine.';
  };
  return (
    <section class="panel" aria-labelledby="backup">
      <h2 id="backup">Backup file</h2>
      <p>
        Recovery words, all other keys, and labels, encrypted under the passphrase: <code>tessera wallet restore</code>{' '}
        takes it. The API key needs the permission <code>export</code>.
      </p>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          void run(make);
        }}
      >
        <SecretField id="backup-passphrase" label="Passphrase" value={passphrase} onChange={setPassphrase} />
        <div class="buttons">
          <button type="submit" class="button main" disabled={isBusy}>
            Save the backup file
          </button>
        </div>
      </form>
      {said}
    </section>
  );
}

function ChangePassphrase() {
  const { ask } = useSession();
  const [old, setOld] = useState('');
  const [fresh, setFresh] = useState('');
  const [again, setAgain] = useState('');
  const { said, isBusy, run } = useAction();
  const change = async () => {
    try {
      await ask((node) => node.changePassphrase({ old_passphrase: old, new_passphrase: fresh }));
    } catch (error) {
      if (!isTesseraError(error, 'node_unreachable')) throw error;
      throw new Error(`${error.message} The passphrase may be changed or not: try both.`, { cause: error });
    }
    for (const set of [setOld, setFresh, setAgain]) set('');
    return 'Changed. Give the node the new passphrase for its next start. Older backups open with the old one.';
  };
  const differs = again !== '' && again !== fresh;
  return (
    <section class="panel" aria-labelledby="change">
      <h2 id="change">Change the passphrase</h2>
      <p>
        Nobody can reset a passphrase. The API key needs the permission <code>admin</code>.
      </p>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          void run(change);
        }}
      >
        <SecretField id="old" label="Current passphrase" value={old} onChange={setOld} />
        <SecretField id="fresh" label="New passphrase" value={fresh} onChange={setFresh} />
        <SecretField
          id="again"
          label="Repeat the new passphrase"
          value={again}
          onChange={setAgain}
          hint={differs ? 'The two are different.' : undefined}
        />
        <div class="buttons">
          <button type="submit" class="button main" disabled={isBusy || fresh.trim() === '' || fresh !== again}>
            Change
          </button>
        </div>
      </form>
      {said}
    </section>
  );
}

function Key() {
  const { apiKey, leave } = useSession();
  const desk = useOrders();
  return (
    <section class="panel" aria-labelledby="key">
      <h2 id="key">API key</h2>
      {apiKey === '' ? (
        <p>This node asks for none from this machine.</p>
      ) : (
        <>
          <p>Only this page has it. It is not stored, and is gone when the tab is closed or reloaded.</p>
          <p class="buttons shortcuts">
            <button
              type="button"
              class="button"
              onClick={() => {
                desk.forgetAll();
                leave();
              }}
            >
              Forget the API key now
            </button>
          </p>
        </>
      )}
    </section>
  );
}
