/** The end of an invoked run on one node, while another node creates or changes the task that waits for it. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import type { StoreWrite } from '../../../ports/stores/store.js';
import { apply, creation, failure, INSTANCE, invokeTask, putTasks, sampleRun, T0 } from '../../conformance/samples.js';
import { openPostgresNode } from '../index.js';
import { openTestSchemas } from '../testing/schemas.js';

const schemas = await openTestSchemas();
const log = { debug() {}, info() {}, warn() {}, error() {} };
const ROUNDS = 60;

if (typeof schemas === 'string') {
  describe('invocations across several nodes on PostgreSQL', { skip: schemas }, () => {});
} else {
  const { url } = await schemas.make();
  const facts = { host: 'test', version: '0' };
  const [parents, children] = await Promise.all([1, 2].map(() => openPostgresNode({ url, log, facts })));
  assert.ok(parents && children);
  for (const { cluster } of [parents, children]) {
    await cluster.join({ onWork: () => {}, onSuspended: () => {}, onResumed: () => {}, onChanged: () => {} });
  }
  after(async () => {
    for (const { store } of [parents, children]) await store.close();
  });
  const SLOT = 4;
  const endOf = (childRunKey: string): readonly StoreWrite[] => [
    { kind: 'end-run', runKey: childRunKey, outcome: { status: 'canceled' }, completedAt: T0 + 60 },
    { kind: 'wake-invoker', childRunKey, at: T0 + 60 },
  ];
  const dueAt = async (runKey: string) => (await parents.store.loadRun({ runKey }))?.tasks.get(SLOT)?.dueAt;

  describe('invocations across several nodes on PostgreSQL', () => {
    test('a task that starts to wait while its run ends on another node is due, so the wake-up is not lost', async () => {
      let late = 0;
      for (let round = 0; round < ROUNDS; round++) {
        const [parent, child] = [sampleRun(100 + round), sampleRun(1000 + round)];
        // The state between the start of the child and the record of this start.
        const started = invokeTask(SLOT, T0, child.key, { workflowUrl: 'http://app.example/child', headers: {} });
        await apply(parents.store, [creation(parent), ...putTasks(parent.key, [started]), creation(child)]);
        const waiting = putTasks(parent.key, [invokeTask(SLOT, null, child.key)]);
        await Promise.all([
          apply(parents.store, waiting, [{ kind: 'run-active', runKey: parent.key, version: 0 }]),
          apply(children.store, endOf(child.key), [{ kind: 'run-active', runKey: child.key }]),
        ]);
        const due = await dueAt(parent.key);
        assert.ok(typeof due === 'number', `round ${round}: the task waits for a run that has ended`);
        if (due === T0) late++;
      }
      // Whichever was first, another node finds the due task.
      const [unclaimed] = [await children.cluster.claimDue({ before: T0 + 100, limit: 1000 })];
      const claimed = await children.store.dueTasks({ before: T0 + 100, after: null, limit: 1000 });
      assert.equal(unclaimed.length, late);
      assert.equal(claimed.length, ROUNDS);
    });

    test('a run that is resumed while its invoked run ends on another node is woken, or finds the end', async () => {
      for (let round = 0; round < ROUNDS; round++) {
        const [failed, resumed, child] = [sampleRun(2000 + round), sampleRun(3000 + round), sampleRun(4000 + round)];
        const task = invokeTask(SLOT, null, child.key);
        await apply(parents.store, [creation(failed), creation(child), ...putTasks(failed.key, [task]), ...failure(failed)]);
        const dlqId = `dlq_${failed.key}`;
        const copied: readonly StoreWrite[] = [
          creation(resumed, { copyOf: failed.key }),
          { kind: 'copy-journal', fromRunKey: failed.key, toRunKey: resumed.key },
          ...putTasks(resumed.key, [task]),
          { kind: 'take-dead-letter', instanceId: INSTANCE, dlqId, recoveredAs: { kind: 'resume', runKey: resumed.key, at: T0 } },
        ];
        await Promise.all([
          apply(parents.store, copied, [{ kind: 'dead-letters-present', instanceId: INSTANCE, dlqIds: [dlqId] }]),
          apply(children.store, endOf(child.key), [{ kind: 'run-active', runKey: child.key }]),
        ]);
        assert.ok(typeof (await dueAt(resumed.key)) === 'number', `round ${round}: the task waits for a run that has ended`);
      }
    });
  });
}
