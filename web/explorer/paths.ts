/** The paths of what the chain has. */

const part = (name: string | number | bigint): string => encodeURIComponent(String(name));

export const blockPath = (name: string | number | bigint): string => `/blocks/${part(name)}`;
export const transactionPath = (hash: string): string => `/transactions/${part(hash)}`;
export const addressPath = (address: string): string => `/addresses/${part(address)}`;
export const itemPath = (genesisHash: string): string => `/items/${part(genesisHash)}`;
export const searchPath = (text: string): string => `/search?q=${part(text)}`;
