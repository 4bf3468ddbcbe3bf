/**
 * A third-party wallet of the envelope family, in the manner of 2Way.js (docs/clients.md#sessions-of-envelope-wallets),
 * written from what such a client sends and reads. On purpose it shares no code with the node: hashes and signatures come
 * from noble, JSON from the platform, amounts are JavaScript numbers.
 */

import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ed25519 } from '@noble/curves/ed25519.js';
import { sha3_256 } from '@noble/hashes/sha3.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';

const sha3Text = (text: string): string => bytesToHex(sha3_256(utf8ToBytes(text)));

export interface Keypair {
  readonly secret: Uint8Array;
  readonly publicKey: string;
  readonly address: string;
}

export function keypair(secret: Uint8Array): Keypair {
  const publicKey = ed25519.getPublicKey(secret);
  return { secret, publicKey: bytesToHex(publicKey), address: bytesToHex(sha3_256(publicKey)) };
}

const signText = (key: Keypair, text: string): string => bytesToHex(ed25519.sign(utf8ToBytes(text), key.secret));

export type ClientAsset =
  | { readonly Token: number }
  | { readonly Item: { readonly amount: number; readonly genesis_hash: string; readonly metadata: null } };

interface OutPoint {
  readonly t_hash: string;
  readonly n: number;
}

export interface BalanceContent {
  readonly total: { readonly tokens: number; readonly items: Readonly<Record<string, number>> };
  readonly address_list: Readonly<
    Record<
      string,
      readonly {
        readonly out_point: OutPoint;
        readonly value: { Token?: number; Item?: { amount: number; genesis_hash: string } };
      }[]
    >
  >;
}

export interface Expectation {
  readonly from: string;
  readonly to: string;
  readonly asset: ClientAsset;
}

interface Output {
  readonly value: ClientAsset;
  readonly locktime: number;
  readonly script_public_key: string;
}

interface Half {
  readonly inputs: readonly object[];
  readonly outputs: readonly Output[];
  /** Who pays, as the other party must name it. */
  readonly from: string;
}

export interface Reply {
  readonly id: string | null;
  readonly status: string;
  readonly reason: string;
  readonly content: unknown;
}

export interface Offer {
  readonly druid: string;
  readonly status: 'pending' | 'accepted';
  readonly senderExpectation: Expectation;
  readonly receiverExpectation: Expectation;
  readonly mempoolHost: string;
}

export interface Hosts {
  readonly mempool: string;
  readonly storage: string;
  readonly relay: string;
}

/** One wallet with one key, as the client would hold many. */
export function createTwoWayClient(hosts: Hosts, key: Keypair) {
  const pending = new Map<string, Half>();

  async function post(host: string, route: string, body: unknown): Promise<Reply> {
    const id = randomUUID().replaceAll('-', '');
    const headers = { 'content-type': 'application/json', 'x-cache-id': id, 'x-nonce': '0' };
    // Any HTTP status is taken: the envelope decides.
    const response = await fetch(`${host}/${route}`, { method: 'POST', headers, body: JSON.stringify(body) });
    return (await response.json()) as Reply;
  }

  function mustSucceed(reply: Reply): Reply {
    if (reply.status !== 'Success') throw new Error(`${reply.status}: ${reply.reason}`);
    return reply;
  }

  /** What the wallet asks before anything else, without any header of its own. */
  async function init(): Promise<void> {
    for (const host of [hosts.mempool, hosts.storage]) {
      const response = await fetch(`${host}/debug_data`);
      const reply = (await response.json()) as Reply & { content: { routes_pow: object } };
      if (!response.ok || reply.status === 'Error' || typeof reply.content.routes_pow !== 'object') {
        throw new Error(`${host} cannot be used: ${reply.reason}`);
      }
    }
  }

  async function fetchBalance(addresses: readonly string[] = [key.address]): Promise<BalanceContent> {
    return mustSucceed(await post(hosts.mempool, 'fetch_balance', addresses)).content as BalanceContent;
  }

  async function createItems(amount: number, metadata: string | null, spec: 'Create' | 'Default' = 'Create') {
    const reply = await post(hosts.mempool, 'create_item_asset', {
      item_amount: amount,
      script_public_key: key.address,
      public_key: key.publicKey,
      signature: signText(key, sha3Text(`Item:${amount}`)),
      version: null,
      genesis_hash_spec: spec,
      metadata,
    });
    return mustSucceed(reply).content as {
      tx_hash: string;
      to_address: string;
      asset: { asset: { Item: { amount: number } } };
    };
  }

  /**
   * Inputs in the order of the balance, until they cover the asset; the payment, and what is left back to the own address.
   */
  async function buildHalf(to: string, asset: ClientAsset): Promise<Half> {
    const { address_list } = await fetchBalance();
    const wanted = 'Token' in asset ? asset.Token : asset.Item.amount;
    const chosen: OutPoint[] = [];
    let gathered = 0;
    for (const { out_point, value } of Object.values(address_list).flat()) {
      if (gathered >= wanted) break;
      const held =
        'Token' in asset
          ? value.Token
          : value.Item?.genesis_hash === asset.Item.genesis_hash
            ? value.Item.amount
            : undefined;
      if (held === undefined) continue;
      chosen.push(out_point);
      gathered += held;
    }
    if (gathered < wanted) throw new Error('Insufficient funds');
    const excess = gathered - wanted;
    const rest: ClientAsset = 'Token' in asset ? { Token: excess } : { Item: { ...asset.Item, amount: excess } };
    const outputs: Output[] = [{ value: asset, locktime: 0, script_public_key: to }];
    if (excess > 0) outputs.push({ value: rest, locktime: 0, script_public_key: key.address });
    const preimage = outputs.map((output) => JSON.stringify(output)).join('');
    const signed = chosen.map(({ t_hash, n }) => {
      const previous_out = { t_hash, n };
      const signable = sha3Text(preimage + JSON.stringify(previous_out));
      return { previous_out, signable, signature: signText(key, signable) };
    });
    const inputs = signed.map(({ previous_out, signable, signature }) => ({
      previous_out,
      script_signature: {
        Pay2PkH: { signable_data: signable, signature, public_key: key.publicKey, address_version: null },
      },
    }));
    const from = sha3Text(
      signed
        .map(
          ({ previous_out, signable, signature }) =>
            `${previous_out.n}-${previous_out.t_hash}-Bytes:${signable}-Signature:${signature}-PubKey:${key.publicKey}` +
            `-Op:OP_DUP-Op:OP_HASH256-Bytes:${key.address}-Op:OP_EQUALVERIFY-Op:OP_CHECKSIG`,
        )
        .join('-'),
    );
    return { inputs, outputs, from };
  }

  async function submit(
    host: string,
    half: Half,
    druid: { druid: string; expectation: Expectation } | null,
  ): Promise<string> {
    const druid_info =
      druid === null ? null : { druid: druid.druid, participants: 2, expectations: [druid.expectation] };
    const transaction = { inputs: half.inputs, outputs: half.outputs, version: 2, druid_info };
    const reply = mustSucceed(await post(host, 'create_transactions', [transaction]));
    // The hash is the last key of the content.
    return Object.keys(reply.content as object).at(-1) ?? '';
  }

  async function pay(to: string, asset: ClientAsset): Promise<string> {
    return submit(hosts.mempool, await buildHalf(to, asset), null);
  }

  const fetchTransactions = async (keys: readonly string[]) =>
    mustSucceed(await post(hosts.storage, 'blockchain_entry', keys)).content as readonly (readonly unknown[])[];

  async function relay(method: string, route: string, body?: object): Promise<unknown> {
    const headers = {
      'content-type': 'application/json',
      address: key.address,
      public_key: key.publicKey,
      signature: signText(key, key.address),
    };
    const response = await fetch(`${hosts.relay}/${route}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`relay: ${response.status}`);
    return ((await response.json()) as Reply).content;
  }

  /** Offers `give` to the owner of an address for `take`; the half is kept until the other side has accepted. */
  async function offerTrade(to: string, give: ClientAsset, take: ClientAsset): Promise<string> {
    const druid = `DRUID0x${sha3Text(randomUUID()).slice(0, 32)}`;
    const half = await buildHalf(to, give);
    pending.set(druid, half);
    const offer: Offer = {
      druid,
      status: 'pending',
      senderExpectation: { from: '', to: key.address, asset: take },
      receiverExpectation: { from: half.from, to, asset: give },
      mempoolHost: hosts.mempool,
    };
    await relay('POST', 'set_data', { address: to, data: { [druid]: offer } });
    return druid;
  }

  const fetchOffers = async (): Promise<Record<string, Offer>> =>
    (await relay('GET', 'get_data')) as Record<string, Offer>;

  /** Submits the own half and tells the other side where it comes from. */
  async function acceptTrade(offer: Offer, offeredBy: string): Promise<string> {
    const half = await buildHalf(offer.senderExpectation.to, offer.senderExpectation.asset);
    const hash = await submit(offer.mempoolHost, half, { druid: offer.druid, expectation: offer.receiverExpectation });
    const accepted: Offer = {
      ...offer,
      status: 'accepted',
      senderExpectation: { ...offer.senderExpectation, from: half.from },
    };
    await relay('POST', 'set_data', { address: offeredBy, data: { [offer.druid]: accepted } });
    return hash;
  }

  /** Submits the kept halves of offers that were accepted. */
  async function settleTrades(): Promise<string[]> {
    const hashes: string[] = [];
    for (const [druid, offer] of Object.entries(await fetchOffers())) {
      const half = pending.get(druid);
      if (offer.status !== 'accepted' || half === undefined) continue;
      hashes.push(await submit(hosts.mempool, half, { druid, expectation: offer.senderExpectation }));
      pending.delete(druid);
      await relay('DELETE', 'del_data', { druid });
    }
    return hashes;
  }

  return {
    init,
    fetchBalance,
    createItems,
    pay,
    fetchTransactions,
    offerTrade,
    fetchOffers,
    acceptTrade,
    settleTrades,
    post,
    key,
  };
}

export type TwoWayClient = ReturnType<typeof createTwoWayClient>;

export interface Relay {
  readonly url: string;
  close(): Promise<void>;
}

/** A stand-in for the message relay: a mailbox for each address, which only the owner of its key can open. */
export async function startRelay(): Promise<Relay> {
  const boxes = new Map<string, Record<string, unknown>>();
  const boxOf = (address: string): Record<string, unknown> => {
    const box = boxes.get(address) ?? {};
    boxes.set(address, box);
    return box;
  };
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { address = '', public_key = '', signature = '' } = request.headers as Record<string, string>;
      const valid =
        /^[0-9a-f]{64}$/.test(public_key) &&
        ed25519.verify(Buffer.from(signature, 'hex'), utf8ToBytes(address), Buffer.from(public_key, 'hex'));
      const body = chunks.length === 0 ? {} : JSON.parse(Buffer.concat(chunks).toString());
      if (request.url === '/set_data') Object.assign(boxOf(body.address), body.data);
      if (request.url === '/del_data') delete boxOf(address)[body.druid];
      const content = request.url === '/get_data' ? boxOf(address) : null;
      response.writeHead(valid ? 200 : 401, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ status: valid ? 'Success' : 'Error', reason: '', content }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
