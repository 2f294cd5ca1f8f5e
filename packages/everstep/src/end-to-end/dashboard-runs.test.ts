/** Runs in the dashboard: looking for one, seeing what happened, and doing something about it. In a real browser. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { openBrowser } from './chromium.fixture.js';
import { becomes, DashboardWorld, type Seeded, type Window } from './dashboard.fixture.js';

const opened = await openBrowser();

describe('runs in the dashboard', { skip: opened.kind === 'missing' ? opened.missing : false }, () => {
  let world: DashboardWorld;
  let seeded: Seeded;
  let window: Window;
  before(async () => {
    if (opened.kind === 'missing') return;
    world = await DashboardWorld.open(opened.browser);
    seeded = await world.seed();
    window = await world.loggedIn();
  });
  after(async () => {
    await world?.close();
    if (opened.kind === 'open') await opened.browser.close();
  });
  const rowOf = (id: string) => window.page.getByRole('row').filter({ hasText: id });
  const stepOf = (name: string) => window.page.getByRole('option').filter({ hasText: name });
  const heading = (name: string | RegExp) => window.page.getByRole('heading', { level: 1, name });
  const dialog = () => window.page.getByRole('dialog');
  const HELD = /the flow control key "held", which is paused/;
  /** Triggers a run that does not start until `release`. */
  const held: typeof world.triggerAt = async (path, options) => {
    await world.client.flowControl.pin('held', { parallelism: 10 });
    await world.client.flowControl.pause('held');
    return world.triggerAt(path, { ...options, flowControl: { key: 'held' } });
  };
  const release = () => world.client.flowControl.resume('held');

  test('a list that is open tells of a new run without moving', async () => {
    await window.goTo('runs');
    const { page } = window;
    await rowOf(seeded.good).waitFor();
    const before = await page.getByRole('row').nth(1).innerText();
    const { workflowRunId } = await world.triggerAt('/approval', { body: { id: 900 } });
    const show = page.getByRole('button', { name: 'Show 1 new run' });
    await show.waitFor();
    assert.equal((await page.getByRole('row').nth(1).innerText()).split('\n')[1], before.split('\n')[1]);
    await show.click();
    await rowOf(workflowRunId).waitFor();
    assert.deepEqual(window.problems, []);
  });

  test('a run under way is brought up to date where it stands', async () => {
    await window.goTo('runs');
    await rowOf(seeded.waiting).getByText('Running').waitFor();
    await world.client.notify({ eventId: 'approval/5' });
    await rowOf(seeded.waiting).getByText('Succeeded').waitFor();
  });

  test('filters and the free search stand in the URL, and the way back undoes nothing of the page before', async () => {
    await window.goTo('runs');
    const { page } = window;
    await page.getByLabel('State').selectOption('RUN_FAILED');
    await becomes(() => window.parameters(), { state: 'RUN_FAILED' });
    await rowOf(seeded.failed[8] ?? '').waitFor();
    await rowOf(seeded.good).waitFor({ state: 'detached' });
    await page.getByLabel('Search', { exact: true }).fill('payment 503');
    await becomes(() => window.parameters(), { state: 'RUN_FAILED', q: 'payment 503' });
    await rowOf(seeded.failed[0] ?? '').waitFor();
    await rowOf(seeded.failed[8] ?? '').waitFor({ state: 'detached' });
    await rowOf(seeded.failed[0] ?? '').click();
    await heading(/^Run wfr_/).waitFor();
    await page.goBack();
    await rowOf(seeded.failed[0] ?? '').waitFor();
    await becomes(() => page.getByLabel('Search', { exact: true }).inputValue(), 'payment 503');
    await page.getByLabel('Search', { exact: true }).fill('no such thing anywhere');
    await page.getByText('No run matches these filters').waitFor();
    await page.getByRole('button', { name: 'Clear filters' }).first().click();
    await rowOf(seeded.good).waitFor();
  });

  test('a list is gone through and a run is opened with the keyboard', async () => {
    await window.goTo('runs');
    const { page } = window;
    await page.getByRole('row').nth(1).focus();
    await page.keyboard.press('j');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('k');
    const id = (await page.getByRole('row').nth(2).locator('.run-link').getAttribute('title')) ?? '';
    await becomes(() => page.locator('[role=row]:focus .run-link').getAttribute('title'), id);
    await page.keyboard.press('Enter');
    await heading(`Run ${id}`).waitFor();
    await becomes(() => page.locator('h1:focus').count(), 1, 'the page that was come to has the focus');
  });

  test('a time of a list is told in both zones when the pointer rests on it', async () => {
    await window.goTo('runs');
    const { page } = window;
    await rowOf(seeded.good).locator('time').hover();
    const exact = page.locator('.tooltip');
    assert.match(await exact.innerText(), /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\n.+ here\n.+ago$/);
    await page.keyboard.press('Escape');
    await page.mouse.move(0, 0);
    await exact.waitFor({ state: 'detached' });
    assert.deepEqual(window.problems, []);
  });

  test('the times of a row are told when the keyboard rests on it, and the row is described by them', async () => {
    await window.goTo('runs');
    const { page } = window;
    await page.getByRole('row').nth(1).focus();
    await page.keyboard.press('j');
    const exact = page.getByText(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/);
    const described = async (row: number): Promise<boolean> => {
      const id = await page.getByRole('row').nth(row).getAttribute('aria-describedby');
      if (id === null) return false;
      return / UTC.* here/.test((await page.locator(`[id="${id}"]`).allTextContents()).join());
    };
    await exact.waitFor();
    await becomes(() => described(2), true);
    await page.keyboard.press('j');
    await becomes(() => described(3), true);
    await becomes(() => described(2), false);
    await exact.waitFor();
    await page.keyboard.press('Escape');
    await exact.waitFor({ state: 'detached' });
    assert.deepEqual(window.problems, []);
  });

  test('on a telephone a time that is touched is told exactly, and a list says what went wrong', async () => {
    const phone = await world.loggedIn({ width: 390, height: 844, touched: true });
    const row = phone.page.getByRole('row').filter({ hasText: 'payment service answered 503' }).first();
    await row.locator('time').tap();
    const exact = phone.page.getByText(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/);
    await exact.waitFor();
    await row.getByText('payment service').tap();
    await phone.page.getByRole('heading', { level: 1, name: /^Run wfr_/ }).waitFor();
    await phone.settled();
    await phone.page.locator('time').first().tap();
    await exact.waitFor();
    assert.deepEqual(phone.problems, []);
  });

  test('the id of a run in a list is a link of the same page', async () => {
    await window.goTo('runs');
    const { page } = window;
    await page.evaluate('window.sameDocument = true');
    await rowOf(seeded.good).getByRole('link').click();
    await heading(`Run ${seeded.good}`).waitFor();
    assert.equal(await page.evaluate('window.sameDocument'), true);
    assert.ok(new URL(page.url()).searchParams.has('createdAt'));
  });

  test('the page of a run shows its steps, and of each what was sent and what came back', async () => {
    await window.goTo(`runs/${seeded.failed[0]}`);
    const { page } = window;
    await page.getByText('payment service answered 503').first().waitFor();
    await stepOf('charge').click();
    const panel = page.getByRole('complementary', { name: 'Step charge' });
    await panel.getByText('Attempt 1').waitFor();
    await panel.getByText('POST').waitFor();
    await panel.getByText('Response', { exact: true }).waitFor();
    await panel.getByText('Made again from the input and the journal').waitFor();
    await panel.getByLabel('Body of the request, attempt 1').getByText('"recorded"').waitFor();
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

  test('a run that waits says for what', async () => {
    await window.goTo(`runs/${seeded.retrying}`);
    await window.page.getByText('Why it is where it is').waitFor();
    await window.page
      .getByText(/not yet \(1\)/)
      .first()
      .waitFor();
    await stepOf('flaky').getByText('1 failed').waitFor();
  });

  test('nothing moves on the page of a run while it comes to its end', async () => {
    const own = await world.loggedIn({ width: 900, height: 1100 });
    const { page } = own;
    const { workflowRunId } = await held('/order', { body: { id: 902 } });
    await own.goTo(`runs/${workflowRunId}`);
    await page.getByText(HELD).waitFor();
    await own.watchShifts();
    await release();
    await page.getByText('The run has succeeded; nothing is owed.').waitFor();
    await page.getByRole('option').filter({ hasText: 'ship' }).waitFor();
    await page.getByRole('region', { name: 'Output' }).getByText('parcel').waitFor();
    await own.screenshot('run-watched-good-900', true);
    assert.deepEqual(await own.shifts(), []);
    assert.deepEqual(own.problems, []);
  });

  for (const look of [
    { width: 1440, height: 900 },
    { width: 390, height: 844 },
  ])
    test(`nothing moves when more steps come than there is room for and the run fails, ${look.width} wide`, async () => {
      const own = await world.loggedIn(look);
      const { page } = own;
      const { workflowRunId } = await held('/long', { body: { steps: 12, failsAfterwards: true }, retries: 0 });
      await own.goTo(`runs/${workflowRunId}`);
      await page.getByText(HELD).waitFor();
      await own.watchShifts();
      await release();
      await page.getByRole('region', { name: 'Why it failed' }).getByText('the steps were for nothing').waitFor();
      await page.getByRole('option').filter({ hasText: 'step 12' }).waitFor();
      await own.screenshot(`run-watched-failed-${look.width}`, true);
      assert.deepEqual(await own.shifts(), []);
      assert.deepEqual(await own.findings(), []);
      await page.getByRole('button', { name: 'Show more rows' }).click();
      await page.getByRole('option').filter({ hasText: 'step 1' }).first().waitFor();
      await page.getByRole('button', { name: 'Show fewer rows' }).waitFor();
      assert.deepEqual(own.problems, []);
    });

  test('whoever reads an open step goes on reading while it fails, is tried again and is recorded', async () => {
    const { workflowRunId } = await world.triggerAt('/approval', { body: { id: 903 } });
    await window.goTo(`runs/${workflowRunId}`);
    const { page } = window;
    await stepOf('approved').click();
    const panel = page.getByRole('complementary', { name: 'Step approved' });
    await panel.getByText('not yet').first().waitFor();
    await page.mouse.move(5, 5);
    // What follows a click within half a second is taken for its work.
    await page.waitForTimeout(600);
    await window.watchShifts();
    await world.client.notify({ eventId: 'approval/903' });
    await panel.getByText('Result').waitFor();
    await page.getByText('The run has succeeded; nothing is owed.').waitFor();
    assert.deepEqual(await window.shifts(), []);
  });

  test('a run and the one that it invoked lead to each other', async () => {
    await window.goTo(`runs/${seeded.parent}`);
    const { page } = window;
    await page.getByRole('region', { name: 'Relatives' }).getByRole('link').click();
    await page.getByText('Invoked by').waitFor();
    await page.getByRole('region', { name: 'Relatives' }).getByRole('link').click();
    await heading(`Run ${seeded.parent}`).waitFor();
  });

  test('a failed run is forked with a result that is supplied, and the fork succeeds and says what was edited', async () => {
    await window.goTo(`runs/${seeded.failed[6]}`);
    const { page } = window;
    await page.getByRole('button', { name: 'Fork' }).click();
    await dialog().getByLabel('Edit or supply a result').selectOption({ label: '6: ship' });
    const result = dialog().getByLabel('Result of 6: ship');
    await result.fill('"by ha');
    await dialog().getByText('This is no JSON').waitFor();
    assert.equal(await dialog().getByRole('button', { name: 'Start the fork' }).isDisabled(), true);
    await result.fill('"by hand"');
    await dialog().getByLabel('Why').fill('the parcel was sent by hand');
    await window.screenshot('fork-dialog');
    await dialog().getByRole('button', { name: 'Start the fork' }).click();
    await page.getByText('Forked from').waitFor();
    await page.getByText('"by hand"').first().waitFor();
    await stepOf('ship').getByText('edited').waitFor();
    await page.getByText('the parcel was sent by hand').first().waitFor();
    await window.goTo(`runs/${seeded.failed[6]}`);
    await page.getByText('Forked as').waitFor();
  });

  test('a failed run is compared with the last good one of its workflow', async () => {
    await window.goTo(`runs/${seeded.failed[3]}`);
    const { page } = window;
    await page.getByRole('button', { name: 'More that can be done' }).click();
    await page.getByRole('menuitem', { name: 'Compare with the last good run' }).click();
    await page.getByText('The first difference').waitFor();
    await page.getByRole('region', { name: 'in the input' }).getByText('at .body.id').waitFor();
    await page
      .getByRole('region', { name: 'in the steps' })
      .getByText(/The left run has no step any more .* it failed/)
      .waitFor();
    await page.getByText('Only on the right').first().waitFor();
    await window.screenshot('compare');
  });

  test('whether the code still fits is asked before a run is resumed, and the resumed run is come to', async () => {
    await window.goTo(`runs/${seeded.failed[1]}`);
    const { page } = window;
    await page.getByRole('button', { name: 'More that can be done' }).click();
    await page.getByRole('menuitem', { name: 'Check whether the code still fits' }).click();
    await dialog().getByText('It fits').waitFor();
    await window.screenshot('check-dialog');
    await dialog().getByRole('button', { name: 'Close' }).click();
    await page.getByRole('button', { name: 'Resume' }).click();
    await dialog().getByRole('button', { name: 'Resume' }).click();
    await page.getByText('Resumed from').waitFor();
    await page.getByText('Succeeded').first().waitFor();
  });

  test('a run is canceled after a question, and with the keyboard alone', async () => {
    const { workflowRunId } = await world.triggerAt('/approval', { body: { id: 901 } });
    await window.goTo(`runs/${workflowRunId}`);
    const { page } = window;
    await page.getByRole('button', { name: 'Cancel' }).press('Enter');
    await dialog().waitFor();
    await page.keyboard.press('Escape');
    await dialog().waitFor({ state: 'detached' });
    await page.locator('button:focus').filter({ hasText: 'Cancel' }).waitFor();
    await page.keyboard.press('Enter');
    await dialog().getByRole('button', { name: 'Cancel the run' }).press('Enter');
    await page.getByText('The run was canceled').first().waitFor();
    await page.getByText('Canceled', { exact: true }).first().waitFor();
    assert.deepEqual(window.problems, []);
  });

  test('of a run with a thousand steps only those in view are made', async () => {
    const { workflowRunId } = await world.triggerAt('/long', { body: { steps: 1_000 } });
    await world.ended(workflowRunId);
    await window.goTo(`runs/${workflowRunId}`);
    const { page } = window;
    await page.getByText('Timeline: 1000 steps').waitFor();
    await page.getByRole('option').nth(10).waitFor();
    const made = await page.getByRole('option').count();
    assert.ok(made > 10 && made < 80, `${made} rows`);
    await stepOf('step 1').first().focus();
    await page.keyboard.press('End');
    await stepOf('step 1000').waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('complementary', { name: 'Step step 1000' }).waitFor();
  });

  test('a run that does not exist is said not to, with a way to try again', async () => {
    await window.goTo('runs/wfr_none');
    await window.page.getByText('there is no run "wfr_none"').waitFor();
    await window.page.getByRole('button', { name: 'Try again' }).waitFor();
  });
});
