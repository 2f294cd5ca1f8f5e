import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from '@everstep/sdk';
import { endAll, readEnvFile, SpawnedCli, type TestDirectory, testDirectory } from '../testing/spawned-cli.js';
import { allStepsFile } from './next-steps.js';

const hasCurl = spawnSync('curl', ['--version']).status === 0;

/** Runs commands as if they were pasted into a shell. */
function pasted(...lines: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync('sh', ['-c', lines.join('\n')], { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  return stdout;
}

describe('the demo of npm start', () => {
  let directory: TestDirectory;
  let first: SpawnedCli;
  const start = () => new SpawnedCli(['dev', '--port', '0', '--write-env-file', 'dev.env'], { cwd: directory.path });

  before(async () => {
    directory = await testDirectory();
    first = start();
    await first.untilPrinted(/Press Ctrl-C to stop/);
  });
  after(async () => {
    await endAll();
    await directory.remove();
  });

  test('an order succeeds with a confirmation, parallel steps, a retried call and an invoked run that sleeps', () => {
    const [, order = ''] = /\n(1\. [\s\S]*?)\n\n/.exec(first.stdout) ?? [];
    for (const [name, expected] of [
      ['triggered', /triggered http:\/\/127\.0\.0\.1:\d+\/order as wfr_\w+/],
      ['sequential step', /✓ {3}reserve stock +done in \d+ ms\n/],
      ['wait', /… {3}customer confirms +waiting for event confirmed-card-\w+ \(timeout (23 h 59 m|1 d 00 h)\)/],
      ['command', / curl -s -X POST .* "\$EVERSTEP_URL\/v2\/notify\/confirmed-card-\w+"\n/],
      ['confirmation', /✓ {3}customer confirms +event received after (?:[2-9]|\d\d)\.\d s\n/],
      ['failure', /✗ {3}charge payment +attempt 1 failed: .*503.*; retry in 400 ms\n/],
      ['retry', /✓ ‖ charge payment +status 200 after \d+ ms, attempt 2\n/],
      ['parallel step', /✓ ‖ check fraud +done in \d+ ms\n/],
      ['invoked', /… {3}ship +invoked run wfr_\w+\n/],
      ['step of the invoked run', / {8}✓ {3}pack +done in \d+ ms\n/],
      ['sleep', / {8}… {3}until pickup +sleeping for 1\.0 s/],
      ['awake', / {8}✓ {3}until pickup +slept (?:[1-9]|\d\d)\.\d s\n/],
      ['end of the invoked run', /✓ {3}ship +invoked run ended after (?:[1-9]|\d\d)\.\d s\n/],
      ['result', /RUN_SUCCESS after \d+\.\d s: \{"orderId":"card-.*"totalCents":8480,/],
    ] as const) {
      assert.match(order, expected, name);
    }
  });

  test('a failed order is moved to the dead letter queue, its failure function is called, and a resumed run executes only the remaining steps', () => {
    const [, failed = '', resumed = ''] = /\n(2\. [\s\S]*?)\n\n(3\. [\s\S]*?)\n\n/.exec(first.stdout) ?? [];
    assert.match(failed, /attempt 3 failed: .*; no attempts left/);
    assert.match(failed, /RUN_FAILED after .*charge payment.*\n.*dead letter queue as dlq_\w+/);
    assert.match(
      failed,
      /failure function was called: CALLBACK_SUCCESS\n.*the shop sent this email: Dear ada@example\.com, your order bank-/,
    );
    const kept = [...resumed.matchAll(/= .. ?(\w+ \w+) +kept from the failed run/g)].map(([, name]) => name);
    assert.deepEqual(kept.sort(), ['check fraud', 'notify warehouse', 'reserve stock', 'validate order']);
    const done = [...resumed.matchAll(/\n {3}✓ .. ?(\w+(?: \w+)?) +(?:done|invoked run)/g)].map(([, name]) => name);
    assert.deepEqual(done, ['charge payment', 'ship', 'send receipt']);
    assert.match(resumed, /RUN_SUCCESS after/);
  });

  test('after the story it prints the link of the dashboard, two commands and where the others are, and no token', () => {
    const [, end = ''] = /\n(Try next[\s\S]*)$/.exec(first.stdout) ?? [];
    assert.equal(end.split('\n').filter((line) => line.startsWith('  npx ')).length, 2);
    assert.match(end, /\.everstep\/next-steps\.txt/);
    assert.match(first.stdout, /Open the dashboard: http:\/\/127\.0\.0\.1:\d+\/login#lnk_/);
    assert.doesNotMatch(first.stdout, /eyJ/);
  });

  test('the suggested commands work when pasted into a shell', { skip: !hasCurl }, async () => {
    const steps = await readFile(allStepsFile(join(directory.path, '.everstep')), 'utf8');
    const [exported = ''] = /export EVERSTEP_URL=\S+ EVERSTEP_TOKEN=\S+/.exec(steps) ?? [];
    const [early = ''] = / {5}(curl .*)/.exec(first.stdout) ?? [];
    assert.deepEqual(JSON.parse(pasted(exported, early)), [], 'the order is already confirmed');
    const commands = steps.split('\n').filter((line) => line.startsWith('  curl '));
    assert.equal(commands.length, 14);
    const [order = '', expensive = '', explain = '', confirm = '', failing = '', queue = '', resume = ''] = commands;
    assert.equal(JSON.parse(pasted(exported, order)).workflowState, 'RUN_SUCCESS');
    assert.equal(JSON.parse(pasted(exported, expensive)).workflowRunId, 'my-chair');
    while (!/Waiting for the event \\?"confirmed-chair/.test(pasted(exported, explain))) await pause(20);
    assert.equal(JSON.parse(pasted(exported, confirm)).length, 1);
    // The bank reports that it is down, then the run responds.
    assert.match(pasted(exported, failing), /"bank":"down"[\s\S]*"workflowState":"RUN_FAILED"/);
    assert.equal(JSON.parse(pasted(exported, queue)).messages.length, 1);
    assert.match(pasted(exported, resume), /"bank":"up"[\s\S]*"workflowRuns":\[\{"workflowRunId":"wfr_/);
    const [flows = '', hold = '', release = '', schedule = '', shown = '', deleted = '', logs = ''] = commands.slice(7);
    assert.match(pasted(exported, flows), /"flowControlKey":"carrier"/);
    assert.equal(JSON.parse(pasted(exported, hold)).isPaused, true);
    assert.equal(JSON.parse(pasted(exported, release)).isPaused, false);
    assert.deepEqual(JSON.parse(pasted(exported, schedule)), { scheduleId: 'books' });
    assert.equal(JSON.parse(pasted(exported, shown)).timezone, 'Europe/Berlin');
    assert.deepEqual(JSON.parse(pasted(exported, deleted)), { deleted: 1 });
    assert.equal(JSON.parse(pasted(exported, logs)).runs.length, 2);
  });

  test('after a kill, the next start continues the unfinished run, prints it until its end, and stops on Ctrl-C', async () => {
    const serverEnv = await readEnvFile(join(directory.path, 'dev.env'));
    const client = new Client({ baseUrl: serverEnv.EVERSTEP_URL ?? '', token: serverEnv.EVERSTEP_TOKEN ?? '' });
    const [, workflowUrl = ''] = /triggered (\S+\/order)/.exec(first.stdout) ?? [];
    const order = { orderId: 'killed', customer: 'me@example.com', payWith: 'card', lines: [{ product: 'book', quantity: 1 }] };
    const { workflowRunId } = await client.trigger(workflowUrl, { body: order, retryDelay: '200' });
    await client.trigger(workflowUrl, { body: order, delay: '1h', runId: 'in an hour' });
    while ((await client.runs.get(workflowRunId)).steps.length < 4) await pause(20);
    await first.end('SIGKILL');

    const second = start();
    await second.untilPrinted(new RegExp(`${workflowRunId}\\n[\\s\\S]*RUN_SUCCESS after .*"orderId":"killed"`));
    assert.match(second.stdout, /\d+ runs from earlier starts are in the store/);
    assert.match(second.stdout, /had not finished .* continues? after the last recorded step/);
    assert.match(second.stdout, /= {3}validate order +recorded before the server stopped/);
    // A run with a long wait is not followed.
    await second.untilPrinted(/ {3}in an hour\n {3}continues in (59 m|1 h)[^\n]*\n[\s\S]*\n1\. An order/);
    const { code, stderr } = await second.end('SIGINT');
    assert.deepEqual([code, stderr], [0, '']);
    await assert.rejects(fetch(workflowUrl), 'the example app ended with the server');
  });
});
