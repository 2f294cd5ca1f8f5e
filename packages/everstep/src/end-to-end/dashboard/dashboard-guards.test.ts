/** Tests in a real browser that the dashboard does not act on, request or show something else than what the user expects. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { openBrowser } from './chromium.fixture.js';
import { DashboardHarness, type Window, waitUntilEqual } from './dashboard.fixture.js';
import { adminOf, sendRequest } from './dashboard-account.fixture.js';

const opened = await openBrowser();

describe('guards of the dashboard', { skip: opened.kind === 'missing' ? opened.missing : false }, () => {
  let harness: DashboardHarness;
  let window: Window;
  before(async () => {
    if (opened.kind === 'missing') return;
    harness = await DashboardHarness.open(opened.browser);
    window = await harness.signedIn();
  });
  after(async () => {
    await harness?.close();
    if (opened.kind === 'open') await opened.browser.close();
  });
  const rowOf = (id: string) => window.page.getByRole('row').filter({ hasText: id });
  const button = (name: string) => window.page.getByRole('button', { name });
  const dialog = () => window.page.getByRole('dialog');
  const inDialog = (name: string) => dialog().getByRole('button', { name });
  /** Triggers a run that waits for an event. */
  const waiting = (id: number) => harness.triggerAt('/approval', { body: { id } });
  /** Counts the requests to URLs that match. */
  const countRequests = (pattern: RegExp): { count: number } => {
    const counter = { count: 0 };
    window.page.on('request', (request) => {
      if (pattern.test(request.url())) counter.count++;
    });
    return counter;
  };

  test('with an invalid filter, nothing is listed or canceled, and the field says what to enter', async () => {
    const { workflowRunId } = await waiting(1);
    // The overview searches runs as well.
    await window.goTo('account');
    const searches = countRequests(/\/v2\/(workflows\/search|insights\/runs)/);
    await window.goTo('runs?min=soon&from=yesterday&state=RUNNING');
    const field = window.page.getByLabel('Took at least');
    assert.equal(await field.getAttribute('aria-invalid'), 'true');
    await window.page.getByText('Enter a duration such as 30s, 5 min or 2h.').waitFor();
    await window.page.getByText('To list runs, correct or clear “State”, “Created after”, “Took at least”.').waitFor();
    assert.equal(await button('Cancel runs…').getAttribute('aria-disabled'), 'true');
    assert.equal(searches.count, 0);
    assert.deepEqual(await window.faults(), []);
    await button('Clear filters').first().click();
    await rowOf(workflowRunId).waitFor();
    await button('More filters').click();
    await field.fill('5 min');
    await window.page.getByText('No matching runs').waitFor();
    await button('Cancel runs…').click();
    await dialog().getByText('No active runs').waitFor();
    await inDialog('Keep running').click();
    await window.goTo('repairs/new?label=%20,&fromDate=0');
    await window.page.getByText('The URL contains an invalid value for “Label”').waitFor();
    assert.equal(await button('Create plan').getAttribute('aria-disabled'), 'true');
    assert.deepEqual(await window.faults(), []);
  });

  /** Returns a promise and the function that resolves it. */
  const createGate = () => {
    let open = () => {};
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    return { opened, open };
  };
  /** Holds the requests to URLs that match, until the returned function is called. It resolves when a held response has arrived. */
  const holdRequests = async (pattern: RegExp): Promise<() => Promise<void>> => {
    const gate = createGate();
    await window.page.route(pattern, async (route) => {
      await gate.opened;
      await route.continue();
    });
    return async () => {
      const response = window.page.waitForResponse(pattern);
      gate.open();
      await (await response).finished();
      await window.page.unroute(pattern);
      await window.waitUntilSettled();
    };
  };
  const shownCount = () => dialog().getByRole('status').innerText();

  test('a bulk action covers the runs of the current filters, even if an earlier count arrives later', async () => {
    const north = await Promise.all([21, 22].map((id) => harness.triggerAt('/approval', { body: { id }, labels: ['north'] })));
    const { workflowRunId: south } = await harness.triggerAt('/approval', { body: { id: 23 }, labels: ['south'] });
    await window.goTo('runs?label=north');
    await rowOf(north[0]?.workflowRunId ?? '').waitFor();
    const release = await holdRequests(/search\?.*label=north.*state=RUN_STARTED/);
    await button('Cancel runs…').click();
    await inDialog('Keep running').click();
    await button('Repair failed runs…').click();
    await waitUntilEqual(shownCount, 'No failed runs that match the filters and are in the dead letter queue.');
    await inDialog('Cancel').click();
    await dialog().waitFor({ state: 'detached' });
    // The click follows before the pause after which a text takes effect.
    await window.page.getByRole('searchbox', { name: 'Label' }).fill('south');
    await button('Cancel runs…').click();
    await waitUntilEqual(shownCount, '1 active run that match the filters.');
    await release();
    assert.equal(await shownCount(), '1 active run that match the filters.');
    await inDialog('Cancel 1 run').click();
    await window.page.getByText('Canceled 1 run').first().waitFor();
    await harness.waitForEnd(south);
    const { runs } = await harness.client.runs.search({ label: 'north' });
    assert.deepEqual(
      runs.map(({ workflowState }) => workflowState),
      ['RUN_STARTED', 'RUN_STARTED'],
    );
    assert.deepEqual(window.problems, []);
  });

  test('a stopped cancellation does not continue when the dialog is opened again', async () => {
    const runs = Array.from({ length: 250 }, (_, n) => ({
      ...{ workflowRunId: `wfr_${n}`, workflowUrl: 'http://w.test/order', workflowState: 'RUN_STARTED', callerIP: '::1' },
      ...{ workflowRunCreatedAt: n + 1, labels: [] },
    }));
    await window.goTo('runs');
    await window.page.route(/search\?.*state=RUN_STARTED/, (route) =>
      route.fulfill({ json: { runs, searchedUntil: null, complete: true } }),
    );
    const second = createGate();
    let deletions = 0;
    await window.page.route('**/v2/workflows/runs', async (route) => {
      if (++deletions === 2) await second.opened;
      await route.fulfill({ json: { cancelled: 100 } });
    });
    await button('Cancel runs…').click();
    await inDialog('Cancel 250 runs').click();
    await dialog().getByText('Canceled 100 runs so far.').waitFor();
    await inDialog('Stop').click();
    await button('Cancel runs…').click();
    await inDialog('Cancel 250 runs').waitFor();
    second.open();
    await window.page.getByText('Canceled 200 runs').first().waitFor();
    await window.waitUntilSettled();
    assert.equal(deletions, 2);
    await inDialog('Keep running').click();
    await window.page.unroute('**/v2/workflows/runs');
    await window.page.unroute(/search\?.*state=RUN_STARTED/);
    assert.deepEqual(window.problems, []);
  });

  test('saving a queue does not resume it if it was paused while the dialog was open', async () => {
    await sendRequest(harness, 'POST', '/v2/queues', { queueName: 'mail', parallelism: 2 });
    await window.goTo('queues');
    await button('Edit mail').click();
    await sendRequest(harness, 'POST', '/v2/queues/mail/pause');
    await dialog().getByLabel('Parallelism').fill('7');
    await inDialog('Save queue').click();
    await window.page.getByRole('gridcell', { name: '7', exact: true }).waitFor();
    await button('Resume mail').waitFor();
    assert.deepEqual(window.problems, []);
  });

  test('after the same user signs in in another tab, a tab continues to work and cancels exactly its run', async () => {
    const run = await waiting(2);
    await window.goTo(`runs/${run.workflowRunId}`);
    const other = await window.page.context().newPage();
    await other.goto('/login');
    await other.getByLabel('Email').fill(harness.variable('EVERSTEP_ADMIN_EMAIL'));
    await other.getByLabel('API key').fill(harness.variable('EVERSTEP_ADMIN_API_KEY'));
    await other.getByRole('button', { name: 'Sign in' }).click();
    await other.waitForURL('**/q/**');
    await other.close();
    await button('Cancel').click();
    const sent = window.page.waitForRequest((request) => request.method() === 'DELETE');
    await inDialog('Cancel run').click();
    const { pathname, search } = new URL((await sent).url());
    const path = `/v2/workflows/runs/${run.workflowRunId}?workflowCreatedAt=${run.workflowCreatedAt}`;
    assert.equal(pathname + search, path);
    await window.page.getByText('Canceled the run').first().waitFor();
    assert.deepEqual(window.problems, []);
  });

  test('a label can have any characters', async () => {
    await window.goTo('runs?action=trigger');
    await dialog().getByLabel('Workflow URL').fill(harness.urls['/order']);
    await dialog().getByLabel('Payload (optional)').fill('{"id":3}');
    await dialog().getByText('Run settings').click();
    await dialog().getByLabel('Labels').fill('Größe, 東京');
    await inDialog('Trigger run').click();
    await window.page.getByText('東京').first().waitFor();
    await window.page.getByText('Größe').first().waitFor();
  });

  test('a list of another instance does not show rows of the previous one', async () => {
    const admin = adminOf(harness);
    const [first] = await admin.instances.list();
    const second = await admin.instances.create({ name: 'second', region: 'eu-central-1' });
    const kept = await waiting(4);
    await window.goTo('runs');
    await rowOf(kept.workflowRunId).waitFor();
    const switchTo = async (name: string) => {
      await button('Queue instance:').click();
      await window.page.getByRole('menuitemradio', { name }).click();
    };
    await switchTo('second');
    await window.page.waitForURL(`**/q/${second.id}/runs`);
    await window.page.locator('.quickstart-code').first().waitFor();
    assert.equal(await window.page.getByRole('row').count(), 0);
    const added = await waiting(5);
    await switchTo(first?.name ?? assert.fail());
    await rowOf(added.workflowRunId).waitFor();
    await rowOf(kept.workflowRunId).waitFor();
    await window.waitUntilSettled();
    assert.equal(
      await window.page
        .getByRole('row')
        .filter({ has: window.page.locator('[data-removed]') })
        .count(),
      0,
    );
    assert.deepEqual(window.problems, []);
  });

  test('a replay check is not repeated by changes of other runs', async () => {
    const run = await waiting(6);
    await window.goTo(`runs/${run.workflowRunId}`);
    const [checks, journals] = [countRequests(/\/check\?/), countRequests(/\/explain/)];
    await button('More actions').click();
    await window.page.getByRole('menuitem', { name: 'Check replay compatibility' }).click();
    await dialog().getByText('Compatible', { exact: true }).waitFor();
    const before = journals.count;
    await harness.waitForEnd((await harness.triggerAt('/order', { body: { id: 7 } })).workflowRunId);
    // The status of the run is polled and follows hints, so the hint about the other run has arrived by then.
    await waitUntilEqual(async () => journals.count >= before + 2, true);
    assert.equal(checks.count, 1);
    await inDialog('Check again').click();
    await waitUntilEqual(async () => checks.count, 2);
  });

  test('a page of the audit log that cannot be loaded is requested again only on request', async () => {
    const entry = {
      actor: 'ann@shop.example',
      action: 'run.cancel',
      subject: '',
      address: '192.0.2.1',
      creation_time: 1,
      details: {},
    };
    const auditlogs = Array.from({ length: 100 }, (_, n) => ({ ...entry, id: `aud_${n}` }));
    let [failures, fails] = [0, true];
    await window.page.route('**/v2/auditlogs?*', async (route) => {
      if (!route.request().url().includes('cursor=')) return route.fulfill({ json: { auditlogs, cursor: 'next' } });
      if (!fails)
        return route.fulfill({ json: { auditlogs: [{ ...entry, id: 'aud_last', actor: 'last@shop.example' }], cursor: '' } });
      failures++;
      return route.fulfill({ status: 400, json: { error: 'the cursor is invalid' } });
    });
    await window.goTo('audit');
    await window.page.getByText('100 entries shown').waitFor();
    await window.page.keyboard.press('End');
    await window.page.evaluate('window.scrollTo(0, document.body.scrollHeight)');
    await window.page.getByText('The cursor is invalid').waitFor();
    await window.waitUntilSettled();
    assert.equal(failures, 1);
    fails = false;
    await button('Retry').click();
    await window.page.getByText('101 entries shown').waitFor();
    await window.page.unroute('**/v2/auditlogs?*');
  });
});
