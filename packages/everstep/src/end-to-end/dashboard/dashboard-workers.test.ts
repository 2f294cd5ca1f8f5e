/** Tests the dashboard with workers: the page of workers, and worker URLs on the other pages. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type ConnectedWorker, connect, NonRetryableError, serve } from '@everstep/sdk';
import { openBrowser } from './chromium.fixture.js';
import { DashboardHarness, type Window } from './dashboard.fixture.js';

const opened = await openBrowser();
const ORDER = 'worker://shop/order';
const REFUND = 'worker://shop/refund';

const workflows = {
  order: serve<string, string>((context) => context.run('pack', () => `packed ${context.payload}`)),
  refund: serve<string>((context) =>
    context.run('pay', () => {
      throw new NonRetryableError('the account is closed');
    }),
  ),
};

describe('dashboard with workers', { skip: opened.kind === 'missing' ? opened.missing : false }, () => {
  let harness: DashboardHarness;
  let window: Window;
  let worker: ConnectedWorker | null = null;
  before(async () => {
    if (opened.kind === 'missing') return;
    harness = await DashboardHarness.open(opened.browser);
    window = await harness.signedIn();
  });
  after(async () => {
    await worker?.close();
    await harness?.close();
    if (opened.kind === 'open') await opened.browser.close();
  });
  const row = (text: string | RegExp) => window.page.getByRole('row').filter({ hasText: text });
  const showsText = (text: string | RegExp) => window.page.getByText(text).first().waitFor();

  let pages = 0;
  async function isAccessible(page: string): Promise<void> {
    pages++;
    await window.inEachViewport(page, async (viewport) => {
      await window.screenshot(`workers-${pages}-${page}-${viewport}`);
      assert.deepEqual(await window.faults(), [], `${page} ${viewport}`);
    });
    await window.page.setViewportSize({ width: 1440, height: 900 });
  }

  test('without a worker, the page shows how to connect one', async () => {
    await window.goTo('workers');
    await showsText('No worker is connected');
    await window.screenshot('workers-none');
    await showsText("const worker = connect({ app: 'shop', workflows: { order } });");
  });

  test('a run that waits for a worker says so everywhere, and continues when a worker connects', async () => {
    const { workflowRunId } = await harness.client.trigger(ORDER, { runId: 'waits', body: 'A1' });
    await isAccessible('workers');
    await row('/order').waitFor();
    await isAccessible('flow-control');
    await isAccessible('runs');
    await row(workflowRunId).getByText('A worker of app shop').waitFor();
    await window.goTo(`runs/${workflowRunId}`);
    await showsText(/No worker for app shop that serves worker:\/\/shop\/order/);

    const access = { baseUrl: harness.variable('EVERSTEP_URL'), token: harness.variable('EVERSTEP_TOKEN') };
    worker = connect({ app: 'shop', workflows, version: '1.4', host: 'a1', maxConcurrency: 7, drainOn: [], ...access });
    await worker.connected;
    await showsText('Succeeded');
    await window.goTo('workers');
    await row('order, refund').getByText('0 of 7').waitFor();
    await row('order, refund').getByText('Connected').waitFor();
  });

  test('dead letters and schedules show worker URLs', async () => {
    await harness.client.trigger(REFUND, { runId: 'fails', body: 'A2', waitForResult: true });
    await harness.client.schedules.create(ORDER, { cron: '0 0 1 1 *', scheduleId: 'yearly', body: 'A3' });
    await window.goTo('dead-letters');
    await showsText('refund on worker://shop');
    await isAccessible('schedules');
    await row('yearly').getByText('worker://shop').waitFor();
    await isAccessible('workers');
    await row('order, refund').waitFor();
    assert.deepEqual(window.problems, []);
  });
});
