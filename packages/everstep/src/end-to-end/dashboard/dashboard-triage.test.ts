/** Tests in a real browser that a group of dead letters is assigned, snoozed and annotated: with the mouse and with the keyboard. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { openBrowser } from './chromium.fixture.js';
import { DashboardHarness, type Window, waitUntilEqual } from './dashboard.fixture.js';
import { Keyboard } from './keyboard.fixture.js';

const opened = await openBrowser();

describe('triage of dead letters', { skip: opened.kind === 'missing' ? opened.missing : false }, () => {
  let harness: DashboardHarness;
  before(async () => {
    if (opened.kind === 'missing') return;
    harness = await DashboardHarness.open(opened.browser);
    await harness.seed({ steps: 1, letters: 2 });
  });
  after(async () => {
    await harness?.close();
    if (opened.kind === 'open') await opened.browser.close();
  });

  const user = () => harness.variable('EVERSTEP_ADMIN_EMAIL');

  /** Returns what the server has stored about the group whose message contains the text. */
  async function stored(text: string) {
    for await (const group of harness.client.dlq.allGroups())
      if (group.message.includes(text)) {
        const { assignment, snooze, notes, needsAttention } = group;
        return {
          assignee: assignment?.assignee ?? null,
          snoozed: snooze !== null,
          notes: notes.map((note) => note.text),
          needsAttention,
        };
      }
    return assert.fail(`no group contains "${text}"`);
  }
  const rowOf = ({ page }: Window, text: string) =>
    page.getByRole('grid', { name: 'Groups of dead letters' }).getByRole('row').filter({ hasText: text });
  const card = ({ page }: Window) => page.getByRole('region', { name: 'Group', exact: true });
  const newGroups = ({ page }: Window, count: number) =>
    page.getByRole('link', { name: `Dead letters (6 dead letters, ${count} new groups)` }).waitFor();

  test('a group is assigned, snoozed and annotated with the mouse, and its row shows it', async () => {
    const window = await harness.signedIn();
    const { page } = window;
    await window.goTo('dead-letters');
    await newGroups(window, 3);
    await rowOf(window, 'no such street').click();
    await card(window).getByLabel('Assignee').selectOption(user());
    await card(window).getByText(`by ${user()}`).waitFor();
    await card(window).getByLabel('Snooze').selectOption('For 1 day');
    await card(window).getByText('Snoozed until').waitFor();
    await newGroups(window, 2);
    const note = card(window).getByLabel('Notes');
    await note.fill('The address book of the shop is wrong.\nAsked the shop to fix it.');
    await card(window).getByRole('button', { name: 'Add note' }).click();
    await card(window).getByText('Asked the shop to fix it.').waitFor();
    await waitUntilEqual(() => note.inputValue(), '');
    await card(window).getByText('Notes (1)').waitFor();
    const text = 'The address book of the shop is wrong.\nAsked the shop to fix it.';
    assert.deepEqual(await stored('no such street'), {
      ...{ assignee: user(), snoozed: true },
      ...{ notes: [text], needsAttention: false },
    });
    await window.screenshot('triage-1440-light');
    assert.deepEqual(await window.faults(), []);

    await page.getByRole('link', { name: 'By error' }).click();
    const row = rowOf(window, 'no such street');
    await row.getByText(`Assigned to ${user()}`).waitFor();
    await row.getByText('snoozed', { exact: true }).waitFor();
    await row.getByText('The address book of the shop is wrong.').waitFor();
    assert.deepEqual(await window.faults(), []);
  });

  test('dead letters are sorted by the time of the failure, and the order is in the URL', async () => {
    const window = await harness.signedIn();
    const { page } = window;
    const newestFirst: string[] = [];
    for await (const { workflowRunId } of harness.client.dlq.entries()) newestFirst.push(workflowRunId);
    const shown = () =>
      page
        .getByRole('grid', { name: 'Dead letters' })
        .locator('.run-link, [title^="wfr_"]')
        .evaluateAll((links) => links.map((link) => link.getAttribute('title')));
    await window.goTo('dead-letters?view=entries');
    await waitUntilEqual(shown, newestFirst);
    await page.getByRole('button', { name: 'Failed' }).click();
    await waitUntilEqual(shown, newestFirst.toReversed());
    await page.locator('[aria-sort=ascending]').waitFor();
    await waitUntilEqual(() => window.parameters(), { view: 'entries', order: 'oldest-first' });
    await page.reload();
    await waitUntilEqual(shown, newestFirst.toReversed());
    assert.deepEqual(await window.faults(), []);
  });

  test('the same with the keyboard only, and everything is undone', async () => {
    const window = await harness.signedIn({ width: 390, height: 844, theme: 'dark' });
    const { page } = window;
    const keyboard = new Keyboard(page);
    await window.goTo('dead-letters');
    await rowOf(window, 'payment service').waitFor();
    await keyboard.to('row', /NonRetryableError|payment service/);
    for (let row = 0; row < 3 && !/payment service/.test((await keyboard.focused()).name); row++) {
      const { name } = await keyboard.focused();
      await keyboard.press('ArrowDown');
      await waitUntilEqual(async () => (await keyboard.focused()).name === name, false);
    }
    await keyboard.press('Enter');
    await card(window).waitFor();
    await window.waitUntilSettled();
    await keyboard.to('combobox', 'Assignee');
    await keyboard.press('ArrowDown');
    await card(window).getByText(`by ${user()}`).waitFor();
    await waitUntilEqual(() => keyboard.focused(), { role: 'combobox', name: 'Assignee' }, 'the focus stays');
    await keyboard.to('combobox', 'Snooze');
    await keyboard.press('ArrowDown');
    await card(window).getByText('Snoozed until').waitFor();
    await keyboard.write('textbox', 'Notes', 'Waiting for the payment service');
    await keyboard.enter('button', 'Add note');
    await card(window).getByRole('listitem').getByText('Waiting for the payment service').waitFor();
    await waitUntilEqual(() => stored('payment service'), {
      ...{ assignee: user(), snoozed: true },
      ...{ notes: ['Waiting for the payment service'], needsAttention: false },
    });
    await window.screenshot('triage-390-dark', true);
    assert.deepEqual(await window.faults(), []);

    await keyboard.enter('button', `Delete note by ${user()}`);
    await card(window).getByRole('listitem').getByText('Waiting for the payment service').waitFor({ state: 'detached' });
    await keyboard.to('combobox', 'Snooze');
    await keyboard.press('Home');
    await card(window).getByText('Snoozed until').waitFor({ state: 'detached' });
    await keyboard.to('combobox', 'Assignee');
    await keyboard.press('Home');
    await card(window).getByText(`by ${user()}`).waitFor({ state: 'detached' });
    await waitUntilEqual(() => stored('payment service'), { assignee: null, snoozed: false, notes: [], needsAttention: true });
    assert.deepEqual(window.problems, []);
  });

  test('a note that is empty is not sent, and the button says why', async () => {
    const window = await harness.signedIn();
    const { page } = window;
    await window.goTo('dead-letters');
    await rowOf(window, 'sku').click();
    await card(window).getByRole('button', { name: 'Add note' }).press('Enter');
    await page.getByText('Enter a note first').first().waitFor();
    assert.deepEqual((await stored('sku')).notes, []);
    assert.deepEqual(window.problems, []);
  });

  test('what a token has changed names the token, without its id', async () => {
    for await (const { fingerprint, message } of harness.client.dlq.allGroups())
      if (message.includes('Cannot read properties')) await harness.client.dlq.addGroupNote(fingerprint, 'The stock is empty.');
    const window = await harness.signedIn();
    await window.goTo('dead-letters');
    const row = rowOf(window, 'Cannot read properties');
    await row.getByText('The stock is empty.').waitFor();
    assert.match(await row.innerText(), /\bread-write token, (just now|\d+ s ago)/);
    await row.click();
    await card(window).getByRole('button', { name: 'Delete note by read-write token' }).waitFor();
    await card(window).getByText('by read-write token').waitFor();
  });

  test('while no group matches the filters, no repair can be planned', async () => {
    const window = await harness.signedIn();
    const { page } = window;
    // A list as "Top values" writes it for a URL with a comma.
    const urls = encodeURIComponent(JSON.stringify([harness.urls['/order']]));
    await window.goTo(`dead-letters?state=new&workflowUrl=${urls}`);
    await rowOf(window, 'sku').waitFor();
    await page.getByRole('link', { name: 'Plan repair for all' }).waitFor();
    for await (const { fingerprint } of harness.client.dlq.allGroups()) await harness.client.dlq.acknowledgeGroup(fingerprint);
    await page.getByText('None of the listed groups matches the filters anymore').waitFor();
    await page.getByRole('button', { name: 'Plan repair' }).press('Enter');
    await page.locator('.toast[data-tone=note]').waitFor();
    assert.match(page.url(), /dead-letters\?state=new/);
    assert.deepEqual(await window.faults(), []);
  });
});
