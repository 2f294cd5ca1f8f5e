/**
 * Opens every page of the dashboard in Firefox: headings, script errors, violations of the content security policy, horizontal
 * overflow and basic actions. Run it with `npm run test:firefox`; the tests in ../dashboard do so in Chromium in detail, too.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { DashboardHarness, type SeededRuns, waitUntilEqual } from '../dashboard/dashboard.fixture.js';
import { addressOf, PAGES } from '../dashboard/pages.fixture.js';
import { Firefox } from './firefox.fixture.js';

const opened = await Firefox.open();

describe('the dashboard in Firefox', { skip: opened.kind === 'missing' ? opened.missing : false }, () => {
  let harness: DashboardHarness;
  let seeded: SeededRuns;
  let firefox: Firefox;
  let home = '';
  before(async () => {
    if (opened.kind === 'missing') return;
    firefox = opened.firefox;
    harness = await DashboardHarness.open(null);
    seeded = await harness.seed({ steps: 20 });
    await firefox.setSize(1440, 900);
  });
  after(async () => {
    await harness?.close();
    if (opened.kind === 'open') await firefox.close();
  });
  const heading = () => firefox.evaluate<string>("document.querySelector('h1')?.textContent ?? ''");

  test('a user signs in', async () => {
    await firefox.goTo(`${harness.url}/`);
    await firefox.click('textbox', 'Email');
    await firefox.type(harness.variable('EVERSTEP_ADMIN_EMAIL'));
    await firefox.press('Tab');
    await firefox.type(harness.variable('EVERSTEP_ADMIN_API_KEY'));
    await firefox.press('Enter');
    await waitUntilEqual(heading, 'Overview');
    home = (await firefox.evaluate<string>('location.href')).replace(/overview.*/, '');
  });

  for (const [width, height] of [
    [1440, 900],
    [450, 844],
  ] as const)
    test(`every page at ${width} pixels`, async (t) => {
      await firefox.setSize(width, height);
      for (const [name, page] of Object.entries(PAGES))
        await t.test(name, async () => {
          await firefox.goTo(home + addressOf(page, harness, seeded));
          assert.notEqual(await heading(), '');
          const [content = 0, window = 0] = await firefox.evaluate<[number, number]>(
            '[document.documentElement.scrollWidth, document.documentElement.clientWidth]',
          );
          assert.ok(content <= window, `${content} px wide in ${window} px`);
          assert.deepEqual(firefox.problems.splice(0), []);
        });
      await firefox.setSize(1440, 900);
    });

  test('the palette opens with a key and leads to a page', async () => {
    await firefox.goTo(`${home}runs`);
    await firefox.press('Control', 'k');
    await firefox.waitUntilTrue("document.activeElement?.getAttribute('role') === 'combobox'");
    await firefox.type('audit');
    await firefox.showsText('Audit log');
    await firefox.press('Enter');
    await waitUntilEqual(heading, 'Audit log');
    assert.deepEqual(firefox.problems, []);
  });

  test('dragging over the histogram selects a time', async () => {
    await firefox.goTo(`${home}runs`);
    const zoom = 'Runs by creation time. Arrow keys move, Shift and arrow keys select a range, Enter zooms in.';
    await firefox.drag('slider', zoom, -0.4, 0.4);
    await firefox.waitUntilTrue('/[?&]from=.*&to=/.test(location.search)');
    await firefox.click('button', 'Show all times');
    await waitUntilEqual(() => firefox.evaluate<string>('location.search'), '');
    assert.deepEqual(firefox.problems, []);
  });

  test('a list is sorted, and a row is opened with the keyboard', async () => {
    await firefox.goTo(`${home}runs`);
    const firstRun = () => firefox.evaluate<string>("document.querySelector('.table-row .run-link')?.title ?? ''");
    const newest = await firstRun();
    await firefox.click('button', 'Created');
    await waitUntilEqual(async () => ['', newest].includes(await firstRun()), false);
    await firefox.evaluate("document.querySelector('.table-row').focus()");
    await firefox.press('j');
    await firefox.press('ArrowDown');
    await firefox.waitUntilTrue("document.activeElement?.ariaRowIndex === '4'");
    const third = await firefox.evaluate<string>("document.activeElement.querySelector('.run-link').title");
    await firefox.press('Enter');
    await firefox.waitUntilTrue(`location.pathname.endsWith(${JSON.stringify(third)})`);
    assert.deepEqual(firefox.problems, []);
  });

  test('dead letters are repaired, and the page follows the repair live', async () => {
    await firefox.goTo(`${home}dead-letters`);
    await firefox.click('link', 'Plan repair for all');
    await firefox.click('button', 'Create plan');
    await waitUntilEqual(heading, 'Resume 9 dead letters');
    await firefox.click('button', 'Resume 9 dead letters');
    await firefox.showsText('Done: 9 of 9 succeeded.');
    assert.deepEqual(firefox.problems, []);
  });
});
