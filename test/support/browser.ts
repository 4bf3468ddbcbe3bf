/** A real browser for tests of pages: what it must not do is collected, and axe-core judges what it shows. */

import axe from 'axe-core';
import { type Browser, type BrowserContext, chromium, type Locator, type Page } from 'playwright-core';
import { expect, onTestFinished, vi } from 'vitest';
import { until } from './processes.js';
import { findTool } from './tools.js';

/** For `describe.runIf(HAS_BROWSER)`. */
export const HAS_BROWSER = findTool('chromium') !== undefined;

/** Far beyond what anything takes: a busy machine must not fail what only waits. */
const TIMEOUT_MS = 90_000;
// Some calls of a browser have no limit of their own, and one that hangs should not hold up the others for long.
vi.setConfig({ testTimeout: 2 * TIMEOUT_MS });

export function launchBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: findTool('chromium') ?? '', args: ['--no-sandbox'] });
}

/** `PAGES_LOOK=360,dark` opens every page at this width and in these colours (`npm run test:pages`), whatever the test names. */
export const LOOK = lookOf(process.env.PAGES_LOOK);

function lookOf(text: string | undefined) {
  const found = /^(\d+),(dark|light)$/.exec(text ?? '');
  if (found === null) return undefined;
  const colorScheme = found[2] === 'dark' ? ('dark' as const) : ('light' as const);
  return { colorScheme, viewport: { width: Number(found[1]), height: 800 } };
}

export interface WatchedPage {
  readonly page: Page;
  /** Errors that nobody caught, errors in the console, and breaches of the policy. */
  readonly faults: string[];
  /** Requests to anybody but the node. */
  readonly elsewhere: string[];
}

/** What the browser says, sometimes without a text, of answers that a page expects: 404 of what is searched, 503 of what is not ready, nobody there. */
const EXPECTED = /^$|Failed to load resource/;

export async function watchedPage(context: BrowserContext, origin: string): Promise<WatchedPage> {
  const page = await context.newPage();
  page.setDefaultTimeout(TIMEOUT_MS);
  const faults: string[] = [];
  const elsewhere: string[] = [];
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(`${origin}/`) && !url.startsWith('data:') && !url.startsWith('blob:')) elsewhere.push(url);
  });
  page.on('pageerror', (error) => faults.push(error.stack ?? error.message));
  page.on('console', (message) => {
    if (message.type() === 'error' && !EXPECTED.test(message.text())) faults.push(message.text());
  });
  return { page, faults, elsewhere };
}

export interface PageOptions {
  readonly context?: Parameters<Browser['newContext']>[0];
  /** Before it goes to the address. */
  readonly prepare?: (page: Page) => Promise<unknown>;
}

/** A page of its own in a context of its own; whatever it did that it must not is seen at the end of the test. */
export async function openPage(
  browser: Browser,
  url: string,
  { context: own = {}, prepare }: PageOptions = {},
): Promise<WatchedPage & { readonly context: BrowserContext }> {
  const common = { viewport: { width: 1_280, height: 900 }, locale: 'en-US', timezoneId: 'UTC' };
  const context = await browser.newContext({ ...common, ...own, ...LOOK });
  const watched = await watchedPage(context, new URL(url).origin);
  onTestFinished(async () => {
    if (LOOK !== undefined && !watched.page.isClosed()) {
      expect(await sidewaysScroll(watched.page)).toBeLessThanOrEqual(0);
      expect(await axeFindings(watched.page)).toEqual([]);
    }
    await context.close();
    expect(watched.faults).toEqual([]);
    expect(watched.elsewhere).toEqual([]);
  });
  await prepare?.(watched.page);
  await watched.page.goto(url);
  return { ...watched, context };
}

/** What axe-core finds serious or critical on the page as it is, one line each; by all of its rules, or by these. */
export async function axeFindings(page: Page, rules?: readonly string[]): Promise<readonly string[]> {
  // Colours are judged when what has just come has faded in.
  const isStill =
    "document.getAnimations().every((one) => one.playState !== 'running' || one.effect.getComputedTiming().endTime === Infinity)";
  await until('the page to be still', async () => (await page.evaluate<boolean>(isStill)) || undefined);
  // As the debugger, not as a script of the page: the policy of the page stays in force.
  await page.evaluate(`if (typeof axe === 'undefined') { ${axe.source} }`);
  const options = { resultTypes: ['violations'], ...(rules === undefined ? {} : { runOnly: rules }) };
  return page.evaluate<string[]>(`axe.run(document, ${JSON.stringify(options)}).then(({ violations }) =>
    violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, help, nodes }) => id + ': ' + help + ': ' + nodes.slice(0, 3).map(({ html }) => html).join(' | ')))`);
}

/** Pixels by which the page is wider than the window. */
export function sidewaysScroll(page: Page): Promise<number> {
  return page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
}

/** Both ways through a page, each at its end of the widths and colours: a flow is taken both ways. */
export const WAYS = {
  keyboard: { colorScheme: 'dark', viewport: { width: 360, height: 800 } },
  mouse: { colorScheme: 'light', viewport: { width: 1_280, height: 800 } },
} as const;

export type Way = keyof typeof WAYS;

/** The ways in which each flow is taken: both by `npm run test:pages`. The test suite takes that which is harder to keep. */
export const WAYS_TAKEN: readonly Way[] = LOOK === undefined ? ['keyboard'] : ['keyboard', 'mouse'];

/** Presses a button or follows a link: with the mouse, or with Tab up to it and Enter. */
export async function press(target: Locator, way: Way): Promise<void> {
  if (way === 'mouse') return target.click();
  await tabTo(target);
  await target.page().keyboard.press('Enter');
}

/** Types into a field, after a click into it or Tab up to it. */
export async function type(target: Locator, text: string, way: Way): Promise<void> {
  if (way === 'mouse') return target.fill(text);
  await tabTo(target);
  await target.page().keyboard.press('Control+a');
  await target.page().keyboard.insertText(text);
}

const MOST_STOPS = 200;

/** Goes on with Tab from where the focus is, until it is on the target, which is on the page and not switched off. */
async function tabTo(target: Locator): Promise<void> {
  await target.waitFor();
  await until('it to be switched on', async () => (await target.isEnabled()) || undefined);
  const focused = target.and(target.page().locator(':focus'));
  for (let stops = 0; stops < MOST_STOPS; stops++) {
    if ((await focused.count()) > 0) return;
    await target.page().keyboard.press('Tab');
  }
  throw new Error(`Tab does not lead to ${String(target)}`);
}
