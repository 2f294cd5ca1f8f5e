import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type ConnectedWorker, connect, NonRetryableError, serve } from '@everstep/sdk';
import { CliHarness } from '../../testing/cli-harness.js';

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

describe('commands with worker URLs', () => {
  let harness: CliHarness;
  let worker: ConnectedWorker | null = null;
  before(async () => {
    harness = await CliHarness.open(() => (_request, response) => void response.writeHead(500).end());
  });
  after(async () => {
    await worker?.close();
    await harness.close();
  });

  async function connectWorker(): Promise<void> {
    const { EVERSTEP_URL: baseUrl = '', EVERSTEP_TOKEN: token = '' } = harness.serverEnv;
    worker = connect({ app: 'shop', workflows, version: '1.4', host: 'a1', maxConcurrency: 7, baseUrl, token, drainOn: [] });
    await worker.connected;
  }

  test('everstep trigger reports that no worker is connected, and the run waits for one', async () => {
    const { code, stdout, stderr } = await harness.everstep('trigger', ORDER, '--run-id', 'first', '--body', 'A1');
    assert.deepEqual([code, stdout], [0, 'first\n']);
    assert.match(stderr, /^No worker for app shop has been connected since \d{4}-.* UTC\. The run waits until one connects\.\n$/);
    assert.match(await harness.textOf('runs', 'explain', 'first'), /No worker for app shop that serves worker:\/\/shop\/order/);
    assert.match(await harness.textOf('destinations', 'list'), /worker:\/\/shop\/order .* no connected worker .* 1 /);
    assert.match(
      await harness.textOf('workers'),
      /^No worker is connected\.\n\nWAITING FOR A WORKER +SINCE \(UTC\) +DELIVERIES\nworker:\/\/shop\/order +\d{4}-[^ ]+ [^ ]+ +1\n$/,
    );
    assert.deepEqual((await harness.jsonOf('workers', '--app', 'mail')).unserved, []);
    assert.equal((await harness.jsonOf('trigger', ORDER, '--run-id', 'first')).noWorker.app, 'shop');
  });

  test('everstep insights prints totals, and the steps and failures of a workflow', async () => {
    assert.match(
      await harness.textOf('insights'),
      /^STARTED .*\n1 +0 +0 +0 +- +-\n\nBACKLOG .*\n[\s\S]*\nWORKFLOW .*\nworker:\/\/shop\/order +1 +0 +0 +0\n$/,
    );
    assert.match(await harness.textOf('insights', ORDER, '--window', '1h'), /^STARTED .*\n1 +0 +0 +0 +- +-\n$/);
    assert.equal((await harness.jsonOf('insights', '--window', '7d')).totals.started, 1);
    assert.equal((await harness.everstep('insights', '--window', '1y')).code, 2);
  });

  test('everstep workers lists the connected workers', async () => {
    await connectWorker();
    assert.match(await harness.textOf('trigger', ORDER, '--body', 'A2', '--wait'), /RUN_SUCCESS\n"packed A2"/);
    assert.match(
      await harness.textOf('workers'),
      /^APP +WORKFLOWS +HOST +VERSION +SINCE \(UTC\) +IN FLIGHT \/ CAPACITY +LAST ERROR\nshop +order, refund +a1 +1\.4 +\d{4}-[^ ]+ [^ ]+ +0 \/ 7 +-\n$/,
    );
    assert.equal((await harness.everstep('trigger', REFUND, '--wait', '--body', 'A3')).code, 1);
    assert.equal((await harness.jsonOf('workers')).workers[0].lastError, 'NonRetryableError');
  });

  test('filters and the dead letter queue accept worker URLs', async () => {
    const runs = await harness.jsonOf('runs', 'list', '--workflow-url', REFUND);
    assert.deepEqual(
      runs.runs.map(({ workflowUrl }: { readonly workflowUrl: string }) => workflowUrl),
      [REFUND],
    );
    assert.match(await harness.textOf('dlq', 'list'), /worker:\/\/shop\/refund/);
    assert.match(await harness.textOf('dlq', 'groups'), /closed/);
    assert.match(await harness.textOf('dlq', 'resume', '--all', '--workflow-url', REFUND), /1/);
  });

  test('everstep schedules accepts worker URLs', async () => {
    await harness.textOf('schedules', 'create', ORDER, '--cron', '0 0 1 1 *', '--id', 'yearly', '--body', 'A4');
    assert.match(await harness.textOf('schedules', 'list'), /worker:\/\/shop\/order/);
    await harness.textOf('schedules', 'run', 'yearly');
  });

  test('everstep destinations holds and releases worker URLs', async () => {
    assert.equal(await harness.textOf('destinations', 'hold', ORDER), `${ORDER} is on hold\n`);
    assert.match(await harness.textOf('destinations', 'list'), /worker:\/\/shop\/order +by hand/);
    assert.equal(await harness.textOf('destinations', 'release', ORDER), `${ORDER} is released\n`);
    assert.equal((await harness.everstep('destinations', 'hold', 'worker://shop')).code, 2);
  });
});
