import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { RemovalQuery, Store, StoreWrite } from '../../../ports/stores/store.js';
import {
  apply,
  creation,
  failure,
  INSTANCE,
  keptEvent,
  OTHER_INSTANCE,
  sampleAttempt,
  sampleRun,
  sampleStep,
  seededNumbers,
  T0,
  waitTask,
} from '../../conformance/samples.js';
import { openConnection } from '../connection/connection.js';
import { createSqliteStore } from '../index.js';
import { BLOCK_SIZE } from '../listing/facets/block-set.js';

const removal = (bounds: Partial<RemovalQuery>): RemovalQuery => ({
  instanceId: INSTANCE,
  state: 'succeeded',
  endedBefore: null,
  keepNewest: null,
  limit: 1000,
  ...bounds,
});

const ended = (n: number, completedAt = T0 + n, instanceId = INSTANCE): readonly StoreWrite[] => {
  const run = sampleRun(n, { instanceId, createdAt: T0, settings: { labels: [`label ${n % 3}`] } });
  return [creation(run), { kind: 'end-run', runKey: run.key, outcome: { status: 'succeeded', result: null }, completedAt }];
};

async function runIds(store: Store, labels?: readonly string[]): Promise<readonly string[]> {
  const filter = labels ? { labels } : {};
  const page = { instanceId: INSTANCE, filter, order: 'oldest-first', after: null, horizon: null, limit: 5000 } as const;
  return (await store.listRuns(page)).items.map(({ workflowRunId }) => workflowRunId);
}

function openStore() {
  const connection = openConnection(':memory:');
  const store = createSqliteStore(connection);
  return {
    connection,
    store,
    rows: (table: string) => connection.prepare(`SELECT count(*) AS rows FROM ${table}`).get()?.rows,
    /** The next run starts another block of the index. */
    skipBlock: () => connection.exec(`UPDATE sqlite_sequence SET seq = seq + ${BLOCK_SIZE} WHERE name = 'run'`),
  };
}

describe('retention in SQLite', () => {
  test('finds runs in many blocks that other instances share, and counts the newest across blocks', async () => {
    const { store, skipBlock } = openStore();
    const numbers = seededNumbers(5);
    const model: { readonly n: number; readonly endedAt: number }[] = [];
    for (let n = 0; n < 200; n++) {
      const endedAt = T0 + numbers(1000);
      if (numbers(4) === 0) await apply(store, ended(n, endedAt, OTHER_INSTANCE));
      else {
        await apply(store, ended(n, endedAt));
        model.push({ n, endedAt });
      }
      if (numbers(5) === 0) skipBlock();
    }
    let left = model;
    for (const [endedBefore, keepNewest] of [
      [T0 + 100, null],
      [null, 120],
      [T0 + 300, 90],
      [T0 + 300, 90],
      [null, 0],
    ] as const) {
      const kept = left.filter(
        ({ endedAt }, i) => endedAt >= (endedBefore ?? 0) && i >= left.length - (keepNewest ?? left.length),
      );
      assert.equal(await store.removeEndedRuns(removal({ endedBefore, keepNewest })), left.length - kept.length);
      assert.deepEqual(
        await runIds(store),
        kept.map(({ n }) => `wfr_${n}`),
      );
      left = kept;
    }
    assert.equal(left.length, 0);
    await store.close();
  });

  test('removes each run once during two concurrent searches', async () => {
    const { store, skipBlock } = openStore();
    for (let n = 0; n < 30; n++) {
      await apply(store, ended(n));
      skipBlock();
    }
    const query = removal({ keepNewest: 5, limit: 10 });
    let removed = 0;
    for (;;) {
      const counts = await Promise.all([store.removeEndedRuns(query), store.removeEndedRuns(query)]);
      removed += counts[0] + counts[1];
      if (counts[0] + counts[1] === 0) break;
    }
    assert.equal(removed, 25);
    assert.equal((await runIds(store)).length, 5);
    await store.close();
  });

  test('sees runs that end, fail or leave the DLQ in a block that it has already searched', async () => {
    const { store } = openStore();
    const late = sampleRun(50, { createdAt: T0 });
    const failed = sampleRun(51, { createdAt: T0 });
    await apply(store, [...ended(1, T0 + 100), creation(late), creation(failed), ...failure(failed)]);
    const all = { endedBefore: T0 + 5000 };
    assert.equal(await store.removeEndedRuns(removal({ endedBefore: T0 + 100 })), 0);
    assert.equal(await store.removeEndedRuns(removal({ ...all, state: 'failed' })), 0);
    await apply(store, [
      { kind: 'end-run', runKey: late.key, outcome: { status: 'succeeded', result: null }, completedAt: T0 + 50 },
      { kind: 'take-dead-letter', instanceId: INSTANCE, dlqId: `dlq_${failed.key}`, recoveredAs: null },
    ]);
    assert.equal(await store.removeEndedRuns(removal({ endedBefore: T0 + 100 })), 1);
    assert.equal(await store.removeEndedRuns(removal({ ...all, state: 'failed' })), 1);
    assert.deepEqual(await runIds(store), ['wfr_1']);
    await store.close();
  });

  test('leaves no row of any table when everything is removed', async () => {
    const { store, rows } = openStore();
    for (let n = 0; n < 20; n++) {
      const { key: runKey } = sampleRun(n);
      await apply(store, [
        ...ended(n),
        { kind: 'record-step', runKey, step: sampleStep(0) },
        { kind: 'record-attempt', runKey, attempt: sampleAttempt(0) },
        { kind: 'keep-event', runKey, event: keptEvent(n) },
        { kind: 'put-task', runKey, task: waitTask(2, T0, ['paid']) },
        {
          kind: 'remember-deduplication',
          instanceId: INSTANCE,
          deduplicationId: `id ${n}`,
          runKey,
          expiresAt: T0 + 5000,
        },
      ]);
    }
    const failed = sampleRun(30);
    await apply(store, [creation(failed), ...failure(failed)]);
    assert.equal(await store.removeEndedRuns(removal({ keepNewest: 0 })), 20);
    assert.equal(await store.removeEndedRuns(removal({ keepNewest: 0, state: 'deadLetter' })), 1);
    const ofRuns = ['run', 'payload', 'step', 'task', 'attempt', 'waiter', 'kept_event', 'dead_letter'];
    for (const table of [...ofRuns, 'deduplication', 'facet']) assert.equal(rows(table), 0, table);
    await store.close();
  });

  test('that fails halfway has removed nothing, in the file and in memory', async () => {
    const { store, connection } = openStore();
    for (let n = 1; n <= 6; n++) await apply(store, ended(n));
    connection.exec(`CREATE TEMP TRIGGER stubborn BEFORE DELETE ON run WHEN old.key = '${sampleRun(4).key}'
      BEGIN SELECT RAISE(ABORT, 'this run stays'); END`);
    await assert.rejects(store.removeEndedRuns(removal({ keepNewest: 0 })), /this run stays/);
    const all = [1, 2, 3, 4, 5, 6].map((n) => `wfr_${n}`);
    assert.deepEqual(await runIds(store), all);
    assert.ok(await store.loadRun({ runKey: sampleRun(1).key }));

    await apply(store, ended(7));
    assert.deepEqual(await runIds(store), [...all, 'wfr_7']);
    assert.deepEqual(await runIds(store, ['label 1']), ['wfr_1', 'wfr_4', 'wfr_7']);
    connection.exec('DROP TRIGGER stubborn');
    assert.equal(await store.removeEndedRuns(removal({ keepNewest: 1 })), 6);
    assert.deepEqual(await runIds(store), ['wfr_7']);
    assert.deepEqual(await runIds(store, ['label 1']), ['wfr_7']);
    await store.close();
  });

  test('takes fewer runs at a time if they have many steps', async () => {
    const { store } = openStore();
    const [long, short] = [sampleRun(1), sampleRun(2)];
    const steps = Array.from({ length: 5000 }, (_, i) => {
      return { kind: 'record-step', runKey: long.key, step: sampleStep(i) } as const;
    });
    await apply(store, [...ended(1), ...steps, ...ended(2)]);
    assert.equal(await store.removeEndedRuns(removal({ keepNewest: 0 })), 1);
    assert.deepEqual(await runIds(store), [short.workflowRunId]);
    assert.equal(await store.removeEndedRuns(removal({ keepNewest: 0 })), 1);
    assert.equal(await store.removeEndedRuns(removal({ keepNewest: 0 })), 0);
    await store.close();
  });
});
