import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { RunJournal, RunLogEntry, RunResult } from '../../../contract/runs.js';
import { ApiHarness } from '../../testing/api-harness.js';

let harness: ApiHarness;
before(async () => {
  harness = await ApiHarness.open();
});
after(() => harness.close());

const ended = { 'svc-wait-for-result': 'true' };
const PAYLOAD = JSON.stringify({ iban: 'secret-of-a-field', name: 'shown' });
const textOf = async (url: string, headers: Record<string, string> = {}) =>
  JSON.stringify((await harness.call<unknown>('GET', url, { headers })).body);

test('a redacted body is in no log, journal or dead letter, but reaches the workflow and the caller', async () => {
  const headers = { 'svc-redact-fields': 'body', 'svc-workflow-runid': 'r-body', ...ended };
  const { body: result } = await harness.call<RunResult>('POST', '/v2/trigger/http://w.test/ok', { headers, body: PAYLOAD });
  assert.deepEqual(result.result, { got: PAYLOAD }, 'the caller that started the run gets the whole result');
  const [entry] = (await harness.call<{ runs: RunLogEntry[] }>('GET', '/v2/workflows/logs?workflowRunId=r-body')).body.runs;
  assert.equal(entry?.workflowRunResponse, '"[REDACTED]"');
  const journal = await harness.call<RunJournal>('GET', '/v2/workflows/runs/r-body');
  assert.equal(journal.body.result, '[REDACTED]');
  const readOnly = { authorization: `Bearer ${harness.readOnlyToken}` };
  assert.ok((await textOf('/v2/workflows/runs/r-body/result')).includes('secret-of-a-field'));
  assert.ok(!(await textOf('/v2/workflows/runs/r-body/result', readOnly)).includes('secret'));
  assert.equal(harness.endpoints.calls.at(-1)?.request.input?.body.data, PAYLOAD);
});

test('redacts headers and responses of a dead letter, even after a restart', async () => {
  const trigger = {
    'svc-redact-fields': 'body, header[x-key], header[x-reason]',
    'svc-forward-x-key': 'secret-of-a-header',
    'svc-forward-x-open': 'shown',
    'svc-label': 'redacted',
    ...ended,
  };
  const send = () => harness.call<RunResult>('POST', '/v2/trigger/http://w.test/fail', { headers: trigger, body: PAYLOAD });
  const { workflowRunId } = (await send()).body;
  const check = async (dlqId: string) => {
    const text = await textOf(`/v2/workflows/dlq/${dlqId}`);
    for (const hidden of ['secret', 'out of stock', '"stock"']) assert.ok(!text.includes(hidden), `${hidden} in ${text}`);
    assert.ok(text.includes('shown') && text.includes('[REDACTED]'));
    assert.ok(!(await textOf('/v2/workflows/dlq?label=redacted')).includes('secret'));
  };
  const { dlqId = '' } = (await harness.call<RunJournal>('GET', `/v2/workflows/runs/${workflowRunId}`)).body;
  await check(dlqId);
  await harness.call('POST', `/v2/dlq/restart/${dlqId}`, { headers: { 'svc-workflow-runid': 'r-again' } });
  const again = await harness.journalWhen('r-again', (journal) => journal.dlqId !== undefined);
  await check(again.dlqId ?? '');
});

test('redacts fields and headers in the response of a call by name', async () => {
  const headers = { 'svc-redact-fields': 'iban, header[x-answer]', 'svc-workflow-runid': 'r-call', ...ended };
  const { body } = await harness.call<RunResult>('POST', '/v2/trigger/http://w.test/call', { headers, body: PAYLOAD });
  assert.equal(body.workflowState, 'RUN_SUCCESS');
  assert.ok(JSON.stringify(body.result).includes('secret-of-a-field'));
  for (const url of ['/v2/workflows/logs?workflowRunId=r-call', '/v2/workflows/runs/r-call']) {
    const text = await textOf(url);
    for (const hidden of ['secret-of-a-field', 'secret-of-a-header']) assert.ok(!text.includes(hidden), `${hidden} in ${url}`);
    assert.ok(text.includes('paid'), url);
  }
});

test('batches and schedules support the header', async () => {
  const item = { destination: 'http://w.test/hang', headers: { 'Svc-Redact-Fields': 'body', 'Svc-Workflow-RunId': 'r-batch' } };
  const json = { 'content-type': 'application/json' };
  await harness.call('POST', '/v2/batch/trigger', { headers: json, body: JSON.stringify([item]) });
  const run = await harness.store.findRun({ instanceId: 'qi_1', workflowRunId: 'r-batch' });
  assert.deepEqual(run?.settings.redact, { body: true, headers: [], fields: [] });
  const headers = {
    'svc-cron': '0 9 * * *',
    'svc-schedule-id': 's-1',
    'svc-redact-fields': 'iban, header',
    'svc-forward-x-key': 'secret-of-a-header',
  };
  await harness.call('POST', '/v2/schedules/http://w.test/ok', { headers, body: PAYLOAD });
  for (const url of ['/v2/schedules/s-1', '/v2/schedules']) {
    const text = await textOf(url);
    assert.ok(!text.includes('secret') && text.includes('shown'), url);
  }
});
