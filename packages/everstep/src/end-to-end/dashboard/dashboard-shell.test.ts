/** Tests the layout of the dashboard in a real browser: signing in and out, theme, keyboard, navigation and live updates. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { openBrowser } from './chromium.fixture.js';
import { DashboardHarness, waitUntilEqual } from './dashboard.fixture.js';
import { sendRequest } from './dashboard-account.fixture.js';

const opened = await openBrowser();

describe('dashboard layout', { skip: opened.kind === 'missing' ? opened.missing : false }, () => {
  let harness: DashboardHarness;
  before(async () => {
    if (opened.kind === 'open') harness = await DashboardHarness.open(opened.browser);
  });
  after(async () => {
    await harness?.close();
    if (opened.kind === 'open') await opened.browser.close();
  });
  const email = () => harness.variable('EVERSTEP_ADMIN_EMAIL');
  const apiKey = () => harness.variable('EVERSTEP_ADMIN_API_KEY');

  test('a link opens its view after the sign-in', async () => {
    const first = await harness.signedIn();
    const [, , instanceId] = new URL(first.page.url()).pathname.split('/');
    const window = await harness.window();
    await window.page.goto(`/q/${instanceId}/runs?state=RUN_FAILED&q=a+b`);
    await window.page.getByLabel('Email').waitFor();
    await window.signIn(email(), apiKey());
    const { pathname, searchParams } = new URL(window.page.url());
    assert.equal(pathname, `/q/${instanceId}/runs`);
    assert.deepEqual(Object.fromEntries(searchParams), { state: 'RUN_FAILED', q: 'a b' });
    await waitUntilEqual(() => window.page.getByLabel('Search', { exact: true }).inputValue(), 'a b');
  });

  test('a rejected sign-in shows the reason and does not leak the key into the URL', async () => {
    const window = await harness.window();
    await window.page.goto('/');
    await window.page.getByLabel('Email').fill(email());
    await window.page.getByLabel('API key').fill('not-the-key');
    await window.page.getByRole('button', { name: 'Sign in' }).click();
    await window.page.getByRole('alert').getByText('bad-credential').waitFor();
    assert.doesNotMatch(window.page.url(), /not-the-key/);
    assert.deepEqual(window.problems, []);
  });

  test('signing out invalidates the session in other tabs and for copied cookies', async () => {
    const window = await harness.signedIn();
    const { page } = window;
    const other = await page.context().newPage();
    await other.goto('/');
    await other.getByRole('heading', { name: 'Overview' }).waitFor();
    const kept = await page.context().cookies();
    assert.equal(kept.find(({ name }) => name === 'everstep_session')?.httpOnly, true);
    await page.getByRole('button', { name: email() }).click();
    await page.getByRole('menuitem', { name: 'Sign out', exact: true }).click();
    await page.getByLabel('Email').waitFor();
    // Pages poll, so the other tab notices it without a click.
    await other.getByLabel('Email').waitFor();
    await page.context().addCookies(kept);
    await other.goto('/');
    await other.getByLabel('Email').waitFor();
  });

  test('a failed sign-out shows the reason and the page stays', async () => {
    const window = await harness.signedIn();
    const { page } = window;
    const address = page.url();
    const signOut = async () => {
      await page.getByRole('button', { name: email() }).click();
      await page.getByRole('menuitem', { name: 'Sign out', exact: true }).click();
    };
    await page.route('**/v2/session', (route) =>
      route.request().method() === 'DELETE'
        ? route.fulfill({ status: 503, json: { error: 'the store does not respond' } })
        : route.continue(),
    );
    await signOut();
    await page.locator('.toast').getByText('The store does not respond').waitFor();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    assert.equal(page.url(), address);
    await page.unroute('**/v2/session');
    await signOut();
    await page.getByLabel('Email').waitFor();
    assert.deepEqual(window.problems, []);
  });

  test('signing out everywhere ends sessions in other browsers', async () => {
    const [here, elsewhere] = [await harness.signedIn(), await harness.signedIn()];
    await here.page.getByRole('button', { name: email() }).click();
    await here.page.getByRole('menuitem', { name: 'Sign out everywhere' }).click();
    await here.page.getByLabel('Email').waitFor();
    await elsewhere.page.getByLabel('Email').waitFor();
  });

  test('a click on a header sorts the rows, and the order is kept in the URL', async () => {
    for (const queueName of ['mail', 'invoices']) await sendRequest(harness, 'POST', '/v2/queues', { queueName, parallelism: 1 });
    const window = await harness.signedIn();
    await window.goTo('queues');
    const heading = () => window.page.getByRole('button', { name: 'Queue', exact: true });
    const row = (text: string) => window.page.getByRole('row').filter({ hasText: text });
    const names = () => window.page.getByRole('grid', { name: 'Queues' }).locator('.table-row .mono').allInnerTexts();
    await row('invoices').waitFor();
    const sorted = (await names()).toSorted();
    assert.ok(sorted.length > 1);
    await heading().click();
    await waitUntilEqual(async () => String(await names()), String(sorted));
    await heading().click();
    await waitUntilEqual(async () => String(await names()), String(sorted.toReversed()));
    await window.page.reload();
    await row('invoices').waitFor();
    assert.equal(String(await names()), String(sorted.toReversed()));
    assert.match(window.page.url(), /sort=-name/);
    assert.deepEqual(await window.findings(), []);
    await heading().click();
    await waitUntilEqual(async () => new URL(window.page.url()).searchParams.get('sort'), null);
  });

  test('the theme follows the system until the user selects one', async () => {
    const window = await harness.signedIn({ theme: 'dark' });
    const { page } = window;
    const showsIn = (theme: 'light' | 'dark') => page.locator(`html[data-theme="${theme}"]`).waitFor();
    await showsIn('dark');
    await page.emulateMedia({ colorScheme: 'light' });
    await showsIn('light');
    await page.getByRole('button', { name: email() }).click();
    await page.getByRole('menuitemradio', { name: 'Dark' }).click();
    await showsIn('dark');
    await page.reload();
    await window.waitUntilSettled();
    await showsIn('dark');
  });

  test('menus, dialogs and tooltips are loaded after the rows of a list are shown', async () => {
    const window = await harness.signedIn();
    const { page } = window;
    await page.addInitScript(`new MutationObserver((_changes, observer) => {
      if (document.querySelector('.table-row') === null) return;
      window.shownAt = performance.now();
      observer.disconnect();
    }).observe(document, { childList: true, subtree: true })`);
    for (const list of ['audit', 'users']) {
      await window.goTo(list);
      const startOf = (part: string): Promise<number> =>
        page.evaluate<number>(
          `performance.getEntriesByType('resource').find(({ name }) => name.includes('/assets/${part}'))?.startTime ?? 0`,
        );
      for (const part of ['menu-popup', 'dialog-frame', 'times-popup', 'drawer']) {
        await waitUntilEqual(async () => (await startOf(part)) > 0, true, `${part} is loaded`);
        assert.ok((await startOf(part)) > (await page.evaluate<number>('window.shownAt')), `${list} loads ${part} too early`);
      }
    }
  });

  test('a menu opens with the keyboard at its first entry, and closing it returns the focus', async () => {
    const { page } = await harness.signedIn();
    const focused = () => page.evaluate<string>('document.activeElement.innerText.trim()');
    const button = page.getByRole('button', { name: email() });
    for (const key of ['Enter', 'ArrowDown']) {
      await button.focus();
      await page.keyboard.press(key);
      await waitUntilEqual(focused, 'System', `the entry with the focus after ${key}`);
      await page.keyboard.press('ArrowDown');
      await waitUntilEqual(focused, 'Light');
      await page.keyboard.press('Escape');
      await page.getByRole('menu').waitFor({ state: 'detached' });
      await waitUntilEqual(() => button.evaluate((element) => element.matches(':focus')), true);
    }
  });

  test('the first Tab stop skips the navigation', async () => {
    const window = await harness.signedIn();
    const { page } = window;
    await page.reload();
    await window.waitUntilSettled();
    await page.keyboard.press('Tab');
    await waitUntilEqual(() => page.locator(':focus').allTextContents(), ['Skip to content']);
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    await page.locator('#page :focus').waitFor();
  });

  test('a sign-in link works once and leaves no secret in the URL', async () => {
    const [link = ''] = /http\S+\/login#lnk_[\w-]+/.exec(harness.service.printed) ?? [];
    const window = await harness.window();
    await window.page.goto(link);
    await window.page.waitForURL('**/q/**');
    assert.doesNotMatch(window.page.url(), /lnk_/);
    const second = await harness.window();
    await second.page.goto(link);
    await second.page.getByRole('alert').getByText('already used').waitFor();
    await second.page.getByText('Where is my API key?').click();
    await second.page.getByText('credentials.json').waitFor();
    assert.deepEqual([...window.problems, ...(await second.faults())], []);
  });

  test('an instance without runs shows a quickstart with its own URL and token', async () => {
    const window = await harness.signedIn();
    const { page } = window;
    for (const way of ['TypeScript', 'curl', '@upstash/workflow']) {
      await page.getByRole('button', { name: way, exact: true }).click();
      assert.equal(await page.locator('.quickstart-code').count(), 3, way);
      assert.deepEqual(await window.faults(), [], way);
    }
    await page.getByRole('button', { name: 'curl', exact: true }).click();
    await page.getByRole('button', { name: 'Copy step 1' }).click();
    await page.getByText('Copied step 1').waitFor();
    const url = new URL(page.url()).origin;
    assert.equal(
      await page.evaluate('navigator.clipboard.readText()'),
      `export EVERSTEP_URL=${url} EVERSTEP_TOKEN=${harness.variable('EVERSTEP_TOKEN')}`,
    );
    // The token is not on screen.
    assert.ok(!(await page.locator('#page').innerText()).includes(harness.variable('EVERSTEP_TOKEN')));
  });

  test('keys open the palette, the search field and the help, and the palette leads to pages', async () => {
    const window = await harness.signedIn();
    const { page } = window;
    await window.goTo('runs');
    await page.keyboard.press('/');
    await page.locator('input[type=search]:focus').waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog').getByRole('combobox').fill('audit');
    await page.getByRole('option', { name: 'Audit log' }).waitFor();
    assert.deepEqual(await window.faults(), []);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Audit log', level: 1 }).waitFor();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
    assert.deepEqual(await window.faults(), []);
    await page.keyboard.press('Escape');
  });

  test('filters are saved as a view, which is in the menu and in the palette', async () => {
    const window = await harness.signedIn();
    const { page } = window;
    await window.goTo('runs?state=RUN_FAILED');
    await page.getByRole('button', { name: 'Views' }).click();
    const save = page.getByRole('menuitem', { name: 'Save this view' });
    const navigation = (await page.getByRole('navigation').first().boundingBox()) ?? assert.fail();
    const { x = 0 } = (await save.boundingBox()) ?? assert.fail();
    assert.ok(x >= navigation.x + navigation.width, 'the menu does not cover the navigation');
    await save.click();
    await page.getByRole('dialog').getByLabel('Name').fill('All failed');
    await page.getByRole('button', { name: 'Save view' }).click();
    await window.goTo('runs');
    await page.getByRole('button', { name: 'Views' }).click();
    await page.getByRole('menuitem', { name: 'All failed' }).click();
    await waitUntilEqual(() => window.parameters(), { state: 'RUN_FAILED' });
    await page.getByRole('button', { name: 'All failed' }).click();
    await page.getByRole('menuitem', { name: 'Delete view All failed' }).click();
    await page.getByRole('button', { name: 'Views' }).waitFor();
  });

  test('on a narrow screen the navigation closes after a page is selected', async () => {
    const window = await harness.signedIn({ width: 390, height: 844 });
    const { page } = window;
    await page.getByRole('button', { name: 'Open navigation' }).click();
    await page.getByRole('dialog').getByRole('link', { name: 'Audit log' }).click();
    await page.getByRole('heading', { name: 'Audit log', level: 1 }).waitFor();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });

  test('an unknown address shows a not-found page', async () => {
    const window = await harness.signedIn();
    await window.page.goto('/q/none/no-such-page');
    await window.page.getByText('No page exists at this address').waitFor();
    await window.page.goto('/q/none/runs');
    await window.page.getByRole('heading', { name: 'Queue instance not found' }).waitFor();
    assert.deepEqual(await window.faults(), []);
  });

  test('background tabs leave the connections of the browser to the visible tab', async () => {
    // A browser has six connections per host.
    const tabs = 7;
    const context = (await harness.signedIn()).page.context();
    await context.addInitScript("Object.defineProperty(document, 'hidden', { get: () => !sessionStorage.getItem('shown') })");
    const live = (page: Page) => page.getByText('Live', { exact: true });
    let last: Page | null = null;
    for (let n = 0; n < tabs; n++) {
      const page = await context.newPage();
      await page.goto('/', { timeout: 30_000 });
      await page.getByText('No runs yet').waitFor();
      assert.equal(await live(page).count(), 0);
      last = page;
    }
    assert.ok(last);
    const setVisible = (shown: boolean) =>
      last?.evaluate(
        `sessionStorage.setItem('shown', '${shown ? 'yes' : ''}'); document.dispatchEvent(new Event('visibilitychange'))`,
      );
    await setVisible(true);
    await live(last).waitFor();
    await setVisible(false);
    await live(last).waitFor({ state: 'detached' });
    const request = last.waitForRequest(/workflows\/search/);
    await setVisible(true);
    // The tab catches up on changes.
    await Promise.all([request, live(last).waitFor()]);
    await context.close();
  });

  test('a list is requested once while nothing changes', async () => {
    const window = await harness.signedIn();
    const requests: string[] = [];
    window.page.on('request', (request) => {
      if (request.url().includes('/v2/workflows/search')) requests.push(request.url());
    });
    // What is loaded before the stream of changes opens is requested again.
    await window.page.route('**/v2/workflows/search*', async (route) => {
      await window.page.getByText('Live', { exact: true }).waitFor();
      await route.continue();
    });
    await window.goTo('runs');
    await window.page.getByText('No runs yet').waitFor();
    assert.equal(requests.length, 1, requests.join('\n'));
    await window.page.unroute('**/v2/workflows/search*');
  });

  test('the page shows that the server is unreachable without moving, and recovers', async () => {
    const window = await harness.signedIn();
    const { page } = window;
    const { port } = new URL(harness.url);
    const top = () => page.evaluate<number>("document.querySelector('h1').getBoundingClientRect().top");
    const before = await top();
    assert.ok(before > 0);
    await harness.service.end('SIGKILL');
    const notice = page.getByText(/^The server hasn't responded since \d\d:\d\d:\d\d/);
    await notice.waitFor();
    await page.getByText('No connection', { exact: true }).waitFor();
    assert.equal(await top(), before);
    assert.deepEqual(await window.findings(), []);
    await page.getByRole('link', { name: 'Team' }).click();
    await page.getByText(/^Couldn't load this page/).waitFor();
    await page.getByRole('button', { name: 'Retry' }).click();
    await page.getByText(/^The server is not responding\. It may be restarting/).waitFor();
    await harness.service.start({ port });
    await notice.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Retry' }).click();
    await page.getByRole('heading', { name: 'Team', level: 1 }).waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
  });

  test('the first page shows the first run when it starts', async () => {
    const { page } = await harness.signedIn();
    await page.getByText('No runs yet').waitFor();
    await harness.triggerAt('/order', { body: { id: 1 } });
    await page.getByRole('grid', { name: 'Top workflows' }).getByRole('row').filter({ hasText: '/order' }).waitFor();
    await page.getByText('No runs yet').waitFor({ state: 'detached' });
  });

  test('the page shows changes while the stream of changes does not open', async () => {
    const window = await harness.signedIn();
    const { page } = window;
    let openStream = (): void => undefined;
    const opened = new Promise<void>((resolve) => {
      openStream = resolve;
    });
    await page.route('**/v2/live?*', async (route) => {
      await opened;
      await route.continue();
    });
    await window.goTo('runs');
    await page.getByText('Connecting', { exact: true }).waitFor();
    await harness.triggerAt('/order', { body: { id: 30 } });
    await page.getByRole('button', { name: 'Show 1 new run' }).waitFor();
    openStream();
    await page.getByText('Live', { exact: true }).waitFor();
    assert.deepEqual(window.problems, []);
  });

  test('Back returns to the row that was opened, with the focus and at the same height', async () => {
    for (let id = 1; id <= 20; id++) await harness.triggerAt('/order', { body: { id } });
    const window = await harness.signedIn({ height: 400 });
    const { page } = window;
    const rowOf = (id: string) => page.getByRole('row').filter({ has: page.getByTitle(id) });
    const topOf = async (id: string) => Math.round((await rowOf(id).boundingBox())?.y ?? Number.NaN);
    const byKey = () => page.keyboard.press('Enter');
    const byClick = (id: string) => rowOf(id).locator('.run-link').click();
    for (const open of [byKey, byClick]) {
      await window.goTo('runs');
      const id = (await page.getByRole('row').nth(10).locator('.run-link').getAttribute('title')) ?? '';
      await rowOf(id).scrollIntoViewIfNeeded();
      await rowOf(id).focus();
      const top = await topOf(id);
      await open(id);
      await page.getByRole('heading', { level: 1, name: id }).waitFor();
      // A row that is added above must not move the others.
      await harness.triggerAt('/order', { body: { id: 21 } });
      await page.goBack();
      await waitUntilEqual(() => page.locator('[role=row]:focus .run-link').getAttribute('title'), id);
      await waitUntilEqual(() => topOf(id), top);
    }
  });
});
