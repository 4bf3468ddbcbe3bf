/** Permissions of an API key, by name. */

/**
 * `read`: history, labels, events. `pay`: payments, items, donations, new addresses, labels. `export`: private keys. `admin`: importing
 * keys, changing the passphrase.
 */
export const API_PERMISSIONS = ['read', 'pay', 'export', 'admin'] as const;
export type ApiPermission = (typeof API_PERMISSIONS)[number];
