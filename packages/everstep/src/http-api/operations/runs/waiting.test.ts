/** Tests the field `waiting` of active runs in searches, logs and journals, and the filters by it and by duration. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Waiting } from '../../../contract/fields/wait-reason.js';
import type { ListSummary } from '../../../contract/insights/list-summaries.js';
import type { RunJournal, RunLogEntry, RunSearchPage } from '../../../contract/runs.js';
import type { CommitUnit } from '../../../ports/stores/store.js';
import { sampleRun } from '../../../stores/conformance/samples.js';
import { ApiHarness, EVENT_ID } from '../../testing/api-harness.js';

let harness: ApiHarness;
before(async () => {
  harness = await ApiHarness.open();
});
after(() => harness.close());

/** Returns the reason why the run is waiting, and asserts that all operations return the same one. */
async function waitingOf(runId: string): Promise<Waiting | undefined> {
  const { body: found } = await harness.call<RunSearchPage>('GET', `/v2/workflows/search?workflowRunId=${runId}`);
  const { body: logged } = await harness.call<{ readonly runs: readonly RunLogEntry[] }>(
    'GET',
    `/v2/workflows/logs?workflowRunId=${runId}`,
  );
  const { body: journal } = await harness.call<RunJournal>('GET', `/v2/workflows/runs/${runId}`);
  const { body: page } = await harness.call<RunJournal>('GET', `/v2/workflows/runs/${runId}?count=10`);
  const waiting = found.runs[0]?.waiting;
  assert.equal(found.runs.length, 1);
  assert.deepEqual([logged.runs[0]?.waiting, journal.waiting, page.waiting], [waiting, waiting, waiting]);
  return waiting;
}

/** Returns the reason why the run is waiting, as soon as it waits. */
async function awaitWaiting(runId: string): Promise<Waiting> {
  for (;;) {
    const waiting = await waitingOf(runId);
    if (waiting !== undefined) return waiting;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test('a run that waits for an event says so until the event arrives', async () => {
  await harness.trigger('wait', { 'svc-workflow-runid': 'event' });
  const { kind, text, eventIds, stepName, otherTasks, until } = await awaitWaiting('event');
  assert.deepEqual([kind, text, eventIds], ['waiting-for-event', `Waiting for event ${JSON.stringify(EVENT_ID)}`, [EVENT_ID]]);
  assert.ok(stepName !== undefined && until !== undefined && otherTasks === undefined);
});

test('a run waits for its first pending task, and the number of the others is shown', async () => {
  await harness.trigger('fan', { 'svc-workflow-runid': 'fan', 'svc-retries': '3', 'svc-retry-delay': '3600000' });
  const waiting = await awaitWaiting('fan');
  assert.deepEqual([waiting.kind, waiting.text, waiting.otherTasks], ['retry', 'Waiting for retry 1 of 3', 1]);
});

test('a delayed run waits for its start time', async () => {
  await harness.trigger('ok', { 'svc-workflow-runid': 'later', 'svc-delay': '1h' });
  assert.equal((await awaitWaiting('later')).kind, 'not-before');
});

test('a run whose request is in flight and a run that has ended do not wait', async () => {
  await harness.trigger('hang', { 'svc-workflow-runid': 'hangs' });
  await harness.trigger('ok', { 'svc-workflow-runid': 'ended', 'svc-wait-for-result': 'true' });
  assert.equal(await waitingOf('hangs'), undefined);
  assert.equal(await waitingOf('ended'), undefined);
});

const idsOf = async (path: string) => {
  const { body } = await harness.call<{ readonly runs: readonly { readonly workflowRunId: string }[] }>('GET', path);
  return body.runs.map(({ workflowRunId }) => workflowRunId);
};

test('runs are found by the reason for their wait, in searches and in the log', async () => {
  for (const path of ['/v2/workflows/search', '/v2/workflows/logs']) {
    assert.deepEqual(await idsOf(`${path}?waitingFor=waiting-for-event`), ['event']);
    assert.deepEqual(await idsOf(`${path}?waitingFor=retry&waitingFor=not-before`), ['later', 'fan']);
    assert.deepEqual(await idsOf(`${path}?waitingFor=anything`), ['later', 'fan', 'event']);
    assert.deepEqual(await idsOf(`${path}?waitingFor=anything&workflowRunId=fan`), ['fan']);
    assert.deepEqual(await idsOf(`${path}?waitingFor=no-worker`), []);
    assert.deepEqual(await idsOf(`${path}?waitingFor=anything&order=oldest-first`), ['event', 'fan', 'later']);
    assert.deepEqual(await idsOf(`${path}?order=oldest-first&count=2`), ['event', 'fan']);
    assert.deepEqual(await idsOf(`${path}?waitingFor=anything&state=RUN_SUCCESS`), []);
  }
  assert.deepEqual(await idsOf('/v2/workflows/search?waitingFor=anything&q=fan'), ['fan']);
  assert.deepEqual(await idsOf('/v2/workflows/search?waitingFor=retry&q=later'), []);
});

/** Returns the number of runs in a summary. */
const countOf = async (query: string): Promise<number> => {
  const { body } = await harness.call<ListSummary>('GET', `/v2/insights/runs?${query}`);
  return body.counts.reduce((sum, count) => sum + count, 0);
};

test('a summary counts and compares what runs wait for', async () => {
  assert.equal(await countOf('waitingFor=waiting-for-event'), 1);
  assert.equal(await countOf('waitingFor=retry&waitingFor=not-before'), 2);
  assert.equal(await countOf('waitingFor=anything&q=fan'), 1);
  assert.equal(await countOf('waitingFor=no-worker'), 0);
  assert.equal(await countOf('waitingFor=anything&state=RUN_SUCCESS&field=state'), 0);
  const { body } = await harness.call<ListSummary>('GET', '/v2/insights/runs?waitingFor=anything&field=state');
  assert.deepEqual([body.source, body.topValues?.values], ['entries', [{ value: 'RUN_STARTED', count: 3 }]]);
});

test('pages of waiting runs continue where the previous one ended', async () => {
  const found: string[] = [];
  for (let cursor = ''; ; ) {
    const path = `/v2/workflows/search?waitingFor=anything&count=1&cursor=${encodeURIComponent(cursor)}`;
    const { body } = await harness.call<RunSearchPage>('GET', path);
    found.push(...body.runs.map(({ workflowRunId }) => workflowRunId));
    if (body.cursor === undefined) break;
    ({ cursor } = body);
  }
  assert.deepEqual(found, ['later', 'fan', 'event']);
});

test('runs are found by their duration; that of an active run is the time since its creation', async () => {
  const hourMs = 3_600_000;
  const input = { body: new Uint8Array(0), contentType: null, forwardHeaders: {} };
  const create = (n: number, workflowRunId: string, tookMs: number | null): CommitUnit => {
    const createdAt = Date.now() - 2 * hourMs;
    const run = sampleRun(n, { instanceId: 'qi_1', workflowRunId, createdAt });
    const outcome = { status: 'succeeded', result: null } as const;
    return {
      guards: [],
      writes: [
        { kind: 'create-run', run, input },
        ...(tookMs === null ? [] : [{ kind: 'end-run', runKey: run.key, outcome, completedAt: createdAt + tookMs } as const]),
      ],
    };
  };
  await harness.store.commit([create(1, 'hour', hourMs), create(2, 'almost', hourMs - 1), create(3, 'active', null)]);
  for (const path of ['/v2/workflows/search', '/v2/workflows/logs']) {
    assert.deepEqual(await idsOf(`${path}?minDurationMs=${hourMs}`), ['active', 'hour']);
    assert.deepEqual(await idsOf(`${path}?minDurationMs=${hourMs - 1}&maxDurationMs=${hourMs}`), ['almost', 'hour']);
    assert.deepEqual(await idsOf(`${path}?maxDurationMs=${hourMs - 1}&minDurationMs=${hourMs / 2}`), ['almost']);
    assert.deepEqual(await idsOf(`${path}?minDurationMs=${hourMs}&state=RUN_STARTED`), ['active']);
    assert.deepEqual(await idsOf(`${path}?minDurationMs=1&maxDurationMs=0`), []);
    assert.deepEqual(await idsOf(`${path}?minDurationMs=${hourMs}&waitingFor=retry`), []);
  }
  for (const query of [`maxDurationMs=${hourMs - 1}&minDurationMs=${hourMs / 2}`, `minDurationMs=${hourMs}&state=RUN_STARTED`])
    assert.equal(await countOf(query), 1, query);
  assert.equal(await countOf('minDurationMs=1&maxDurationMs=0'), 0);
});
