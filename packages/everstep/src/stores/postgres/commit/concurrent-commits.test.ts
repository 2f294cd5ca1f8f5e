/** Several processes that commit at the same time: two stores on one database, each with its own connections. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import pg from 'pg';
import { newRepair } from '../../../engine/dead-letters/repair.js';
import type { Schedule } from '../../../engine/runs/run.js';
import type { CommitResult, CommitUnit, Store, StoreGuard, StoreWrite } from '../../../ports/stores/store.js';
import {
  advanceTask,
  apply,
  callbackTask,
  creation,
  failure,
  INSTANCE,
  PAYLOAD,
  sampleDeadLetter,
  sampleRun,
  sampleStep,
  T0,
  unit,
} from '../../conformance/samples.js';
import { guardedSchedule, sampleGroup, sampleQueue } from '../../conformance/unchanged.js';
import { openPostgresStore } from '../index.js';
import { openTestSchemas } from '../testing/schemas.js';

const schemas = await openTestSchemas();
const log = { debug() {}, info() {}, warn() {}, error() {} };
const ROUNDS = 40;

const kinds = (results: readonly CommitResult[]) => results.map(({ kind }) => kind).sort();
const rounds = Array.from({ length: ROUNDS }, (_, n) => n);

/** Commits one unit of each node at the same time. Returns the results by node. */
async function atOnce(nodes: readonly Store[], unitOf: (node: number) => CommitUnit): Promise<readonly CommitResult[]> {
  const results = await Promise.all(nodes.map((store, node) => store.commit([unitOf(node)])));
  return results.flat();
}

if (typeof schemas === 'string') {
  describe('several processes on PostgreSQL', { skip: schemas }, () => {});
} else {
  const schema = await schemas.make();
  const nodes = await Promise.all([1, 2, 3].map(() => openPostgresStore({ url: schema.url, log })));
  const [first] = nodes;
  assert.ok(first);
  after(async () => {
    for (const store of nodes) await store.close();
  });

  describe('several processes on PostgreSQL', () => {
    test('one of several concurrent starts with the same run id succeeds, and the others return its run', async () => {
      for (const round of rounds) {
        const workflowRunId = `same-${round}`;
        const run = (node: number) => sampleRun(1000 + round * 10 + node, { workflowRunId });
        const free = { kind: 'run-id-free', instanceId: INSTANCE, workflowRunId } as const;
        const results = await atOnce(nodes, (node) => unit([creation(run(node))], [free]));
        assert.deepEqual(kinds(results), ['applied', 'run-id-taken', 'run-id-taken']);
        const winner = run(results.findIndex(({ kind }) => kind === 'applied'));
        const reference = { runKey: winner.key, workflowRunId, createdAt: winner.createdAt };
        for (const result of results) {
          if (result.kind === 'run-id-taken') assert.deepEqual(result.run, reference);
        }
      }
    });

    test('one of several concurrent triggers gets a deduplication id, even if it has expired', async () => {
      for (const round of rounds) {
        for (const [turn, now] of [T0, T0 + 5000].entries()) {
          const run = (node: number) => sampleRun(20_000 + round * 10 + turn * 5 + node);
          const id = { instanceId: INSTANCE, deduplicationId: `same-${round}` };
          const results = await atOnce(nodes, (node) =>
            unit(
              [creation(run(node)), { kind: 'remember-deduplication', ...id, runKey: run(node).key, expiresAt: now + 1000 }],
              [{ kind: 'not-duplicate', ...id, now }],
            ),
          );
          assert.deepEqual(kinds(results), ['applied', 'duplicate', 'duplicate']);
          const winner = run(results.findIndex(({ kind }) => kind === 'applied'));
          for (const result of results) if (result.kind === 'duplicate') assert.equal(result.run.runKey, winner.key);
        }
      }
    });

    test('one of several concurrent units takes a dead letter', async () => {
      for (const round of rounds) {
        const failed = sampleRun(30_000 + round);
        await apply(first, [creation(failed), ...failure(failed)]);
        const dlqId = `dlq_${failed.key}`;
        const results = await atOnce(nodes, (node) => {
          const next = sampleRun(40_000 + round * 10 + node);
          const recoveredAs = { kind: 'restart', runKey: next.key, at: T0 } as const;
          return unit(
            [creation(next, { copyOf: failed.key }), { kind: 'take-dead-letter', instanceId: INSTANCE, dlqId, recoveredAs }],
            [{ kind: 'dead-letters-present', instanceId: INSTANCE, dlqIds: [dlqId] }],
          );
        });
        assert.deepEqual(kinds(results), ['applied', 'dead-letters-missing', 'dead-letters-missing']);
        const winner = results.findIndex(({ kind }) => kind === 'applied');
        const record = await first.findRun({ runKey: failed.key });
        assert.equal(record?.recoveredAs?.runKey, sampleRun(40_000 + round * 10 + winner).key);
      }
    });

    test('a run ends once, and nothing is recorded afterwards', async () => {
      for (const round of rounds) {
        const run = sampleRun(50_000 + round);
        const runKey = run.key;
        await apply(first, [creation(run), { kind: 'put-task', runKey, task: advanceTask(T0) }]);
        const guards: readonly StoreGuard[] = [{ kind: 'run-active', runKey }];
        const ends = (result: string): readonly StoreWrite[] => [
          { kind: 'delete-tasks', runKey },
          { kind: 'end-run', runKey, outcome: { status: 'succeeded', result }, completedAt: T0 + 1 },
        ];
        const records: readonly StoreWrite[] = [
          { kind: 'record-step', runKey, step: sampleStep(0) },
          { kind: 'put-task', runKey, task: advanceTask(T0 + 5) },
        ];
        const results = await atOnce(nodes, (node) => unit(node === 2 ? records : ends(`"${node}"`), guards));
        const record = await first.findRun({ runKey });
        assert.equal(record?.result, results[0]?.kind === 'applied' ? '"0"' : '"1"');
        assert.equal(kinds(results.slice(0, 2)).join(), 'applied,run-not-active');
        const loaded = await first.loadRun({ runKey });
        assert.equal(loaded?.tasks.size, 0, 'a run that has ended has no task left');
        assert.equal(loaded?.journalLength, results[2]?.kind === 'applied' ? 1 : 0);
      }
    });

    test('one of several concurrent units records the failure callback', async () => {
      for (const round of rounds) {
        const run = sampleRun(60_000 + round);
        const entry = sampleDeadLetter(run, { failureFunctionState: 'CALLBACK_INPROGRESS' });
        const task = callbackTask(T0, entry.dlqId);
        await apply(first, [creation(run), ...failure(run, entry), { kind: 'put-task', runKey: run.key, task }]);
        const results = await atOnce(nodes, () =>
          unit(
            [
              { kind: 'delete-task', runKey: run.key, slot: task.slot },
              {
                kind: 'set-failure-function-state',
                instanceId: INSTANCE,
                dlqId: entry.dlqId,
                state: 'CALLBACK_SUCCESS',
              },
            ],
            [{ kind: 'task-open', runKey: run.key, slot: task.slot, messageId: task.messageId }],
          ),
        );
        assert.deepEqual(kinds(results), ['applied', 'task-gone', 'task-gone']);
      }
    });

    test('one of several concurrent units retries the failure callback', async () => {
      for (const round of rounds) {
        const run = sampleRun(65_000 + round);
        const entry = sampleDeadLetter(run, { failureFunctionState: 'CALLBACK_FAIL' });
        const { dlqId } = entry;
        const task = callbackTask(T0, dlqId);
        await apply(first, [creation(run), ...failure(run, entry)]);
        const results = await atOnce(nodes, () =>
          unit(
            [{ kind: 'put-task', runKey: run.key, task }],
            [
              { kind: 'dead-letters-present', instanceId: INSTANCE, dlqIds: [dlqId] },
              { kind: 'slot-free', runKey: run.key, slot: task.slot },
            ],
          ),
        );
        assert.deepEqual(kinds(results), ['applied', 'slot-taken', 'slot-taken']);
      }
    });

    test('one of several concurrent units takes a tick of a schedule', async () => {
      const { settings } = sampleRun(1);
      const schedule = (nextAt: number): Schedule => ({
        ...{ scheduleId: 'nightly', instanceId: INSTANCE, dialect: 'native', cron: '0 1 * * *', timeZone: 'UTC' },
        ...{ workflowUrl: 'http://app.example/', payload: PAYLOAD, settings, delayMs: 0, callerIp: '192.0.2.1' },
        ...{ paused: false, createdAt: T0, nextAt, lastFiredAt: null, lastRunId: null },
      });
      await apply(first, [{ kind: 'put-schedule', schedule: schedule(T0) }]);
      for (const round of rounds) {
        const guard = { kind: 'schedule-due', instanceId: INSTANCE, scheduleId: 'nightly', nextAt: T0 + round } as const;
        const next: StoreWrite = { kind: 'put-schedule', schedule: schedule(T0 + round + 1) };
        const results = await atOnce(nodes, () => unit([next], [guard]));
        assert.deepEqual(kinds(results), ['applied', 'schedule-moved', 'schedule-moved']);
      }
    });

    test('one of several units that read the same state of a queue, URL group or schedule writes it, even if it did not exist', async () => {
      for (const round of rounds) {
        const at = T0 + round;
        const queue = (node: number) => sampleQueue({ parallelism: node + 1, updatedAt: at });
        const group = (node: number) => sampleGroup([`http://node-${node}/`], { updatedAt: at });
        const schedule = (node: number) => guardedSchedule('s', { lastFiredAt: at, delayMs: node });
        const id = { instanceId: INSTANCE, name: 'q' };
        const [wasQueue, wasGroup, wasSchedule] = await Promise.all([
          first.findQueue(id),
          first.findUrlGroup({ ...id, name: 'g' }),
          first.findSchedule({ instanceId: INSTANCE, scheduleId: 's' }),
        ]);
        const units: readonly ((node: number) => CommitUnit)[] = [
          (node) =>
            unit(
              [{ kind: 'put-queue', instanceId: INSTANCE, queue: queue(node) }],
              [{ kind: 'queue-unchanged', ...id, was: wasQueue }],
            ),
          (node) =>
            unit(
              [{ kind: 'put-url-group', instanceId: INSTANCE, group: group(node) }],
              [{ kind: 'url-group-unchanged', ...id, name: 'g', was: wasGroup }],
            ),
          (node) =>
            unit(
              [{ kind: 'put-schedule', schedule: schedule(node) }],
              [{ kind: 'schedule-unchanged', instanceId: INSTANCE, scheduleId: 's', was: wasSchedule }],
            ),
        ];
        for (const unitOf of units) assert.deepEqual(kinds(await atOnce(nodes, unitOf)), ['applied', 'changed', 'changed']);
      }
    });

    test('concurrent units do not add more schedules than allowed', async () => {
      const before = await first.countObjects({ instanceId: INSTANCE, objectKind: 'schedule' });
      const max = before + 10;
      const results = await Promise.all(
        Array.from({ length: 30 }, (_, n) => {
          const put = { kind: 'put-schedule', schedule: guardedSchedule(`one-of-many-${n}`) } as const;
          return nodes[n % nodes.length]?.commit([unit([put], [{ kind: 'schedules-below', instanceId: INSTANCE, max }])]);
        }),
      );
      assert.equal(results.flat().filter((result) => result?.kind === 'applied').length, 10);
      assert.equal(await first.countObjects({ instanceId: INSTANCE, objectKind: 'schedule' }), max);
    });

    test('batches with the same runs in different orders wait for each other, and none is lost', async () => {
      const runs = Array.from({ length: 20 }, (_, n) => sampleRun(70_000 + n));
      await first.commit(runs.map((run) => unit([creation(run)])));
      for (let round = 0; round < 20; round++) {
        const step = (node: number) => sampleStep(round * nodes.length + node);
        const results = await Promise.all(
          nodes.map((store, node) => {
            const order = node % 2 === 0 ? runs : [...runs].reverse();
            return store.commit(
              order.map(({ key: runKey }) =>
                unit(
                  [
                    { kind: 'record-step', runKey, step: step(node) },
                    { kind: 'put-task', runKey, task: advanceTask(T0 + round) },
                  ],
                  [{ kind: 'run-active', runKey }],
                ),
              ),
            );
          }),
        );
        for (const result of results.flat()) assert.equal(result.kind, 'applied');
      }
      for (const { key: runKey } of runs) {
        assert.equal((await first.loadRun({ runKey }))?.journalLength, 20 * nodes.length);
      }
    });

    test('a process that claims repairs locks none while it waits for another one, so that it cannot deadlock with commits', async () => {
      const planned = newRepair({ instanceId: INSTANCE, repairId: '', action: 'resume', createdAt: T0, createdBy: '' });
      // They are due in the opposite order of their ids, in which commits lock them.
      for (const [n, repairId] of ['rep_b', 'rep_a'].entries())
        await first.repairs.create({
          record: {
            ...{ repair: { ...planned, repairId }, filter: { kind: 'workflow' }, overrides: {}, freezing: null },
            ...{ wakeAt: T0 + n, version: 0 },
          },
          driver: null,
        });
      const committer = new pg.Client({ connectionString: schema.url });
      await committer.connect();
      try {
        const lock = (repairId: string) =>
          committer.query(`SELECT 1 FROM repair WHERE instance_id = $1 AND repair_id = $2 FOR SHARE NOWAIT`, [
            INSTANCE,
            repairId,
          ]);
        await committer.query('BEGIN');
        await lock('rep_a');
        const claiming = first.repairs.claimDue({
          ...{ before: T0 + 9, limit: 9, limitPerInstance: 9, except: [] },
          driver: { nodeId: 'a', until: T0 + 50 },
        });
        const isWaiting = 'SELECT 1 FROM pg_stat_activity WHERE pg_backend_pid() = ANY(pg_blocking_pids(pid))';
        while ((await committer.query(isWaiting)).rows.length === 0);
        await lock('rep_b');
        await committer.query('COMMIT');
        assert.deepEqual(
          (await claiming).map(({ repair }) => repair.repairId),
          ['rep_b', 'rep_a'],
        );
      } finally {
        await committer.end();
      }
    });

    test('a run is removed by one process only', async () => {
      const runs = Array.from({ length: 60 }, (_, n) => sampleRun(80_000 + n, { instanceId: 'qi_removed' }));
      const end = (runKey: string): StoreWrite => ({
        kind: 'end-run',
        runKey,
        outcome: { status: 'canceled' },
        completedAt: T0 + 1,
      });
      await first.commit(runs.map((run) => unit([creation(run), end(run.key)])));
      const query = { instanceId: 'qi_removed', state: 'canceled', endedBefore: T0 * 2, keepNewest: null, limit: 7 } as const;
      const removed = await Promise.all(
        nodes.map(async (store) => {
          let sum = 0;
          for (let some = 1; some > 0; sum += some) some = await store.removeEndedRuns(query);
          return sum;
        }),
      );
      assert.equal(
        removed.reduce((sum, count) => sum + count, 0),
        runs.length,
      );
      const page = { instanceId: 'qi_removed', filter: {}, order: 'newest-first', after: null, horizon: null, limit: 5 } as const;
      assert.deepEqual((await first.listRuns(page)).items, []);
    });

    test('the commits of one process are listed, found and due for all', async () => {
      const run = sampleRun(90_000, { instanceId: 'qi_seen' });
      await apply(first, [creation(run), { kind: 'put-task', runKey: run.key, task: advanceTask(7) }]);
      for (const store of nodes) {
        assert.equal((await store.loadRun({ runKey: run.key }))?.tasks.size, 1);
        const due = await store.dueTasks({ before: 7, after: null, limit: 1 });
        assert.equal(due[0]?.runKey, run.key);
        assert.equal((await store.findRun({ instanceId: 'qi_seen', workflowRunId: run.workflowRunId }))?.key, run.key);
      }
    });
  });
}
