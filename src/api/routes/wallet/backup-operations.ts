/** The backup file of a wallet, and moving funds under its words. Extensions of the contract. */

import { Type } from '@sinclair/typebox';
import { section } from '../../operation.js';
import { Amount, EXAMPLE_TX_HASH, named } from '../../schemas/scalars.js';

const wallet = section('Wallet');

const PassphraseRequest = named('PassphraseRequest', 'The passphrase of the wallet.').object(
  {
    passphrase: Type.String({ maxLength: 1_024, format: 'password', description: 'The passphrase of the wallet.' }),
  },
  { passphrase: 'correct horse' },
);

const BackupResponse = named('BackupResponse', 'A backup file.').object(
  { backup: Type.String({ description: 'The text of the file, as `tessera wallet restore` takes it.' }) },
  { backup: '{"kind":"tessera-wallet-backup"}' },
);

const SweepResponse = named('SweepResponse', 'What was moved.').object(
  {
    transactions: Type.Array(Type.String(), { description: 'Hashes of the transactions, which are queued.' }),
    tokens: Amount({ description: 'Raw units that they move.' }),
    tokens_left: Amount({ description: 'Raw units that stay, because they are locked or wait for a block.' }),
  },
  { transactions: [EXAMPLE_TX_HASH], tokens: 1000, tokens_left: 0 },
);

export const backupWallet = wallet.post('backupWallet', '/v1/wallet/backup', {
  reads: true,
  permission: 'export',
  secret: true,
  summary: 'The backup file of the wallet',
  description:
    'An extension of the contract: words, keys that they do not cover, and labels, sealed under the passphrase of the wallet.',
  body: { schema: PassphraseRequest },
  success: { 200: { description: 'The file.', schema: BackupResponse } },
  errors: ['wrong_passphrase', 'no_wallet', 'wallet_unreadable'],
});

export const sweepWallet = wallet.post('sweepWallet', '/v1/wallet/sweep', {
  permission: 'pay',
  summary: 'Move funds to addresses that the words cover',
  description:
    'An extension of the contract: moves all tokens and items from addresses that the words do not cover to new ones that they cover.',
  success: { 202: { description: 'Queued.', schema: SweepResponse } },
  errors: ['no_wallet', 'wallet_unreadable', 'wallet_write_failed'],
});

export const walletBackupOperations = [backupWallet, sweepWallet] as const;
