/** Copies an embedded store with all kinds of data, and compares the results of queries to both stores. */
import assert from 'node:assert/strict';
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import { type FailureDescription, groupOf } from '../engine/dead-letters/fingerprint.js';
import { DEFAULT_INSTANCE_SETTINGS } from '../engine/runs/run.js';
import { NO_BYTE_LIMIT } from '../ports/stores/search-store.js';
import type { Store } from '../ports/stores/store.js';
import {
  addTeam,
  addUsers,
  sampleAudit,
  sampleInstance,
  sampleMember,
  sampleToken,
} from '../stores/conformance/accounts/account-samples.js';
import {
  advanceTask,
  apply,
  callbackTask,
  callTask,
  creation,
  failure,
  fullHistory,
  INSTANCE,
  invokeTask,
  keptEvent,
  notifyTask,
  OTHER_INSTANCE,
  putTasks,
  sampleAttempt,
  sampleDeadLetter,
  sampleRun,
  sampleStep,
  sleepTask,
  stepTask,
  T0,
  waitTask,
} from '../stores/conformance/samples.js';
import { openPostgresStore } from '../stores/postgres/index.js';
import { openPostgresSearchDocuments } from '../stores/postgres/search/index.js';
import { openTestSchemas, type TestSchema } from '../stores/postgres/testing/schemas.js';
import { openSqliteStore } from '../stores/sqlite/index.js';
import { openSearchDocuments } from '../stores/sqlite/search/index.js';
import { copyStore } from './copying.js';

const schemas = await openTestSchemas();
const LOG = { debug() {}, info() {}, warn() {}, error() {} };
const [active, failed, done, message, child, resumed] = [
  sampleRun(1, { settings: { labels: ['a', 'b', 'a'], flowControl: { key: 'k', rate: 2, periodMs: 1000 } } }),
  sampleRun(2, { settings: { labels: ['a'] } }),
  sampleRun(3),
  sampleRun(4, { settings: { message: { method: 'POST', queue: 'mail', urlGroup: 'all', scheduleId: 's1' }, labels: ['m'] } }),
  sampleRun(5, { instanceId: OTHER_INSTANCE, workflowUrl: 'https://host.example:8443/p/q?x=1' }),
  sampleRun(6),
];

const FAILED_AS: FailureDescription = {
  kind: 'workflow',
  workflowUrl: 'https://app.test/order',
  stepName: 'pay 1',
  status: 500,
  cause: 'step',
  message: 'no "stock"',
};

async function fill(store: Store): Promise<void> {
  const { accounts } = store;
  await addUsers(accounts, 'ann', 'bob');
  await addTeam(accounts, 'red', 'ann');
  await accounts.putMember({ member: sampleMember('red', 'bob', 'dev'), audit: sampleAudit(1, ['usr_ann', 'team_red']) });
  await accounts.createInstance(sampleInstance(INSTANCE), sampleAudit(2, ['usr_ann']), [sampleToken('tok_1', INSTANCE)]);
  await apply(store, [{ kind: 'count-messages', instanceId: INSTANCE, messages: 7, at: T0 }]);
  await accounts.changeInstance({
    instanceId: INSTANCE,
    change: { accountId: 'team_red', price: 1.25, budgetDollars: 20, budgetAlertUrl: 'http://a.example/' },
  });
  await accounts.createInstance(sampleInstance(OTHER_INSTANCE));
  await accounts.createToken({ ...sampleToken('tok_2', INSTANCE), access: 'read-only', revokedAt: T0 });
  await accounts.findOrCreateSecret({ name: 'cursors', value: 'c'.repeat(40) });
  await accounts.countOfDay([{ instanceId: INSTANCE, what: 'budget-exceeded', count: 3, at: T0 }]);
  await accounts.recordLogin({ userId: 'usr_ann', location: 'here', at: T0 });
  const session = { sessionHash: 'h1', userId: 'usr_ann', apiKeyId: 'key_ann', createdAt: T0, expiresAt: T0 + 9 };
  await accounts.createSession({ session });
  const index = {
    indexId: 'idx_1',
    accountId: 'usr_ann',
    name: 'films',
    region: 'eu-central-1',
    type: 'free',
    derivedNumber: 1,
  } as const;
  await store.searchIndexes.create({ ...index, createdAt: T0 });

  await apply(store, [
    creation(active),
    ...putTasks(active.key, [advanceTask(T0), stepTask(2, T0 + 9), sleepTask(3, T0 + 5000, T0 + 5000)]),
  ]);
  await apply(store, [
    ...putTasks(active.key, [waitTask(4, T0 + 60_000, ['paid', 'sent']), callTask(5, T0 + 7), notifyTask(6, T0 + 8)]),
    { kind: 'record-step', runKey: active.key, step: sampleStep(0, { out: '"é \\u0000 \\ud83d\\ude00"' }) },
    { kind: 'record-step', runKey: active.key, step: sampleStep(1, { out: null, sleepMs: 5, wakeAt: T0 }) },
    { kind: 'record-attempt', runKey: active.key, attempt: sampleAttempt(0) },
    { kind: 'record-attempt', runKey: active.key, attempt: sampleAttempt(1) },
    { kind: 'keep-event', runKey: active.key, event: keptEvent(1) },
    { kind: 'note-failure-function', runKey: active.key },
    { kind: 'remember-deduplication', instanceId: INSTANCE, deduplicationId: 'once', runKey: active.key, expiresAt: T0 + 9 },
    { kind: 'put-flow-control', instanceId: INSTANCE, flowControl: { key: 'k', rate: 2, periodMs: 1000 }, at: T0 },
    { kind: 'set-flow-window', instanceId: INSTANCE, key: 'k', window: { startedAt: T0, granted: 1 } },
    { kind: 'register-queue', instanceId: INSTANCE, name: 'mail', at: T0 },
    { kind: 'set-instance-settings', instanceId: INSTANCE, settings: DEFAULT_INSTANCE_SETTINGS },
  ]);
  await apply(store, [creation(failed), ...putTasks(failed.key, [stepTask(1, null)])]);
  await apply(store, failure(failed, sampleDeadLetter(failed, { responseBody: new Uint8Array(0) }), groupOf(FAILED_AS)));
  await apply(store, putTasks(failed.key, [callbackTask(T0 + 3, sampleDeadLetter(failed).dlqId)]));
  await apply(store, [creation(done)]);
  await apply(store, failure(done, sampleDeadLetter(done), groupOf({ ...FAILED_AS, stepName: null })));
  await apply(store, [
    creation(resumed, { copyOf: done.key }),
    {
      kind: 'take-dead-letter',
      instanceId: INSTANCE,
      dlqId: sampleDeadLetter(done).dlqId,
      recoveredAs: { kind: 'resume', runKey: resumed.key, at: T0 },
    },
  ]);
  await apply(store, [
    { kind: 'end-run', runKey: resumed.key, outcome: { status: 'succeeded', result: '{"a":1}' }, completedAt: T0 + 99 },
  ]);
  await apply(store, [creation(child, { ...{ body: new Uint8Array(0), contentType: null, forwardHeaders: {} } })]);
  await apply(store, [
    creation(message),
    ...putTasks(message.key, [{ kind: 'message', slot: 0, messageId: 'msg_4', dueAt: T0 + 1, createdAt: T0, retried: 1 }]),
  ]);
  await apply(store, putTasks(active.key, [invokeTask(7, null, child.key)]));
}

/** Queries everything that was stored. */
async function queryAll(store: Store): Promise<unknown> {
  const { accounts } = store;
  const page = { order: 'newest-first', after: null, horizon: null, limit: 50 } as const;
  const of = async (instanceId: string) => ({
    runs: (await store.listRuns({ ...page, instanceId, filter: {} })).items,
    oldestFirst: (await store.listRuns({ ...page, order: 'oldest-first', instanceId, filter: { labels: ['a'] } })).items,
    messages: (await store.listRuns({ ...page, instanceId, filter: { kind: 'message', queues: ['mail'], scheduleIds: ['s1'] } }))
      .items,
    deadLetters: (await store.listDeadLetters({ ...page, instanceId, filter: { labels: ['a'], responseStatuses: [500] } })).items,
    groups: await store.deadLetterGroups.list({
      instanceId,
      filter: { kind: 'workflow', withEmpty: true },
      now: T0 + 5000,
      after: null,
      limit: 9,
    }),
    waiters: await store.listWaiters({ instanceId, eventId: 'paid', after: null, limit: 9 }),
    keys: await store.listFlowControls({ instanceId }),
    queues: await store.listQueues({ instanceId }),
    queued: await store.countQueued({ instanceId, name: 'mail' }),
    settings: await store.instanceSettings({ instanceId }),
    tokens: await accounts.listTokens({ instanceId }),
    usage: await accounts.usage({ instanceId, fromMonth: '2000-01' }),
    days: await accounts.countsByDay({ instanceId, fromDay: 0 }),
  });
  const runs: unknown[] = [];
  for (const { key: runKey } of [active, failed, done, message, child, resumed])
    runs.push(
      await store.loadRun({ runKey }),
      await fullHistory(store, { runKey }),
      await store.loadPayload({ runKey }),
      await store.loadJournal({ runKey, from: 0 }),
    );
  return {
    one: await of(INSTANCE),
    two: await of(OTHER_INSTANCE),
    runs,
    due: (await store.dueTasks({ before: T0 + 1_000_000, after: null, limit: 100 })).map(({ runKey, slot, dueAt }) => [
      dueAt,
      runKey,
      slot,
    ]),
    invoker: await store.findInvoker({ childRunKey: child.key }),
    latest: await store.latestTime(),
    users: await accounts.listUsers(),
    instances: await accounts.listInstances(),
    members: await accounts.listMembers({ teamId: 'team_red' }),
    keys: await accounts.listApiKeys({ userId: 'usr_ann' }),
    audit: await accounts.listAudit({ accountIds: ['usr_ann', 'team_red'], after: null, limit: 50 }),
    secret: await accounts.findSecret({ name: 'cursors' }),
    login: await accounts.lastLoginAt({ userId: 'usr_ann', location: 'here' }),
    session: await accounts.findSession({ sessionHash: 'h1' }),
    indexes: await store.searchIndexes.listIds(),
  };
}

describe('a copy of an embedded store in PostgreSQL', { skip: typeof schemas === 'string' ? schemas : false }, () => {
  let directory: string;
  let schema: TestSchema;
  const made = () => (typeof schemas === 'string' ? assert.fail(schemas) : schemas.make());
  const copy = (from: string, url: string, more: Partial<Parameters<typeof copyStore>[0]> = {}) =>
    copyStore({ from, to: url, onProgress: () => {}, ...more });

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'everstep-copy-'));
    const store = await openSqliteStore({ file: join(directory, 'everstep.db') });
    await fill(store);
    await store.close();
    const documents = openSearchDocuments({ directory: join(directory, 'search') });
    const films = [
      { id: 'm1', content: '{"title":"Vertigo"}', metadata: null },
      { id: 'm2', content: '{"title":"Das Boot \\u0000"}', metadata: '{"year":1981}' },
    ];
    await documents.upsert({ indexId: 'idx_1', namespace: '', documents: films });
    await documents.upsert({ indexId: 'idx_1', namespace: 'gone', documents: films });
    await documents.removeNamespace({ indexId: 'idx_1', namespace: 'gone' });
    await documents.close();
    schema = await made();
  });
  after(() => rm(directory, { recursive: true, force: true }));

  test('returns the same results in every state', async () => {
    const copied = await copy(directory, schema.url);
    assert.equal(copied.changedTexts, 0);
    assert.deepEqual(
      copied.tables
        .filter(({ what }) => ['run', 'active_run', 'ended_run', 'documents'].includes(what))
        .map(({ what, rows }) => [what, rows]),
      [
        ['run', 6],
        ['active_run', 3],
        ['ended_run', 3],
        ['documents', 2],
      ],
    );
    const [from, to] = [
      await openSqliteStore({ file: join(directory, 'everstep.db') }),
      await openPostgresStore({ url: schema.url, log: LOG }),
    ];
    try {
      assert.deepEqual(await queryAll(to), await queryAll(from));
      const page = { instanceId: INSTANCE, filter: {}, order: 'newest-first', horizon: null, limit: 2 } as const;
      const { next } = await from.listRuns({ ...page, after: null });
      assert.ok(next);
      assert.deepEqual(
        await to.listRuns({ ...page, after: next }),
        await from.listRuns({ ...page, after: next }),
        'listings continue',
      );
      const again = sampleRun(9, { workflowRunId: active.workflowRunId });
      const idTaken = { kind: 'run-id-free', instanceId: INSTANCE, workflowRunId: again.workflowRunId } as const;
      assert.equal((await to.commit([{ guards: [idTaken], writes: [creation(again)] }]))[0]?.kind, 'run-id-taken');
      await apply(to, [creation(sampleRun(10))]);
      const newest = await to.listRuns({
        instanceId: INSTANCE,
        filter: {},
        order: 'newest-first',
        after: null,
        horizon: null,
        limit: 1,
      });
      assert.equal(newest.items[0]?.key, sampleRun(10).key, 'later entries come after the copied ones');
      await addUsers(to.accounts, 'cid');
      assert.equal((await to.accounts.listUsers()).at(-1)?.userId, 'usr_cid');
    } finally {
      await Promise.all([from.close(), to.close()]);
    }
    const documents = openPostgresSearchDocuments({ url: schema.url, log: LOG });
    try {
      const query = { indexId: 'idx_1', namespace: '', text: 'vertigo', limit: 5, filter: null, maxBytes: NO_BYTE_LIMIT };
      assert.deepEqual(
        (await documents.search(query)).map(({ id }) => id),
        ['m1'],
      );
      assert.deepEqual((await documents.info({ indexId: 'idx_1' })).namespaces, [{ name: '', documents: 2 }]);
    } finally {
      await documents.close();
    }
  });

  test('continues the numbers of the audit log even if retention has removed all entries', async () => {
    const other = await made();
    const file = join(directory, 'old.db');
    await copyFile(join(directory, 'everstep.db'), file);
    const from = await openSqliteStore({ file });
    const { seq } = await from.audit.head();
    assert.ok(seq > 1);
    assert.equal(await from.audit.removeBefore({ before: Number.MAX_SAFE_INTEGER, limit: 100 }), seq);
    await from.close();
    await copy(file, other.url);
    const store = await openPostgresStore({ url: other.url, log: LOG });
    try {
      const member = sampleMember('red', 'bob', 'admin');
      await store.accounts.putMember({ member, audit: sampleAudit(50, ['usr_ann']) });
      await store.audit.seal({ limit: 100 });
      const entries = await store.audit.chained({ after: 0, limit: 100, from: null, to: null });
      assert.deepEqual(
        entries.map((entry) => [entry.seq, entry.entry.auditId]),
        [[seq + 1, 'aud_50']],
      );
    } finally {
      await store.close();
    }
  });

  test('requires an empty schema', async () => {
    await assert.rejects(copy(directory, schema.url), /is not empty: its schema has .*Nothing was changed/);
  });

  test('leaves nothing behind if interrupted, and succeeds at the next attempt', async () => {
    const other = await made();
    const ending = new AbortController();
    const onProgress = ({ item }: { readonly item: string }) => {
      if (item === 'task') ending.abort(new Error('enough'));
    };
    await assert.rejects(copy(directory, other.url, { signal: ending.signal, onProgress }), /Interrupted: nothing was copied/);
    assert.equal((await copy(directory, other.url)).tables.find(({ what }) => what === 'task')?.rows, 10);
  });

  test('is refused for a store that is in use, damaged or missing', async () => {
    const other = await made();
    const file = join(directory, 'other.db');
    await assert.rejects(copy(file, other.url), /There is no store at/);
    await copyFile(join(directory, 'everstep.db'), file);
    const store = await openSqliteStore({ file });
    await assert.rejects(copy(file, other.url), /is in use by another process/);
    await store.close();
    const database = new DatabaseSync(file);
    database.exec('UPDATE step SET run_seq = 999 WHERE idx = 1');
    database.close();
    await assert.rejects(copy(file, other.url), /has 2 rows in step, but only 1 with a parent row: it is damaged/);
  });

  test('replaces characters that PostgreSQL does not support, and reports their number', async () => {
    const other = await made();
    const file = join(directory, 'nul.db');
    await copyFile(join(directory, 'everstep.db'), file);
    const database = new DatabaseSync(file);
    database.exec(`UPDATE attempt SET message = 'before' || char(0) || 'behind' WHERE retried = 0`);
    const readsAll = database.prepare("SELECT 'a' || char(0) || 'b' AS read").get()?.read === 'a\0b';
    database.close();
    if (!readsAll) {
      // Early Node versions truncate such texts.
      await assert.rejects(copy(file, other.url), /contains text with the character U\+0000 \(message of attempt\).*Use Node 24/);
      return;
    }
    assert.equal((await copy(file, other.url)).changedTexts, 1);
    const store = await openPostgresStore({ url: other.url, log: LOG });
    const history = await fullHistory(store, { runKey: active.key });
    await store.close();
    assert.deepEqual(
      history?.attempts.map((attempt) => attempt.message),
      ['before\uFFFDbehind', 'attempt 1 failed'],
    );
  });
});
