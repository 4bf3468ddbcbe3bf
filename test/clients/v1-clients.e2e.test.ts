/**
 * What the SDKs, the explorer and old captures send to real nodes, and what they need to read
 * (docs/clients.md#what-they-need): to each node at its own address, and to the whole network at one.
 */

import { describe, expect, it } from 'vitest';
import { devAccounts } from '../../src/config/dev-accounts.js';
import { sign } from '../../src/crypto/ed25519.js';
import { sha3Hex } from '../../src/crypto/sha3.js';
import { toHex } from '../../src/lib/bytes.js';
import { parseExactJson } from '../../src/lib/json.js';
import type { NodeRole } from '../../src/lib/roles.js';
import { useDevNetwork } from '../support/dev-network.js';

const network = useDevNetwork();

interface Answer {
  readonly status: number;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: clients read members of answers as they come
  readonly body: any;
  readonly type: string;
}

/** Where clients look for the nodes: those of the network know two addresses, many tools one. */
const WHERE: readonly (readonly [string, (role: NodeRole) => string | undefined])[] = [
  ['at the addresses of the nodes', (role) => network().urls[role]],
  ['at one address', () => network().url],
];

describe.each(WHERE)('%s', (_where, addressOf) => {
  async function send(role: NodeRole, path: string, init: RequestInit = {}): Promise<Answer> {
    const response = await fetch(addressOf(role) + path, init);
    const text = await response.text();
    const type = response.headers.get('content-type') ?? '';
    return { status: response.status, text, type, body: text === '' ? undefined : parseExactJson(text) };
  }

  const post = (role: NodeRole, path: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
    send(role, path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });

  const confirmed = (hash: string): Promise<void> =>
    expect
      .poll(async () => (await send('mempool', `/v1/transactions/status?hash=${hash}`)).body[hash]?.status)
      .toBe('Confirmed');

  /** A payment by the user node's wallet, confirmed. */
  async function makeBlock(): Promise<string> {
    const { address } = (await post('miner', '/v1/wallet/addresses', {})).body;
    const paid = await post('user', '/v1/payments', { kind: 'address', address, amount: 1, passphrase: '' });
    expect(paid.status).toBe(202);
    await confirmed(paid.body.tx_hash);
    return paid.body.tx_hash;
  }

  describe('the explorer indexer (EXP)', () => {
    it('reads blocks in chunks of 100 numbers, linked by hash, with coinbase and all transactions retrievable', async () => {
      for (let i = 0; i < 3; i++) await makeBlock();
      const latest = (await send('storage', '/v1/blocks/latest')).body.block.block.header.b_num as number;
      const query = Array.from({ length: 100 }, (_, i) => `num=${i}`).join('&');
      const blocks = (await send('storage', `/v1/blocks?${query}`)).body;
      expect(blocks).toHaveLength(latest + 1);
      for (const [i, { key, data, item_meta }] of blocks.entries()) {
        const { header, transactions } = data.block;
        expect(header.b_num).toBe(i);
        expect(header.previous_hash).toBe(i === 0 ? null : blocks[i - 1].key);
        expect(item_meta).toEqual({ type: 'block', block_num: i, tx_len: transactions.length + 1 });
        if (i > 0) expect(Math.abs(header.timestamp - Date.now() / 1000)).toBeLessThan(3_600);
        const keys = [...transactions, header.nonce_and_mining_tx_hash[1], key];
        const entries = (await post('storage', '/v1/blockchain-entries/query', { keys })).body;
        expect(entries.map((entry: { key: string }) => entry.key)).toEqual(keys);
        expect(entries.at(-2).data.inputs[0].script_signature).toEqual({ stack: [{ Num: i }] });
      }
    });

    it('asks for 200 keys at once', async () => {
      const keys = Array.from({ length: 200 }, () => '000000');
      const answer = await post('storage', '/v1/blockchain-entries/query', { keys });
      expect(answer.status).toBe(200);
      expect(answer.body).toHaveLength(200);
    });

    it('finds the issued supply with a regular expression for digits', async () => {
      const { text } = await send('mempool', '/v1/supply');
      expect(/"issued"\s*:\s*(\d+)/.exec(text)?.[1]).toMatch(/^\d{17}$/);
      expect(text).toContain('"total":360360000000000000');
    });
  });

  describe('sdk-js and sdk-go', () => {
    it('query balances of known and unknown addresses, in the order asked (decision V5)', async () => {
      const { accounts } = devAccounts();
      const addresses = [accounts[3], accounts[1], accounts[2]].map((account) => account?.address ?? '');
      const { status, body, text } = await post('mempool', '/v1/balances/query', {
        addresses: [addresses[0], 'f'.repeat(64), ...addresses.slice(1)],
      });
      expect(status).toBe(200);
      expect(Object.keys(body.balance.address_list)).toEqual(addresses);
      expect(text).not.toContain('"7207200000000000"');
    });

    it('create items without an API key on the dev network (decision V25) and read about them (decision V21)', async () => {
      const created = await post('mempool', '/v1/items', {
        item_amount: 10,
        genesis_hash_spec: 'Create',
        metadata: null,
        script_public_key: 'ec66c99201a7a8299e5acace235b03932c7990cc479eca35ee1dd692a5d3c030',
        public_key: '81903fa291a7f1bdbd91fc7de4aacd1df40a8ceb42a3c51e2eef7e572dbbbd3c',
        signature:
          'de9963ee1f8470d2a66d66626dc58648866b074c77ba6b4a16b03907f3345653be9b5b64bf9a517d1ab2361e8ade6d8ad50f7de0768ab455686227c22a0b5d0a',
      });
      expect(created.status).toBe(201);
      const { tx_hash, asset } = created.body;
      expect(asset).toEqual({ kind: 'item', amount: 10, genesis_hash: tx_hash, metadata: null });
      await confirmed(tx_hash);
      const info = await send('storage', `/v1/items/${tx_hash}`);
      expect(info.body).toMatchObject({
        genesis_hash: tx_hash,
        total_amount: 10,
        metadata: null,
        created: { tx_hash },
      });
      expect((await send('storage', `/v1/items/g${'0'.repeat(31)}`)).status).toBe(404);
    });

    it.each(['user', 'mempool', 'miner'] as const)(
      'serialize and deserialize to the same on the %s node (decisions V17, V23)',
      async (role) => {
        const transaction = {
          inputs: [
            {
              previous_out: { t_hash: 'g0000000000000000000000000000000', n: 0 },
              script_signature: {
                Pay2PkH: {
                  signable_data: 'f08be212a28668213ba2ce1cde01e85ad8df6a430ba217e6d500926976b0ce36',
                  signature:
                    '5d2f1a8fc4ff6e133cf2d992ea1c71345d4b1916b64744b869357b905c62cc9e5c9efa1d2b6fa1cb597209bbf69f492160b4b889db6a2b2303f129dbe57ddd0e',
                  public_key: '3b6a27bcceb6a42d62a3a8d02a6f0d73653215771de243a63ac048a18b59da29',
                  address_version: null,
                },
              },
            },
          ],
          outputs: [{ value: { Token: 1000 }, locktime: 0, script_public_key: 'a'.repeat(64) }],
          version: 2,
          fees: null,
          druid_info: null,
        };
        const serialized = await post(role, '/v1/transactions%3Aserialize', { transactions: [transaction] });
        expect(serialized.body.transactions[0].txn_hash_hex).toMatch(/^g[0-9a-f]{31}$/);
        const hex = serialized.body.transactions[0].txn_hex;
        const back = await post(role, '/v1/transactions:deserialize', { transactions: [hex] });
        expect(back.body.transactions).toEqual([transaction]);
        expect((await post(role, '/v1/transactions:deserialize', { transactions: [`${hex}00`] })).status).toBe(400);
      },
    );

    it('send an empty body with a JSON content type on GET', async () => {
      const headers = { 'content-type': 'application/json' };
      expect((await send('mempool', '/v1/supply', { headers })).status).toBe(200);
    });

    it('fund their tests from the miner with the empty passphrase and no key (decision V25)', async () => {
      const address = devAccounts().accounts[0]?.address ?? '';
      const paid = await post('miner', '/v1/payments', { kind: 'address', address, amount: 5, passphrase: '' });
      expect(paid.status).toBe(202);
      await confirmed(paid.body.tx_hash);
      const wrong = await post('miner', '/v1/payments', { kind: 'address', address, amount: 5, passphrase: 'no' });
      expect(wrong.status).toBe(401);
      expect(wrong.body.code).toBe('wrong_passphrase');
    });

    it('carry 2^53 + 1 and 2^64 - 1 there and back unchanged', async () => {
      for (const amount of ['9007199254740993', '18446744073709551615']) {
        const body = `{"transactions":[{"inputs":[],"outputs":[{"value":{"Token":${amount}},"locktime":0,"script_public_key":null}],"version":2,"druid_info":null}]}`;
        const hex = (await post('user', '/v1/transactions:serialize', body)).body.transactions[0].txn_hex;
        const { text } = await post('user', '/v1/transactions:deserialize', { transactions: [hex] });
        expect(text).toContain(`{"Token":${amount}}`);
      }
    });
  });

  describe('sdk-rust', () => {
    it('asks for statuses by tx_hash, and sends {} for a new address', async () => {
      const hash = await makeBlock();
      const { body } = await send('mempool', `/v1/transactions/status?tx_hash=${hash}`);
      expect(body[hash]).toMatchObject({ status: 'Confirmed' });
      expect((await post('user', '/v1/wallet/addresses', {})).status).toBe(201);
    });

    it('gets a problem with an integer status for everything that is not a 2xx', async () => {
      const answers = [
        await send('storage', '/v1/nothing'),
        await send('storage', '/v1/blocks/latest', { method: 'DELETE' }),
        await post('mempool', '/v1/balances/query', '{'),
        await post('mempool', '/v1/balances/query', 'text', { 'content-type': 'text/plain' }),
        await post('mempool', '/v1/transactions', ' '.repeat(3 * 1024 * 1024)),
        await send('storage', '/v1/blocks/99999999'),
      ];
      expect(answers.map(({ status }) => status)).toEqual([404, 405, 400, 415, 413, 404]);
      for (const { status, body, type } of answers) {
        expect(type).toContain('application/problem+json');
        expect(body.status).toBe(status);
      }
    });
  });

  describe('captures of the old network', () => {
    const item = (change: object = {}): object => ({
      item_amount: 1,
      script_public_key: '881244ab6ccccf37efc13a051fc7f9a47d3fc623d26c4b07d373e1b8b40720b7',
      public_key: 'ae7c8238b1a79ae72dfe27ef608c31b713b01a4b8144d6be3d9bd32d83b8fc3b',
      signature:
        '3d920151b954a014e761dea0d5dc0c68ab332a50a2e2907707890fec2d0fa1b1994b4b86a8cd851b4ff8b2bcb38466fa8618bcb13344e9509a013121706aaf09',
      version: null,
      genesis_hash_spec: 'Create',
      metadata: null,
      ...change,
    });

    it('create the item of the Postman collection, and not with a signature over another text', async () => {
      const id = 'f4f8b2fca058444fab97c601666784db';
      const created = await post('mempool', '/create_item_asset', item(), { 'x-cache-id': id });
      expect(created.body).toMatchObject({
        id,
        status: 'Success',
        route: 'create_item_asset',
        content: { item_amount: 1 },
      });
      const refused = await post('mempool', '/create_item_asset', item({ item_amount: 2 }));
      expect(refused).toMatchObject({ status: 400, body: { id: null, status: 'Error', route: null, content: null } });
    });

    it('are refused where they sign what the rules do not ask for: an item as a receipt, an input without its outputs (docs/clients.md#c15)', async () => {
      const key = devAccounts().accounts[5];
      if (key === undefined) throw new Error('no account');
      const { seed, publicKey } = key.keyPair;
      const signed = (text: string): string => toHex(sign(seed, sha3Hex(text)));
      const asReceipt = item({
        item_amount: 1_000,
        script_public_key: key.address,
        public_key: toHex(publicKey),
        signature: signed('Receipt:1000'),
      });
      expect(await post('mempool', '/create_item_asset', asReceipt)).toMatchObject({
        status: 400,
        body: { status: 'Error' },
      });

      const n = key.outputs[0] ?? 0;
      const old = `${n}-000000`;
      const script = {
        signable_data: sha3Hex(old),
        signature: signed(old),
        public_key: toHex(publicKey),
        address_version: null,
      };
      const transaction = {
        inputs: [{ previous_out: { t_hash: '000000', n }, script_signature: { Pay2PkH: script } }],
        outputs: [{ value: { Token: Number(key.outputAmount) }, locktime: 0, script_public_key: 'a'.repeat(64) }],
        version: 2,
        druid_info: null,
      };
      expect(await post('mempool', '/create_transactions', [transaction])).toMatchObject({
        status: 400,
        body: { status: 'Error' },
      });
      const refused = await post('mempool', '/v1/transactions', { transactions: [transaction] });
      expect(refused).toMatchObject({ status: 500, body: { code: 'invalid_signature' } });
    });

    it('take ids of base36 and requests without an id; refuse ids of another form', async () => {
      const explorer = { 'x-cache-id': '60ddarpg7bnv7j1hl7jl2kkqhav47aom', 'x-nonce': '0' };
      const found = await post('storage', '/blockchain_entry', ['000000'], explorer);
      expect(found.body.content[0][0]).toBe('000000');
      expect((await post('storage', '/blockchain_entry', ['000000'])).body.id).toBe('');
      for (const id of ['a'.repeat(31), 'A'.repeat(32), `${'a'.repeat(31)}-`]) {
        expect((await post('storage', '/blockchain_entry', ['000000'], { 'x-cache-id': id })).status).toBe(400);
      }
    });

    it('create items on the user node, which end up in its wallet', async () => {
      const created = await post('user', '/v1/items', {
        genesis_hash_spec: 'Create',
        item_amount: 3,
        metadata: 'kept',
      });
      expect(created).toMatchObject({ status: 202, body: { item_amount: 3 } });
      await expect.poll(async () => Object.values((await send('user', '/v1/wallet')).body.item_total)).toContain(3);
    });

    it('answer a preflight with the headers that wallets in a browser of this machine send', async () => {
      const origin = 'http://localhost:5173';
      const response = await fetch(`${addressOf('mempool')}/create_transactions`, {
        method: 'OPTIONS',
        headers: {
          origin,
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'x-cache-id, x-nonce, x-api-key, content-type',
        },
      });
      expect(response.ok).toBe(true);
      const allowed = (response.headers.get('access-control-allow-headers') ?? '').toLowerCase();
      for (const name of ['x-cache-id', 'x-nonce', 'x-api-key', 'content-type']) expect(allowed).toContain(name);
      expect(response.headers.get('access-control-allow-origin')).toBe(origin);
    });
  });
});
