/**
 * Every page of the dashboard in a real browser: wide and light, narrow and dark. Nothing that the accessibility check finds,
 * no error of a script, nothing that the policy of the pages refused, nothing that sticks out at the side.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { openBrowser } from './chromium.fixture.js';
import { DashboardWorld, LOOKS, type Seeded } from './dashboard.fixture.js';

const opened = await openBrowser();

/** By name; `{...}` is replaced by what was seeded. */
const PAGES: Readonly<Record<string, string>> = {
  runs: 'runs',
  'runs-filtered': 'runs?state=RUN_FAILED&label=shop',
  'runs-empty': 'runs?q=no-such-thing',
  'run-good': 'runs/{good}',
  'run-failed': 'runs/{failed}',
  'run-waiting': 'runs/{waiting}',
  'run-retrying': 'runs/{retrying}',
  'run-long': 'runs/{long}',
  'run-missing': 'runs/wfr_none',
  compare: 'runs/{failed}/compare',
  'dead-letters': 'dead-letters',
  'dead-letters-entries': 'dead-letters?view=entries',
  'dead-letters-empty': 'dead-letters?workflowUrl=https%3A%2F%2Fnowhere.example%2F',
  'dead-letter-missing': 'dead-letters/dlq_none',
  repairs: 'repairs',
  'repair-new': 'repairs/new?label=shop&fromDate=1000',
  'repair-missing': 'repairs/rep_none',
  events: 'events',
  'flow-control': 'flow-control',
  schedules: 'schedules',
  queues: 'queues',
  instance: 'instance',
  team: 'team',
  search: 'search',
  audit: 'audit',
  nodes: 'nodes',
};

describe('the pages of the dashboard', { skip: opened.kind === 'missing' ? opened.missing : false }, () => {
  let world: DashboardWorld;
  let seeded: Seeded;
  before(async () => {
    if (opened.kind === 'missing') return;
    world = await DashboardWorld.open(opened.browser);
    seeded = await world.seed();
  });
  after(async () => {
    await world?.close();
    if (opened.kind === 'open') await opened.browser.close();
  });

  const addressOf = (page: string): string =>
    page
      .replace('{good}', seeded.good)
      .replace('{failed}', seeded.failed[0] ?? '')
      .replace('{waiting}', seeded.waiting)
      .replace('{retrying}', seeded.retrying)
      .replace('{long}', seeded.long);

  for (const [look, size] of Object.entries(LOOKS))
    test(`${look}: the login`, async () => {
      const window = await world.window(size);
      await window.page.goto('/');
      await window.settled();
      await window.page.getByLabel('E-mail').waitFor();
      await window.screenshot(`login-${look}`);
      assert.deepEqual(await window.faults(), []);
      await window.page.close();
    });

  test('every page in each look', async (t) => {
    const window = await world.loggedIn();
    for (const [name, page] of Object.entries(PAGES))
      await t.test(name, () =>
        window.inEachLook(addressOf(page), async (look) => {
          await window.screenshot(`${name}-${look}`);
          assert.deepEqual(await window.faults(), [], look);
        }),
      );
  });
});
