/** Form of an offer: what the wallet gives and what it wants, then the same in words, and the passphrase. */

import { useState } from 'preact/hooks';
import { toHex } from '../../../src/lib/bytes.js';
import type { TradeResponse } from '../../../src/sdk/client.js';
import { readAmount, type Unit } from '../../shared/amounts.js';
import { useAction } from '../../shared/use-action.js';
import { useKeptFocus } from '../../shared/use-kept-focus.js';
import { Field, SecretField } from '../parts.js';
import { useSession } from '../session.js';
import { useTotals, useWallet } from '../use-wallet.js';
import type { TradedAsset } from './documents.js';
import { Sides } from './sides.js';

interface SideInput {
  readonly text: string;
  readonly unit: Unit;
  readonly genesis: string;
}

const EMPTY: SideInput = { text: '', unit: 'tokens', genesis: '' };
const KEY_BYTES = 16;

export interface OfferFormProps {
  /** Changes with every trade, which sets items aside or gives them back. */
  readonly stamp: string;
  readonly onOffered: (trade: TradeResponse) => void;
}

export function OfferForm({ stamp, onOffered }: OfferFormProps) {
  const [give, setGive] = useState(EMPTY);
  const [want, setWant] = useState(EMPTY);
  const [offer, setOffer] = useState<Asked>();
  const tokens = useTotals().value?.available_total_tokens;
  const items = useWallet(`items/${stamp}`, (node, signal) => node.getWalletItems({}, { signal })).value?.items ?? [];
  const held = items.find(({ genesis_hash }) => genesis_hash === give.genesis);
  const available = give.unit === 'items' ? (held?.available ?? 0n) : tokens;
  const [giving, wanting] = [assetOf(give, available), assetOf(want)];
  const isSame = giving !== undefined && giving.kind === wanting?.kind && giving.genesis_hash === wanting.genesis_hash;
  if (offer !== undefined) {
    return <Review asked={offer} onBack={() => setOffer(undefined)} onOffered={onOffered} />;
  }
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        if (giving === undefined || wanting === undefined || isSame) return;
        const idempotencyKey = toHex(crypto.getRandomValues(new Uint8Array(KEY_BYTES)));
        setOffer({ give: giving, want: wanting, idempotencyKey });
      }}
    >
      <SideField
        name="Give"
        value={give}
        onChange={setGive}
        available={available}
        items={items.map((one) => one.genesis_hash)}
      />
      <SideField name="Want" value={want} onChange={setWant} />
      {isSame && <p class="hint bad-news">A trade gives one thing for another: choose items on one side.</p>}
      <div class="buttons">
        <button type="submit" class="button main" disabled={giving === undefined || wanting === undefined || isSame}>
          Review
        </button>
      </div>
    </form>
  );
}

function assetOf({ text, unit, genesis }: SideInput, available?: bigint): TradedAsset | undefined {
  const { value: amount } = readAmount(text, unit, available);
  if (amount === undefined) return undefined;
  if (unit !== 'items') return { kind: 'token', amount };
  return genesis === '' ? undefined : { kind: 'item', amount, genesis_hash: genesis };
}

interface SideFieldProps {
  readonly name: string;
  readonly value: SideInput;
  readonly onChange: (value: SideInput) => void;
  readonly available?: bigint | undefined;
  /** Items to choose from; else their name is typed. */
  readonly items?: readonly string[];
}

function SideField({ name, value, onChange, available, items }: SideFieldProps) {
  const { text, unit, genesis } = value;
  const id = name.toLowerCase();
  const { fault } = readAmount(text, unit, available);
  return (
    <>
      <Field label={name} id={id} fault={unit === 'items' && genesis === '' ? undefined : fault}>
        <div class="amount-field">
          <input
            id={id}
            class="field"
            required
            inputMode="decimal"
            autocomplete="off"
            maxLength={48}
            aria-describedby={`${id}-hint`}
            aria-invalid={fault !== undefined}
            value={text}
            onInput={({ currentTarget }) => onChange({ ...value, text: currentTarget.value })}
          />
          <select
            class="field"
            aria-label={`Unit of what you ${id}`}
            value={unit}
            onChange={({ currentTarget }) => onChange({ ...value, unit: currentTarget.value as Unit })}
          >
            <option value="tokens">tokens</option>
            <option value="items">items</option>
          </select>
        </div>
      </Field>
      {unit === 'items' && (
        <Field label={`Items you ${id}`} id={`${id}-items`}>
          {items === undefined ? (
            <input
              id={`${id}-items`}
              class="field mono"
              required
              maxLength={128}
              autocomplete="off"
              spellcheck={false}
              value={genesis}
              onInput={({ currentTarget }) => onChange({ ...value, genesis: currentTarget.value.trim() })}
            />
          ) : (
            <select
              id={`${id}-items`}
              class="field mono"
              value={genesis}
              onChange={({ currentTarget }) => onChange({ ...value, genesis: currentTarget.value })}
            >
              <option value="">choose</option>
              {items.map((hash) => (
                <option value={hash}>{hash}</option>
              ))}
            </select>
          )}
        </Field>
      )}
    </>
  );
}

interface Asked {
  readonly give: TradedAsset;
  readonly want: TradedAsset;
  /** A repetition with it is the same offer. */
  readonly idempotencyKey: string;
}

interface ReviewProps {
  readonly asked: Asked;
  readonly onBack: () => void;
  readonly onOffered: (trade: TradeResponse) => void;
}

function Review({ asked: { give, want, idempotencyKey }, onBack, onOffered }: ReviewProps) {
  const { ask } = useSession();
  const { said, isBusy, run } = useAction();
  const [passphrase, setPassphrase] = useState('');
  useKeptFocus();
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        void run(async () => {
          onOffered(await ask((node) => node.offerTrade({ give, want, passphrase }, { idempotencyKey })));
          return null;
        });
      }}
    >
      <Sides give={give} get={want} />
      <p class="hint">The wallet keeps what it gives aside until the trade has ended, for an hour at most.</p>
      <SecretField id="offer-passphrase" label="Passphrase of the wallet" value={passphrase} onChange={setPassphrase} />
      <div class="buttons">
        <button type="submit" class="button main" disabled={isBusy}>
          Offer now
        </button>
        <button type="button" class="button" disabled={isBusy} onClick={onBack}>
          Back
        </button>
      </div>
      {said}
    </form>
  );
}
