/** Files as earlier versions wrote them, row by row, opened by this version. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import type { FlowControl } from '../../../engine/runs/run.js';
import type { Store } from '../../../ports/stores/store.js';
import {
  advanceTask,
  apply,
  fullHistory,
  INSTANCE,
  putTasks,
  SETTINGS,
  sampleRun,
  sampleStep,
  sleepTask,
  stepTask,
  T0,
  waitTask,
} from '../../conformance/samples.js';
import { migrate } from '../connection/connection.js';
import { openSqliteStore } from '../index.js';
import { initial } from './0001-initial.js';
import { waitsAndMessages } from './0002-waits-and-messages.js';
import { controls } from './0003-controls.js';
import { accounts as accountTables } from './0004-accounts.js';
import { search } from './0005-search.js';
import { daysAndAlerts } from './0006-days-and-alerts.js';
import { MIGRATIONS } from './index.js';

const flowControl: FlowControl = { key: 'it\'s "ünusual" ☃', parallelism: 2 };
const [keyed, plain, failed] = [sampleRun(1, { settings: { flowControl } }), sampleRun(2), sampleRun(3)];

function writeVersion1(file: string): void {
  const database = new DatabaseSync(file);
  migrate(database, file, [initial]);
  const settings = (run: typeof keyed) => JSON.stringify({ ...SETTINGS, flowControl: run.settings.flowControl });
  database.exec(`INSERT INTO tenant (seq, instance_id) VALUES (1, '${INSTANCE}')`);
  const insertRun = database.prepare(
    `INSERT INTO run (key, tenant, status, created_at, listed_at, workflow_run_id, dialect, workflow_url, caller_ip, settings, error)
     VALUES (?, 1, ?, ?, ?, ?, 'native', ?, ?, ?, ?)`,
  );
  for (const run of [keyed, plain, failed]) {
    const ended = run === failed;
    const identity = [run.workflowRunId, run.workflowUrl, run.callerIp, settings(run)] as const;
    insertRun.run(run.key, ended ? 'failed' : 'active', run.createdAt, run.createdAt, ...identity, ended ? 'no stock' : null);
  }
  const step = sampleStep(0);
  database
    .prepare(
      `INSERT INTO step (run_seq, idx, step_id, name, type, message_id, first_of_group, concurrent, created_at, completed_at, out)
       VALUES (2, 0, 1, ?, 'Run', ?, 1, 1, ?, ?, ?)`,
    )
    .run(step.name, step.messageId, step.createdAt, step.completedAt, step.out);
  database.exec(`
    INSERT INTO task VALUES (1, 0, 'advance', 'msg_advance_0', ${T0}, ${T0}, 0, NULL, NULL, NULL, NULL, NULL, NULL);
    INSERT INTO task VALUES (1, 3, 'step', 'msg_task_3', ${T0 + 1}, ${T0}, 1, 'step 3', 1, 2, NULL, NULL, NULL);
    INSERT INTO task VALUES (2, 2, 'sleep', 'msg_sleep_2', ${T0 + 2}, ${T0}, NULL, 'nap 2', 2, 1, 'SleepFor', 5000, ${T0 + 2});
    INSERT INTO task VALUES (2, 4, 'step', 'msg_task_4', ${T0 + 3}, ${T0}, 1, 'step 4', 1, 2, NULL, NULL, NULL);
    INSERT INTO task VALUES (3, 1, 'step', 'msg_task_1', NULL, ${T0}, 1, 'step 1', 1, 2, NULL, NULL, NULL);
  `);
  database.close();
}

let directory = '';
let store: Store;
before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'everstep-migrations-'));
  const file = join(directory, 'version-1.db');
  writeVersion1(file);
  store = await openSqliteStore({ file });
});
after(async () => {
  await store.close();
  await rm(directory, { recursive: true });
});

describe('a file of version 1', () => {
  test('has its runs unchanged, with their journals and tasks', async () => {
    const tasks = new Map([advanceTask(T0), stepTask(3, T0 + 1)].map((task) => [task.slot, task]));
    assert.deepEqual(await store.loadRun({ runKey: keyed.key }), { ...keyed, nextStepId: 4, replayedLength: -1, tasks });
    const loaded = await store.loadRun({ runKey: plain.key });
    assert.deepEqual([...(loaded?.tasks.values() ?? [])], [sleepTask(2, T0 + 2, T0 + 2), stepTask(4, T0 + 3)]);
    // Version 1 did not record the time when a step was requested from the endpoint.
    const { startedAt: _unknown, ...step } = sampleStep(0);
    assert.deepEqual(await store.loadJournal({ runKey: plain.key, from: 0 }), [step]);
    const history = await fullHistory(store, { runKey: failed.key });
    assert.deepEqual([history?.run.error, history?.tasks], ['no stock', [stepTask(1, null)]]);
    assert.deepEqual([history?.invoked, history?.keptEvents], [[], []]);
  });

  test('has due tasks with the flow control keys of their runs', async () => {
    const due = await store.dueTasks({ before: T0 + 1000, after: null, limit: 100 });
    assert.deepEqual(
      due.map(({ runKey, slot, kind, flowControlKey }) => ({ runKey, slot, kind, flowControlKey })),
      [
        { runKey: keyed.key, slot: 0, kind: 'advance', flowControlKey: flowControl.key },
        { runKey: keyed.key, slot: 3, kind: 'step', flowControlKey: flowControl.key },
        { runKey: plain.key, slot: 2, kind: 'sleep', flowControlKey: null },
        { runKey: plain.key, slot: 4, kind: 'step', flowControlKey: null },
      ],
    );
    assert.deepEqual([due[0]?.instanceId, due[0]?.workflowUrl], [INSTANCE, keyed.workflowUrl]);
  });

  test('has runs that can wait for events from now on', async () => {
    await apply(store, [
      ...putTasks(plain.key, [waitTask(5, T0 + 9, ['paid'])]),
      { kind: 'note-failure-function', runKey: plain.key },
    ]);
    const waiters = await store.listWaiters({ instanceId: INSTANCE, eventId: 'paid', after: null, limit: 9 });
    assert.deepEqual(
      waiters.map(({ runKey, slot }) => ({ runKey, slot })),
      [{ runKey: plain.key, slot: 5 }],
    );
    assert.equal((await store.loadRun({ runKey: plain.key }))?.hasFailureFunction, true);
  });
});

describe('a file of version 3', () => {
  const OLD = { instanceId: INSTANCE, region: 'eu-central-1', name: 'default', createdAt: T0 };
  const KEYS = { currentSigningKey: 'sig_1', nextSigningKey: 'sig_2' };

  async function open(users: string): Promise<Store> {
    const file = join(directory, `version-3-${users.length}.db`);
    const database = new DatabaseSync(file);
    migrate(database, file, [initial, waitsAndMessages, controls]);
    database.exec(`
      INSERT INTO queue_instance VALUES (1, '${INSTANCE}', 'eu-central-1', 'default', ${T0}, 'sig_1', 'sig_2');
      INSERT INTO account_user VALUES ${users};
      INSERT INTO api_key VALUES (1, 'key_1', 'usr_1', 'first', 'ab', ${T0});
    `);
    database.close();
    return openSqliteStore({ file });
  }

  test('has instances without an owner, which are counted and can be transferred, and valid keys', async () => {
    const opened = await open(`(1, 'usr_1', 'Me@Example.com', ${T0})`);
    try {
      const { accounts } = opened;
      assert.deepEqual(await accounts.listInstances(), [{ ...OLD, ...KEYS }]);
      assert.deepEqual(await accounts.findUserByEmail({ email: 'me@example.com' }), {
        userId: 'usr_1',
        email: 'me@example.com',
        createdAt: T0,
        isOperator: true,
      });
      const key = { apiKeyId: 'key_1', userId: 'usr_1', name: 'first', keyHash: 'ab', createdAt: T0 };
      assert.deepEqual(await accounts.listApiKeys({ userId: 'usr_1' }), [key]);
      await apply(opened, [{ kind: 'count-messages', instanceId: INSTANCE, messages: 3, at: Date.UTC(2026, 10) }]);
      assert.deepEqual(await accounts.usage({ instanceId: INSTANCE, fromMonth: '2026-11' }), [
        { instanceId: INSTANCE, accountId: null, month: '2026-11', price: null, messages: 3 },
      ]);
      const owned = await accounts.changeInstance({ instanceId: INSTANCE, change: { accountId: 'usr_1' } });
      assert.deepEqual(owned, { ...OLD, ...KEYS, accountId: 'usr_1' });
    } finally {
      await opened.close();
    }
  });

  test('keeps two users whose emails differ only in case', async () => {
    const opened = await open(`(1, 'usr_1', 'me@example.com', ${T0}), (2, 'usr_2', 'Me@Example.com', ${T0})`);
    try {
      const users = await opened.accounts.listUsers();
      assert.deepEqual(
        users.map(({ userId, email }) => [userId, email]),
        [
          ['usr_1', 'me@example.com'],
          ['usr_2', 'Me@Example.com'],
        ],
      );
      assert.deepEqual(
        users.map(({ isOperator }) => isOperator),
        [true, undefined],
        'the first user is the operator',
      );
      assert.equal((await opened.accounts.findUserByEmail({ email: 'Me@Example.com' }))?.userId, 'usr_1');
    } finally {
      await opened.close();
    }
  });
});

describe('a file of version 6', () => {
  test('has counts without a price until the instance gets its first one', async () => {
    const file = join(directory, 'version-6.db');
    const database = new DatabaseSync(file);
    migrate(database, file, [initial, waitsAndMessages, controls, accountTables, search, daysAndAlerts]);
    database.exec(`
      INSERT INTO queue_instance (seq, instance_id, region, name, created_at, current_signing_key, next_signing_key)
        VALUES (1, '${INSTANCE}', 'eu-central-1', 'default', ${T0}, 'sig_1', 'sig_2');
      INSERT INTO usage VALUES ('${INSTANCE}', '2026-10', '', 7), ('${INSTANCE}', '2026-11', 'usr_1', 5);
    `);
    database.close();
    const opened = await openSqliteStore({ file });
    try {
      const { accounts } = opened;
      const usage = async () =>
        (await accounts.usage({ instanceId: INSTANCE, fromMonth: '2026-01' })).map(({ messages, price }) => [messages, price]);
      const counted = [5, 7];
      assert.deepEqual(
        await usage(),
        counted.map((messages) => [messages, null]),
      );
      await accounts.changeInstance({ instanceId: INSTANCE, change: { price: 1.5 } });
      assert.deepEqual(
        await usage(),
        counted.map((messages) => [messages, 1.5]),
      );
    } finally {
      await opened.close();
    }
  });
});

describe('a file of version 12', () => {
  test('has dead letters without a group, which can be put into one', async () => {
    const file = join(directory, 'version-12.db');
    const database = new DatabaseSync(file);
    migrate(database, file, MIGRATIONS.slice(0, 12));
    const settings = JSON.stringify({ ...SETTINGS, flowControl: null });
    database.exec(`
      INSERT INTO tenant (seq, instance_id) VALUES (1, '${INSTANCE}');
      INSERT INTO run (seq, key, tenant, status, created_at, listed_at, workflow_run_id, dialect, workflow_url, caller_ip,
          settings, error, dead_letter_seq)
        VALUES (1, '${failed.key}', 1, 'failed', ${T0}, ${T0}, 'r1', 'native', '${failed.workflowUrl}', '::1',
          '${settings}', 'no stock', 1);
      INSERT INTO attempt (run_seq, slot, name, message_id, retried, at, cause, status, retry_at, message)
        VALUES (1, 1, 'pay 7', 'msg_1', 0, ${T0}, 'step', 500, NULL, 'Error: no stock');
      INSERT INTO dead_letter (seq, dlq_id, tenant, run_seq, created_at, listed_at, response_status, response_headers, error,
          response_body)
        VALUES (1, 'dlq_1', 1, 1, ${T0 + 5}, ${T0 + 5}, 500, '{}', 'step "pay 7" (1) failed: Error: no stock', x'00');
    `);
    database.close();
    const opened = await openSqliteStore({ file });
    try {
      const { deadLetterGroups } = opened;
      const [entry, ...more] = await deadLetterGroups.ungrouped({ limit: 9 });
      assert.deepEqual(
        [entry?.dlqId, entry?.attempt?.name, entry?.attempt?.message, more],
        ['dlq_1', 'pay 7', 'Error: no stock', []],
      );
      const group = {
        fingerprint: '0f45eafa82874b91',
        rules: 2,
        kind: 'workflow',
        stepName: 'pay #',
        message: 'Error: no stock',
      } as const;
      const entries = [
        { instanceId: INSTANCE, dlqId: 'dlq_1', fingerprint: null, group: { ...group, workflowUrl: failed.workflowUrl } },
      ];
      await deadLetterGroups.group({ entries });
      const found = await deadLetterGroups.find({ instanceId: INSTANCE, fingerprint: group.fingerprint, now: T0 });
      assert.deepEqual([found?.entries, found?.firstSeenAt, found?.exampleDlqId], [1, T0 + 5, 'dlq_1']);
      assert.deepEqual(await deadLetterGroups.ungrouped({ limit: 9 }), []);
    } finally {
      await opened.close();
    }
  });
});

describe('a file of version 17', () => {
  test('has keys whose limits were pinned together, so their existing limits are pinned', async () => {
    const file = join(directory, 'version-17.db');
    const database = new DatabaseSync(file);
    migrate(database, file, MIGRATIONS.slice(0, 17));
    database.exec(`
      INSERT INTO tenant (seq, instance_id) VALUES (1, '${INSTANCE}');
      INSERT INTO flow_control (tenant, key, parallelism, rate, period_ms, updated_at, pinned) VALUES
        (1, 'both', 1, 2, 3000, 0, 1), (1, 'parallelism', 1, NULL, NULL, 0, 1), (1, 'rate', NULL, 2, 3000, 0, 1),
        (1, 'unpinned', 1, 2, 3000, 0, 0);
    `);
    database.close();
    const opened = await openSqliteStore({ file });
    try {
      const keys = await opened.listFlowControls({ instanceId: INSTANCE });
      assert.deepEqual(
        keys.map(({ key, parallelismPinned, ratePinned }) => [key, parallelismPinned, ratePinned]),
        [
          ['both', true, true],
          ['parallelism', true, false],
          ['rate', false, true],
          ['unpinned', false, false],
        ],
      );
    } finally {
      await opened.close();
    }
  });
});

describe('a file of version 21', () => {
  test('has instances that know the origins of the workflows that they ran, and not those of their messages', async () => {
    const file = join(directory, 'version-21.db');
    const database = new DatabaseSync(file);
    migrate(database, file, MIGRATIONS.slice(0, 21));
    database.exec(`
      INSERT INTO tenant (seq, instance_id) VALUES (1, 'qi_a'), (2, 'qi_b'), (3, 'qi_c');
      INSERT INTO queue_instance (instance_id, region, name, created_at, current_signing_key, next_signing_key) VALUES
        ('qi_a', 'eu-central-1', 'a', 0, 'x', 'y'), ('qi_b', 'eu-central-1', 'b', 0, 'x', 'y'), ('qi_c', 'eu-central-1', 'c', 0, 'x', 'y');
    `);
    const insert = database.prepare(
      `INSERT INTO run (key, tenant, status, created_at, listed_at, workflow_run_id, dialect, workflow_url, caller_ip, settings)
       VALUES (?, ?, 'succeeded', 0, 0, ?, 'native', ?, '', ?)`,
    );
    let runs = 0;
    const add = (tenant: number, url: string, settings: object = {}) =>
      insert.run(`k${++runs}`, tenant, `r${runs}`, url, JSON.stringify({ labels: [], ...settings }));
    for (const url of ['https://App.test/flow?x=1', 'https://app.test/other', 'http://127.0.0.1:3000']) add(1, url);
    add(1, 'https://customer.test/hook', { message: { method: 'POST' } });
    add(2, 'https://customer.test/hook', { message: { method: 'POST' } });
    for (let n = 0; n < 120; n++) add(3, `https://tenant-${n}.test/flow`);
    database.close();
    const opened = await openSqliteStore({ file });
    try {
      const [a, b, c] = await opened.accounts.listInstances();
      assert.deepEqual(a?.workflowOrigins, ['http://127.0.0.1:3000', 'https://app.test']);
      assert.equal(b?.workflowOrigins, undefined);
      assert.equal(c?.workflowOrigins?.length, 100);
      assert.deepEqual([a?.keyPairs, a?.signedOrigins], [undefined, undefined]);
    } finally {
      await opened.close();
    }
  });
});
