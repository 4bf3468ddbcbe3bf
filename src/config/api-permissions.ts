/** Permissions of an API key, by name. */

/**
 * - `read`: history, labels and events of the wallet; asking the mempool node for its funds.
 * - `pay`: payments, items, donations; new addresses and labels.
 * - `export`: the private keys.
 * - `admin`: importing keys, changing the passphrase.
 */
export const API_PERMISSIONS = ['read', 'pay', 'export', 'admin'] as const;
export type ApiPermission = (typeof API_PERMISSIONS)[number];
