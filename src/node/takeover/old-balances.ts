/**
 * The balances of an old network, as the `fetch_balance` of its mempool node gives them: from the node, or from a file with its answer.
 * They are compared with the unspent outputs of a chain, output by output.
 */

import { statSync } from 'node:fs';
import { nodeFetch } from '../../client/node-fetch.js';
import { exchange, MAX_ANSWER_BYTES, TIMEOUT_MS } from '../../client/transport.js';
import { isTesseraError, TesseraError } from '../../lib/errors.js';
import { type JsonValue, parseExactJson, stringifyExact } from '../../lib/json.js';
import { MAX_DOCUMENT_FILE, readBounded } from '../../lib/read-bounded.js';
import { memberOf, requestTo } from '../import/source.js';

/** The most addresses of one question. */
const AT_ONCE = 200;

/** Outputs of each address: their contents in words, by the name of the output. */
export type Holdings = ReadonlyMap<string, ReadonlyMap<string, string>>;

export interface OldBalances {
  /** Addresses that the source lists by itself. */
  addresses(): Promise<readonly string[]>;
  /** Outputs of these addresses, and maybe of more. */
  at(addresses: readonly string[]): Promise<Holdings>;
}

/** `source` is the URL of a mempool node, or a file. */
export function oldBalances(source: string, signal: AbortSignal): OldBalances {
  if (statSync(source, { throwIfNoEntry: false })?.isFile()) {
    const held = holdingsIn(parseExactJson(readBounded(source, MAX_DOCUMENT_FILE), { anyName: true }), source);
    return { addresses: async () => [...held.keys()], at: async () => held };
  }
  const fetch = nodeFetch();
  /** The answer of a route; null when the node does not have the route, or refuses. */
  const ask = async (path: string, content?: unknown): Promise<JsonValue> => {
    const outgoing = requestTo(source, path, content === undefined ? undefined : stringifyExact(content));
    const limits = { timeoutMs: TIMEOUT_MS, maxAnswerBytes: MAX_ANSWER_BYTES };
    try {
      return (await exchange(outgoing, { fetch, signal, ...limits }, () => false)).answer ?? null;
    } catch (error) {
      if (isTesseraError(error) && error.details.status !== undefined) return null;
      throw error;
    }
  };
  return {
    addresses: async () => {
      const named = memberOf(await ask('utxo_addresses'), 'content');
      return Array.isArray(named) ? named.map(String) : [];
    },
    at: async (addresses) => {
      const answer = (await ask('fetch_balance', addresses)) ?? (await ask('v1/balances/query', { addresses }));
      return holdingsIn(answer, source);
    },
  };
}

/** Compares the balances; gives the number of addresses, and a line for each difference. Throws the fault of the source. */
export async function compare(old: OldBalances, held: Holdings, onProgress: (done: number, total: number) => void) {
  const addresses = [...new Set([...held.keys(), ...(await old.addresses())])];
  const differences: string[] = [];
  for (let from = 0; from < addresses.length; from += AT_ONCE) {
    const asked = addresses.slice(from, from + AT_ONCE);
    const theirs = await old.at(asked);
    for (const address of asked) {
      const [here, there] = [held.get(address), theirs.get(address)];
      const names = [...new Set([...(here?.keys() ?? []), ...(there?.keys() ?? [])])];
      const parts = names
        .filter((name) => here?.get(name) !== there?.get(name))
        .map((name) => `output ${name}: ${there?.get(name) ?? 'nothing'} there, ${here?.get(name) ?? 'nothing'} here`);
      if (parts.length > 0) differences.push(`${address} has ${parts.join('; ')}`);
    }
    onProgress(from + asked.length, addresses.length);
  }
  return { addresses: addresses.length, differences };
}

/** Content of an output in words. An item created by the output itself is named by the hash of its transaction. */
export function contentText(asset: JsonValue | undefined, hash: string): string | undefined {
  const [item, tokens] = [memberOf(asset, 'Item'), memberOf(asset, 'Token')];
  if (item === undefined) return tokens === undefined ? undefined : `${tokens} raw units`;
  return `${memberOf(item, 'amount')} of item ${memberOf(item, 'genesis_hash') ?? hash}`;
}

/** Holdings in an answer: in an envelope, in the form of `/v1`, or without either. Throws `other_chain`. */
function holdingsIn(answer: JsonValue | undefined, source: string): Holdings {
  const inner = memberOf(answer, 'content') ?? memberOf(answer, 'balance');
  if (inner !== undefined) return holdingsIn(inner, source);
  const listed: [string, JsonValue][] = Object.entries(memberOf(answer, 'address_list') ?? { '': null });
  return new Map(
    listed.map(([address, outputs]) => {
      const named = (Array.isArray(outputs) ? outputs : [null]).map((output: JsonValue): [string, string] => {
        const place = memberOf(output, 'out_point');
        const hash = String(memberOf(place, 't_hash'));
        const content = contentText(memberOf(output, 'value'), hash);
        if (content !== undefined) return [`${memberOf(place, 'n')}-${hash}`, content];
        throw new TesseraError('other_chain', `${source} gives no list of outputs where it was asked for balances`);
      });
      return [address, new Map(named)];
    }),
  );
}
