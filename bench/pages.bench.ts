/**
 * What the pages cost the browser: milliseconds of script, and of all work of its main thread, for one interaction, with a chain
 * of 10,000 blocks, an address of 100,000 outputs, and a wallet with 20,000 movements.
 */

import { type CDPSession, chromium, type Page } from 'playwright-core';
import { findTool } from '../test/support/tools.js';
import { ADDRESS, BLOCKS, MOVEMENTS, OUTPUTS, openPagesNode } from './pages-node.js';
import { printRow, printSection } from './report.js';

/** Times that the reader turns the wheel. */
const TURNS = 100;
const TURN_PX = 2_000;
/** Blocks that come in a row. */
const NEW_BLOCKS = 20;
const BLOCK_EVERY_MS = 100;
/** Nothing is measured before the page is at rest. */
const REST_MS = 300;
const MS_PER_SECOND = 1_000;

type Figures = Readonly<
  Record<'ScriptDuration' | 'TaskDuration' | 'LayoutDuration' | 'Nodes' | 'JSHeapUsedSize', number>
>;

export async function pagesBench(): Promise<void> {
  const executablePath = findTool('chromium');
  if (executablePath === undefined) {
    console.log('pages: left out, chromium is not installed');
    return;
  }
  const node = await openPagesNode();
  const origin = await node.app.listen({ host: '127.0.0.1', port: 0 });
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
  const page = await browser.newPage({ viewport: { width: 1_280, height: 900 } });
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable');
  printSection('pages: work of the browser for one interaction');
  const measure = async (what: string, times: number, act: () => Promise<void>): Promise<void> => {
    const before = await figures(session);
    await act();
    await page.waitForTimeout(REST_MS);
    const after = await figures(session);
    const each = (name: keyof Figures): number => ((after[name] - before[name]) * MS_PER_SECOND) / times;
    const note = `${each('TaskDuration').toFixed(1)} ms with layout and paint, ${after.Nodes} nodes in memory`;
    printRow({ name: what, value: each('ScriptDuration'), unit: 'ms of script', note });
  };
  const loaded = async (path: string, first: string): Promise<void> => {
    await page.goto(`${origin}${path}`);
    await page.locator(first).first().waitFor();
  };

  await loaded('/', '.lines li');
  await measure('overview: a new block', NEW_BLOCKS, () => everySoOften(page, NEW_BLOCKS, node.addBlock));
  await page.locator('a[href="/blocks"]').first().click();
  await page.locator('.table-body .row').first().waitFor();
  await measure(`${BLOCKS.toLocaleString()} blocks: a turn of the wheel`, TURNS, () => wheel(page));
  await measure(`${BLOCKS.toLocaleString()} blocks: to the end`, 1, () => toEnd(page));
  await measure('a link to a block and back', 1, async () => {
    await page.locator('.table-body .row a').first().click();
    await page.locator('.neighbours, .notice').first().waitFor();
    await page.goBack();
    await page.locator('.table-body .row a').first().waitFor();
  });
  await loaded(`/addresses/${ADDRESS}?show=outputs`, '.table-body .row');
  await measure(`${OUTPUTS.toLocaleString()} outputs: a turn of the wheel`, TURNS, () => wheel(page));
  await measure(`${OUTPUTS.toLocaleString()} outputs: until all are read (each page)`, OUTPUTS / 100, () =>
    readAll(page, OUTPUTS),
  );
  await measure(`${OUTPUTS.toLocaleString()} outputs, all read: a turn of the wheel`, TURNS, () =>
    wheel(page, -TURN_PX),
  );
  await loaded('/wallet/history', '.table-body .row');
  await measure(`${MOVEMENTS.toLocaleString()} movements: a turn of the wheel`, TURNS, () => wheel(page));
  await measure(`${MOVEMENTS.toLocaleString()} movements: until all are read (each page)`, MOVEMENTS / 100, () =>
    readAll(page, MOVEMENTS),
  );
  await measure(`${MOVEMENTS.toLocaleString()} movements, all read: a new one`, NEW_BLOCKS, () =>
    everySoOften(page, NEW_BLOCKS, node.addMovement),
  );
  await measure(`${MOVEMENTS.toLocaleString()} movements, all read: a turn of the wheel`, TURNS, () =>
    wheel(page, -TURN_PX),
  );
  await browser.close();
  await node.app.close();
}

async function figures(session: CDPSession): Promise<Figures> {
  const { metrics } = await session.send('Performance.getMetrics');
  return Object.fromEntries(metrics.map(({ name, value }) => [name, value])) as unknown as Figures;
}

async function everySoOften(page: Page, times: number, add: () => void): Promise<void> {
  for (let count = 0; count < times; count++) {
    add();
    await page.waitForTimeout(BLOCK_EVERY_MS);
  }
}

async function wheel(page: Page, pixels = TURN_PX): Promise<void> {
  await page.mouse.move(600, 500);
  for (let count = 0; count < TURNS; count++) await page.mouse.wheel(0, pixels);
}

async function toEnd(page: Page): Promise<void> {
  await page.keyboard.press('End');
  await page.locator('.table-body a[href="/blocks/0"]').waitFor();
}

/** Goes to the end of what is there until it is the end of all. */
async function readAll(page: Page, count: number): Promise<void> {
  await page.evaluate(`new Promise((resolve) => {
    const turn = () => {
      scrollTo(0, document.documentElement.scrollHeight);
      const rows = document.querySelectorAll('.table-body .row');
      const last = Number(rows[rows.length - 1]?.getAttribute('aria-rowindex') ?? 0);
      if (last >= ${count}) resolve();
      else requestAnimationFrame(turn);
    };
    turn();
  })`);
}
