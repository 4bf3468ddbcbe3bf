/** Stored JSON goes out as the bytes it is kept in, with names for caches. */

import { describe, expect, it } from 'vitest';
import { openApp, send } from '../support/api/app.js';
import { BLOCK_ENTRY, BLOCK_HASH, LATEST, ODD_AMOUNT, TX_ENTRY, TX_HASH } from '../support/api/fakes.js';

const IMMUTABLE = 'public, max-age=31536000, immutable';

describe('stored bytes', () => {
  it.each([
    ['/v1/blocks/7', BLOCK_ENTRY.json],
    [`/v1/blockchain-entries/${TX_HASH}`, TX_ENTRY.json],
    ['/v1/blocks/latest', LATEST.json],
  ])('GET %s sends them untouched', async (url, bytes) => {
    const app = await openApp('storage');
    expect((await send(app, { url })).text).toBe(Buffer.from(bytes).toString());
  });

  it('are joined to a list in the order asked, repeats and all', async () => {
    const app = await openApp('storage');
    const payload = JSON.stringify({ keys: [TX_HASH, 'unknown', BLOCK_HASH, TX_HASH] });
    const sent = await send(app, { method: 'POST', url: '/v1/blockchain-entries/query', payload });
    expect(sent.body.map(({ key }: { key: string }) => key)).toEqual([TX_HASH, BLOCK_HASH, TX_HASH]);
    expect(sent.body[0].data.outputs[0].value.Token).toBe(ODD_AMOUNT);
  });

  it.each([
    ['/v1/blocks/7', BLOCK_HASH],
    [`/v1/blockchain-entries/${TX_HASH}`, TX_HASH],
    [`/v1/blockchain-entries/${BLOCK_HASH}`, BLOCK_HASH],
  ])('GET %s says that they never change', async (url, name) => {
    const app = await openApp('storage');
    const { headers } = await send(app, { url });
    expect(headers.etag).toBe(`"${name}"`);
    expect(headers['cache-control']).toBe(IMMUTABLE);
  });

  it.each([
    ['/v1/blocks/7', `"${BLOCK_HASH}"`, 'no-cache'],
    // The same transaction may be in another block after a revert.
    [`/v1/blockchain-entries/${TX_HASH}`, undefined, undefined],
    ['/v1/blockchain-entries/nLastBlockHashKey', `"${BLOCK_HASH}"`, 'no-cache'],
  ])('GET %s may change on a network that reverts', async (url, etag, control) => {
    const app = await openApp('storage', { modules: { isRevertible: true } });
    const { headers } = await send(app, { url });
    expect([headers.etag, headers['cache-control']]).toEqual([etag, control]);
  });

  it.each(['/v1/blocks/latest', '/v1/blockchain-entries/nLastBlockHashKey'])('GET %s may change', async (url) => {
    const app = await openApp('storage');
    const { headers } = await send(app, { url });
    expect(headers.etag).toBe(`"${BLOCK_HASH}"`);
    expect(headers['cache-control']).toBe('no-cache');
  });

  it.each([`"${BLOCK_HASH}"`, `W/"${BLOCK_HASH}"`, `"x", "${BLOCK_HASH}"`, '*'])(
    'are not sent again to a client that has them (%s)',
    async (known) => {
      const app = await openApp('storage');
      const sent = await send(app, { url: '/v1/blocks/7', headers: { 'if-none-match': known } });
      expect([sent.status, sent.text]).toEqual([304, '']);
    },
  );

  it('are sent to a client that has others', async () => {
    const app = await openApp('storage');
    expect((await send(app, { url: '/v1/blocks/7', headers: { 'if-none-match': '"x"' } })).status).toBe(200);
  });

  it('can be asked for with HEAD', async () => {
    const app = await openApp('storage');
    const sent = await send(app, { method: 'HEAD', url: '/v1/blocks/7' });
    expect([sent.status, sent.text, sent.headers.etag]).toEqual([200, '', `"${BLOCK_HASH}"`]);
  });

  it('say nothing of a name when there are several', async () => {
    const app = await openApp('storage');
    expect((await send(app, { url: '/v1/blocks?num=7' })).headers.etag).toBeUndefined();
  });
});
