/** Counts the shards of a Citus cluster that each operation uses. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import type { CommitUnit, Store, StoreWrite } from '../../../ports/stores/store.js';
import {
  advanceTask,
  apply,
  creation,
  failure,
  OTHER_INSTANCE,
  PAYLOAD,
  putTasks,
  sampleRun,
  sampleStep,
  stepTask,
  T0,
  unit,
  waitTask,
} from '../../conformance/samples.js';
import { openPostgresNode, openPostgresStore } from '../index.js';
import { NO_CLUSTER } from '../testing/citus.js';
import { openTestSchemas } from '../testing/schemas.js';
import { recordShards } from '../testing/shard-recorder.js';

const schemas = NO_CLUSTER || (await openTestSchemas());
const log = { debug() {}, info() {}, warn() {}, error() {} };

describe('shards of a Citus cluster', { skip: typeof schemas === 'string' && schemas }, async () => {
  if (typeof schemas === 'string') return;
  const recorder = await recordShards((await schemas.make()).url);
  const store: Store = await openPostgresStore({ url: recorder.url, log });
  after(() => store.close());
  const instanceId = OTHER_INSTANCE;
  let made = 0;
  const nextRun = () => sampleRun(++made, { instanceId });
  const counted = { kind: 'count-messages', instanceId, messages: 1, at: T0 } as const;

  /** Returns the number of shards that the operation uses. */
  async function shardsOf(operation: () => Promise<unknown>): Promise<number> {
    recorder.takeUsedShards();
    await operation();
    return recorder.takeUsedShards().size;
  }
  const decided = (runKey: string, version: number, writes: readonly StoreWrite[]): CommitUnit =>
    unit([...writes, counted], [{ kind: 'run-active', runKey, version, next: version + 1 }]);
  const commit = async (...units: readonly CommitUnit[]) => {
    for (const result of await store.commit(units)) assert.equal(result.kind, 'applied');
  };

  test('a start uses one shard', async () => {
    const run = nextRun();
    const writes = [creation(run), ...putTasks(run.key, [advanceTask(T0)]), counted];
    assert.equal(await shardsOf(() => commit(unit(writes))), 1);
  });

  test('a step, a failure and the end of a run use one shard', async () => {
    const [run, failing] = [nextRun(), nextRun()];
    await apply(store, [creation(run), ...putTasks(run.key, [advanceTask(T0)]), creation(failing)]);
    const step = { kind: 'record-step', runKey: run.key, step: sampleStep(0) } as const;
    assert.equal(await shardsOf(() => commit(decided(run.key, 0, [step, ...putTasks(run.key, [stepTask(1, T0)])]))), 1);
    const ended = { kind: 'end-run', runKey: run.key, outcome: { status: 'succeeded', result: null }, completedAt: T0 } as const;
    assert.equal(await shardsOf(() => commit(decided(run.key, 1, [{ kind: 'delete-tasks', runKey: run.key }, ended]))), 1);
    assert.equal(await shardsOf(() => commit(unit(failure(failing)))), 1);
  });

  test('a notify finds and wakes the waiting runs on one shard', async () => {
    const run = nextRun();
    await apply(store, [creation(run), ...putTasks(run.key, [waitTask(2, T0 + 9, ['paid'], T0 + 9)])]);
    const find = () => store.listWaiters({ instanceId, eventId: 'paid', after: null, limit: 100 });
    assert.equal(await shardsOf(find), 1);
    const [waiter] = await find();
    assert.equal(waiter?.runKey, run.key);
    const received = { kind: 'record-step', runKey: run.key, step: sampleStep(0) } as const;
    const wake = decided(run.key, 0, [
      { kind: 'delete-task', runKey: run.key, slot: 2 },
      received,
      ...putTasks(run.key, [advanceTask(T0)]),
    ]);
    assert.equal(await shardsOf(() => commit(wake)), 1);
  });

  test('a resume uses one shard', async () => {
    const [failed, next] = [nextRun(), nextRun()];
    await apply(store, [creation(failed), ...failure(failed)]);
    const dlqId = `dlq_${failed.key}`;
    const recoveredAs = { kind: 'resume', runKey: next.key, at: T0 } as const;
    const resumed = unit(
      [
        creation(next, { copyOf: failed.key }),
        { kind: 'copy-journal', fromRunKey: failed.key, toRunKey: next.key },
        { kind: 'take-dead-letter', instanceId, dlqId, recoveredAs },
      ],
      [{ kind: 'dead-letters-present', instanceId, dlqIds: [dlqId] }],
    );
    assert.equal(await shardsOf(() => commit(resumed)), 1);
  });

  test('reads of a run, of a page of runs and of dead letters use one shard', async () => {
    const run = nextRun();
    await apply(store, [creation(run, PAYLOAD)]);
    const page = { instanceId, filter: {}, order: 'newest-first', after: null, horizon: null, limit: 10 } as const;
    for (const read of [
      () => store.loadRun({ runKey: run.key }),
      () => store.loadJournal({ runKey: run.key, from: 0 }),
      () => store.listRuns(page),
      () => store.listDeadLetters(page),
    ])
      assert.equal(await shardsOf(read), 1, String(read));
  });

  test('a claim and a page of due tasks of an instance use one shard', async () => {
    const { store: own, cluster } = await openPostgresNode({ url: recorder.url, log, facts: { host: 'test', version: '0' } });
    after(() => own.close());
    await cluster.join({ onWork() {}, onSuspended() {}, onResumed() {}, onChanged() {} });
    const run = nextRun();
    await apply(store, [creation(run), ...putTasks(run.key, [advanceTask(T0)])]);
    const due = { before: T0 + 10, limit: 10, instanceId };
    const claim = async () => assert.ok((await cluster.claimDue(due)).some(({ runKey }) => runKey === run.key));
    assert.equal(await shardsOf(claim), 1);
    assert.equal(await shardsOf(() => own.dueTasks({ ...due, after: null })), 1);
    const queued = { ...due, after: null, includesClaimed: false };
    assert.equal(await shardsOf(() => cluster.claimQueued(queued)), 1);
  });

  test('retention uses one shard', async () => {
    const failed = nextRun();
    await apply(store, [creation(failed), ...failure(failed)]);
    const query = { instanceId, state: 'deadLetter', endedBefore: T0 + 1e9, keepNewest: null, limit: 10 } as const;
    assert.equal(await shardsOf(() => store.removeEndedRuns(query)), 1);
  });

  test('the search for due tasks reads all shards', async () => {
    assert.ok((await shardsOf(() => store.dueTasks({ before: T0 + 10, after: null, limit: 10 }))) > 1);
  });
});
