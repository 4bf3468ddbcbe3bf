/** The session of the README, in a network of containers. */

import { readFileSync } from 'node:fs';
import type { Session } from './session.js';

/** The account and the amount of the README's session. */
export const ACCOUNT = 'a5684800b1fb871d78120745ca82847810763fdb6ffaed3f8a72a4ce5d4bb14d';
export const AMOUNT = 72_072_000;

/** The `curl` lines of the README, in their order. */
export function readmeLines(): string[] {
  const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
  return readme.split('\n').filter((line) => line.startsWith('curl '));
}

/** What the account has, as the mempool node at this address says. */
export async function balanceAt(session: Session, url: string): Promise<number> {
  const answer = await session.ask<{ balance: { total: { tokens: number } } }>(`${url}/v1/balances?address=${ACCOUNT}`);
  return answer.balance.total.tokens;
}

export async function runReadme(session: Session, lines: readonly string[], mempoolUrl: string): Promise<void> {
  session.section("The README's session");
  const before = await balanceAt(session, mempoolUrl);
  const isPaid = async () => ((await balanceAt(session, mempoolUrl)) === before + AMOUNT ? true : undefined);
  for (const line of lines) {
    const { body, status } = await session.curl(line);
    const isMistake = line.endsWith('/seven');
    if (isMistake)
      session.check('a mistake is answered with a problem document', status === 400 && body.includes('"code"'));
    else if (status < 200 || status > 299) throw new Error(`${line}: ${status} ${body}`);
    if (line.includes('/v1/payments')) await session.until('the payment in the balance', isPaid);
  }
  session.check('the account has what was paid', (await isPaid()) === true, `${before} + ${AMOUNT} raw units`);
}
