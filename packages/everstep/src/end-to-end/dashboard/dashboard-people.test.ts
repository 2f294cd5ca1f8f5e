/** Tests pages about users and credentials in a real browser: users, sessions, tokens, and deletion of an instance. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { acceptInvitation } from '@everstep/sdk';
import { openBrowser } from './chromium.fixture.js';
import { DashboardHarness, type Window } from './dashboard.fixture.js';
import { adminOf } from './dashboard-account.fixture.js';

const opened = await openBrowser();
const skip = opened.kind === 'missing' ? opened.missing : false;
const ADA = 'ada@shop.example';

describe('users and credentials', { skip }, () => {
  let harness: DashboardHarness;
  let window: Window;
  let adaKey = '';
  let teamId = '';
  before(async () => {
    if (opened.kind === 'missing') return;
    harness = await DashboardHarness.open(opened.browser);
    const admin = adminOf(harness);
    ({ id: teamId } = await admin.teams.create('shop'));
    const { invitation_secret: secret = '' } = await admin.teams.members.put(teamId, ADA, 'dev');
    adaKey = (await acceptInvitation(secret, { baseUrl: harness.url })).api_key ?? '';
    await admin.instances.create({ name: 'of the shop', region: 'eu-central-1', teamId });
    window = await harness.signedIn();
  });
  after(async () => {
    await harness?.close();
    if (opened.kind === 'open') await opened.browser.close();
  });
  const row = (text: string | RegExp) => window.page.getByRole('row').filter({ hasText: text });
  const button = (name: string | RegExp) => window.page.getByRole('button', { name, exact: true });
  const dialog = () => window.page.getByRole('dialog');
  const inDialog = (name: string) => dialog().getByRole('button', { name, exact: true });
  const dialogClosed = () => dialog().waitFor({ state: 'detached' });
  const checkPage = async () => {
    assert.deepEqual(await window.findings(), []);
    assert.deepEqual(window.problems, []);
  };

  test('an operator changes the operator role, disables and enables a user, and creates a recovery link', async () => {
    const select = async (text: string) => {
      await button(`Actions for ${ADA}`).click();
      await window.page.getByRole('menuitem', { name: text, exact: true }).click();
      return dialog();
    };
    await window.goTo('users');
    await row(ADA).getByText('Active').waitFor();
    await checkPage();
    await select('Make operator');
    await inDialog('Make operator').click();
    await row(ADA).getByText('Operator').waitFor();
    await select('Revoke operator role');
    await inDialog('Revoke operator role').click();
    await row(ADA).getByText('Active').waitFor();
    await select('Disable');
    await inDialog('Disable').click();
    await row(ADA).getByText('Disabled').waitFor();
    await select('Enable');
    await inDialog('Enable').click();
    await row(ADA).getByText('Active').waitFor();
    await select('Delete');
    assert.equal(await inDialog('Delete').isDisabled(), true);
    await inDialog('Cancel').click();
    await dialogClosed();
    await select('Create recovery link');
    await inDialog('Create link').click();
    const link = (await dialog().getByText(/#rec_/).textContent()) ?? '';
    await checkPage();
    await inDialog('Done').click();
    await dialogClosed();
    const recovered = await harness.window();
    await recovered.page.goto(link);
    await recovered.page.getByRole('button', { name: 'Create API key', exact: true }).click();
    await recovered.page.getByText('Your new API key').first().waitFor();
    await recovered.page.close();
  });

  test('a user lists sessions and ends all others', async () => {
    const other = await harness.signedIn();
    await window.goTo('account');
    await row('This browser').waitFor();
    await row('Other').waitFor();
    await checkPage();
    await button('End all other sessions').click();
    await inDialog('End 1 session').click();
    await dialogClosed();
    await row('Other').waitFor({ state: 'detached' });
    await other.page.close();
  });

  test('a named token is created, shown once and revoked, and an instance is deleted', async () => {
    const { id } = await adminOf(harness).instances.create({ name: 'old app', region: 'eu-central-1' });
    await window.page.goto(`${harness.url}/q/${id}/instance`);
    await window.waitUntilSettled();
    await button('New token').click();
    await dialog().getByLabel('Name').fill('ci');
    await checkPage();
    await inDialog('Create token').click();
    await dialog().getByText('it is shown only once').waitFor();
    await inDialog('Done').click();
    await dialogClosed();
    await row('ci').getByText('never').waitFor();
    await button('Revoke ci').click();
    await inDialog('Revoke token').click();
    await row('ci').getByText('Revoked').waitFor();
    await button('Delete instance').click();
    assert.equal(await inDialog('Delete permanently').isDisabled(), true);
    await checkPage();
    await dialog().getByLabel('Type old app to confirm').fill('old app');
    let fetchList = (): void => undefined;
    const listed = new Promise<void>((resolve) => {
      fetchList = resolve;
    });
    await window.page.route('**/v2/queue/users', async (route) => {
      await listed;
      await route.continue();
    });
    await inDialog('Delete permanently').click();
    await window.page.waitForURL(({ pathname }) => pathname.startsWith('/q/') && !pathname.includes(id));
    fetchList();
    await window.waitUntilSettled();
    assert.ok(!window.page.url().includes(id));
    await window.page.unroute('**/v2/queue/users');
    assert.ok(!(await adminOf(harness).instances.list()).some((queue) => queue.id === id && queue.state === undefined));
  });

  test('a user sees the linked identities, and unlinks one', async () => {
    const { page } = window;
    const unlinkedPaths: string[] = [];
    const identity = { id: 'idn_1', issuer: 'https://login.test', subject: 'ada-1', creation_time: 1_700_000_000 };
    const identities = '**/v2/users/*/identities';
    await page.route('**/v2/session/methods', (route) => route.fulfill({ json: { sso: true } }));
    await page.route(identities, (route) => route.fulfill({ json: unlinkedPaths.length === 0 ? [identity] : [] }));
    await page.route(`${identities}/*`, async (route) => {
      unlinkedPaths.push(new URL(route.request().url()).pathname);
      await route.fulfill({ json: 'OK' });
    });
    await window.goTo('account');
    await row('https://login.test').getByText('ada-1').waitFor();
    await checkPage();
    await button('Unlink ada-1').click();
    await inDialog('Unlink identity').click();
    await page.getByText('No linked identities').waitFor();
    assert.match(unlinkedPaths.join(), /^\/v2\/users\/usr_\w+\/identities\/idn_1$/);
    for (const pattern of ['**/v2/session/methods', identities, `${identities}/*`]) await page.unroute(pattern);
  });

  test('only operators see the Users page, and the sign-in page explains a failed sign-in', async () => {
    const own = await harness.window();
    await own.page.goto(`${harness.url}/login?sign-in-error=sso-domain`);
    await own.page.getByRole('alert').getByText('Your email domain is not allowed').waitFor();
    assert.equal(await own.page.getByText('Sign in with SSO').count(), 0);
    assert.deepEqual(await own.findings(), []);
    await own.signIn(ADA, adaKey);
    assert.equal(await own.page.getByRole('link', { name: 'Users', exact: true }).count(), 0);
    await own.page.close();
  });

  test('the team page offers only what the role allows: an admin cannot change owners, and a dev can leave', async () => {
    const { members } = adminOf(harness).teams;
    const owner = harness.variable('EVERSTEP_ADMIN_EMAIL');
    await window.goTo('team');
    for (const name of [`Change role of ${owner}`, 'Leave shop']) {
      assert.equal(await button(name).isDisabled(), true, name);
      assert.equal(await button(name).getAttribute('title'), 'A team must have at least one owner');
    }
    await button(`Change role of ${ADA}`).click();
    assert.deepEqual(await dialog().getByLabel('Role').locator('option').allInnerTexts(), ['admin', 'dev', 'finance']);
    await inDialog('Cancel').click();
    await dialogClosed();
    const own = await harness.window();
    const ownButton = (name: string) => own.page.getByRole('button', { name, exact: true });
    await own.page.goto('/');
    await own.signIn(ADA, adaKey);
    await members.put(teamId, ADA, 'admin');
    await own.goTo('team');
    assert.equal(await ownButton(`Change role of ${ADA}`).isDisabled(), false);
    for (const name of [`Change role of ${owner}`, `Remove ${owner}`]) {
      assert.equal(await ownButton(name).isDisabled(), true, name);
      assert.equal(await ownButton(name).getAttribute('title'), 'Only owners can change or remove an owner');
    }
    await members.put(teamId, ADA, 'dev');
    await own.goTo('team');
    assert.equal(await ownButton(`Change role of ${ADA}`).isDisabled(), true);
    await ownButton('Leave shop').click();
    await ownButton('Leave team').click();
    await own.page.getByText('Left shop').first().waitFor();
    assert.deepEqual(
      (await members.list(teamId)).map(({ member_email: email }) => email),
      [owner],
    );
    assert.deepEqual([...(await own.findings()), ...own.problems], []);
    await own.page.close();
  });
});
