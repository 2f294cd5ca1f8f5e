/** Tests the dashboard with several nodes: it lists all nodes, shows changes made at another node, and notices a dead node. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { serve } from '@everstep/sdk';
import { toNodeHandler } from '@everstep/sdk/node';
import { openTestSchemas } from '../../stores/postgres/testing/schemas.js';
import { type Endpoint, listen, Nodes } from '../nodes.fixture.js';
import { openBrowser } from './chromium.fixture.js';
import { Window, waitUntilEqual } from './dashboard.fixture.js';

const [schemas, opened] = await Promise.all([openTestSchemas(), openBrowser()]);
const skip = typeof schemas === 'string' ? schemas : opened.kind === 'missing' ? opened.missing : false;

suite('dashboard with two nodes', { skip, timeout: 240_000 }, () => {
  let nodes: Nodes;
  let endpoint: Endpoint;
  before(async () => {
    if (typeof schemas === 'string') return;
    nodes = await Nodes.start(2, { url: (await schemas.make()).url });
    const handler = toNodeHandler(serve(async (context) => context.run('work', () => 1), { signingKeys: nodes.signingKeys }));
    endpoint = await listen((request, response) => void handler(request, response));
  });
  after(async () => {
    endpoint?.close();
    await nodes?.dispose();
    if (opened.kind === 'open') await opened.browser.close();
  });

  test('lists both nodes, shows runs of the other node live, and notices its end', async () => {
    assert.ok(opened.kind === 'open');
    const [here, there] = [nodes.node(0), nodes.node(1)];
    const context = await opened.browser.newContext({ baseURL: here.url, viewport: { width: 1440, height: 900 } });
    // The clock of the browser is an hour ahead, so that it cannot determine which leases have ended.
    await context.addInitScript('const { now } = Date; Date.now = () => now() + 3_600_000;');
    const window = new Window(await context.newPage());
    const { page } = window;
    await nodes.client(1).trigger(endpoint.url, { runId: 'before' });
    await page.goto('/');
    await window.signIn(nodes.admin.email, nodes.admin.apiKey);
    await window.goTo('runs');
    await page.getByRole('row').filter({ hasText: 'before' }).getByText('Succeeded').waitFor();

    await nodes.client(1).trigger(endpoint.url, { runId: 'at-the-other' });
    await page.getByRole('button', { name: 'Show 1 new run' }).click();
    await page.getByRole('row').filter({ hasText: 'at-the-other' }).getByText('Succeeded').waitFor();

    await window.goTo('nodes');
    const rows = page.getByRole('grid', { name: 'Nodes' }).getByRole('row').filter({ hasText: 'Up' });
    await rows.nth(1).waitFor();
    await waitUntilEqual(() => rows.filter({ hasText: 'serves this page' }).count(), 1);
    await window.screenshot('two-nodes-1440-light');
    assert.deepEqual(await window.findings(), []);
    await there.end('SIGKILL');
    await rows.nth(1).waitFor({ state: 'detached', timeout: 30_000 });
    await waitUntilEqual(() => rows.filter({ hasText: 'serves this page' }).count(), 1);
    await there.start();
    await rows.nth(1).waitFor({ timeout: 30_000 });
    assert.deepEqual(window.problems, []);
  });
});
