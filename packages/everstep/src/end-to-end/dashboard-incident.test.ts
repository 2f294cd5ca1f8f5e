/**
 * The whole loop of an incident in the dashboard: a deployment fails 500 runs in three ways; they are found, tried, and
 * repaired. Once with the mouse, once with the keyboard alone. In a real browser, on a service of its own.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Locator } from 'playwright-core';
import { openBrowser } from './chromium.fixture.js';
import { becomes, DashboardWorld, type Window } from './dashboard.fixture.js';
import { Incident } from './incident.fixture.js';
import { Keyboard } from './keyboard.fixture.js';

const opened = await openBrowser();
const RUNS = 500;

describe('an incident in the dashboard', { skip: opened.kind === 'missing' ? opened.missing : false }, () => {
  let world: DashboardWorld;
  let incident: Incident;
  before(async () => {
    if (opened.kind === 'missing') return;
    world = await DashboardWorld.open(opened.browser);
    incident = await Incident.open();
    await incident.fail(world.client, RUNS);
  });
  after(async () => {
    await world?.close();
    await incident?.stop();
    if (opened.kind === 'open') await opened.browser.close();
  });

  /** Rows of the table of groups, its head among them. */
  const groups = ({ page }: Window): Locator => page.getByRole('grid', { name: 'Groups of dead letters' }).getByRole('row');
  const groupRow = (window: Window, words: RegExp): Locator => groups(window).filter({ hasText: words });
  /** How many were in which state, in the report. */
  const figures = ({ page }: Window): Promise<readonly string[]> =>
    page.locator('dl.figures > div').evaluateAll((parts) => parts.map((part) => part.textContent ?? ''));

  test('500 failed runs of three kinds are repaired with the mouse: tried, stopped, tried again, done', async () => {
    const window = await world.loggedIn();
    const { page } = window;
    await page.getByRole('link', { name: 'Dead letters' }).click();

    // What failed, why, since when, where.
    await groups(window).nth(3).waitFor();
    await window.screenshot('groups-1440-light');
    await becomes(() => groups(window).count(), 1 + 3);
    for (const [words, count] of [
      [/payment service answered/, 250],
      [/Cannot read properties/, 150],
      [/template of refund/, 100],
    ] as const) {
      const row = groupRow(window, words);
      await row.getByText('New', { exact: true }).waitFor();
      await row.getByText(String(count), { exact: true }).first().waitFor();
    }
    const shared = await groupRow(window, /payment service answered/).innerText();
    assert.match(shared, /\/checkout[\s\S]*150[\s\S]*\/refund[\s\S]*100/);

    // All three of them, by a range.
    await page.getByRole('checkbox', { name: /payment service/ }).waitFor();
    const boxes = groups(window).getByRole('checkbox');
    await boxes.nth(1).click();
    await boxes.nth(3).click({ modifiers: ['Shift'] });
    await page.getByText('3 groups chosen, 500 dead letters').waitFor();
    await page.getByRole('link', { name: 'Plan a repair' }).click();
    await page.getByRole('radio', { name: /^Resume/ }).check();
    await page.getByRole('button', { name: 'Make the plan' }).click();

    // The plan says what would happen, and nothing has happened.
    await page.getByRole('heading', { name: 'Resume 500 dead letters' }).waitFor();
    await page.getByText('750 recorded steps are kept and not done again.').waitFor();
    await page.getByText('20 would replay').waitFor();
    const rate = page.getByLabel('Begun per second, at most', { exact: true });
    await rate.fill('2');
    await page.getByRole('form').getByText('4 min 10 s').waitFor();
    await rate.fill('200');
    await page.getByRole('form').getByText('2.5 s').waitFor();
    await window.screenshot('plan-1440-light', true);
    assert.deepEqual(await window.findings(), []);
    assert.equal(await incident.letters(world.client), RUNS);

    // Nothing is mended yet: the first few say so, and the rest is not touched.
    await page.getByRole('button', { name: 'Resume the first 10' }).click();
    await page.getByText(/^It stopped by itself: \d+ of the first 10 failed again/).waitFor();
    await window.settled();
    await window.screenshot('stopped-1440-light', true);
    assert.equal(await incident.letters(world.client), RUNS);

    // Mended: the first few do well, the rest follows.
    incident.mend();
    await page.getByRole('link', { name: /^Plan again for the other 49\d$/ }).click();
    await page.getByRole('button', { name: 'Make the plan' }).click();
    await page.getByRole('heading', { name: 'Resume 500 dead letters' }).waitFor();
    await rate.fill('200');
    await page.getByRole('button', { name: 'Resume the first 10' }).click();
    await page.getByText('Done: 500 succeeded of 500.').waitFor({ timeout: 120_000 });
    await window.settled();
    const done = ['Succeeded500', 'Failed again0', 'Canceled0', 'Was gone0', 'Under way0', 'Not yet0'];
    await becomes(() => figures(window), done);
    await window.screenshot('done-1440-light', true);
    assert.deepEqual(await window.findings(), []);

    // Nothing is left, and the reports stay.
    await page.getByRole('link', { name: 'To the dead letters' }).click();
    await page.getByText('The queue is empty').waitFor();
    assert.equal(await incident.letters(world.client), 0);
    await page.getByRole('link', { name: 'Repairs', exact: true }).click();
    await page.getByRole('row').filter({ hasText: 'Done' }).click();
    await page.getByText('Done: 500 succeeded of 500.').waitFor();
    await page.getByRole('row').filter({ hasText: 'one of the first' }).first().getByRole('link').last().click();
    await page.waitForURL('**/runs/**');
    await page.getByText('Succeeded').first().waitFor();
    assert.deepEqual(window.problems, []);
  });

  test('the same with the keyboard alone; what comes again after it was repaired is regressed', async () => {
    incident.breakAgain();
    await incident.fail(world.client, RUNS);
    const window = await world.window();
    const { page } = window;
    const keyboard = new Keyboard(page);
    await page.goto('/');
    await page.getByRole('heading', { name: 'Log in' }).waitFor();
    await keyboard.write('textbox', 'E-mail', world.variable('EVERSTEP_ADMIN_EMAIL'));
    await keyboard.write('textbox', 'API key', world.variable('EVERSTEP_ADMIN_API_KEY'));
    await keyboard.press('Enter');
    await page.waitForURL('**/q/**');
    await window.settled();

    await keyboard.enter('link', 'Dead letters');
    await groups(window).nth(3).waitFor();
    await becomes(
      () => page.getByText('Regressed', { exact: true }).count(),
      3 + 1,
      'three badges, and the choice of the filter',
    );
    await keyboard.to('row', /dead letters?|payment|Cannot read|template/);
    await keyboard.press('Space', 'ArrowDown', 'ArrowDown', 'Shift+Space');
    await page.getByText('3 groups chosen, 500 dead letters').waitFor();
    await keyboard.enter('link', 'Plan a repair');

    await page.getByRole('heading', { name: 'Plan a repair' }).waitFor();
    await keyboard.enter('button', 'Make the plan');
    await page.getByRole('heading', { name: 'Resume 500 dead letters' }).waitFor();
    await page.getByText('20 would replay').waitFor();
    await keyboard.write('spinbutton', 'Begun per second, at most', '100');
    await page.getByRole('form').getByText('5 s', { exact: true }).waitFor();
    await keyboard.write('spinbutton', 'How many first', '5');
    await keyboard.write('spinbutton', 'Stop above, % failed', '50');
    await keyboard.enter('button', 'Resume the first 5');
    await page.locator('h1:focus').waitFor();
    await page.getByText(/^It stopped by itself: \d of the first 5 failed again/).waitFor();

    incident.mend();
    await keyboard.enter('link', /^Plan again for/);
    await page.getByRole('heading', { name: 'Plan a repair' }).waitFor();
    await keyboard.enter('button', 'Make the plan');
    await page.getByRole('heading', { name: 'Resume 500 dead letters' }).waitFor();
    await keyboard.write('spinbutton', 'Begun per second, at most', '100');
    await keyboard.to('checkbox', 'Then go on with the rest by itself');
    await keyboard.press('Space');
    await keyboard.enter('button', 'Resume the first 10');

    // The first did well, and the rest waits for a word.
    await page.getByText('The first did well: 10 of 10 succeeded. The rest waits for you.').waitFor();
    await keyboard.to('button', /^Change the rate/);
    await keyboard.press('Enter');
    await keyboard.write('spinbutton', 'Begun per second, at most', '300');
    await keyboard.enter('button', 'Continue at 300 a second');
    await page.getByText('Done: 500 succeeded of 500.').waitFor({ timeout: 120_000 });
    await keyboard.enter('link', 'To the dead letters');
    await page.getByText('The queue is empty').waitFor();
    assert.equal(await incident.letters(world.client), 0);
    assert.deepEqual(window.problems, []);
  });

  test('a repair under way is paused, goes on, and is aborted; what was not begun stays', async () => {
    incident.breakAgain();
    await incident.fail(world.client, 30);
    incident.mend();
    const window = await world.loggedIn({ theme: 'dark' });
    const { page } = window;
    await window.goTo('repairs/new');
    await page.getByRole('button', { name: 'Make the plan' }).click();
    // So slow that a slow page is faster.
    await page.getByLabel('Begun per second, at most', { exact: true }).fill('1');
    await page.getByRole('checkbox', { name: /^Try a few first/ }).uncheck();
    await page.getByRole('button', { name: 'Resume 30 dead letters' }).click();
    await page.getByText(/^Under way: [1-9]/).waitFor();
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByText(/^Paused: /).waitFor();
    await window.screenshot('paused-1440-dark', true);
    assert.deepEqual(await window.findings(), []);
    await page.getByRole('button', { name: 'Continue', exact: true }).click();
    await page.getByText(/^Under way: /).waitFor();
    await page.getByRole('button', { name: 'Abort' }).click();
    await page
      .getByRole('dialog')
      .getByText(/stay in the queue/)
      .waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Abort' }).click();
    await page.getByText(/^Aborted: \d+ succeeded\. \d+ dead letters were not touched/).waitFor();
    const left = await incident.letters(world.client);
    assert.ok(left > 0 && left < 30, `${left} are left`);
    assert.deepEqual(window.problems, []);
  });

  test('a bulk delete waits, counts down, and is undone', async () => {
    const left = await incident.letters(world.client);
    const window = await world.loggedIn({ width: 390, height: 844 });
    const { page } = window;
    await window.goTo('dead-letters');
    await groups(window).nth(1).waitFor();
    await window.screenshot('groups-390-light');
    assert.deepEqual(await window.findings(), []);
    await page.getByRole('link', { name: 'Plan a repair of all' }).click();
    await page.getByRole('radio', { name: /^Delete/ }).check();
    await page.getByRole('button', { name: 'Make the plan' }).click();
    await page.getByRole('heading', { name: `Delete ${left} dead letters` }).waitFor();
    await page.getByRole('button', { name: `Delete ${left} dead letters …` }).click();
    await page
      .getByRole('dialog')
      .getByRole('button', { name: `Delete ${left} dead letters` })
      .click();
    await page.getByText('Nothing is deleted yet.').waitFor();
    await page.locator('h1:focus').waitFor();
    assert.match(await page.getByRole('timer').innerText(), /^(10 min|9 min( \d+ s)?)$/);
    await window.screenshot('undo-390-light', true);
    assert.deepEqual(await window.findings(), []);
    await page.getByRole('button', { name: 'Undo: delete nothing' }).click();
    await page.getByText('Undone: nothing was deleted.').waitFor();
    assert.equal(await incident.letters(world.client), left);
    assert.deepEqual(window.problems, []);
  });

  test('one dead letter shows why it failed, and is restarted or deleted by itself', async () => {
    const left = await incident.letters(world.client);
    const window = await world.loggedIn({ width: 900 });
    const { page } = window;
    await window.goTo('dead-letters?view=entries');
    await page.getByRole('row').nth(1).waitFor();
    await window.screenshot('entries-900-light');
    assert.deepEqual(await window.findings(), []);
    await page.getByRole('row').nth(1).click();
    await page.getByRole('heading', { name: 'What went wrong' }).waitFor();
    await window.settled();
    await window.screenshot('entry-900-light', true);
    assert.deepEqual(await window.findings(), []);
    await page.getByRole('button', { name: 'Restart' }).click();
    await page
      .getByRole('dialog')
      .getByText(/from the first step/)
      .waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Restart' }).click();
    await page.waitForURL('**/runs/**');
    await window.goTo('dead-letters?view=entries');
    await page.getByRole('row').nth(1).click();
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete 1 dead letter' }).click();
    await page.waitForURL('**/dead-letters?view=entries');
    assert.equal(await incident.letters(world.client), left - 2);
    assert.deepEqual(window.problems, []);
  });

  test('a group that is acknowledged is known, and a plan says which runs would not replay', async () => {
    incident.breakAgain();
    await incident.fail(world.client, 20);
    incident.rename();
    const window = await world.loggedIn({ width: 390, height: 844, theme: 'dark' });
    const { page } = window;
    await window.goTo('dead-letters?state=regressed');
    const row = groupRow(window, /template of refund/);
    await row.getByRole('checkbox').click();
    await page.getByRole('button', { name: 'Acknowledge' }).click();
    await page.getByText('Acknowledged 1 group').first().waitFor();
    await window.goTo('dead-letters?state=known');
    await row.click();
    await page.getByRole('region', { name: 'The group' }).getByText('Known', { exact: true }).waitFor();
    await window.settled();
    await window.screenshot('group-390-dark');
    assert.deepEqual(await window.findings(), []);
    await page.getByRole('link', { name: 'Plan a repair of all' }).click();
    await page.getByRole('button', { name: 'Make the plan' }).click();
    await page.getByRole('heading', { name: /^Resume \d+ dead letters/ }).waitFor();
    await page.getByText(/^[1-9]\d* would not replay/).waitFor();
    await page.getByRole('heading', { name: /^These would not replay/ }).waitFor();
    await page
      .getByText(/× Step 1 is recorded/)
      .first()
      .click();
    await page.locator('.check-runs').first().getByRole('link').first().waitFor();
    await window.screenshot('differs-390-dark', true);
    assert.deepEqual(await window.findings(), []);
    await page.getByRole('link', { name: /^Plan a restart of .* instead$/ }).click();
    await page.getByRole('radio', { name: /^Restart/, checked: true }).waitFor();
    await page.getByRole('button', { name: 'Make the plan' }).click();
    await page.getByRole('heading', { name: /^Restart \d+ dead letters/ }).waitFor();
    assert.deepEqual(window.problems, []);
  });
});
