/** Tests in a real browser what is in view on small and medium screens, and that everything there works by touch. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { openBrowser } from './chromium.fixture.js';
import { DashboardHarness, type SeededRuns, type Window, waitUntilEqual } from './dashboard.fixture.js';

const opened = await openBrowser();

/** Least number of whole rows that fit below the header of a list, by page and window. */
const ROOM: readonly (readonly [page: string, width: number, height: number, rows: number])[] = [
  ['runs', 1440, 900, 20],
  ['runs', 1366, 900, 20],
  ['runs', 1024, 768, 16],
  ['dead-letters?view=entries', 1440, 900, 19],
  ['dead-letters?view=entries', 1366, 900, 19],
  ['dead-letters?view=entries', 1024, 768, 14],
  ['audit', 1366, 900, 20],
];

/** Evaluated in the page: whole rows that fit into the window if all are as high as the highest. */
const ROWS_IN_VIEW = `(() => {
  const { top } = document.querySelector('.table-body').getBoundingClientRect();
  const bottom = innerHeight - (document.querySelector('.selection-bar')?.offsetHeight ?? 0);
  const height = Math.max(...[...document.querySelectorAll('.table-row')].map((row) => row.getBoundingClientRect().height));
  return Math.floor((bottom - top) / height);
})()`;

describe('the dashboard on screens of each size', { skip: opened.kind === 'missing' ? opened.missing : false }, () => {
  let harness: DashboardHarness;
  let seeded: SeededRuns;
  before(async () => {
    if (opened.kind === 'missing') return;
    harness = await DashboardHarness.open(opened.browser);
    seeded = await harness.seed({ steps: 1 });
  });
  after(async () => {
    await harness?.close();
    if (opened.kind === 'open') await opened.browser.close();
  });
  const phone = (): Promise<Window> => harness.signedIn({ width: 390, height: 844, hasTouch: true });
  const isInView = (page: Page, name: RegExp): Promise<boolean> =>
    page
      .getByRole('button', { name })
      .boundingBox()
      .then((box) => box !== null && box.y >= 0 && box.y + box.height <= 844);

  test('lists show as many rows as their screens have room for, with and without the histogram', async () => {
    const window = await harness.signedIn();
    for (const [page, width, height, rows] of ROOM) {
      await window.page.setViewportSize({ width, height });
      await window.goTo(page);
      await window.page.getByRole('row').nth(1).waitFor();
      const shown = await window.page.evaluate<number>(ROWS_IN_VIEW);
      assert.ok(shown >= rows, `${page} shows ${shown} rows at ${width}x${height}`);
      assert.deepEqual(await window.faults(), [], `${page} at ${width}x${height}`);
    }
    await window.page.setViewportSize({ width: 1366, height: 900 });
    await window.goTo('dead-letters?view=entries');
    await window.page.getByRole('button', { name: 'Histogram', expanded: true }).click();
    await window.page.getByRole('slider').waitFor({ state: 'detached' });
    assert.ok((await window.page.evaluate<number>(ROWS_IN_VIEW)) >= 20);
    await window.goTo('runs');
    await window.page.getByRole('button', { name: 'Histogram', expanded: false }).click();
    await window.page.getByRole('slider').waitFor();
    await window.page.reload();
    await window.page.getByRole('slider').waitFor();
  });

  test('a phone shows columns below others, and the button that sorts by one of them', async () => {
    const window = await phone();
    const { page } = window;
    await window.goTo('runs');
    await page.getByRole('columnheader', { name: 'Run Created' }).getByRole('button', { name: 'Created' }).tap();
    await waitUntilEqual(() => window.parameters(), { order: 'oldest-first' });
    await waitUntilEqual(() => page.getByRole('row').nth(1).locator('.run-link').getAttribute('title'), seeded.good);
    await page.getByRole('row').nth(1).getByText('eu', { exact: true }).waitFor();
    await page.locator('[aria-sort=ascending]').waitFor();
    await window.goTo('audit');
    await page.getByRole('row').nth(1).getByText('127.0.0.1').waitFor();
    assert.deepEqual(await window.faults(), []);
  });

  test('the count of dead letters is not cut off while their page is open', async () => {
    const window = await harness.signedIn();
    for (const width of [1440, 1366, 1024]) {
      await window.page.setViewportSize({ width, height: 900 });
      await window.goTo('dead-letters');
      const count = window.page.locator('.nav-count');
      await count.getByText('9 · 3 new').waitFor();
      assert.equal(await count.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth), 0, `at ${width} pixels`);
    }
  });

  test('a medium screen shows event ids, places in the code and figures in full', async () => {
    const window = await harness.signedIn({ width: 1024, height: 768 });
    const { page } = window;
    const isWhole = (selector: string): Promise<boolean> =>
      page
        .locator(selector)
        .first()
        .evaluate((element) => element.scrollWidth <= element.clientWidth);
    await window.goTo('events');
    await page.getByRole('row').filter({ hasText: 'approval/5' }).waitFor();
    assert.equal(await isWhole('.table-row .copy .clip'), true);
    await window.goTo('dead-letters');
    await page.getByRole('row').nth(1).waitFor();
    assert.equal(await isWhole('.group-location .ends-last'), true);
    await page.setViewportSize({ width: 1440, height: 900 });
    await window.goTo('overview');
    await page.getByText(/^Failed \(\d+\.\d%\)$/).waitFor();
    assert.equal(
      await page.locator('.insight-figures dd').evaluateAll((all) => all.every((one) => one.scrollWidth <= one.clientWidth)),
      true,
    );
  });

  test('a phone shows the counts of dead letters and of new groups apart', async () => {
    const window = await phone();
    await window.page.getByRole('button', { name: 'Open navigation' }).tap();
    await window.page.getByRole('dialog').getByText('9 · 3 new', { exact: true }).waitFor();
  });

  test('the button that starts a repair is in view on a phone before and after scrolling', async () => {
    const { repairId } = await harness.client.repairs.plan('resume', { filter: {} });
    const window = await phone();
    const { page } = window;
    await window.goTo(`repairs/${repairId}`);
    await page.getByRole('heading', { name: 'Resume 9 dead letters' }).waitFor();
    await waitUntilEqual(() => isInView(page, /^Resume 9 dead letters$/), true);
    await window.screenshot('plan-390-light');
    assert.deepEqual(await window.faults(), []);
    await page.evaluate('window.scrollTo(0, document.documentElement.scrollHeight)');
    await waitUntilEqual(() => isInView(page, /^Discard plan$/), true);
    await page.getByRole('button', { name: 'Discard plan' }).tap();
    await page.getByText(/discarded; nothing was changed/).waitFor();
  });

  test('a histogram zooms by touch, and a touch that scrolls does not zoom', async () => {
    const window = await phone();
    const { page } = window;
    await window.goTo('runs?state=RUN_FAILED');
    const plot = page.getByRole('slider');
    await plot.waitFor();
    const { x, y, width, height } = (await plot.boundingBox()) ?? assert.fail('no histogram');
    const devtools = await page.context().newCDPSession(page);
    // At the pace of a finger: after a flick, the browser takes the next tap as the end of the movement and not as a click.
    const touch = async (...points: readonly (readonly [number, number])[]) => {
      const now = Date.now() / 1000;
      for (const [index, [atX, atY]] of points.entries())
        await devtools.send('Input.dispatchTouchEvent', {
          type: index === 0 ? 'touchStart' : 'touchMove',
          touchPoints: [{ x: atX, y: atY }],
          timestamp: now + (index - points.length) / 4,
        });
      await devtools.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [], timestamp: now });
    };
    const middle = y + height / 2;
    await touch([x + 4, middle], [x + width / 4, middle], [x + width / 2, middle], [x + width - 4, middle]);
    await page.getByRole('button', { name: 'Show all times' }).waitFor();
    const { from, to } = await window.parameters();
    assert.ok(Number(from) < Number(to));
    await page.getByRole('button', { name: 'Show all times' }).tap();
    await waitUntilEqual(() => window.parameters(), { state: 'RUN_FAILED' });
    await touch([x + 40, middle], [x + 42, middle - 60], [x + 42, middle - 200]);
    await waitUntilEqual(() => page.evaluate<boolean>('window.scrollY > 50'), true);
    assert.deepEqual(await window.parameters(), { state: 'RUN_FAILED' });
    assert.deepEqual(await window.faults(), []);
  });
});
