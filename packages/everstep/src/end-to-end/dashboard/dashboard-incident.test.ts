/**
 * Tests a whole incident in a real browser: a deployment fails 500 runs in three ways, and the runs are found, tested with a
 * canary and repaired, first with the mouse and then only with the keyboard.
 */
import assert from 'node:assert/strict';
import { json as readJson } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import type { Locator } from 'playwright-core';
import { listen } from '../nodes.fixture.js';
import { openBrowser } from './chromium.fixture.js';
import { DashboardHarness, type Window, waitUntilEqual } from './dashboard.fixture.js';
import { Incident } from './incident.fixture.js';
import { Keyboard } from './keyboard.fixture.js';

const opened = await openBrowser();
const RUNS = 500;

describe('an incident in the dashboard', { skip: opened.kind === 'missing' ? opened.missing : false }, () => {
  let harness: DashboardHarness;
  let incident: Incident;
  before(async () => {
    if (opened.kind === 'missing') return;
    harness = await DashboardHarness.open(opened.browser);
    incident = await Incident.open();
    await incident.fail(harness.client, RUNS);
  });
  after(async () => {
    await harness?.close();
    await incident?.stop();
    if (opened.kind === 'open') await opened.browser.close();
  });

  /** Rows of the table of groups, including its header. */
  const groups = ({ page }: Window): Locator => page.getByRole('grid', { name: 'Groups of dead letters' }).getByRole('row');
  const groupRow = (window: Window, text: RegExp): Locator => groups(window).filter({ hasText: text });
  /** Counts per state in the report. */
  const figures = ({ page }: Window): Promise<readonly string[]> =>
    page.locator('dl.figures > div').evaluateAll((parts) => parts.map((part) => part.textContent ?? ''));

  test('500 failed runs with three errors are repaired with the mouse after a failed canary', async () => {
    const window = await harness.signedIn();
    const { page } = window;
    await page.getByRole('link', { name: 'Dead letters' }).click();

    // Three groups of failures.
    await groups(window).nth(3).waitFor();
    await window.screenshot('groups-1440-light');
    await waitUntilEqual(() => groups(window).count(), 1 + 3);
    for (const [text, count] of [
      [/payment service answered/, 250],
      [/Cannot read properties/, 150],
      [/template of refund/, 100],
    ] as const) {
      const row = groupRow(window, text);
      await row.getByText('New', { exact: true }).waitFor();
      await row.getByText(String(count), { exact: true }).first().waitFor();
      // The line shows the user's own code that threw the error.
      await row.getByText(/incident\.fixture\.js:\d+/).waitFor();
    }
    const shared = await groupRow(window, /payment service answered/).innerText();
    assert.match(shared, /\/checkout[\s\S]*150[\s\S]*\/refund[\s\S]*100/);

    // Select all three as a range.
    await page.getByRole('checkbox', { name: /payment service/ }).waitFor();
    const boxes = groups(window).getByRole('checkbox');
    await boxes.nth(1).click();
    await boxes.nth(3).click({ modifiers: ['Shift'] });
    await page.getByText('3 groups selected, 500 dead letters').waitFor();
    await page.getByRole('link', { name: 'Plan repair' }).click();
    await page.getByRole('radio', { name: /^Resume/ }).check();
    await page.getByRole('button', { name: 'Create plan' }).click();

    // The plan describes its effects; nothing has changed yet.
    await page.getByRole('heading', { name: 'Resume 500 dead letters' }).waitFor();
    await page.getByText('750 recorded steps are kept and not run again.').waitFor();
    await page.getByText('20 compatible').waitFor();
    const included = page.getByRole('region', { name: 'Included in this repair' });
    await included.getByText(/payment service answered 503 for order \d+/).waitFor();
    await included.getByText('/checkout', { exact: true }).waitFor();
    const rate = page.getByLabel('Max starts per second', { exact: true });
    await rate.fill('2');
    await page.getByRole('form').getByText('4 min 10 s').waitFor();
    await rate.fill('200');
    await page.getByRole('form').getByText('2.5 s').waitFor();
    await window.screenshot('plan-1440-light', true);
    assert.deepEqual(await window.findings(), []);
    assert.equal(await incident.countDeadLetters(harness.client), RUNS);

    // The app is not fixed yet: the canary fails and the other entries are not processed.
    await page.getByRole('button', { name: 'Resume 10 and wait' }).click();
    await page.getByText(/^Stopped automatically: \d+ of the first 10 failed again/).waitFor();
    await window.waitUntilSettled();
    await window.screenshot('stopped-1440-light', true);
    assert.equal(await incident.countDeadLetters(harness.client), RUNS);

    // The app is fixed: the canary passes and the other entries follow.
    incident.fix();
    await page.getByRole('link', { name: /^Plan repair of the other 49\d and the \d+ that failed again$/ }).click();
    await page.getByRole('button', { name: 'Create plan' }).click();
    await page.getByRole('heading', { name: 'Resume 500 dead letters' }).waitFor();
    await rate.fill('200');
    await page.getByRole('checkbox', { name: 'Then continue with the rest automatically' }).check();
    await page.getByRole('button', { name: 'Resume 10 first, then all 500' }).click();
    await page.getByText('Done: 500 of 500 succeeded.').waitFor({ timeout: 120_000 });
    await window.waitUntilSettled();
    const done = ['Succeeded500', 'Failed again0', 'Canceled0', 'Already handled0', 'In progress0', 'Pending0'];
    await waitUntilEqual(() => figures(window), done);
    await window.screenshot('done-1440-light', true);
    assert.deepEqual(await window.findings(), []);

    // No dead letters are left, and the report stays.
    await page.getByRole('link', { name: 'View dead letters' }).click();
    await page.getByText('No dead letters', { exact: true }).waitFor();
    assert.equal(await incident.countDeadLetters(harness.client), 0);
    await page.getByRole('link', { name: 'Repairs', exact: true }).click();
    await page.getByRole('row').filter({ hasText: 'Done' }).click();
    await page.getByText('Done: 500 of 500 succeeded.').waitFor();
    await page.getByRole('row').filter({ hasText: 'canary' }).first().getByRole('link').last().click();
    await page.waitForURL('**/runs/**');
    await page.getByText('Succeeded').first().waitFor();
    assert.deepEqual(window.problems, []);
  });

  test('the same repair works with the keyboard only, and errors that occur again after a repair are regressed', async () => {
    incident.break();
    await incident.fail(harness.client, RUNS);
    const window = await harness.window();
    const { page } = window;
    const keyboard = new Keyboard(page);
    await page.goto('/');
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await keyboard.write('textbox', 'Email', harness.variable('EVERSTEP_ADMIN_EMAIL'));
    await keyboard.write('textbox', 'API key', harness.variable('EVERSTEP_ADMIN_API_KEY'));
    await keyboard.press('Enter');
    await page.waitForURL('**/q/**');
    await window.waitUntilSettled();

    await keyboard.enter('link', /^Dead letters/);
    await groups(window).nth(3).waitFor();
    await waitUntilEqual(() => page.getByText('Regressed', { exact: true }).count(), 3 + 1, 'three badges and the filter option');
    await keyboard.to('row', /dead letters?|payment|Cannot read|template/);
    await keyboard.press('Space', 'ArrowDown', 'ArrowDown', 'Shift+Space');
    await page.getByText('3 groups selected, 500 dead letters').waitFor();
    await keyboard.enter('link', 'Plan repair');

    await page.getByRole('heading', { name: 'Plan repair' }).waitFor();
    await keyboard.enter('button', 'Create plan');
    await page.getByRole('heading', { name: 'Resume 500 dead letters' }).waitFor();
    await page.getByText('20 compatible').waitFor();
    await keyboard.write('spinbutton', 'Max starts per second', '100');
    await page.getByRole('form').getByText('5 s', { exact: true }).waitFor();
    await keyboard.write('spinbutton', 'Canary size', '5');
    await keyboard.write('spinbutton', 'Max failures (%)', '50');
    await keyboard.enter('button', 'Resume 5 and wait');
    await page.locator('h1:focus').waitFor();
    await page.getByText(/^Stopped automatically: \d of the first 5 failed again/).waitFor();

    incident.fix();
    await keyboard.enter('link', /^Plan repair of/);
    await page.getByRole('heading', { name: 'Plan repair' }).waitFor();
    await keyboard.enter('button', 'Create plan');
    await page.getByRole('heading', { name: 'Resume 500 dead letters' }).waitFor();
    await keyboard.write('spinbutton', 'Max starts per second', '100');
    await keyboard.enter('button', 'Resume 10 and wait');

    // The canary passed, and the other entries wait for approval.
    await page.getByText('Canary passed: 10 of 10 succeeded. The rest is waiting for your approval.').waitFor();
    await keyboard.to('button', /^Change rate/);
    await keyboard.press('Enter');
    await keyboard.write('spinbutton', 'Max starts per second', '300');
    await keyboard.enter('button', 'Continue at 300 per second');
    await page.getByText('Done: 500 of 500 succeeded.').waitFor({ timeout: 120_000 });
    await keyboard.enter('link', 'View dead letters');
    await page.getByText('No dead letters', { exact: true }).waitFor();
    assert.equal(await incident.countDeadLetters(harness.client), 0);
    assert.deepEqual(window.problems, []);
  });

  test('a running repair is paused, continued and aborted, and pending entries stay in the queue', async () => {
    incident.break();
    await incident.fail(harness.client, 30);
    incident.fix();
    const window = await harness.signedIn({ theme: 'dark' });
    const { page } = window;
    await window.goTo('repairs/new');
    await page.getByRole('button', { name: 'Create plan' }).click();
    // The rate is slow enough that even a slow page keeps up.
    await page.getByLabel('Max starts per second', { exact: true }).fill('1');
    await page.getByRole('checkbox', { name: /^Run a canary first/ }).uncheck();
    await page.getByRole('button', { name: 'Resume 30 dead letters' }).click();
    await page.getByText(/^In progress: [1-9]/).waitFor();
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByText(/^Paused: /).waitFor();
    await window.screenshot('paused-1440-dark', true);
    assert.deepEqual(await window.findings(), []);
    await page.getByRole('button', { name: 'Continue', exact: true }).click();
    await page.getByText(/^In progress: /).waitFor();
    await page.getByRole('button', { name: 'Abort' }).click();
    await page
      .getByRole('dialog')
      .getByText(/stay in the dead letter queue/)
      .waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Abort repair' }).click();
    await page.getByText(/^Aborted: \d+ succeeded\. \d+ dead letters were not processed/).waitFor();
    const left = await incident.countDeadLetters(harness.client);
    assert.ok(left > 0 && left < 30, `${left} are left`);
    assert.deepEqual(window.problems, []);
  });

  test('the link in the notice of an alert leads to exactly its dead letters, which are repaired with five clicks', async (t) => {
    const before = await incident.countDeadLetters(harness.client);
    const { alerts } = harness.client;
    const concerned = 12;
    const notices: { readonly type: string; readonly dashboardUrl: string }[] = [];
    const receiver = await listen((request, response) => {
      void readJson(request).then((notice) => {
        notices.push(notice as (typeof notices)[number]);
        response.writeHead(200).end();
      });
    });
    t.after(() => receiver.close());
    await alerts.destinations.put('people', { kind: 'webhook', url: receiver.url });
    const workflowUrl = incident.urls['/checkout'];
    await alerts.rules.put('incident', { condition: { kind: 'run-failed', workflowUrl }, destinations: ['people'] });
    incident.break();
    await incident.fail(harness.client, 20);
    await waitUntilEqual(() => incident.countDeadLetters(harness.client), before + 20);
    incident.fix();
    await waitUntilEqual(async () => notices.length, 1);
    await alerts.rules.delete('incident');
    const window = await harness.signedIn({ width: 390, height: 844, theme: 'dark' });
    const { page } = window;
    await page.goto(notices[0]?.dashboardUrl ?? '');
    await page.getByText('None selected: a repair applies to all that match the filters').waitFor();
    await window.screenshot('alert-390-dark', true);
    await page.getByRole('link', { name: 'Plan repair for all' }).click();
    await page.getByRole('button', { name: 'Create plan' }).click();
    await page.getByRole('heading', { name: `Resume ${concerned} dead letters` }).waitFor();
    await page.getByRole('checkbox', { name: 'Then continue with the rest automatically' }).check();
    await page.getByRole('button', { name: `Resume 10 first, then all ${concerned}` }).click();
    await page.getByText(`Done: ${concerned} of ${concerned} succeeded.`).waitFor({ timeout: 120_000 });
    assert.equal(await incident.countDeadLetters(harness.client), before + 20 - concerned);
    assert.deepEqual(window.problems, []);
  });

  test('a bulk delete counts down and is undone', async () => {
    const left = await incident.countDeadLetters(harness.client);
    const window = await harness.signedIn({ width: 390, height: 844 });
    const { page } = window;
    await window.goTo('dead-letters');
    await groups(window).nth(1).waitFor();
    await window.screenshot('groups-390-light');
    assert.deepEqual(await window.findings(), []);
    await page.getByRole('link', { name: 'Plan repair for all' }).click();
    await page.getByRole('radio', { name: /^Delete/ }).check();
    await page.getByRole('button', { name: 'Create plan' }).click();
    await page.getByRole('heading', { name: `Delete ${left} dead letters` }).waitFor();
    await page.getByRole('button', { name: `Delete ${left} dead letters…` }).click();
    await page
      .getByRole('dialog')
      .getByRole('button', { name: `Delete ${left} dead letters` })
      .click();
    await page.getByText('Nothing is deleted yet.').waitFor();
    await page.locator('h1:focus').waitFor();
    assert.match(await page.getByRole('timer').innerText(), /^(10 min|9 min( \d+ s)?)$/);
    await window.screenshot('undo-390-light', true);
    assert.deepEqual(await window.findings(), []);
    await page.getByRole('button', { name: 'Undo deletion' }).click();
    await page.getByText('Undone: nothing was deleted.').waitFor();
    assert.equal(await incident.countDeadLetters(harness.client), left);
    assert.deepEqual(window.problems, []);
  });

  test('every place that shows an error shows its message, own frames and causes', async () => {
    const window = await harness.signedIn();
    const { page } = window;
    const copied = (): Promise<string> => page.evaluate('navigator.clipboard.readText()');
    const { messages } = await harness.client.dlq.list();
    const [charged, mailed] = ['answered 503', 'the template'].map((text) => messages.find(({ error }) => error.includes(text)));
    assert.ok(charged?.fingerprint && mailed?.fingerprint);

    await window.goTo(`dead-letters/${charged.dlqId}`);
    await page.getByText('Step "charge" (2) failed and is not retried').waitFor();
    await page.getByText('Caused by TypeError: connect ECONNREFUSED 10.0.0.7:5432').waitFor();
    await page.getByRole('button', { name: 'Copy error' }).click();
    await page.getByText('Copied error').waitFor();
    assert.match(await copied(), /^NonRetryableError: payment .+\n( {4}at .+\n)+Caused by TypeError: connect .+\n {4}at /);

    // The step panel shows the stack once, and not escaped in the response.
    await window.goTo(`runs/${charged.workflowRunId}`);
    await page.getByRole('option').filter({ hasText: 'charge' }).click();
    const panel = page.getByRole('complementary', { name: 'Step charge' });
    await panel.getByRole('list', { name: 'Your code' }).first().waitFor();
    await panel.getByText('Caused by TypeError: connect ECONNREFUSED 10.0.0.7:5432').waitFor();
    await panel.getByText('"(shown above)"').first().waitFor();
    assert.doesNotMatch(await panel.innerText(), /\\n\s*at /);
    await window.screenshot('step-panel-1440-light', true);
    assert.deepEqual(await window.findings(), []);

    // A long message is folded, here and in the group.
    for (const place of [`runs/${mailed.workflowRunId}`, `dead-letters?view=entries&fingerprint=${mailed.fingerprint}`]) {
      await window.goTo(place);
      const message = page.locator('.error-message').first();
      assert.match(await message.innerText(), /^NonRetryableError: the template of refund \d+ was not found\nsearched in .+ …$/s);
      await page.getByRole('button', { name: 'Show all' }).click();
      assert.doesNotMatch(await message.innerText(), /…/);
      assert.ok((await message.innerText()).length > 1_900);
      assert.deepEqual(await window.findings(), []);
    }
    assert.deepEqual(window.problems, []);
  });

  test('a single dead letter shows its error and is restarted or deleted', async () => {
    const left = await incident.countDeadLetters(harness.client);
    const window = await harness.signedIn({ width: 900 });
    const { page } = window;
    await window.goTo('dead-letters?view=entries');
    await page.getByRole('row').nth(1).waitFor();
    await window.screenshot('entries-900-light');
    assert.deepEqual(await window.findings(), []);
    await page.getByRole('row').nth(1).click();
    await page.getByRole('heading', { name: 'Error', exact: true }).waitFor();
    await window.waitUntilSettled();
    await window.screenshot('entry-900-light', true);
    assert.deepEqual(await window.findings(), []);
    await page.getByRole('list', { name: 'Your code' }).first().getByText('incident.fixture.js').first().waitFor();
    await page.getByRole('button', { name: 'Restart' }).click();
    await page
      .getByRole('dialog')
      .getByText(/at the first step/)
      .waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Restart' }).click();
    await page.waitForURL('**/runs/**');
    await window.goTo('dead-letters?view=entries');
    await page.getByRole('row').nth(1).click();
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete dead letter' }).click();
    await page.waitForURL('**/dead-letters?view=entries');
    assert.equal(await incident.countDeadLetters(harness.client), left - 2);
    assert.deepEqual(window.problems, []);
  });

  test('an acknowledged group is known, and a plan shows incompatible runs', async () => {
    incident.break();
    await incident.fail(harness.client, 20);
    incident.rename();
    const window = await harness.signedIn({ width: 390, height: 844, theme: 'dark' });
    const { page } = window;
    await window.goTo('dead-letters?state=regressed');
    const row = groupRow(window, /template of refund/);
    await row.getByRole('checkbox').click();
    await page.getByRole('button', { name: 'Acknowledge' }).click();
    await page.getByText('Acknowledged 1 group').first().waitFor();
    await window.goTo('dead-letters?state=known');
    await row.click();
    await page.getByRole('region', { name: 'Group', exact: true }).getByText('Known', { exact: true }).waitFor();
    await window.waitUntilSettled();
    await window.screenshot('group-390-dark');
    assert.deepEqual(await window.findings(), []);
    await page.getByRole('link', { name: 'Plan repair for all' }).click();
    await page.getByRole('button', { name: 'Create plan' }).click();
    await page.getByRole('heading', { name: /^Resume \d+ dead letters/ }).waitFor();
    await page.getByText(/^[1-9]\d* incompatible/).waitFor();
    await page.getByRole('heading', { name: /^Incompatible: / }).waitFor();
    await page
      .getByText(/× Step 1 is recorded/)
      .first()
      .click();
    await page.locator('.check-runs').first().getByRole('link').first().waitFor();
    await window.screenshot('differs-390-dark', true);
    assert.deepEqual(await window.findings(), []);
    await page.getByRole('link', { name: /^Plan a restart of .* instead$/ }).click();
    await page.getByRole('radio', { name: /^Restart/, checked: true }).waitFor();
    await page.getByRole('button', { name: 'Create plan' }).click();
    await page.getByRole('heading', { name: /^Restart \d+ dead letters/ }).waitFor();
    assert.deepEqual(window.problems, []);
  });
});
