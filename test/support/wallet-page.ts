/** What tests do on the wallet page. */

import type { Page } from 'playwright-core';
import { press, type, type Way } from './browser.js';

/** The first account of the dev network. */
export const PAYEE = 'a5684800b1fb871d78120745ca82847810763fdb6ffaed3f8a72a4ce5d4bb14d';

/** Fills the form and confirms it, up to the button that pays. */
export async function review(
  page: Page,
  amount: string,
  unit: 'tokens' | 'raw units',
  address: string = PAYEE,
  way: Way = 'mouse',
): Promise<void> {
  await type(page.getByLabel('To', { exact: true }), address, way);
  await type(page.getByLabel('Amount', { exact: true }), amount, way);
  await page.getByLabel('Unit').selectOption({ label: unit });
  await press(page.getByRole('button', { name: 'Review' }), way);
  await page.getByRole('heading', { name: 'Is this right?' }).waitFor();
}

/** Goes to another page of the same document. */
export function goTo(page: Page, path: string): Promise<void> {
  return page.evaluate(
    `history.pushState(null, '', ${JSON.stringify(path)}); dispatchEvent(new PopStateEvent('popstate'))`,
  );
}
