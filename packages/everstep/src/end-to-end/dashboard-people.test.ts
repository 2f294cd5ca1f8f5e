/** Pages about people and credentials, in a real browser, each loaded once: users, sessions, tokens, and deleting an instance. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { acceptInvitation } from '@everstep/sdk';
import { openBrowser } from './chromium.fixture.js';
import { DashboardWorld, type Window } from './dashboard.fixture.js';
import { adminOf } from './dashboard-account.fixture.js';

const opened = await openBrowser();
const skip = opened.kind === 'missing' ? opened.missing : false;
const ADA = 'ada@shop.example';

describe('pages about people and credentials', { skip }, () => {
  let world: DashboardWorld;
  let window: Window;
  let adaKey = '';
  before(async () => {
    if (opened.kind === 'missing') return;
    world = await DashboardWorld.open(opened.browser);
    const admin = adminOf(world);
    const team = await admin.teams.create('shop');
    const { invitation_secret: secret = '' } = await admin.teams.members.put(team.id, ADA, 'dev');
    adaKey = (await acceptInvitation(secret, { baseUrl: world.url })).api_key ?? '';
    await admin.queues.create({ name: 'of the shop', region: 'eu-central-1', teamId: team.id });
    window = await world.loggedIn();
  });
  after(async () => {
    await world?.close();
    if (opened.kind === 'open') await opened.browser.close();
  });
  const row = (text: string | RegExp) => window.page.getByRole('row').filter({ hasText: text });
  const button = (name: string | RegExp) => window.page.getByRole('button', { name, exact: true });
  const dialog = () => window.page.getByRole('dialog');
  const inDialog = (name: string) => dialog().getByRole('button', { name, exact: true });
  const gone = () => dialog().waitFor({ state: 'detached' });
  const isFine = async () => {
    assert.deepEqual(await window.findings(), []);
    assert.deepEqual(window.problems, []);
  };

  test('an operator makes a recovery link, hands over the role, disables and enables a user', async () => {
    const choose = async (text: string) => {
      await button(`Change ${ADA}`).click();
      await window.page.getByRole('menuitem', { name: text, exact: true }).click();
      return dialog();
    };
    await window.goTo('users');
    await row(ADA).getByText('Active').waitFor();
    await isFine();
    await choose('Recovery link');
    await inDialog('Create the link').click();
    const link = (await dialog().getByText(/#rec_/).textContent()) ?? '';
    await isFine();
    await inDialog('Done').click();
    await gone();
    await choose('Make operator');
    await inDialog('Make operator').click();
    await row(ADA).getByText('Operator').waitFor();
    await choose('End operator role');
    await inDialog('End operator role').click();
    await row(ADA).getByText('Active').waitFor();
    await choose('Disable');
    await inDialog('Disable').click();
    await row(ADA).getByText('Disabled').waitFor();
    await choose('Enable');
    await inDialog('Enable').click();
    await row(ADA).getByText('Active').waitFor();
    await choose('Delete');
    assert.equal(await inDialog('Delete').isDisabled(), true);
    await inDialog('Cancel').click();
    await gone();
    const recovered = await world.window();
    await recovered.page.goto(link);
    await recovered.page.getByRole('button', { name: 'Create an API key', exact: true }).click();
    await recovered.page.getByText('Your new API key').first().waitFor();
    await recovered.page.close();
  });

  test('a user sees its sessions, and ends all others', async () => {
    const other = await world.loggedIn();
    await window.goTo('account');
    await row('This browser').waitFor();
    await row('Other').waitFor();
    await isFine();
    await button('End all others').click();
    await inDialog('End them').click();
    await gone();
    await row('Other').waitFor({ state: 'detached' });
    await other.page.close();
  });

  test('a named token is made, shown once and revoked, and an instance is deleted by its name', async () => {
    const { id } = await adminOf(world).queues.create({ name: 'old app', region: 'eu-central-1' });
    await window.page.goto(`${world.url}/q/${id}/instance`);
    await window.settled();
    await button('New token').click();
    await dialog().getByLabel('What it is for').fill('ci');
    await isFine();
    await inDialog('Create token').click();
    await dialog().getByText('It is shown this once').waitFor();
    await inDialog('I have it').click();
    await gone();
    await row('ci').getByText('never').waitFor();
    await button('Revoke ci').click();
    await inDialog('Revoke token').click();
    await row('ci').getByText('Revoked').waitFor();
    await button('Delete').click();
    assert.equal(await inDialog('Delete it for good').isDisabled(), true);
    await isFine();
    await dialog().getByLabel('Type old app to confirm').fill('old app');
    let fetchList = (): void => undefined;
    const listed = new Promise<void>((resolve) => {
      fetchList = resolve;
    });
    await window.page.route('**/v2/queue/users', async (route) => {
      await listed;
      await route.continue();
    });
    await inDialog('Delete it for good').click();
    await window.page.waitForURL(({ pathname }) => pathname.startsWith('/q/') && !pathname.includes(id));
    fetchList();
    await window.settled();
    assert.ok(!window.page.url().includes(id));
    await window.page.unroute('**/v2/queue/users');
    assert.ok(!(await adminOf(world).queues.list()).some((queue) => queue.id === id && queue.state === undefined));
  });

  test('who is no operator sees no users, and the log-in page says why a sign-in failed', async () => {
    const own = await world.window();
    await own.page.goto(`${world.url}/login?sign-in-error=sso-domain`);
    await own.page.getByRole('alert').getByText('Your e-mail is not of a domain').waitFor();
    assert.equal(await own.page.getByText('Sign in with SSO').count(), 0);
    assert.deepEqual(await own.findings(), []);
    await own.logIn(ADA, adaKey);
    assert.equal(await own.page.getByRole('link', { name: 'Users', exact: true }).count(), 0);
    await own.page.close();
  });
});
