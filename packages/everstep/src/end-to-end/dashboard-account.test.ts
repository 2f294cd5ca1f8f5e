/** The pages around runs, in a real browser: what each of them is for is done once, and what it shows is checked for accessibility. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { acceptInvitation } from '@everstep/sdk';
import { openBrowser } from './chromium.fixture.js';
import { becomes, DashboardWorld, Window } from './dashboard.fixture.js';
import { adminOf, Receiver, type SeededAccount, seedAccount } from './dashboard-account.fixture.js';
import { each } from './nodes.fixture.js';

const opened = await openBrowser();
const skip = opened.kind === 'missing' ? opened.missing : false;

describe('the pages around runs', { skip }, () => {
  let world: DashboardWorld;
  let receiver: Receiver;
  let seeded: SeededAccount;
  let window: Window;
  before(async () => {
    if (opened.kind === 'missing') return;
    receiver = await Receiver.open();
    world = await DashboardWorld.open(opened.browser);
    seeded = await seedAccount(world, receiver);
    window = await world.loggedIn();
  });
  after(async () => {
    await world?.close();
    await receiver?.close();
    if (opened.kind === 'open') await opened.browser.close();
  });
  const row = (text: string | RegExp) => window.page.getByRole('row').filter({ hasText: text });
  const button = (name: string | RegExp) => window.page.getByRole('button', { name, exact: true });
  const dialog = () => window.page.getByRole('dialog');
  const inDialog = (name: string) => dialog().getByRole('button', { name, exact: true });
  const gone = () => dialog().waitFor({ state: 'detached' });
  const told = (text: string) => window.page.getByText(text).first().waitFor();
  const card = (name: string) => window.page.getByRole('region', { name, exact: true });

  test('nothing is wrong with any page when there is something to show', async (t) => {
    const own = await world.loggedIn();
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
        own.inEachLook(page, async (look) => {
          await own.screenshot(`account-${name}-${look}`, true);
          assert.deepEqual(await own.faults(), [], look);
          assert.equal(await own.page.getByRole('alert').count(), 0, 'nothing failed');
        }),
      );
    await own.page.close();
  });

  test('events: a run that waits is notified with data, and waits no more', async () => {
    await window.goTo('events');
    await button('Notify of approval/7').click();
    await dialog().getByText('1 run waits for it').waitFor();
    await dialog().getByLabel('Data, as JSON').fill('{"by": ');
    await dialog().getByText('This is no JSON').waitFor();
    assert.equal(await inDialog('Notify 1 run').isDisabled(), true);
    await dialog().getByLabel('Data, as JSON').fill('{"by": "Ada"}');
    await window.screenshot('account-notify-dialog');
    assert.deepEqual(await window.findings(), []);
    await inDialog('Notify 1 run').click();
    await told('1 run was notified of approval/7');
    await gone();
  });

  test('flow control: what waits for a key is shown in order, and goes on when its limits are changed', async () => {
    await window.goTo('flow-control');
    await row('imports').click();
    await window.page.getByRole('heading', { level: 1, name: 'imports' }).waitFor();
    await window.page.getByRole('grid', { name: 'Deliveries that wait' }).getByRole('row').nth(1).waitFor();
    await button('Pause').click();
    await button('Resume').click();
    await button('Pin limits').click();
    await dialog().getByLabel('Rate').fill('1000');
    await inDialog('Pin limits').click();
    await gone();
    await told('Nothing waits for this key');
    await button('Unpin').click();
    await button('Pin limits').waitFor();
  });

  test('flow control: a destination that is held is released, and another is held with a reason', async () => {
    await window.goTo('flow-control');
    await button('Release https://shop.example.com').click();
    await row('moves to a new host').waitFor({ state: 'detached' });
    await button('Hold a destination').click();
    await dialog().getByLabel('Scheme, host and port').fill('https://mail.example.com');
    await dialog().getByLabel('Reason').fill('is being repaired');
    await inDialog('Hold').click();
    await row('is being repaired').waitFor();
  });

  test('schedules: one is made, run now, paused and deleted', async () => {
    await window.goTo('schedules');
    await button('New schedule').click();
    await dialog().getByLabel('URL of the workflow').fill(world.urls['/order']);
    await dialog().getByLabel('Cron expression').fill('0 25 * * *');
    await dialog().locator('.field-error').first().waitFor();
    assert.equal(await dialog().getByRole('button').last().isDisabled(), true);
    await dialog().getByLabel('Cron expression').fill('30 6 1 1 *');
    await dialog().getByLabel('Payload of its runs').fill('{"id": 42}');
    await dialog().getByText('Next:').waitFor();
    await window.screenshot('account-schedule-dialog');
    await dialog().getByRole('button').last().click();
    await row('30 6 1 1 *').click();
    await window.page.getByRole('heading', { level: 1, name: /^Schedule / }).waitFor();
    await button('Run now').click();
    await inDialog('Run now').click();
    await gone();
    await card('What it is').getByRole('link').waitFor();
    await button('Pause').click();
    await told('It is paused. Otherwise it would tick at');
    await button('Delete').click();
    await inDialog('Delete schedule').click();
    await window.page.getByRole('heading', { level: 1, name: 'Schedules' }).waitFor();
    await row('quarterly').or(row('*/15')).first().waitFor();
    await row('30 6 1 1 *').waitFor({ state: 'detached' });
  });

  test('queues: a paused one sends what waits in it when it is resumed', async () => {
    await window.goTo('queues');
    await row('mail').first().getByText('Paused').waitFor();
    await button('Resume mail').click();
    await button('Pause mail').waitFor();
    const mail = window.page.getByRole('grid', { name: 'Queues' }).getByRole('row').filter({ hasText: 'mail' });
    await mail.getByRole('gridcell', { name: '0', exact: true }).waitFor();
    assert.deepEqual(receiver.taken.filter((body) => body.startsWith('{"mail"')).sort(), [
      '{"mail":1}',
      '{"mail":2}',
      '{"mail":3}',
    ]);
    await button('Change mail').click();
    await dialog().getByLabel('Messages sent at a time').fill('7');
    await inDialog('Save').click();
    await gone();
    await window.page.getByRole('gridcell', { name: '7', exact: true }).waitFor();
  });

  test('queues: by keyboard alone a queue is made, paused and deleted', async () => {
    await window.goTo('queues');
    const { page } = window;
    await button('New queue').focus();
    await page.keyboard.press('Enter');
    await dialog().waitFor();
    await page.keyboard.type('by-keyboard');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Space');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await gone();
    await button('Resume by-keyboard').waitFor();
    await becomes(() => page.locator(':focus').allInnerTexts(), ['New queue'], 'the focus is where it was');
    await page.getByRole('grid', { name: 'Queues' }).getByRole('row').nth(1).focus();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await button('Pause by-keyboard').waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await dialog().getByText('No message waits in it.').waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await gone();
    await row('by-keyboard').waitFor({ state: 'detached' });
  });

  test('queues: a URL group is made, gets another endpoint, loses it and is deleted', async () => {
    await window.goTo('queues');
    await button('New URL group').click();
    await dialog().getByLabel('Name of the group').fill('shops');
    await dialog().getByLabel('URL of the first endpoint').fill(`${receiver.url}/ok/one`);
    await inDialog('Create group').click();
    await gone();
    await button('Endpoints of shops').click();
    await dialog().getByLabel('URL of another endpoint').fill(`${receiver.url}/ok/two`);
    await dialog().getByLabel('Its name').fill('two');
    await inDialog('Add endpoint').click();
    await inDialog('Remove two').waitFor();
    await window.screenshot('account-url-group');
    assert.deepEqual(await window.findings(), []);
    await inDialog('Remove two').click();
    await inDialog('Remove two').waitFor({ state: 'detached' });
    await inDialog('Delete group').click();
    await inDialog('Delete the group of 1 endpoint').click();
    await gone();
    await row('shops').waitFor({ state: 'detached' });
  });

  test('messages: one is sent by hand and arrives, and one that is being retried is canceled', async () => {
    await window.goTo('queues');
    await button('Send a message').click();
    await dialog().getByLabel('To: a URL').fill(`${receiver.url}/ok/by-hand`);
    await dialog().getByLabel('Body').fill('{"hello":"shop"}');
    await dialog().getByText('It is sent as JSON').waitFor();
    await inDialog('Send').click();
    await gone();
    await button('Show 1 new message').click();
    await row('/ok/by-hand').getByText('Delivered').waitFor();
    assert.ok(receiver.taken.includes('{"hello":"shop"}'));
    await row('Waits to retry').click();
    const events = dialog().getByRole('table', { name: 'What happened' });
    await events.getByText('503').first().waitFor();
    await window.screenshot('account-message');
    assert.deepEqual(await window.findings(), []);
    await inDialog('Cancel this message').click();
    await events.getByText('Canceled').waitFor();
    await inDialog('Close').click();
    await gone();
    await becomes(async () => 'message' in (await window.parameters()), false);
    await window.page.getByLabel('State').selectOption('FAILED');
    await row('Failed').waitFor();
    await row('Delivered').first().waitFor({ state: 'detached' });
  });

  test('instance: tokens are hidden until they are asked for, and the budget is set', async () => {
    await window.goTo('instance');
    const token = world.variable('EVERSTEP_TOKEN');
    assert.equal((await window.page.content()).includes(`>${token}<`), false);
    await button('Show the token').click();
    await told(token);
    await button('Show the token').click();
    await button('Change the budget').click();
    await dialog().getByLabel('Dollars').fill('20');
    await inDialog('Set the budget').click();
    await gone();
    await told('$20.00');
    await window.page.getByRole('progressbar', { name: 'Spent of the budget' }).waitFor();
    assert.deepEqual(await window.findings(), []);
  });

  test('instance: keeping less than before is saved only after it was said what goes', async () => {
    await window.goTo('instance');
    await window.page.getByLabel('Canceled runs: days kept').fill('soon');
    await told('Something here is no number.');
    await window.page.getByLabel('Canceled runs: days kept').fill('30');
    await button('Save').click();
    await dialog().getByText('Canceled runs').waitFor();
    await inDialog('Save and remove').click();
    await gone();
    await window.page.reload();
    await window.settled();
    await becomes(() => window.page.getByLabel('Canceled runs: days kept').inputValue(), '30');
  });

  test('team: somebody is invited, accepts and gets a key, gets another role, and is removed', async () => {
    await window.goTo('team');
    await button('Invite').click();
    await dialog().getByLabel('E-mail').fill('ivy@shop.example');
    await inDialog('Invite').click();
    await inDialog('Done').click();
    await gone();
    await button('Revoke the invitation of ivy@shop.example').click();
    await inDialog('Revoke invitation').click();
    await gone();
    await row('ivy@shop.example').waitFor({ state: 'detached' });
    await button('Invite').click();
    await dialog().getByLabel('E-mail').fill('grace@shop.example');
    await dialog().getByLabel('Role').selectOption('finance');
    await inDialog('Invite').click();
    const link = (await dialog().getByText(/#inv_/).textContent()) ?? '';
    await inDialog('Done').click();
    await gone();
    await row('grace@shop.example').getByText('Invited').waitFor();
    const invited = await world.window();
    await invited.page.goto(link);
    await invited.page.getByRole('button', { name: 'Accept the invitation', exact: true }).click();
    await invited.page.getByText('Keep this API key').waitFor();
    await invited.page.close();
    await window.page.reload();
    await window.settled();
    await button('Change the role of grace@shop.example').click();
    await dialog().getByLabel('Role').selectOption('admin');
    await inDialog('Set the role').click();
    await gone();
    await row('grace@shop.example').getByText('admin').waitFor();
    await button('Remove grace@shop.example').click();
    await inDialog('Remove from the team').click();
    await gone();
    await row('grace@shop.example').waitFor({ state: 'detached' });
  });

  test('team: an API key is made and revoked', async () => {
    await window.goTo('team');
    await button('Revoke laptop').click();
    await inDialog('Revoke key').click();
    await gone();
    await row('laptop').getByText('Revoked').waitFor();
    await button('New key').click();
    await dialog().getByLabel('What it is for').fill('tablet');
    await inDialog('Create key').click();
    await dialog().getByText('It is shown this once').waitFor();
    await inDialog('I have it').click();
    await row('tablet').getByText('Good').waitFor();
  });

  test('search: an index is made, a document is put and found, and the index is deleted by its name', async () => {
    await window.goTo('search');
    await row('films').waitFor();
    await button('New index').click();
    await dialog().getByLabel('Name').fill('books');
    await inDialog('Create index').click();
    await window.page.getByRole('heading', { level: 1, name: 'books' }).waitFor();
    await window.page.getByLabel('A new namespace').fill('english');
    await button('Choose').click();
    await button('Put a document').click();
    await dialog().getByLabel('Id').fill('middlemarch');
    await dialog().getByLabel('Content').fill('{"title": "Middlemarch", "about": "a provincial town"}');
    await dialog().getByLabel('Metadata').fill('[1]');
    await dialog().getByText('It has to be an object').waitFor();
    await dialog().getByLabel('Metadata').fill('{"year": 1871}');
    await inDialog('Put it').click();
    await gone();
    await told('1 document in ');
    await window.page.getByLabel('Words').fill('towns');
    await window.page.getByLabel('Filter').fill('@metadata.year < 1900');
    await button('Search').click();
    await told('1 result in ');
    await told('a provincial town');
    await window.screenshot('account-search-result', true);
    assert.deepEqual(await window.findings(), []);
    await window.page.getByLabel('Filter').fill('year <');
    await button('Search').click();
    await window.page.getByRole('alert').getByText('filter').first().waitFor();
    await button('Rename').click();
    await dialog().getByLabel('Name').fill('novels');
    await inDialog('Rename').click();
    await window.page.getByRole('heading', { level: 1, name: 'novels' }).waitFor();
    await button('Delete').click();
    assert.equal(await inDialog('Delete the index').isDisabled(), true);
    await dialog().getByLabel('Type its name').fill('novels');
    await inDialog('Delete the index').click();
    await window.page.getByRole('heading', { level: 1, name: 'Search indexes' }).waitFor();
    await row('films').waitFor();
    await row('novels').waitFor({ state: 'detached' });
  });

  test('audit log: who did what is found', async () => {
    await window.goTo('audit');
    await row('search.delete').waitFor();
    await window.page.getByLabel('Among the entries shown').fill('ada@shop.example');
    await row('search.delete').waitFor({ state: 'detached' });
    await row('team.invite').filter({ hasText: 'ada@shop.example' }).waitFor();
    await row('team.accept-invitation').filter({ hasText: 'ada@shop.example' }).waitFor();
  });

  test('nodes: the one that answers is up', async () => {
    await window.goTo('nodes');
    await row('answers you').getByText('Up').waitFor();
    assert.deepEqual(window.problems, []);
  });

  test('what cannot be had is told in words on each page, and is there when it is asked for again', async () => {
    const context = (await world.loggedIn()).page.context();
    const answers = /\/v2\/(?!session|live|queue\/users)/;
    const words = 'the store does not answer';
    // Pages try some seconds long before they tell; each in a tab of its own, some at the same time: a browser has six
    // connections to a host, and each tab that is looked at keeps one.
    async function failsAndRecovers(name: string): Promise<void> {
      const own = new Window(await context.newPage());
      const { page } = own;
      await page.goto('/');
      await page.waitForURL('**/q/**');
      await page.route(answers, (route) => route.fulfill({ status: 503, json: { error: words } }));
      await own.goTo(name);
      await page.getByRole('alert').filter({ hasText: words }).first().waitFor();
      assert.deepEqual(await own.findings(), [], name);
      await page.unroute(answers);
      // Each alert has a button of its own, which stays until its answer is there: pressed once, then waited for.
      for (const again of await page.getByRole('alert').getByRole('button', { name: 'Try again' }).elementHandles()) {
        // A query that repeats automatically may have succeeded in the meantime.
        await again.dispatchEvent('click');
        await again.waitForElementState('hidden');
      }
      await becomes(() => page.getByRole('alert').count(), 0, name);
      assert.deepEqual(own.problems, [], name);
      await page.close();
    }
    const names = ['events', 'flow-control', 'schedules', 'queues', 'instance', 'team', 'search', 'audit', 'nodes'];
    await each(names.length, 3, (n) => failsAndRecovers(names[n] ?? ''));
    await context.close();
  });

  test('who may only look sees why buttons are off', async () => {
    const admin = adminOf(world);
    const { invitation_secret: secret = '' } = await admin.teams.members.put(seeded.teamId, 'fin@shop.example', 'finance');
    const { api_key: apiKey = '' } = await acceptInvitation(secret, { baseUrl: world.url });
    const { id } = await admin.queues.create({ name: 'for-all', region: 'eu-central-1', teamId: seeded.teamId });
    const own = await world.window();
    await own.page.goto('/');
    await own.logIn('fin@shop.example', apiKey);
    for (const [page, name] of [
      ['queues', 'Send a message'],
      ['events', 'Notify of an event'],
      ['flow-control', 'Pin limits for a key'],
      ['schedules', 'New schedule'],
      ['instance', 'Move to a team'],
    ] as const) {
      await own.page.goto(`/q/${id}/${page}`);
      await own.settled();
      const refused = own.page.getByRole('button', { name, exact: true });
      await refused.waitFor();
      assert.equal(await refused.isDisabled(), true, page);
      assert.match((await refused.getAttribute('title')) ?? '', /role|Only owners/, page);
      await own.screenshot(`account-finance-${page}`);
      assert.equal(await own.page.getByRole('alert').count(), 0, page);
    }
    assert.deepEqual(own.problems, []);
    await own.page.close();
  });
});
