/**
 * Tests less common actions of the dashboard against a real server: marks on groups, actions on one dead letter, failure callbacks,
 * the rate of a repair, undo of a delete, rotation of tokens and keys, and moves to a team. The last test has a read-only role.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { acceptInvitation, Client } from '@everstep/sdk';
import { openBrowser } from './chromium.fixture.js';
import { DashboardHarness, type Window, waitUntilEqual } from './dashboard.fixture.js';
import { adminOf, Receiver } from './dashboard-account.fixture.js';
import { Incident } from './incident.fixture.js';

const opened = await openBrowser();
/** Number of runs; they fill more than one page of a list. */
const RUNS = 60;
const READ_ONLY_USER = 'fin@shop.example';

describe('less common dashboard actions', { skip: opened.kind === 'missing' ? opened.missing : false }, () => {
  let harness: DashboardHarness;
  let incident: Incident;
  let receiver: Receiver;
  let window: Window;
  let teamId = '';
  let apiKey: string | undefined;
  let indexId = '';
  before(async () => {
    if (opened.kind === 'missing') return;
    [incident, receiver, harness] = await Promise.all([Incident.open(), Receiver.open(), DashboardHarness.open(opened.browser)]);
    const admin = adminOf(harness);
    ({ id: teamId } = await admin.teams.create('Shop'));
    const { invitation_secret: secret = '' } = await admin.teams.members.put(teamId, READ_ONLY_USER, 'finance');
    ({ api_key: apiKey } = await acceptInvitation(secret, { baseUrl: harness.url }));
    const [queue] = await admin.instances.list();
    ({ id: indexId } = await admin.searchIndexes.create({ name: 'films', region: queue?.region ?? '', type: 'payg' }));
    await incident.fail(harness.client, RUNS);
    window = await harness.signedIn();
  });
  after(async () => {
    await harness?.close();
    await Promise.all([incident?.stop(), receiver?.close()]);
    if (opened.kind === 'open') await opened.browser.close();
  });
  const button = (name: string | RegExp) => window.page.getByRole('button', { name, exact: true });
  const dialog = () => window.page.getByRole('dialog');
  const inDialog = (name: string) => dialog().getByRole('button', { name, exact: true });
  const dialogClosed = () => dialog().waitFor({ state: 'detached' });
  const showsText = (text: string | RegExp) => window.page.getByText(text).first().waitFor();
  const rows = (list: string) =>
    window.page
      .getByRole('grid', { name: list })
      .getByRole('row')
      .filter({ hasNot: window.page.getByRole('columnheader') });

  test('a resolved group cannot be resolved again', async () => {
    await window.goTo('dead-letters');
    const row = rows('Groups of dead letters').filter({ hasText: 'template of refund' });
    await row.getByRole('checkbox').click();
    await button('Resolve').click();
    await showsText('Resolved 1 group');
    await row.click();
    const card = window.page.getByRole('region', { name: 'Group', exact: true });
    await card.getByText('Resolved', { exact: true }).waitFor();
    await waitUntilEqual(() => card.getByRole('button', { name: 'Resolve' }).isDisabled(), true);
    await card.getByRole('button', { name: 'Resolve' }).click({ force: true });
    await showsText('This group is already resolved');
    assert.deepEqual(await window.findings(), []);
  });

  test('a long list shows which rows update automatically and refreshes the others', async () => {
    await window.goTo('dead-letters?view=entries');
    const { page } = window;
    await rows('Dead letters').first().focus();
    await page.keyboard.press('End');
    await showsText(`${RUNS} dead letters shown`);
    const { messages } = await harness.client.dlq.list({ count: 100 });
    await harness.client.dlq.delete(messages.at(-1)?.dlqId ?? '');
    await showsText(/^Only the first 50 update automatically/);
    assert.deepEqual(await window.findings(), []);
    await button('Refresh').click();
    await showsText(`${RUNS - 1} dead letters shown`);
    await page.getByText(/^Only the first 50/).waitFor({ state: 'detached' });
  });

  test('a dead letter is resumed after a compatibility check and leads to the new run', async () => {
    incident.fix();
    await window.goTo('dead-letters?view=entries');
    await rows('Dead letters').first().click();
    await button('Resume').click();
    await inDialog('Check replay compatibility').click();
    await dialog().getByText('Compatible', { exact: true }).waitFor();
    await inDialog('Resume').click();
    await window.page.waitForURL('**/runs/**');
    await showsText('Resumed from');
    await showsText('Succeeded');
    assert.equal(await incident.countDeadLetters(harness.client), RUNS - 2);
    assert.deepEqual(window.problems, []);
  });

  test('a pending failure callback is canceled and sent again', async () => {
    incident.break();
    const { workflowRunId } = await harness.client.trigger(incident.urls['/checkout'], {
      body: { id: 1001 },
      // This also applies to the failure callback.
      retries: 3,
      labels: ['callback'],
      failureCallback: `${receiver.url}/down`,
      retryDelay: '3600000',
    });
    await harness.waitForEnd(workflowRunId);
    await window.goTo(`dead-letters?view=entries&workflowRunId=${workflowRunId}`);
    await rows('Dead letters').first().click();
    await button('Cancel').click();
    await showsText('Canceled the failure callback');
    await window.page.getByRole('region', { name: 'Failure callback' }).getByText('Canceled').waitFor();
    await button('Retry').click();
    await showsText('Sending the failure callback again');
    await button('Cancel').waitFor();
  });

  test('the rate of a running repair is changed, and its results are filtered by state', async () => {
    incident.fix();
    const left = await incident.countDeadLetters(harness.client);
    await window.goTo('repairs/new');
    await button('Create plan').click();
    await window.page.getByLabel('Max starts per second', { exact: true }).fill('2');
    await window.page.getByRole('checkbox', { name: /^Run a canary first/ }).uncheck();
    await button(`Resume ${left} dead letters`).click();
    await showsText(/^In progress:/);
    await window.page.getByText(/^Change rate/).click();
    await waitUntilEqual(() => button(/^Set rate/).isDisabled(), true);
    await window.page.getByLabel('Max starts per second', { exact: true }).fill('400');
    await button('Set rate to 400 per second').click();
    await showsText('Changed the rate to 400 per second');
    await showsText(`Done: ${left} of ${left} succeeded.`);
    await window.page.getByRole('button', { name: /^Succeeded/ }).click();
    await showsText(`${left} dead letters shown`);
    await waitUntilEqual(async () => (await window.parameters()).state, 'succeeded');
    await window.page.getByRole('button', { name: /^Failed again/ }).click();
    await showsText('None in this state: Failed again');
    await window.page.getByRole('button', { name: /^All/ }).click();
    await showsText(`${left} dead letters shown`);
    assert.deepEqual(window.problems, []);
  });

  test('dead letters with a pending deletion show it in the list and on their page until it is undone', async () => {
    incident.break();
    await incident.fail(harness.client, 5);
    await window.goTo('dead-letters?view=entries');
    const watching = await harness.signedIn({ width: 390, height: 844, theme: 'dark' });
    await watching.goTo('dead-letters?view=entries');
    await window.goTo('repairs/new?action=delete');
    await window.page.getByRole('radio', { name: /^Delete/ }).check();
    await button('Create plan').click();
    await window.page.getByRole('button', { name: 'Delete 5 dead letters…' }).click();
    await inDialog('Delete 5 dead letters').click();
    await showsText('Nothing is deleted yet.');
    // A window that was already open shows the change.
    await watching.page
      .getByText(/^Deletion in/)
      .nth(4)
      .waitFor();
    await watching.screenshot('pending-deletion-390-dark');
    assert.deepEqual(await watching.findings(), []);
    await watching.page.getByRole('row').nth(1).click();
    await watching.page.getByText(/This dead letter will be deleted in/).waitFor();
    await watching.page.getByRole('link', { name: 'Open repair to undo' }).click();
    await watching.page.getByRole('button', { name: 'Undo deletion' }).click();
    await watching.page.getByText('Undone: nothing was deleted.').waitFor();
    await window.goTo('dead-letters?view=entries');
    await rows('Dead letters').nth(4).waitFor();
    await waitUntilEqual(() => window.page.getByText(/^Deletion in/).count(), 0);
    assert.deepEqual([...window.problems, ...watching.problems], []);
    await watching.page.close();
  });

  test('rotation replaces tokens, rejects the old ones, and makes the next signing key current', async () => {
    await window.goTo('instance');
    await button('Show next signing key').click();
    const next = await window.page.getByText(/^sig_/).innerText();
    const card = (name: string) => window.page.getByRole('region', { name, exact: true });
    await card('Signing keys').getByRole('button', { name: 'Rotate' }).click();
    await inDialog('Rotate keys').click();
    await showsText('Rotated the signing keys');
    await dialogClosed();
    await button('Show current signing key').click();
    await showsText(next);
    await card('Permanent tokens').getByRole('button', { name: 'Rotate' }).click();
    await inDialog('Rotate tokens').click();
    await showsText('Rotated the tokens');
    await dialogClosed();
    await assert.rejects(harness.client.dlq.list(), /token is not valid/);
    await button('Show token').click();
    const token = await card('Permanent tokens').getByText(/^ey/).innerText();
    const client = new Client({ baseUrl: harness.url, token });
    assert.equal((await client.dlq.list()).messages.length, 5);
    assert.deepEqual(window.problems, []);
  });

  test('an index and an instance are moved to a team', async () => {
    await window.goTo(`search/${indexId}`);
    await button('Move to team').click();
    await dialog().getByLabel('Team').selectOption('Shop');
    await inDialog('Move index').click();
    await showsText('Moved films to the team');
    await window.goTo('instance');
    await button('Move to team').click();
    await dialog().getByLabel('Team').selectOption('Shop');
    await inDialog('Move instance').click();
    await showsText(/^Moved .* to the team$/);
    await dialogClosed();
    await window.page.getByRole('region', { name: /^Plan/ }).getByRole('button', { name: 'Change plan' }).click();
    await inDialog('Cancel').click();
    assert.deepEqual(window.problems, []);
  });

  test('a read-only role sees every page of an incident with disabled buttons and the reason', async () => {
    const instancePath = new URL(window.page.url()).pathname.split('/').slice(0, 3).join('/');
    const [letter, repair] = await Promise.all([
      window.page.evaluate<string>(`fetch('/v2/workflows/dlq', { headers: { 'x-everstep-queue': '${instancePath.split('/')[2]}' } })
        .then((response) => response.json()).then(({ messages }) => messages[0].dlqId)`),
      window.page.evaluate<string>(`fetch('/v2/workflows/repairs', { headers: { 'x-everstep-queue': '${instancePath.split('/')[2]}' } })
        .then((response) => response.json()).then(({ repairs }) => repairs[0].repairId)`),
    ]);
    const own = await harness.window();
    await own.page.goto('/');
    await own.signIn(READ_ONLY_USER, apiKey ?? '');
    const pages: readonly (readonly [page: string, ...disabled: string[]])[] = [
      ['dead-letters', 'Acknowledge', 'Resolve', 'Plan repair'],
      ['dead-letters?view=entries', 'Plan repair'],
      [`dead-letters/${letter}`, 'Resume', 'Restart', 'Delete'],
      ['repairs/new', 'Create plan'],
      [`repairs/${repair}`],
      ['runs'],
      ['instance', 'Change plan', 'Move to team'],
      [`search/${indexId}`, 'Add document', 'Move to team', 'Delete'],
    ];
    for (const [page, ...names] of pages) {
      await own.page.goto(`${instancePath}/${page}`);
      await own.waitUntilSettled();
      for (const name of names) {
        const disabled = own.page.getByRole('button', { name, exact: true });
        assert.equal(await disabled.isDisabled(), true, `${page}: ${name}`);
        assert.match((await disabled.getAttribute('title')) ?? '', /role|Only/, `${page}: ${name}`);
      }
      const [first] = names;
      if (first !== undefined) {
        // Pressing a disabled button only shows the reason.
        await own.page.getByRole('button', { name: first, exact: true }).press('Enter');
        await own.page.locator('.toast[data-tone=note]').first().waitFor();
        assert.equal(await own.page.getByRole('dialog').count(), 0, page);
      }
      assert.equal(await own.page.getByRole('alert').count(), 0, page);
      await own.screenshot(`read-only-${page.replaceAll(/\W+/g, '-').slice(0, 24)}`);
    }
    assert.deepEqual(await own.findings(), []);
    assert.deepEqual(own.problems, []);
  });
});
