/** The frame of the dashboard: logging in and out, the instance, the theme, the keyboard. In a real browser. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { openBrowser } from './chromium.fixture.js';
import { becomes, DashboardWorld } from './dashboard.fixture.js';

const opened = await openBrowser();

describe('the frame of the dashboard', { skip: opened.kind === 'missing' ? opened.missing : false }, () => {
  let world: DashboardWorld;
  before(async () => {
    if (opened.kind === 'open') world = await DashboardWorld.open(opened.browser);
  });
  after(async () => {
    await world?.close();
    if (opened.kind === 'open') await opened.browser.close();
  });
  const email = () => world.variable('EVERSTEP_ADMIN_EMAIL');
  const apiKey = () => world.variable('EVERSTEP_ADMIN_API_KEY');

  test('a link leads through the login to the view that it names', async () => {
    const first = await world.loggedIn();
    const [, , queueId] = new URL(first.page.url()).pathname.split('/');
    const window = await world.window();
    await window.page.goto(`/q/${queueId}/runs?state=RUN_FAILED&q=a+b`);
    await window.page.getByLabel('E-mail').waitFor();
    await window.logIn(email(), apiKey());
    const { pathname, searchParams } = new URL(window.page.url());
    assert.equal(pathname, `/q/${queueId}/runs`);
    assert.deepEqual(Object.fromEntries(searchParams), { state: 'RUN_FAILED', q: 'a b' });
    await becomes(() => window.page.getByLabel('Search', { exact: true }).inputValue(), 'a b');
  });

  test('a login that is refused says why, and nothing of the key stays in the page or in the URL', async () => {
    const window = await world.window();
    await window.page.goto('/');
    await window.page.getByLabel('E-mail').fill(email());
    await window.page.getByLabel('API key').fill('not-the-key');
    await window.page.getByRole('button', { name: 'Log in' }).click();
    await window.page.getByRole('alert').getByText('bad-credential').waitFor();
    assert.doesNotMatch(window.page.url(), /not-the-key/);
    assert.deepEqual(window.problems, []);
  });

  test('whoever logs out has to log in again, also in another tab and with the cookie that was kept', async () => {
    const window = await world.loggedIn();
    const { page } = window;
    const other = await page.context().newPage();
    await other.goto('/');
    await other.getByRole('heading', { name: 'Runs' }).waitFor();
    const kept = await page.context().cookies();
    assert.equal(kept.find(({ name }) => name === 'everstep_session')?.httpOnly, true);
    await page.getByRole('button', { name: email() }).click();
    await page.getByRole('menuitem', { name: 'Log out', exact: true }).click();
    await page.getByLabel('E-mail').waitFor();
    await page.context().addCookies(kept);
    await other.getByRole('link', { name: 'Audit log' }).click();
    await other.getByLabel('E-mail').waitFor();
  });

  test('whoever logs out everywhere is logged out in other browsers, too', async () => {
    const [here, elsewhere] = [await world.loggedIn(), await world.loggedIn()];
    await here.page.getByRole('button', { name: email() }).click();
    await here.page.getByRole('menuitem', { name: 'Log out everywhere' }).click();
    await here.page.getByLabel('E-mail').waitFor();
    await elsewhere.page.getByRole('link', { name: 'Audit log' }).click();
    await elsewhere.page.getByLabel('E-mail').waitFor();
  });

  test('the theme is that of the system until one is chosen, which stays', async () => {
    const window = await world.loggedIn({ theme: 'dark' });
    const { page } = window;
    const showsIn = (theme: 'light' | 'dark') => page.locator(`html[data-theme="${theme}"]`).waitFor();
    await showsIn('dark');
    await page.emulateMedia({ colorScheme: 'light' });
    await showsIn('light');
    await page.getByRole('button', { name: email() }).click();
    await page.getByRole('menuitemradio', { name: 'Dark' }).click();
    await showsIn('dark');
    await page.reload();
    await window.settled();
    await showsIn('dark');
  });

  test('the first stop of the keyboard skips the navigation', async () => {
    const window = await world.loggedIn();
    const { page } = window;
    await page.reload();
    await window.settled();
    await page.keyboard.press('Tab');
    await becomes(() => page.locator(':focus').allTextContents(), ['Skip to the page']);
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    await page.locator('input[type=search]:focus').waitFor();
  });

  test('on a narrow screen the navigation is opened, and closes when a page was chosen', async () => {
    const window = await world.loggedIn({ width: 390, height: 844 });
    const { page } = window;
    await page.getByRole('button', { name: 'Open the navigation' }).click();
    await page.getByRole('dialog').getByRole('link', { name: 'Audit log' }).click();
    await page.getByRole('heading', { name: 'Audit log', level: 1 }).waitFor();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });

  test('an address that leads nowhere says so', async () => {
    const window = await world.loggedIn();
    await window.page.goto('/q/none/no-such-page');
    await window.page.getByText('Nothing is at this address').waitFor();
  });

  test('tabs in the background leave the connections of the browser to the one that is looked at', async () => {
    // A browser has six to a host.
    const tabs = 7;
    const context = (await world.loggedIn()).page.context();
    await context.addInitScript("Object.defineProperty(document, 'hidden', { get: () => !sessionStorage.getItem('shown') })");
    const live = (page: Page) => page.getByText('Live', { exact: true });
    let last: Page | null = null;
    for (let n = 0; n < tabs; n++) {
      const page = await context.newPage();
      await page.goto('/', { timeout: 30_000 });
      await page.getByText('There are no runs yet').waitFor();
      assert.equal(await live(page).count(), 0);
      last = page;
    }
    assert.ok(last);
    const turn = (shown: boolean) =>
      last?.evaluate(
        `sessionStorage.setItem('shown', '${shown ? 'yes' : ''}'); document.dispatchEvent(new Event('visibilitychange'))`,
      );
    await turn(true);
    await live(last).waitFor();
    await turn(false);
    await live(last).waitFor({ state: 'detached' });
    const asked = last.waitForRequest(/workflows\/search/);
    await turn(true);
    // What happened meanwhile is asked for.
    await Promise.all([asked, live(last).waitFor()]);
    await context.close();
  });

  test('a list is asked for once, and not again while nothing happens', async () => {
    const window = await world.loggedIn();
    const asked: string[] = [];
    window.page.on('request', (request) => {
      if (request.url().includes('/v2/workflows/search')) asked.push(request.url());
    });
    await window.goTo('runs');
    await window.page.getByText('There are no runs yet').waitFor();
    assert.equal(asked.length, 1, asked.join('\n'));
  });

  test('that the service does not answer is said, nothing moves for it, and a page is had again when it does', async () => {
    const window = await world.loggedIn();
    const { page } = window;
    const { port } = new URL(world.url);
    const top = () => page.evaluate<number>("document.querySelector('h1').getBoundingClientRect().top");
    const before = await top();
    assert.ok(before > 0);
    await world.service.end('SIGKILL');
    const notice = page.getByText(/^The service does not answer since \d\d:\d\d:\d\d/);
    await notice.waitFor();
    await page.getByText('No connection', { exact: true }).waitFor();
    assert.equal(await top(), before);
    assert.deepEqual(await window.findings(), []);
    await page.getByRole('link', { name: 'Team' }).click();
    await page.getByText(/^The files of this page could not be had/).waitFor();
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText(/^The service does not answer\. It may be starting again/).waitFor();
    await world.service.start({ port });
    await notice.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('heading', { name: 'Team', level: 1 }).waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
  });
});
