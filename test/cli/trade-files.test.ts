/** How trades look on the command line. */

import { expect, it } from 'vitest';
import { showTrade, type Trade } from '../../src/cli/trade.js';

it('shows a trade whatever time its maker has written into it', () => {
  const asset = { kind: 'token' as const, amount: '1', genesis_hash: null };
  const trade = { trade_id: 'ab', state: 'received', give: asset, get: asset, metadata: null, reason: null };
  const shown = (end: string): string => showTrade({ ...trade, expires_at: end } as unknown as Trade);
  expect(shown('1767229200')).toContain('stands until 2026-01-01T01:00:00.000Z');
  expect(shown('9007199254740991')).toContain('stands until second 9007199254740991');
});
