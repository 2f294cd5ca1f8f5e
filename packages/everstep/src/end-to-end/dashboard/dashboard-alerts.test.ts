/** Tests the page of alerts in a real browser: a destination is created and tested, and a rule reports a failed run to it. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { openBrowser } from './chromium.fixture.js';
import { DashboardHarness, type Window, waitUntilEqual } from './dashboard.fixture.js';
import { Receiver } from './dashboard-account.fixture.js';

const opened = await openBrowser();

describe('alerts in the dashboard', { skip: opened.kind === 'missing' ? opened.missing : false }, () => {
  let harness: DashboardHarness;
  let receiver: Receiver;
  let window: Window;
  before(async () => {
    if (opened.kind === 'missing') return;
    receiver = await Receiver.open();
    harness = await DashboardHarness.open(opened.browser);
    window = await harness.signedIn();
  });
  after(async () => {
    await harness?.close();
    await receiver?.close();
    if (opened.kind === 'open') await opened.browser.close();
  });
  const button = (name: string) => window.page.getByRole('button', { name, exact: true });
  const dialog = () => window.page.getByRole('dialog');
  const row = (text: string | RegExp) => window.page.getByRole('row').filter({ hasText: text });
  const notices = (): readonly { readonly type: string; readonly alert?: { readonly error?: string } }[] =>
    receiver.receivedBodies.map((body) => JSON.parse(body));

  test('a destination is created, and its test button sends a notice', async () => {
    await window.goTo('alerts');
    await button('New destination').click();
    await dialog().getByLabel('Name').fill('on-call');
    await dialog().getByLabel('URL').fill(`${receiver.url}/ok`);
    await dialog().getByRole('button').last().click();
    await window.page.getByText('Save this secret now').waitFor();
    await dialog().getByRole('button', { name: 'Done' }).click();
    await button('Test destination on-call').click();
    await window.page.getByText('Sent a test notice to on-call').first().waitFor();
    await waitUntilEqual(async () => notices().length, 1);
    assert.equal(notices()[0]?.type, 'alert.test', receiver.receivedBodies[0]);
  });

  test('a rule notifies the destination of a failed run, and the alert leads to its dead letter', async () => {
    await button('New rule').click();
    await dialog().getByLabel('Name').fill('failures');
    await dialog().getByLabel('Opens an alert when').selectOption({ label: 'A run failed' });
    await dialog().getByRole('checkbox', { name: 'on-call' }).check();
    await window.screenshot('alerts-rule-dialog');
    assert.deepEqual(await window.findings(), []);
    await dialog().getByRole('button').last().click();
    await row('failures').first().waitFor();

    harness.faults.address = true;
    const { workflowRunId } = await harness.triggerAt('/order', { body: { id: 1 }, waitForResult: true });
    await waitUntilEqual(async () => notices().length, 2);
    assert.match(notices()[1]?.alert?.error ?? '', /address of order 1 is invalid/, receiver.receivedBodies[1]);
    await row(/address of order 1 is invalid/)
      .getByText('Open', { exact: true })
      .waitFor();
    await window.inEachViewport('alerts', async (viewport) => {
      await window.screenshot(`alerts-${viewport}`, true);
      assert.deepEqual(await window.faults(), [], viewport);
    });
    await window.page.getByRole('link', { name: /^A run of .* failed/ }).click();
    await window.page.getByText(workflowRunId).first().waitFor();
    assert.deepEqual(window.problems, []);
  });
});
