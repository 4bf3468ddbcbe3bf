export function walletWork(load: (path: string) => Promise<unknown>): Promise<Record<string, unknown>>;
