/**
 * Deeds of the dashboard that are seldom done, each once with a real service behind it: marks on groups, one dead letter, what
 * tells of failures, the pace of a repair, the undo of a delete, what opens an instance, who owns it. Then all of it is looked at
 * by somebody who may only look.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { acceptInvitation, Client } from '@everstep/sdk';
import { openBrowser } from './chromium.fixture.js';
import { becomes, DashboardWorld, type Window } from './dashboard.fixture.js';
import { adminOf, Receiver } from './dashboard-account.fixture.js';
import { Incident } from './incident.fixture.js';

const opened = await openBrowser();
/** More than a page of a listing. */
const RUNS = 60;
const LOOKER = 'fin@shop.example';

describe('what is seldom done', { skip: opened.kind === 'missing' ? opened.missing : false }, () => {
  let world: DashboardWorld;
  let incident: Incident;
  let receiver: Receiver;
  let window: Window;
  let teamId = '';
  let apiKey: string | undefined;
  let indexId = '';
  before(async () => {
    if (opened.kind === 'missing') return;
    [incident, receiver, world] = await Promise.all([Incident.open(), Receiver.open(), DashboardWorld.open(opened.browser)]);
    const admin = adminOf(world);
    ({ id: teamId } = await admin.teams.create('Shop'));
    const { invitation_secret: secret = '' } = await admin.teams.members.put(teamId, LOOKER, 'finance');
    ({ api_key: apiKey } = await acceptInvitation(secret, { baseUrl: world.url }));
    const [queue] = await admin.queues.list();
    ({ id: indexId } = await admin.searchIndexes.create({ name: 'films', region: queue?.region ?? '', type: 'payg' }));
    await incident.fail(world.client, RUNS);
    window = await world.loggedIn();
  });
  after(async () => {
    await world?.close();
    await Promise.all([incident?.stop(), receiver?.close()]);
    if (opened.kind === 'open') await opened.browser.close();
  });
  const button = (name: string | RegExp) => window.page.getByRole('button', { name, exact: true });
  const dialog = () => window.page.getByRole('dialog');
  const inDialog = (name: string) => dialog().getByRole('button', { name, exact: true });
  const gone = () => dialog().waitFor({ state: 'detached' });
  const told = (text: string | RegExp) => window.page.getByText(text).first().waitFor();
  const rows = (list: string) =>
    window.page
      .getByRole('grid', { name: list })
      .getByRole('row')
      .filter({ hasNot: window.page.getByRole('columnheader') });

  test('a group is resolved, says so, and cannot be resolved again', async () => {
    await window.goTo('dead-letters');
    const row = rows('Groups of dead letters').filter({ hasText: 'template of refund' });
    await row.getByRole('checkbox').click();
    await button('Resolve').click();
    await told('Resolved 1 group');
    await row.click();
    const card = window.page.getByRole('region', { name: 'The group' });
    await card.getByText('Resolved', { exact: true }).waitFor();
    await becomes(() => card.getByRole('button', { name: 'Resolve' }).isDisabled(), true);
    await card.getByRole('button', { name: 'Resolve' }).click({ force: true });
    await told('It is resolved already');
    assert.deepEqual(await window.findings(), []);
  });

  test('a list that was gone down says which rows are kept up to date, and brings the others up to date', async () => {
    await window.goTo('dead-letters?view=entries');
    const { page } = window;
    await rows('Dead letters').first().focus();
    await page.keyboard.press('End');
    await told(`${RUNS} dead letters shown`);
    const { messages } = await world.client.dlq.list({ count: 100 });
    await world.client.dlq.delete(messages.at(-1)?.dlqId ?? '');
    await told(/^Only the first 50 are kept up to date/);
    assert.deepEqual(await window.findings(), []);
    await button('Bring up to date').click();
    await told(`${RUNS - 1} dead letters shown`);
    await page.getByText(/^Only the first 50/).waitFor({ state: 'detached' });
  });

  test('a single dead letter of the list is resumed after a check, and the new run is come to', async () => {
    incident.mend();
    await window.goTo('dead-letters?view=entries');
    await rows('Dead letters').first().click();
    await button('Resume').click();
    await inDialog('Check whether the present code still fits').click();
    await dialog().getByText('Fits', { exact: true }).waitFor();
    await inDialog('Resume').click();
    await window.page.waitForURL('**/runs/**');
    await told('Resumed from');
    await told('Succeeded');
    assert.equal(await incident.letters(world.client), RUNS - 2);
    assert.deepEqual(window.problems, []);
  });

  test('a failure callback that is being tried is canceled, and called again', async () => {
    incident.breakAgain();
    const { workflowRunId } = await world.client.trigger(incident.urls['/checkout'], {
      body: { id: 1001 },
      // So often its callback is tried, too.
      retries: 3,
      labels: ['told'],
      failureCallback: `${receiver.url}/down`,
      retryDelay: '3600000',
    });
    await world.ended(workflowRunId);
    await window.goTo(`dead-letters?view=entries&workflowRunId=${workflowRunId}`);
    await rows('Dead letters').first().click();
    await button('Cancel it').click();
    await told('The failure callback was canceled');
    await window.page.getByRole('region', { name: 'Failure callback' }).getByText('Canceled').waitFor();
    await button('Try again').click();
    await told('The failure callback is called again');
    await button('Cancel it').waitFor();
  });

  test('a repair under way gets another rate, and its entries are looked at by state', async () => {
    incident.mend();
    const left = await incident.letters(world.client);
    await window.goTo('repairs/new');
    await button('Make the plan').click();
    await window.page.getByLabel('Begun per second, at most', { exact: true }).fill('2');
    await window.page.getByRole('checkbox', { name: /^Try a few first/ }).uncheck();
    await button(`Resume ${left} dead letters`).click();
    await told(/^Under way/);
    await window.page.getByText(/^Change the rate/).click();
    await becomes(() => button(/^Go on at/).isDisabled(), true);
    await window.page.getByLabel('Begun per second, at most', { exact: true }).fill('400');
    await button('Go on at 400 a second').click();
    await told('From now on 400 a second');
    await told(`Done: ${left} succeeded of ${left}.`);
    await window.page.getByRole('button', { name: /^Succeeded/ }).click();
    await told(`${left} dead letters shown`);
    await becomes(async () => (await window.parameters()).state, 'succeeded');
    await window.page.getByRole('button', { name: /^Failed again/ }).click();
    await told('None is in this state: Failed again');
    await window.page.getByRole('button', { name: /^All/ }).click();
    await told(`${left} dead letters shown`);
    assert.deepEqual(window.problems, []);
  });

  test('dead letters that are about to be deleted say so in the list and on their page, until it is undone', async () => {
    incident.breakAgain();
    await incident.fail(world.client, 5);
    await window.goTo('dead-letters?view=entries');
    const watching = await world.loggedIn({ width: 390, height: 844, theme: 'dark' });
    await watching.goTo('dead-letters?view=entries');
    await window.goTo('repairs/new?action=delete');
    await window.page.getByRole('radio', { name: /^Delete/ }).check();
    await button('Make the plan').click();
    await window.page.getByRole('button', { name: 'Delete 5 dead letters …' }).click();
    await inDialog('Delete 5 dead letters').click();
    await told('Nothing is deleted yet.');
    // A window that was open before hears of it.
    await watching.page
      .getByText(/^Deleted in/)
      .nth(4)
      .waitFor();
    await watching.screenshot('about-to-go-390-dark');
    assert.deepEqual(await watching.findings(), []);
    await watching.page.getByRole('row').nth(1).click();
    await watching.page.getByText(/It will be deleted in/).waitFor();
    await watching.page.getByRole('link', { name: 'Undo it there' }).click();
    await watching.page.getByRole('button', { name: 'Undo: delete nothing' }).click();
    await watching.page.getByText('Undone: nothing was deleted.').waitFor();
    await window.goTo('dead-letters?view=entries');
    await rows('Dead letters').nth(4).waitFor();
    await becomes(() => window.page.getByText(/^Deleted in/).count(), 0);
    assert.deepEqual([...window.problems, ...watching.problems], []);
    await watching.page.close();
  });

  test('tokens and signing keys are rotated: old tokens are refused, new ones open, the next key becomes the present one', async () => {
    await window.goTo('instance');
    await button('Show the next signing key').click();
    const next = await window.page.getByText(/^sig_/).innerText();
    const ofCard = (name: string) => window.page.getByRole('region', { name, exact: true });
    await ofCard('Signing keys').getByRole('button', { name: 'Rotate' }).click();
    await inDialog('Rotate keys').click();
    await told('The next key signs from now on');
    await gone();
    await button('Show the current signing key').click();
    await told(next);
    await ofCard('Tokens').getByRole('button', { name: 'Rotate' }).click();
    await inDialog('Rotate tokens').click();
    await told('There are new tokens');
    await gone();
    await assert.rejects(world.client.dlq.list(), /token is not valid/);
    await button('Show the token').click();
    const token = await ofCard('Tokens').getByText(/^ey/).innerText();
    const client = new Client({ baseUrl: world.url, token });
    assert.equal((await client.dlq.list()).messages.length, 5);
    assert.deepEqual(window.problems, []);
  });

  test('an index and then the instance are given to a team, whose members see them', async () => {
    await window.goTo(`search/${indexId}`);
    await button('Transfer').click();
    await dialog().getByLabel('Team').selectOption('Shop');
    await inDialog('Transfer it').click();
    await told('films belongs to the team');
    await window.goTo('instance');
    await button('Move to a team').click();
    await dialog().getByLabel('Team').selectOption('Shop');
    await inDialog('Move it').click();
    await told(/belongs to the team$/);
    await gone();
    await window.page.getByRole('region', { name: /^Plan/ }).getByRole('button', { name: 'Change the plan' }).click();
    await inDialog('Cancel').click();
    assert.deepEqual(window.problems, []);
  });

  test('who may only look sees every page of an incident with its buttons off, and why', async () => {
    const queuePath = new URL(window.page.url()).pathname.split('/').slice(0, 3).join('/');
    const [letter, repair] = await Promise.all([
      window.page.evaluate<string>(`fetch('/v2/workflows/dlq', { headers: { 'x-everstep-queue': '${queuePath.split('/')[2]}' } })
        .then((answer) => answer.json()).then(({ messages }) => messages[0].dlqId)`),
      window.page.evaluate<string>(`fetch('/v2/workflows/repairs', { headers: { 'x-everstep-queue': '${queuePath.split('/')[2]}' } })
        .then((answer) => answer.json()).then(({ repairs }) => repairs[0].repairId)`),
    ]);
    const own = await world.window();
    await own.page.goto('/');
    await own.logIn(LOOKER, apiKey ?? '');
    const pages: readonly (readonly [page: string, ...off: string[]])[] = [
      ['dead-letters', 'Acknowledge', 'Resolve', 'Plan a repair'],
      ['dead-letters?view=entries', 'Plan a repair'],
      [`dead-letters/${letter}`, 'Resume', 'Restart', 'Delete'],
      ['repairs/new', 'Make the plan'],
      [`repairs/${repair}`],
      ['runs'],
      ['instance', 'Change the plan', 'Move to a team'],
      [`search/${indexId}`, 'Put a document', 'Transfer', 'Delete'],
    ];
    for (const [page, ...off] of pages) {
      await own.page.goto(`${queuePath}/${page}`);
      await own.settled();
      for (const name of off) {
        const refused = own.page.getByRole('button', { name, exact: true });
        assert.equal(await refused.isDisabled(), true, `${page}: ${name}`);
        assert.match((await refused.getAttribute('title')) ?? '', /role|Only/, `${page}: ${name}`);
      }
      const [first] = off;
      if (first !== undefined) {
        // Pressed all the same it does nothing, and says why.
        await own.page.getByRole('button', { name: first, exact: true }).press('Enter');
        await own.page.locator('.toast[data-tone=note]').first().waitFor();
        assert.equal(await own.page.getByRole('dialog').count(), 0, page);
      }
      assert.equal(await own.page.getByRole('alert').count(), 0, page);
      await own.screenshot(`looker-${page.replaceAll(/\W+/g, '-').slice(0, 24)}`);
    }
    assert.deepEqual(await own.findings(), []);
    assert.deepEqual(own.problems, []);
  });
});
