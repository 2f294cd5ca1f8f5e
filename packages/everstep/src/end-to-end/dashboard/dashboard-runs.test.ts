/** Tests the run pages in a real browser: lists and filters, the page of a run, and actions on it. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { openBrowser } from './chromium.fixture.js';
import { DashboardHarness, type SeededRuns, type Window, waitUntilEqual } from './dashboard.fixture.js';

const opened = await openBrowser();

describe('run pages', { skip: opened.kind === 'missing' ? opened.missing : false }, () => {
  let harness: DashboardHarness;
  let seeded: SeededRuns;
  let window: Window;
  before(async () => {
    if (opened.kind === 'missing') return;
    harness = await DashboardHarness.open(opened.browser);
    seeded = await harness.seed();
    window = await harness.signedIn();
  });
  after(async () => {
    await harness?.close();
    if (opened.kind === 'open') await opened.browser.close();
  });
  const rowOf = (id: string) => window.page.getByRole('row').filter({ hasText: id });
  const stepOf = (name: string) => window.page.getByRole('option').filter({ hasText: name });
  const heading = (name: string | RegExp) => window.page.getByRole('heading', { level: 1, name });
  const dialog = () => window.page.getByRole('dialog');
  const HELD = /the flow control key "held": the key is paused/;
  /** Triggers a run that does not start until `release`. */
  const held: typeof harness.triggerAt = async (path, options) => {
    await harness.client.flowControl.pin('held', { parallelism: 10 });
    await harness.client.flowControl.pause('held');
    return harness.triggerAt(path, { ...options, flowControl: { key: 'held' } });
  };
  const release = () => harness.client.flowControl.resume('held');

  test('an open list offers a new run without moving', async () => {
    await window.goTo('runs');
    const { page } = window;
    await rowOf(seeded.good).waitFor();
    const before = await page.getByRole('row').nth(1).innerText();
    const { workflowRunId } = await harness.triggerAt('/approval', { body: { id: 900 } });
    const show = page.getByRole('button', { name: 'Show 1 new run' });
    await show.waitFor();
    assert.equal((await page.getByRole('row').nth(1).innerText()).split('\n')[1], before.split('\n')[1]);
    await show.click();
    await rowOf(workflowRunId).waitFor();
    assert.deepEqual(window.problems, []);
  });

  test('a running run is updated in place', async () => {
    await window.goTo('runs');
    await rowOf(seeded.waiting).getByText('Event "approval/5"').waitFor();
    await harness.client.notify({ eventId: 'approval/5' });
    await rowOf(seeded.waiting).getByText('Succeeded').waitFor();
  });

  test('filters and search are in the URL and survive the Back button', async () => {
    await window.goTo('runs');
    const { page } = window;
    await page.getByLabel('State').selectOption('RUN_FAILED');
    await waitUntilEqual(() => window.parameters(), { state: 'RUN_FAILED' });
    await rowOf(seeded.failed[8] ?? '').waitFor();
    await rowOf(seeded.good).waitFor({ state: 'detached' });
    await page.getByLabel('Search', { exact: true }).fill('payment 503');
    await waitUntilEqual(() => window.parameters(), { state: 'RUN_FAILED', q: 'payment 503' });
    await rowOf(seeded.failed[0] ?? '').waitFor();
    await rowOf(seeded.failed[8] ?? '').waitFor({ state: 'detached' });
    await rowOf(seeded.failed[0] ?? '').click();
    await heading(/wfr_/).waitFor();
    await page.goBack();
    await rowOf(seeded.failed[0] ?? '').waitFor();
    await waitUntilEqual(() => page.getByLabel('Search', { exact: true }).inputValue(), 'payment 503');
    await page.getByLabel('Search', { exact: true }).fill('no such thing anywhere');
    await page.getByText('No matching runs').waitFor();
    await page.getByRole('button', { name: 'Clear filters' }).first().click();
    await rowOf(seeded.good).waitFor();
  });

  test('runs are filtered by what they wait for and by duration, and sorted by creation', async () => {
    await window.goTo('runs');
    const { page } = window;
    await page.getByLabel('Waiting for').selectOption('retry');
    await rowOf(seeded.retrying).getByText('Retry 1 of 5').waitFor();
    await rowOf(seeded.good).waitFor({ state: 'detached' });
    await waitUntilEqual(() => window.parameters(), { waits: 'retry' });
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await rowOf(seeded.good).waitFor();
    await page.getByRole('button', { name: 'Created' }).click();
    await waitUntilEqual(() => page.getByRole('row').nth(1).locator('.run-link').getAttribute('title'), seeded.good);
    await page.locator('[aria-sort=ascending]').waitFor();
    await page.getByRole('button', { name: 'More filters' }).click();
    await page.getByLabel('Took at least').fill('1h');
    await page.getByText('No matching runs').waitFor();
    await waitUntilEqual(() => window.parameters(), { order: 'oldest-first', min: '1h' });
  });

  test('the keyboard moves through a list and opens a run', async () => {
    await window.goTo('runs');
    const { page } = window;
    await page.getByRole('row').nth(1).focus();
    await page.keyboard.press('j');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('k');
    const id = (await page.getByRole('row').nth(2).locator('.run-link').getAttribute('title')) ?? '';
    await waitUntilEqual(() => page.locator('[role=row]:focus .run-link').getAttribute('title'), id);
    await page.keyboard.press('Enter');
    await heading(id).waitFor();
    await waitUntilEqual(() => page.locator('h1:focus').count(), 1, 'the heading of the new page has the focus');
  });

  test('hovering over a time in a list shows it in both time zones', async () => {
    await window.goTo('runs');
    const { page } = window;
    await rowOf(seeded.good).locator('time').hover();
    const exact = page.locator('.tooltip');
    assert.match(await exact.innerText(), /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\n.+ local\n(.+ago|just now)$/);
    await page.keyboard.press('Escape');
    await page.mouse.move(0, 0);
    await exact.waitFor({ state: 'detached' });
    assert.deepEqual(window.problems, []);
  });

  test('the focused row shows its exact times and is described by them', async () => {
    await window.goTo('runs');
    const { page } = window;
    await page.getByRole('row').nth(1).focus();
    await page.keyboard.press('j');
    const exact = page.getByText(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/);
    const described = async (row: number): Promise<boolean> => {
      const id = await page.getByRole('row').nth(row).getAttribute('aria-describedby');
      if (id === null) return false;
      return / UTC.* local/.test((await page.locator(`[id="${id}"]`).allTextContents()).join());
    };
    await exact.waitFor();
    await waitUntilEqual(() => described(2), true);
    await page.keyboard.press('j');
    await waitUntilEqual(() => described(3), true);
    await waitUntilEqual(() => described(2), false);
    await exact.waitFor();
    await page.keyboard.press('Escape');
    await exact.waitFor({ state: 'detached' });
    assert.deepEqual(window.problems, []);
  });

  test('on a phone, touching a time shows it exactly, and a list shows errors', async () => {
    const phone = await harness.signedIn({ width: 390, height: 844, hasTouch: true });
    await phone.goTo('runs');
    const row = phone.page.getByRole('row').filter({ hasText: 'payment service answered 503' }).first();
    await row.locator('time').tap();
    const exact = phone.page.getByText(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/);
    await exact.waitFor();
    await row.getByText('payment service').tap();
    await phone.page.getByRole('heading', { level: 1, name: /wfr_/ }).waitFor();
    await phone.waitUntilSettled();
    await phone.page.locator('time').first().tap();
    await exact.waitFor();
    assert.deepEqual(phone.problems, []);
  });

  test('the run id in a list is a link that does not reload the document', async () => {
    await window.goTo('runs');
    const { page } = window;
    await page.evaluate('window.sameDocument = true');
    await rowOf(seeded.good).locator('.run-link').click();
    await heading(seeded.good).waitFor();
    assert.equal(await page.evaluate('window.sameDocument'), true);
    assert.ok(new URL(page.url()).searchParams.has('createdAt'));
  });

  test('a row opens in a new tab with Ctrl or the middle button, and a group of dead letters is a link', async () => {
    for (const [address, path] of [
      ['runs', '/runs/wfr_'],
      ['dead-letters', '/dead-letters'],
    ] as const) {
      await window.goTo(address);
      const { page } = window;
      const row = page.getByRole('row').nth(1);
      const before = page.url();
      assert.ok((await row.locator('a').first().getAttribute('href'))?.includes(path), address);
      for (const click of [{ modifiers: ['Control' as const] }, { button: 'middle' as const }]) {
        const [tab] = await Promise.all([page.context().waitForEvent('page'), row.locator('time').first().click(click)]);
        await tab.waitForURL((url) => url.pathname.includes(path));
        await tab.close();
      }
      assert.equal(page.url(), before);
    }
  });

  test('the navigation, the title and the icon of the tab count dead letters and new groups', async () => {
    await window.goTo('runs');
    const { page } = window;
    await page.getByRole('link', { name: 'Dead letters (9 dead letters, 3 new groups)' }).waitFor();
    await waitUntilEqual(() => page.title(), '(9, 3 new) Runs · Everstep');
    assert.match((await page.locator('link[rel=icon]').getAttribute('href')) ?? '', /^data:image\/svg.*3%3C/);
  });

  test('a run is triggered from the page with the payload of a recent run, and run again with a different payload', async () => {
    await window.goTo('runs?action=trigger');
    const { page } = window;
    await dialog().getByLabel('Workflow URL').fill(harness.urls['/order']);
    const recent = dialog().getByLabel('Recent payloads');
    await recent.selectOption(await recent.locator('option').filter({ hasText: seeded.good }).getAttribute('value'));
    await waitUntilEqual(async () => JSON.parse((await dialog().getByLabel('Payload (optional)').inputValue()) || 'null'), {
      id: 1,
      items: 2,
    });
    assert.deepEqual(await window.faults(), []);
    await dialog().getByRole('button', { name: 'Trigger run' }).click();
    await page.getByText('parcel A1 ch_1').first().waitFor();
    await page.getByRole('button', { name: 'Run again' }).click();
    await dialog().getByLabel('Input').fill('{"id":2}');
    assert.deepEqual(await window.findings(), []);
    await dialog().getByRole('button', { name: 'Run with edited input' }).click();
    await page.getByText('parcel A2 ch_2').first().waitFor();
  });

  test('a label is a link to the runs that have it', async () => {
    await window.goTo('runs');
    await rowOf(seeded.good).getByRole('link', { name: 'eu', exact: true }).click();
    await waitUntilEqual(() => window.parameters(), { label: 'eu' });
    await rowOf(seeded.failed[0] ?? '').waitFor({ state: 'detached' });
    await rowOf(seeded.good).waitFor();
  });

  test('a window of 900 pixels has room for 20 runs, and the header of the list stays in view', async () => {
    await window.goTo('runs');
    const { page } = window;
    const [top = 0, height = 1] = await page.evaluate<[number, number]>(
      "[document.querySelector('.table-body').getBoundingClientRect().top, document.querySelector('.table-row').getBoundingClientRect().height]",
    );
    assert.ok((900 - top) / height >= 20, `${top} px above rows of ${height} px`);
    await page.setViewportSize({ width: 1440, height: 400 });
    await page.evaluate('window.scrollTo(0, 300)');
    await waitUntilEqual(() => page.evaluate("document.querySelector('.table-head').getBoundingClientRect().top"), 0);
    await page.setViewportSize({ width: 1440, height: 900 });
  });

  test('an id is copied on pages without a secure context too', async () => {
    const insecure = await harness.window({ like: window });
    await insecure.page.addInitScript("Object.defineProperty(navigator, 'clipboard', { value: undefined })");
    await insecure.page.goto(`${new URL(window.page.url()).pathname.split('/').slice(0, 3).join('/')}/runs/${seeded.good}`);
    await insecure.waitUntilSettled();
    await insecure.page.getByRole('button', { name: 'Copy run id' }).click();
    await insecure.page.getByText('Copied run id').waitFor();
    assert.deepEqual(insecure.problems, []);
    const other = await insecure.page.context().newPage();
    await other.goto('/');
    assert.equal(await other.evaluate('navigator.clipboard.readText()'), seeded.good);
  });

  test('the page of a run shows its steps with requests and responses', async () => {
    await window.goTo(`runs/${seeded.failed[0]}`);
    const { page } = window;
    await page.getByText('payment service answered 503').first().waitFor();
    await stepOf('charge').click();
    const panel = page.getByRole('complementary', { name: 'Step charge' });
    await panel.getByText('Attempt 1').waitFor();
    const fact = (name: string) =>
      panel
        .locator('dl > div')
        .filter({ has: page.getByText(name, { exact: true }) })
        .first()
        .locator('dd');
    assert.match(await fact('Failed').innerText(), /^\d\d:\d\d:\d\d$/);
    assert.match(await fact('Duration').innerText(), /^[\d.]+ m?s$/);
    await panel.getByText('POST').waitFor();
    await panel.getByText('Response', { exact: true }).waitFor();
    await panel.getByText('Reconstructed from the input and the journal').waitFor();
    await panel.getByLabel('Request body, attempt 1').getByText('"recorded"').waitFor();
    await window.screenshot('run-failed-step');
    await page.keyboard.press('Escape');
    await window.goTo(`runs/${seeded.good}`);
    await stepOf('reserve').focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.getByRole('complementary', { name: 'Step invoice' }).getByText('"inv-1"').first().waitFor();
    await page.keyboard.press('Escape');
    await page.locator('[role=option]:focus').filter({ hasText: 'invoice' }).waitFor();
    assert.deepEqual(window.problems, []);
  });

  test('a waiting run explains what it waits for', async () => {
    await window.goTo(`runs/${seeded.retrying}`);
    await window.page.getByText('Current status').waitFor();
    await window.page
      .getByText(/not yet \(1\)/)
      .first()
      .waitFor();
    await stepOf('flaky').getByText('1 failed').waitFor();
  });

  test('nothing moves on the page of a run when the run ends', async () => {
    const own = await harness.signedIn({ width: 900, height: 1100 });
    const { page } = own;
    const { workflowRunId } = await held('/order', { body: { id: 902 } });
    await own.goTo(`runs/${workflowRunId}`);
    await page.getByText(HELD).waitFor();
    await own.watchShifts();
    await release();
    await page.getByText('The run succeeded; nothing is pending.').waitFor();
    await page.getByRole('option').filter({ hasText: 'ship' }).waitFor();
    await page.getByRole('region', { name: 'Output' }).getByText('parcel').waitFor();
    await own.screenshot('run-watched-good-900', true);
    assert.deepEqual(await own.shifts(), []);
    assert.deepEqual(own.problems, []);
  });

  for (const viewport of [
    { width: 1440, height: 900 },
    { width: 390, height: 844 },
  ])
    test(`nothing moves when steps exceed the visible rows and the run fails, ${viewport.width} px wide`, async () => {
      const own = await harness.signedIn(viewport);
      const { page } = own;
      const { workflowRunId } = await held('/long', { body: { steps: 12, failsAfterwards: true }, retries: 0 });
      await own.goTo(`runs/${workflowRunId}`);
      await page.getByText(HELD).waitFor();
      await own.watchShifts();
      await release();
      await page.getByRole('region', { name: 'Failure' }).getByText('Error: failed after all steps').waitFor();
      await page.getByRole('option').filter({ hasText: 'step 12' }).waitFor();
      await own.screenshot(`run-watched-failed-${viewport.width}`, true);
      assert.deepEqual(await own.shifts(), []);
      assert.deepEqual(await own.findings(), []);
      await page.getByRole('button', { name: 'Show more rows' }).click();
      await page.getByRole('option').filter({ hasText: 'step 1' }).first().waitFor();
      await page.getByRole('button', { name: 'Show fewer rows' }).waitFor();
      assert.deepEqual(own.problems, []);
    });

  test('an open step panel does not move when the step completes', async () => {
    const { workflowRunId } = await harness.triggerAt('/approval', { body: { id: 903 } });
    await window.goTo(`runs/${workflowRunId}`);
    const { page } = window;
    await stepOf('approved').click();
    const panel = page.getByRole('complementary', { name: 'Step approved' });
    await panel.getByText('not yet').first().waitFor();
    await page.mouse.move(5, 5);
    // The browser does not report layout shifts within half a second of a click.
    await page.waitForTimeout(600);
    await window.watchShifts();
    await harness.client.notify({ eventId: 'approval/903' });
    await panel.getByText('Result').waitFor();
    await page.getByText('The run succeeded; nothing is pending.').waitFor();
    assert.deepEqual(await window.shifts(), []);
  });

  test('a run and the run that it invoked link to each other', async () => {
    await window.goTo(`runs/${seeded.parent}`);
    const { page } = window;
    await page.getByRole('region', { name: 'Related runs' }).getByRole('link').click();
    await page.getByText('Invoked by').waitFor();
    await page.getByRole('region', { name: 'Related runs' }).getByRole('link').click();
    await heading(seeded.parent).waitFor();
  });

  test('a failed run is forked with a provided result, and the fork succeeds and shows the edit', async () => {
    await window.goTo(`runs/${seeded.failed[6]}`);
    const { page } = window;
    await page.getByRole('button', { name: 'Fork' }).click();
    await dialog().getByLabel('Edit or provide a result').selectOption({ label: '6: ship' });
    const result = dialog().getByLabel('Result of step 6: ship');
    await result.fill('"by ha');
    await dialog().getByText('Invalid JSON').waitFor();
    assert.equal(await dialog().getByRole('button', { name: 'Start fork' }).isDisabled(), true);
    await result.fill('"by hand"');
    await dialog().getByLabel('Note').fill('the parcel was sent by hand');
    await window.screenshot('fork-dialog');
    await dialog().getByRole('button', { name: 'Start fork' }).click();
    await page.getByText('Forked from').waitFor();
    await page.getByText('"by hand"').first().waitFor();
    await stepOf('ship').getByText('edited', { exact: true }).waitFor();
    await page.getByText('the parcel was sent by hand').first().waitFor();
    await window.goTo(`runs/${seeded.failed[6]}`);
    await page.getByText('Forked as').waitFor();
  });

  test('a failed run is compared with the last successful run of its workflow', async () => {
    await window.goTo(`runs/${seeded.failed[3]}`);
    const { page } = window;
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('menuitem', { name: 'Compare with last successful run' }).click();
    await page.getByText('First difference').waitFor();
    await page.getByRole('region', { name: 'Difference: Input' }).getByText('at .body.id').waitFor();
    await page
      .getByRole('region', { name: 'Difference: Steps' })
      .getByText(/The left run has no step where .* it failed/)
      .waitFor();
    await page.getByText('Only on the right').first().waitFor();
    await window.screenshot('compare');
  });

  test('replay compatibility is checked before a run is resumed, and the new run opens', async () => {
    await window.goTo(`runs/${seeded.failed[1]}`);
    const { page } = window;
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('menuitem', { name: 'Check replay compatibility' }).click();
    await dialog().getByText('Compatible', { exact: true }).waitFor();
    await window.screenshot('check-dialog');
    await dialog().getByRole('button', { name: 'Close' }).click();
    await page.getByRole('button', { name: 'Resume' }).click();
    await dialog().getByRole('button', { name: 'Resume' }).click();
    await page.getByText('Resumed from').waitFor();
    await page.getByText('Succeeded').first().waitFor();
  });

  test('a run is canceled with the keyboard after a confirmation', async () => {
    const { workflowRunId } = await harness.triggerAt('/approval', { body: { id: 901 } });
    await window.goTo(`runs/${workflowRunId}`);
    const { page } = window;
    await page.getByRole('button', { name: 'Cancel' }).press('Enter');
    // Keys that are pressed before the focus is in the dialog go to the page.
    await page.locator('[role="dialog"]:focus-within').waitFor();
    await page.keyboard.press('Escape');
    await dialog().waitFor({ state: 'detached' });
    await page.locator('button:focus').filter({ hasText: 'Cancel' }).waitFor();
    await page.keyboard.press('Enter');
    await dialog().getByRole('button', { name: 'Cancel run' }).press('Enter');
    await page.getByText('Canceled the run').first().waitFor();
    await page.getByText('Canceled', { exact: true }).first().waitFor();
    assert.deepEqual(window.problems, []);
  });

  test('only the visible rows of a run with a thousand steps are rendered', async () => {
    const { workflowRunId } = await harness.triggerAt('/long', { body: { steps: 1_000 } });
    await harness.waitForEnd(workflowRunId);
    await window.goTo(`runs/${workflowRunId}`);
    const { page } = window;
    await page.getByText('Timeline (1,000 steps)').waitFor();
    await page.getByRole('option').nth(10).waitFor();
    const rendered = await page.getByRole('option').count();
    assert.ok(rendered > 10 && rendered < 80, `${rendered} rows`);
    await stepOf('step 1').first().focus();
    await page.keyboard.press('End');
    await stepOf('step 1000').waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('complementary', { name: 'Step step 1000' }).waitFor();
  });

  test('a missing run shows an error with a retry button', async () => {
    await window.goTo('runs/wfr_none');
    await window.page.getByText('run "wfr_none" not found').waitFor();
    await window.page.getByRole('button', { name: 'Retry' }).waitFor();
  });
});
