/** Tests in a real browser that open pages show changes without moving their content. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { openBrowser } from './chromium.fixture.js';
import { DashboardHarness, type SeededRuns, type Window } from './dashboard.fixture.js';
import { Receiver, seedAccount, sendRequest } from './dashboard-account.fixture.js';

const opened = await openBrowser();

/**
 * Paths of the pages. `{...}` is replaced by a seeded id. `dashboard-runs.test.ts` tests the pages of runs that end while they
 * are open.
 */
const PAGES = [
  'overview',
  'runs',
  'runs?state=RUN_FAILED',
  'runs/{waiting}',
  'dead-letters',
  'dead-letters?view=entries',
  'repairs',
  'repairs/{repairId}',
  'events',
  'flow-control',
  'flow-control/imports',
  'queues',
  'queues?view=messages',
] as const;

/**
 * Evaluated in the page: remembers the positions of everything that users read or press. Fields in a closed `details` have no
 * stable position until they are first shown.
 */
const SAVE_POSITIONS = `
  window.before = document.body.innerText;
  window.positions = [...document.querySelectorAll('a, button, input, [role=row], h1, h2, h3, dt')]
    .filter((element) => element.checkVisibility())
    .map((element) => ({ element, at: element.getBoundingClientRect() }));
`;
const MOVED = `
  window.positions.flatMap(({ element, at }) => {
    const to = element.getBoundingClientRect();
    const stays = !element.isConnected || (Math.abs(at.x - to.x) < 1 && Math.abs(at.y - to.y) < 1);
    return stays ? [] : [element.outerHTML.slice(0, 120) + ': ' + [at.x, at.y] + ' to ' + [to.x, to.y]];
  })
`;

describe('live pages', { skip: opened.kind === 'missing' ? opened.missing : false }, () => {
  let harness: DashboardHarness;
  let receiver: Receiver;
  let seeded: SeededRuns;
  let repairId = '';
  const windows = new Map<string, Window>();
  before(async () => {
    if (opened.kind === 'missing') return;
    harness = await DashboardHarness.open(opened.browser);
    seeded = await harness.seed({ steps: 10, letters: 4 });
    receiver = await Receiver.open();
    await seedAccount(harness, receiver);
    // The repair contains all groups except one. It is slow enough to run until the rate is raised.
    const { messages } = await harness.client.dlq.list();
    const dlqIds = messages.filter(({ error }) => !error?.includes('address')).map(({ dlqId }) => dlqId);
    ({ repairId } = await harness.client.repairs.plan('restart', { filter: { dlqIds } }));
    const first = await harness.signedIn();
    await harness.client.repairs.start(repairId, { ratePerSecond: 0.1 });
    // The repair must not end while the pages are loading.
    await harness.client.repairs.pause(repairId);
    for (const page of PAGES) {
      const window = await harness.window({ like: first });
      windows.set(page, window);
      await window.page.goto(new URL(first.page.url()).pathname.replace(/\/overview$/, '/') + addressOf(page));
      await window.waitUntilSettled();
    }
    await harness.client.repairs.continue(repairId, { ratePerSecond: 0.1 });
    await repairPage().getByRole('button', { name: 'Pause', exact: true }).waitFor();
  });
  after(async () => {
    await harness?.close();
    await receiver?.close();
    if (opened.kind === 'open') await opened.browser.close();
  });

  const repairPage = () => windows.get('repairs/{repairId}')?.page ?? assert.fail();
  const addressOf = (page: string): string => page.replace('{waiting}', seeded.waiting).replace('{repairId}', repairId);

  /** Changes something on each of the pages. */
  async function changeAll(): Promise<void> {
    const { client, urls, faults } = harness;
    await client.repairs.pause(repairId);
    await repairPage().getByRole('button', { name: 'Continue', exact: true }).waitFor();
    await client.repairs.continue(repairId, { ratePerSecond: 10 });
    await client.trigger(urls['/order'], { body: { id: 703 }, flowControl: { key: 'imports', rate: 1, period: '3600s' } });
    await client.trigger(urls['/approval'], { body: { id: 704 } });
    await sendRequest(harness, 'POST', '/v2/queues', { queueName: 'another', parallelism: 1 });
    await sendRequest(harness, 'POST', `/v2/publish/${receiver.url}/down`, { order: 3 }, { 'upstash-retries': '0' });
    for (const fault of ['payments', 'stock'] as const) {
      faults[fault] = true;
      await harness.waitForEnd((await client.trigger(urls['/order'], { body: { id: 705 }, retries: 0 })).workflowRunId);
      faults[fault] = false;
    }
    await client.notify({ eventId: 'approval/5' });
    await harness.waitForEnd(seeded.waiting);
    while ((await client.repairs.get(repairId)).state !== 'done') await windows.get('repairs')?.page.waitForTimeout(200);
  }

  test('every page shows the change and nothing moves', async () => {
    await Promise.all(
      [...windows.values()].map(async (window) => {
        // Rows are measured when they are first rendered.
        await window.page.waitForTimeout(1_000);
        await window.watchShifts();
        await window.page.evaluate(SAVE_POSITIONS);
      }),
    );
    await changeAll();
    for (const [page, window] of windows) {
      for (let checks = 0; await window.page.evaluate<boolean>('document.body.innerText === window.before'); checks++) {
        assert.ok(checks < 300, `${page} does not show the change`);
        await window.page.waitForTimeout(100);
      }
      await window.page.waitForTimeout(200);
      assert.deepEqual(await window.shifts(), [], page);
      assert.deepEqual(await window.page.evaluate<readonly string[]>(MOVED), [], page);
      assert.deepEqual(window.problems, [], page);
      await window.screenshot(`live-${page.replaceAll(/\W+/g, '-')}`);
    }
  });

  test('removed rows stay until they are hidden, and new rows are counted', async () => {
    const window = windows.get('events') ?? assert.fail();
    const { page } = window;
    const row = page.getByRole('row').filter({ hasText: 'approval/5' });
    await row.getByText('Removed', { exact: true }).waitFor({ state: 'attached' });
    await page.getByText('Crossed-out rows are no longer in this list.').waitFor();
    await page.getByRole('button', { name: 'Show 1 new waiting run' }).waitFor();
    assert.deepEqual(await window.findings(), []);
    await page.getByRole('button', { name: 'Hide removed rows' }).click();
    await row.waitFor({ state: 'detached' });
    await page.getByRole('row').filter({ hasText: 'approval/704' }).waitFor();
  });
});
