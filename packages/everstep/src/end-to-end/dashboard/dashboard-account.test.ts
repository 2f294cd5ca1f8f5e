/** Tests the account pages in a real browser: the main actions of each page, and its accessibility. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { acceptInvitation } from '@everstep/sdk';
import { forEachIndex } from '../nodes.fixture.js';
import { openBrowser } from './chromium.fixture.js';
import { DashboardHarness, Window, waitUntilEqual } from './dashboard.fixture.js';
import { adminOf, Receiver, type SeededAccount, seedAccount } from './dashboard-account.fixture.js';

const opened = await openBrowser();
const skip = opened.kind === 'missing' ? opened.missing : false;

describe('account pages', { skip }, () => {
  let harness: DashboardHarness;
  let receiver: Receiver;
  let seeded: SeededAccount;
  let window: Window;
  before(async () => {
    if (opened.kind === 'missing') return;
    receiver = await Receiver.open();
    harness = await DashboardHarness.open(opened.browser);
    seeded = await seedAccount(harness, receiver);
    window = await harness.signedIn();
  });
  after(async () => {
    await harness?.close();
    await receiver?.close();
    if (opened.kind === 'open') await opened.browser.close();
  });
  const row = (text: string | RegExp) => window.page.getByRole('row').filter({ hasText: text });
  const button = (name: string | RegExp) => window.page.getByRole('button', { name, exact: true });
  const dialog = () => window.page.getByRole('dialog');
  const inDialog = (name: string) => dialog().getByRole('button', { name, exact: true });
  const dialogClosed = () => dialog().waitFor({ state: 'detached' });
  const confirmDialog = async (name: string) => {
    await inDialog(name).click();
    await dialogClosed();
  };
  /** Waits until the focus has moved into a new dialog. Keys that are pressed before then go to the page. */
  const dialogFocused = () => window.page.locator('[role="dialog"]:focus-within').waitFor();
  const showsText = (text: string) => window.page.getByText(text).first().waitFor();
  const card = (name: string) => window.page.getByRole('region', { name, exact: true });

  test('every page with data is accessible and has no errors', async (t) => {
    const own = await harness.signedIn();
    const pages: Readonly<Record<string, string>> = {
      events: 'events',
      'flow-control': 'flow-control',
      'flow-control-key': 'flow-control/imports',
      schedules: 'schedules',
      schedule: `schedules/${seeded.scheduleId}`,
      queues: 'queues',
      instance: 'instance',
      team: 'team',
      account: 'account',
      users: 'users',
      search: 'search',
      'search-index': `search/${seeded.indexId}`,
      audit: 'audit',
      nodes: 'nodes',
    };
    for (const [name, page] of Object.entries(pages))
      await t.test(name, () =>
        own.inEachViewport(page, async (viewport) => {
          await own.screenshot(`account-${name}-${viewport}`, true);
          assert.deepEqual(await own.faults(), [], viewport);
          assert.equal(await own.page.getByRole('alert').count(), 0, 'no request failed');
        }),
      );
    await own.page.close();
  });

  test('events: sending an event with data continues the waiting run', async () => {
    await window.goTo('events');
    await button('Send event approval/7').click();
    await dialog().getByText('1 run is waiting for this event').waitFor();
    await dialog().getByLabel('Data (JSON, optional)').fill('{"by": ');
    await dialog().getByText('Invalid JSON').waitFor();
    assert.equal(await inDialog('Send event to 1 run').isDisabled(), true);
    await dialog().getByLabel('Data (JSON, optional)').fill('{"by": "Ada"}');
    await window.screenshot('account-notify-dialog');
    assert.deepEqual(await window.findings(), []);
    await inDialog('Send event to 1 run').click();
    await showsText('Sent approval/7 to 1 run');
    await dialogClosed();
  });

  test('flow control: waiting deliveries are listed in order and continue when the limits change', async () => {
    await window.goTo('flow-control');
    await row('imports').click();
    await window.page.getByRole('heading', { level: 1, name: 'imports' }).waitFor();
    await window.page.getByRole('grid', { name: 'Waiting deliveries' }).getByRole('row').nth(1).waitFor();
    await button('Pause').click();
    await button('Resume').click();
    await button('Pin limits').click();
    await dialog().getByLabel('Max starts per period').fill('1000');
    await confirmDialog('Pin limits');
    await showsText('No deliveries are waiting for this key');
    await button('Unpin').click();
    await button('Pin limits').waitFor();
  });

  test('flow control: a held destination is released, and another is held with a reason', async () => {
    await window.goTo('flow-control');
    await button('Release https://shop.example.com').click();
    await row('moves to a new host').waitFor({ state: 'detached' });
    await button('Hold destination').click();
    await dialog().getByLabel('Destination').fill('https://mail.example.com');
    await dialog().getByLabel('Reason').fill('is being repaired');
    await inDialog('Hold destination').click();
    await row('is being repaired').waitFor();
  });

  test('schedules: a schedule is created, run now, paused and deleted', async () => {
    await window.goTo('schedules');
    await button('New schedule').click();
    await dialog().getByLabel('Workflow URL').fill(harness.urls['/order']);
    await dialog().getByLabel('Cron expression').fill('0 25 * * *');
    await dialog().locator('.field-error').first().waitFor();
    assert.equal(await dialog().getByRole('button').last().isDisabled(), true);
    await dialog().getByLabel('Cron expression').fill('30 6 1 1 *');
    await dialog().getByLabel('Run payload').fill('{"id": 42}');
    await dialog().getByText('Next runs in your time zone').waitFor();
    await window.screenshot('account-schedule-dialog');
    await dialog().getByRole('button').last().click();
    await showsText('Times of runs are in your time zone (Europe/Berlin).');
    await row('30 6 1 1 *').click();
    await window.page.getByRole('heading', { level: 1, name: /^Schedule / }).waitFor();
    await button('Run now').click();
    await confirmDialog('Run now');
    await card('Details').getByRole('link').waitFor();
    await window.page.getByRole('grid', { name: 'Runs of this schedule' }).getByRole('row').nth(1).waitFor();
    await button('Edit').click();
    await dialog().getByLabel('Cron expression').fill('45 7 2 2 *');
    await dialog().getByLabel('Run payload').fill('{"id": 43}');
    assert.deepEqual(await window.findings(), []);
    await dialog().getByRole('button', { name: 'Save' }).click();
    await dialogClosed();
    await card('Details').getByText('45 7 2 2 * (UTC)').waitFor();
    await card('Run payload').getByText('43').waitFor();
    await button('Pause').click();
    await showsText('The schedule is paused.');
    await button('Delete').click();
    await inDialog('Delete schedule').click();
    await window.page.getByRole('heading', { level: 1, name: 'Schedules' }).waitFor();
    await row('quarterly').or(row('*/15')).first().waitFor();
    await row('45 7 2 2 *').waitFor({ state: 'detached' });
  });

  test('queues: a resumed queue sends its waiting messages', async () => {
    await window.goTo('queues');
    await row('mail').first().getByText('Paused').waitFor();
    await button('Resume mail').click();
    await button('Pause mail').waitFor();
    const mail = window.page.getByRole('grid', { name: 'Queues' }).getByRole('row').filter({ hasText: 'mail' });
    await mail.getByRole('gridcell', { name: '0', exact: true }).waitFor();
    assert.deepEqual(receiver.receivedBodies.filter((body) => body.startsWith('{"mail"')).sort(), [
      '{"mail":1}',
      '{"mail":2}',
      '{"mail":3}',
    ]);
    await button('Edit mail').click();
    await dialog().getByLabel('Parallelism (1 delivers messages in order)').fill('7');
    await confirmDialog('Save queue');
    await window.page.getByRole('gridcell', { name: '7', exact: true }).waitFor();
  });

  test('queues: a queue is created, paused and deleted with the keyboard only', async () => {
    await window.goTo('queues');
    const { page } = window;
    await button('New queue').focus();
    await page.keyboard.press('Enter');
    await dialogFocused();
    await page.keyboard.type('by-keyboard');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Space');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await dialogClosed();
    await button('Resume by-keyboard').waitFor();
    await waitUntilEqual(() => page.locator(':focus').allInnerTexts(), ['New queue'], 'the focus returns to the button');
    await page.getByRole('grid', { name: 'Queues' }).getByRole('row').nth(1).focus();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await button('Pause by-keyboard').waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await dialog().getByText('The queue contains no messages.').waitFor();
    await dialogFocused();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await dialogClosed();
    await row('by-keyboard').waitFor({ state: 'detached' });
  });

  test('queues: a URL group is created, edited and deleted', async () => {
    await window.goTo('queues');
    await button('New URL group').click();
    await dialog().getByLabel('Group name').fill('shops');
    await dialog().getByLabel('First endpoint URL').fill(`${receiver.url}/ok/one`);
    await confirmDialog('Create group');
    await button('Edit URL group shops').click();
    await dialog().getByLabel('New endpoint URL').fill(`${receiver.url}/ok/two`);
    await dialog().getByLabel('Name (optional)').fill('two');
    await inDialog('Add endpoint').click();
    await inDialog('Remove two').waitFor();
    await window.screenshot('account-url-group');
    assert.deepEqual(await window.findings(), []);
    await inDialog('Remove two').click();
    await inDialog('Remove two').waitFor({ state: 'detached' });
    await inDialog('Delete group').click();
    await confirmDialog('Delete group with 1 endpoint');
    await row('shops').waitFor({ state: 'detached' });
  });

  test('messages: a sent message arrives, and a message that waits for a retry is canceled', async () => {
    await window.goTo('queues');
    await button('Send message').click();
    await dialog().getByLabel('Destination (URL or URL group)').fill(`${receiver.url}/ok/by-hand`);
    await dialog().getByLabel('Body').fill('{"hello":"shop"}');
    await dialog().getByText('Sent as JSON').waitFor();
    await confirmDialog('Send message');
    await button('Show 1 new message').click();
    await row('/ok/by-hand').getByText('Delivered').waitFor();
    assert.ok(receiver.receivedBodies.includes('{"hello":"shop"}'));
    await row('Retry pending').click();
    const events = dialog().getByRole('table', { name: 'Events' });
    await events.getByText('503').first().waitFor();
    await window.screenshot('account-message');
    assert.deepEqual(await window.findings(), []);
    await inDialog('Cancel message').click();
    await events.getByText('Canceled').waitFor();
    await confirmDialog('Close');
    await waitUntilEqual(async () => 'message' in (await window.parameters()), false);
    await window.page.getByLabel('State').selectOption('FAILED');
    await row('Failed').waitFor();
    await row('Delivered').first().waitFor({ state: 'detached' });
  });

  test('messages: the oldest ones are listed first', async () => {
    await window.goTo('queues');
    const first = window.page.getByRole('grid', { name: 'Messages' }).getByRole('row').nth(1);
    await first.getByText('/ok/by-hand').waitFor();
    await button('Published').click();
    await first.getByText('queue mail').waitFor();
  });

  test('instance: tokens are hidden until shown, and the budget is set', async () => {
    await window.goTo('instance');
    const token = harness.variable('EVERSTEP_TOKEN');
    assert.equal((await window.page.content()).includes(`>${token}<`), false);
    await button('Show token').click();
    await showsText(token);
    await button('Show token').click();
    await button('Change budget').click();
    await dialog().getByLabel('Dollars').fill('20');
    await confirmDialog('Set budget');
    await showsText('$20.00');
    await window.page.getByRole('progressbar', { name: "Share of this month's budget spent" }).waitFor();
    assert.deepEqual(await window.findings(), []);
  });

  test('instance: shorter retention is saved only after a confirmation', async () => {
    await window.goTo('instance');
    await window.page.getByLabel('Canceled runs: max days').fill('soon');
    await showsText('Some fields are not valid numbers.');
    await window.page.getByLabel('Canceled runs: max days').fill('30');
    await button('Save').click();
    await dialog().getByText('Canceled runs').waitFor();
    await confirmDialog('Save and delete');
    await window.page.reload();
    await window.waitUntilSettled();
    await waitUntilEqual(() => window.page.getByLabel('Canceled runs: max days').inputValue(), '30');
  });

  test('team: a member is invited, accepts, gets another role and is removed', async () => {
    await window.goTo('team');
    await button('Invite').click();
    await dialog().getByLabel('Email').fill('ivy@shop.example');
    await inDialog('Invite').click();
    await confirmDialog('Done');
    await button('Revoke invitation for ivy@shop.example').click();
    await confirmDialog('Revoke invitation');
    await row('ivy@shop.example').waitFor({ state: 'detached' });
    await button('Invite').click();
    await dialog().getByLabel('Email').fill('grace@shop.example');
    await dialog().getByLabel('Role').selectOption('finance');
    await inDialog('Invite').click();
    const link = (await dialog().getByText(/#inv_/).textContent()) ?? '';
    await confirmDialog('Done');
    await row('grace@shop.example').getByText('Invited').waitFor();
    const invited = await harness.window();
    await invited.page.goto(link);
    await invited.page.getByRole('button', { name: 'Accept invitation', exact: true }).click();
    await invited.page.getByText('Save this API key now').waitFor();
    await invited.page.close();
    await window.page.reload();
    await window.waitUntilSettled();
    await button('Change role of grace@shop.example').click();
    await dialog().getByLabel('Role').selectOption('admin');
    await confirmDialog('Change role');
    await row('grace@shop.example').getByText('admin').waitFor();
    await button('Remove grace@shop.example').click();
    await confirmDialog('Remove from team');
    await row('grace@shop.example').waitFor({ state: 'detached' });
  });

  test('team: an API key is created and revoked', async () => {
    await window.goTo('team');
    await button('Revoke laptop').click();
    await confirmDialog('Revoke key');
    await row('laptop').getByText('Revoked').waitFor();
    await button('New key').click();
    await dialog().getByLabel('Name').fill('tablet');
    await inDialog('Create key').click();
    await dialog().getByText('it is shown only once').waitFor();
    await inDialog('Done').click();
    await row('tablet').getByText('Active').waitFor();
  });

  test('search: an index is created, a document is added and found, and the index is deleted', async () => {
    await window.goTo('search');
    await row('films').waitFor();
    await button('New index').click();
    await dialog().getByLabel('Name').fill('books');
    await inDialog('Create index').click();
    await window.page.getByRole('heading', { level: 1, name: 'books' }).waitFor();
    await window.page.getByLabel('New namespace').fill('english');
    await button('Select').click();
    await button('Add document').click();
    await dialog().getByLabel('Id (replaces a document with the same id)').fill('middlemarch');
    await dialog().getByLabel('Searchable content (JSON object)').fill('{"title": "Middlemarch", "about": "a provincial town"}');
    await dialog().getByLabel('Metadata').fill('[1]');
    await dialog().getByText('Enter a JSON object').waitFor();
    await dialog().getByLabel('Metadata').fill('{"year": 1871}');
    await confirmDialog('Add document');
    await showsText('1 document in ');
    await window.page.getByLabel('Query', { exact: true }).fill('towns');
    await window.page.getByLabel('Filter').fill('@metadata.year < 1900');
    await button('Search').click();
    await showsText('1 result in ');
    await showsText('a provincial town');
    await window.screenshot('account-search-result', true);
    assert.deepEqual(await window.findings(), []);
    await window.page.getByLabel('Filter').fill('year <');
    await button('Search').click();
    await window.page.getByRole('alert').getByText('filter').first().waitFor();
    await window.page.getByLabel('Namespace', { exact: true }).selectOption('english');
    await button('Delete documents').click();
    await inDialog('Delete 1 document').click();
    await showsText('0 documents in ');
    await button('Rename').click();
    await dialog().getByLabel('Name').fill('novels');
    await inDialog('Rename').click();
    await window.page.getByRole('heading', { level: 1, name: 'novels' }).waitFor();
    await button('Delete').click();
    assert.equal(await inDialog('Delete index').isDisabled(), true);
    await dialog().getByLabel('Type novels to confirm').fill('novels');
    await inDialog('Delete index').click();
    await window.page.getByRole('heading', { level: 1, name: 'Search indexes' }).waitFor();
    await row('films').waitFor();
    await row('novels').waitFor({ state: 'detached' });
  });

  test('audit log: entries are filtered by actor', async () => {
    await window.goTo('audit');
    await row('search.rename').waitFor();
    await window.page.getByLabel('Search', { exact: true }).fill('ada@shop.example');
    await row('search.rename').waitFor({ state: 'detached' });
    await row('team.invite').filter({ hasText: 'ada@shop.example' }).waitFor();
    await row('team.accept-invitation').filter({ hasText: 'ada@shop.example' }).waitFor();
  });

  test('nodes: the node that serves the page is up', async () => {
    await window.goTo('nodes');
    await row('serves this page').getByText('Up').waitFor();
    assert.deepEqual(window.problems, []);
  });

  test('every page shows a failed request and recovers on retry', async () => {
    const context = (await harness.signedIn()).page.context();
    const apiUrls = /\/v2\/(?!session|live|queue\/users)/;
    const message = 'the store does not respond';
    // Pages retry for some seconds before they show an error. Three tabs run at the same time: a browser has six connections per
    // host, and each visible tab keeps one open.
    async function failsAndRecovers(name: string): Promise<void> {
      const own = new Window(await context.newPage());
      const { page } = own;
      await page.goto('/');
      await page.waitForURL('**/q/**');
      await page.route(apiUrls, (route) => route.fulfill({ status: 503, json: { error: message } }));
      await own.goTo(name);
      await page.getByRole('alert').filter({ hasText: message }).first().waitFor();
      assert.deepEqual(await own.findings(), [], name);
      await page.unroute(apiUrls);
      // Each alert has its own button, which stays until the response arrives: press it once, then wait.
      for (const retry of await page.getByRole('alert').getByRole('button', { name: 'Retry' }).elementHandles()) {
        // A polling query may already have succeeded.
        await retry.dispatchEvent('click');
        await retry.waitForElementState('hidden');
      }
      await waitUntilEqual(() => page.getByRole('alert').count(), 0, name);
      assert.deepEqual(own.problems, [], name);
      await page.close();
    }
    const names = 'overview events workers flow-control schedules queues instance team search audit nodes'.split(' ');
    await forEachIndex(names.length, 3, (n) => failsAndRecovers(names[n] ?? ''));
    await context.close();
  });

  test('disabled buttons explain a read-only role', async () => {
    const admin = adminOf(harness);
    const { invitation_secret: secret = '' } = await admin.teams.members.put(seeded.teamId, 'fin@shop.example', 'finance');
    const { api_key: apiKey = '' } = await acceptInvitation(secret, { baseUrl: harness.url });
    const { id } = await admin.instances.create({ name: 'for-all', region: 'eu-central-1', teamId: seeded.teamId });
    const own = await harness.window();
    await own.page.goto('/');
    await own.signIn('fin@shop.example', apiKey);
    for (const [page, name] of [
      ['queues', 'Send message'],
      ['events', 'Send event'],
      ['flow-control', 'Pin limits'],
      ['schedules', 'New schedule'],
      ['instance', 'Move to team'],
    ] as const) {
      await own.page.goto(`/q/${id}/${page}`);
      await own.waitUntilSettled();
      const disabled = own.page.getByRole('button', { name, exact: true });
      await disabled.waitFor();
      assert.equal(await disabled.isDisabled(), true, page);
      assert.match((await disabled.getAttribute('title')) ?? '', /role|Only owners/, page);
      await own.screenshot(`account-finance-${page}`);
      assert.equal(await own.page.getByRole('alert').count(), 0, page);
    }
    assert.deepEqual(own.problems, []);
    await own.page.close();
  });
});
