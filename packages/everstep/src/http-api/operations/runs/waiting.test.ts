/** The field `waiting` of active runs: in searches, logs and journals. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Waiting } from '../../../contract/fields/wait-reason.js';
import type { RunJournal, RunLogEntry, RunSearchPage } from '../../../contract/runs.js';
import { ApiWorld, EVENT_ID } from '../../testing/api-world.js';

let world: ApiWorld;
before(async () => {
  world = await ApiWorld.open();
});
after(() => world.close());

/** What the run waits for, which all operations must agree on. */
async function waitingOf(runId: string): Promise<Waiting | undefined> {
  const { body: found } = await world.call<RunSearchPage>('GET', `/v2/workflows/search?workflowRunId=${runId}`);
  const { body: logged } = await world.call<{ readonly runs: readonly RunLogEntry[] }>(
    'GET',
    `/v2/workflows/logs?workflowRunId=${runId}`,
  );
  const { body: journal } = await world.call<RunJournal>('GET', `/v2/workflows/runs/${runId}`);
  const { body: page } = await world.call<RunJournal>('GET', `/v2/workflows/runs/${runId}?count=10`);
  const waiting = found.runs[0]?.waiting;
  assert.equal(found.runs.length, 1);
  assert.deepEqual([logged.runs[0]?.waiting, journal.waiting, page.waiting], [waiting, waiting, waiting]);
  return waiting;
}

/** Waits until the run waits. */
async function waits(runId: string): Promise<Waiting> {
  for (;;) {
    const waiting = await waitingOf(runId);
    if (waiting !== undefined) return waiting;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test('a run that waits for an event says so until the event arrives', async () => {
  await world.trigger('wait', { 'svc-workflow-runid': 'event' });
  const { kind, text, eventIds, stepName, otherTasks, until } = await waits('event');
  assert.deepEqual([kind, text, eventIds], ['waiting-for-event', `Waiting for event ${JSON.stringify(EVENT_ID)}`, [EVENT_ID]]);
  assert.ok(stepName !== undefined && until !== undefined && otherTasks === undefined);
});

test('a run waits for its first pending task, and the number of the others is shown', async () => {
  await world.trigger('fan', { 'svc-workflow-runid': 'fan', 'svc-retries': '3', 'svc-retry-delay': '3600000' });
  const waiting = await waits('fan');
  assert.deepEqual([waiting.kind, waiting.text, waiting.otherTasks], ['retry', 'Waiting for retry 1 of 3', 1]);
});

test('a delayed run waits for its start time', async () => {
  await world.trigger('ok', { 'svc-workflow-runid': 'later', 'svc-delay': '1h' });
  assert.equal((await waits('later')).kind, 'not-before');
});

test('a run whose request is in flight and a run that has ended do not wait', async () => {
  await world.trigger('hang', { 'svc-workflow-runid': 'hangs' });
  await world.trigger('ok', { 'svc-workflow-runid': 'ended', 'svc-wait-for-result': 'true' });
  assert.equal(await waitingOf('hangs'), undefined);
  assert.equal(await waitingOf('ended'), undefined);
});
