/**
 * Opens every page of the dashboard in a real browser, wide and light as well as narrow and dark. Checks accessibility, script
 * errors, violations of the content security policy, and horizontal overflow.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { NonRetryableError, serve } from '@everstep/sdk';
import { serveWorkflows } from '@everstep/sdk/testing';
import { openBrowser } from './chromium.fixture.js';
import { DashboardHarness, type SeededRuns, VIEWPORTS, waitUntilEqual } from './dashboard.fixture.js';
import { addressOf, PAGES } from './pages.fixture.js';

const opened = await openBrowser();

describe('dashboard pages', { skip: opened.kind === 'missing' ? opened.missing : false }, () => {
  let harness: DashboardHarness;
  let seeded: SeededRuns;
  before(async () => {
    if (opened.kind === 'missing') return;
    harness = await DashboardHarness.open(opened.browser);
    seeded = await harness.seed();
  });
  after(async () => {
    await harness?.close();
    if (opened.kind === 'open') await opened.browser.close();
  });

  for (const [viewport, size] of Object.entries(VIEWPORTS))
    test(`${viewport}: sign-in page`, async () => {
      const window = await harness.window(size);
      await window.page.goto('/');
      await window.waitUntilSettled();
      await window.page.getByLabel('Email').waitFor();
      await window.screenshot(`sign-in-${viewport}`);
      assert.deepEqual(await window.faults(), []);
      await window.page.close();
    });

  test('every page in each viewport', async (t) => {
    const window = await harness.signedIn();
    for (const [name, page] of Object.entries(PAGES))
      await t.test(name, () =>
        window.inEachViewport(addressOf(page, harness, seeded), async (viewport) => {
          await window.screenshot(`${name}-${viewport}`);
          assert.deepEqual(await window.faults(), [], viewport);
        }),
      );
  });

  test('a histogram above a list zooms by dragging and with the keyboard, and top values set filters', async () => {
    const window = await harness.signedIn();
    const { page } = window;
    await window.goTo('runs?state=RUN_FAILED');
    const histogram = page.getByRole('region', { name: 'Runs by creation time' });
    await waitUntilEqual(() => histogram.getByRole('status').innerText(), '9 runs.');
    const plot = histogram.getByRole('slider');
    const { x, y, width, height } = (await plot.boundingBox()) ?? assert.fail('no histogram');
    await page.mouse.move(x + 2, y + height / 2);
    await page.mouse.down();
    await page.mouse.move(x + width / 2, y + height / 2);
    await page.mouse.up();
    await page.getByRole('button', { name: 'Show all times' }).waitFor();
    const { from, to, state } = await window.parameters();
    assert.ok(Number(from) < Number(to) && state === 'RUN_FAILED');
    await page.getByRole('button', { name: 'Show all times' }).click();
    await waitUntilEqual(() => window.parameters(), { state: 'RUN_FAILED' });
    await plot.press('Home');
    await plot.press('Shift+End');
    await plot.press('Enter');
    await waitUntilEqual(() => histogram.getByRole('status').innerText(), '9 runs.');
    assert.ok((await window.parameters()).from);
    await page.getByRole('button', { name: 'Top values' }).click();
    await page
      .getByRole('region', { name: 'Top values' })
      .getByRole('button', { name: /^\/order/ })
      .waitFor();
    await page.getByLabel('Field').selectOption('label');
    await window.screenshot('histogram');
    assert.deepEqual(await window.faults(), []);
    await page.getByRole('button', { name: 'shop 9' }).click();
    await waitUntilEqual(async () => (await window.parameters()).label, 'shop');
  });

  test('the overview leads to what needs attention and to the pages of workflows', async () => {
    const window = await harness.signedIn();
    const { page } = window;
    await page.getByLabel('Time range').selectOption('1h');
    await waitUntilEqual(() => window.parameters(), { window: '1h' });
    const started = page.locator('dl.insight-figures > div').filter({ hasText: 'Started' });
    await waitUntilEqual(() => started.innerText(), 'Started\n15');
    await page.getByRole('grid', { name: 'Top workflows' }).getByRole('row').filter({ hasText: '/order' }).click();
    await waitUntilEqual(() => window.parameters(), { url: harness.urls['/order'], window: '1h' });
    const steps = page.getByRole('grid', { name: 'Steps' });
    await page.getByLabel('Order of steps').selectOption('failing');
    const failures = (row: number) => steps.getByRole('row').nth(row).getByRole('gridcell').nth(2).innerText();
    await waitUntilEqual(async () => [await failures(1), await failures(-1)], ['3', '0']);
    await page.getByRole('grid', { name: 'Recent failures' }).getByRole('row').nth(1).click();
    await page.waitForURL('**/dead-letters/dlq_*');
    await page.goBack();
    await page.getByRole('link', { name: 'View runs' }).click();
    await waitUntilEqual(() => window.parameters(), { url: harness.urls['/order'] });
    await page.getByRole('grid', { name: 'Runs' }).getByRole('link', { name: '/order' }).first().click();
    await page.getByRole('heading', { name: 'Workflow order' }).waitFor();
    await page.getByRole('link', { name: 'Overview', exact: true }).click();
    await page.getByRole('link', { name: /payment service answered 503 for order 10\d/ }).click();
    await page.waitForURL('**/dead-letters?view=entries&fingerprint=*');
    await page.getByRole('grid').getByRole('row').nth(3).waitFor();
    assert.deepEqual(window.problems, []);
  });

  test('errors beyond those that the overview lists are counted in one line, which leads to their groups', async (t) => {
    const causes = ['stock', 'address', 'courier', 'coupon', 'customer', 'invoice', 'warehouse', 'currency', 'parcel', 'tax'];
    const failing = await serveWorkflows({
      '/fail': serve<string>((context) =>
        context.run('fail', () => {
          throw new NonRetryableError(`no ${context.payload} was found`);
        }),
      ),
    });
    t.after(() => failing.stop());
    const errorsNow = async () => (await harness.client.insights.get()).now.errors;
    const known = await errorsNow();
    for (const body of causes) await harness.client.trigger(failing.urls['/fail'], { body, retries: 0 });
    await waitUntilEqual(errorsNow, known + causes.length);
    const window = await harness.signedIn();
    const { page } = window;
    const list = page.getByLabel('What needs attention').getByRole('listitem');
    await list.getByRole('link', { name: 'no tax was found' }).waitFor();
    const listed = await list.getByRole('link', { name: /was found|payment service|no such street/ }).count();
    await list.getByRole('link', { name: `${known + causes.length - listed} more errors` }).click();
    const groups = page.getByRole('grid', { name: 'Groups of dead letters' });
    for (const cause of causes) await groups.getByText(`no ${cause} was found`).first().waitFor();
    assert.deepEqual(window.problems, []);
  });
});
