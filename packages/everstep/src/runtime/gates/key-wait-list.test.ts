import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  apply,
  creation,
  INSTANCE,
  OTHER_INSTANCE,
  putTasks,
  sampleRun,
  stepTask,
  T0,
} from '../../stores/conformance/samples.js';
import { openSqliteStore } from '../../stores/sqlite/index.js';
import { ManualClock } from '../runtime.fixture.js';
import type { FlowControlStatus } from '../services/workflow-service.js';
import { readKeyWaitList } from './key-wait-list.js';

test('a node without the gates lists what is due at the key, except deliveries in flight', async () => {
  const store = await openSqliteStore({ file: ':memory:' });
  const settings = { flowControl: { key: 'k', parallelism: 1 } };
  const due = [T0 + 5, T0 + 1, T0 + 3, T0 + 1_000_000];
  for (const [index, dueAt] of due.entries()) {
    const run = sampleRun(index + 1, { settings });
    await apply(store, [creation(run), ...putTasks(run.key, [stepTask(1, dueAt)])]);
  }
  const other = sampleRun(9, { settings: { flowControl: { key: 'other' } } });
  const foreign = sampleRun(10, { settings, instanceId: OTHER_INSTANCE });
  for (const run of [other, foreign]) await apply(store, [creation(run), ...putTasks(run.key, [stepTask(1, T0)])]);

  const clock = new ManualClock();
  clock.move(T0 + 100 - clock.now());
  const status: FlowControlStatus = {
    key: 'k',
    parallelism: 1,
    rate: null,
    periodMs: null,
    paused: false,
    parallelismPinned: false,
    ratePinned: false,
    window: null,
    waiting: 2,
    inFlight: 1,
  };
  const gates = { waitingAt: () => assert.fail('these deliveries are not on this node') };
  const query = { instanceId: INSTANCE, key: 'k', limit: 9 };
  const list = await readKeyWaitList({ store, clock, holdsGates: false, gates }, query, status);
  assert.deepEqual(
    list.waiting.map(({ run, since }) => [run.workflowRunId, since]),
    [
      ['wfr_3', T0 + 3],
      ['wfr_1', T0 + 5],
    ],
  );
  assert.equal(list.size, 2);
  await store.close();
});
