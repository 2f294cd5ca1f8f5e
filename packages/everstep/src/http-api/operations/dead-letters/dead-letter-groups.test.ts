import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { DeadLetterGroup, DeadLetterGroupPage } from '../../../contract/dead-letter-groups.js';
import type { DeadLetterEntry } from '../../../contract/dead-letters.js';
import { ApiHarness, type ErrorResponse } from '../../testing/api-harness.js';

interface Page {
  readonly messages: readonly DeadLetterEntry[];
}

const GROUPS = '/v2/workflows/dlq/groups';
const HOUR_MS = 3_600_000;

let harness: ApiHarness;
before(async () => {
  harness = await ApiHarness.open();
});
after(() => harness.close());

const list = async (query = ''): Promise<DeadLetterGroupPage> =>
  (await harness.call<DeadLetterGroupPage>('GET', `${GROUPS}?${query}`)).body;
const get = async (fingerprint: string): Promise<DeadLetterGroup> =>
  (await harness.call<DeadLetterGroup>('GET', `${GROUPS}/${fingerprint}`)).body;
const mark = (fingerprint: string, verb: string) => harness.call<DeadLetterGroup>('POST', `${GROUPS}/${fingerprint}/${verb}`);
/** Returns the group of the runs of `harness.fail`. */
async function groupOfFailed(): Promise<DeadLetterGroup> {
  const [group, ...more] = (await list()).groups;
  assert.ok(group);
  assert.deepEqual(more, []);
  return group;
}

test('runs with the same error form one group with its message, source, count and times', async () => {
  const dlqIds = await harness.fail(3);
  const { fingerprint, firstSeenAt, lastSeenAt, exampleDlqId, histogram, ...rest } = await groupOfFailed();
  assert.match(fingerprint, /^[0-9a-f]{16}$/);
  assert.ok(dlqIds.includes(exampleDlqId ?? ''));
  assert.ok(lastSeenAt >= firstSeenAt && firstSeenAt > Date.now() - HOUR_MS);
  assert.equal(histogram.length, 24);
  assert.ok(histogram.every(({ at }, index) => at % HOUR_MS === 0 && at === (histogram[0]?.at ?? 0) + index * HOUR_MS));
  // The hour may have ended in the meantime.
  assert.equal(
    histogram.slice(-2).reduce((sum, { count }) => sum + count, 0),
    3,
  );
  assert.deepEqual(rest, {
    state: 'new',
    needsAttention: true,
    kind: 'workflow',
    stepName: null,
    responseStatus: 500,
    message: 'the endpoint returned 500',
    latest: { message: 'the endpoint returned 500', stepName: null, source: null },
    count: 3,
    total: 3,
    workflows: [{ workflowUrl: 'http://w.test/fail', count: 3 }],
    acknowledgedAt: null,
    acknowledgedBy: null,
    resolvedAt: null,
    regressedAt: null,
    assignment: null,
    snooze: null,
    notes: [],
    noteCount: 0,
  });
  assert.deepEqual(await get(fingerprint), { fingerprint, firstSeenAt, lastSeenAt, exampleDlqId, histogram, ...rest });
  assert.deepEqual((await list('state=known&state=regressed')).groups, []);
  assert.equal((await list('state=new,known')).groups.length, 1);
  assert.deepEqual((await list('state=known')).totals, { deadLetters: 3, groups: 1, needAttention: 1 });
  assert.deepEqual((await list('fromDate=2&toDate=1')).totals.groups, 1);
  assert.deepEqual(await list('kind=message'), {
    cursor: '',
    groups: [],
    totals: { deadLetters: 0, groups: 0, needAttention: 0 },
  });
  assert.deepEqual((await list('workflowUrl=http://w.test/other')).groups, []);
  assert.deepEqual((await list(`fromDate=${lastSeenAt + 1}`)).groups, []);
  assert.equal((await list(`fromDate=${firstSeenAt}&toDate=${lastSeenAt}`)).groups.length, 1);
});

test('entries contain their group and can be found, resumed, restarted and deleted by it', async () => {
  const { fingerprint, count } = await groupOfFailed();
  const entries = async (query: string) => (await harness.call<Page>('GET', `/v2/workflows/dlq?${query}`)).body.messages;
  assert.equal((await entries(`fingerprint=${fingerprint}`)).length, count);
  assert.equal((await entries('fingerprint=0123456789abcdef')).length, 0);
  const bulk = async (method: 'POST' | 'DELETE', path: string, query: string) =>
    (await harness.call<{ workflowRuns?: unknown[]; deleted?: number }>(method, `/v2/workflows/dlq${path}?${query}`)).body;
  assert.equal((await bulk('POST', '/resume', 'fingerprint=0123456789abcdef')).workflowRuns?.length, 0);
  assert.equal((await bulk('DELETE', '', `fingerprint=${fingerprint}&count=1`)).deleted, 1);
  assert.equal((await get(fingerprint)).count, count - 1);
  assert.equal((await bulk('POST', '/restart', `fingerprint=${fingerprint}&count=1`)).workflowRuns?.length, 1);
  await harness.runtime.idle();
  assert.equal((await get(fingerprint)).count, count - 1);
  assert.equal((await get(fingerprint)).total, count + 1);
});

test('acknowledging and resolving a group is audited; a new failure makes it regressed', async () => {
  const { fingerprint } = await groupOfFailed();
  const acknowledged = await mark(fingerprint, 'acknowledge');
  assert.equal(acknowledged.status, 200);
  assert.equal(acknowledged.body.state, 'known');
  assert.match(acknowledged.body.acknowledgedBy ?? '', /^token \S+ \(read-write token\)$/);
  assert.ok(acknowledged.body.acknowledgedAt);
  const resolved = (await mark(fingerprint, 'resolve')).body;
  assert.ok(resolved.resolvedAt);
  await harness.fail(1);
  const regressed = await get(fingerprint);
  assert.deepEqual([regressed.state, regressed.resolvedAt], ['regressed', null]);
  assert.equal((await list('state=regressed')).groups.length, 1);
  assert.equal((await mark(fingerprint, 'acknowledge')).body.state, 'known');
});

test('the audit log of the owner records the mark with the kind of token', async () => {
  const { accounts } = harness.store;
  await accounts.createUser({
    user: { userId: 'usr_ann', email: 'ann@w.test', createdAt: 1 },
    apiKey: { apiKeyId: 'key_ann', userId: 'usr_ann', name: 'first', keyHash: 'ab', createdAt: 1 },
  });
  await accounts.changeInstance({ instanceId: 'qi_1', change: { accountId: 'usr_ann' } });
  const { fingerprint } = await groupOfFailed();
  await mark(fingerprint, 'acknowledge');
  await mark(fingerprint, 'resolve');
  const entries = await accounts.listAudit({ accountIds: ['usr_ann'], after: null, limit: 9 });
  assert.deepEqual(
    entries.map(({ action, subject, details }) => ({ action, subject, details })),
    ['resolve', 'acknowledge'].map((verb) => ({
      action: `dead-letter-group.${verb}`,
      subject: fingerprint,
      details: { instanceId: 'qi_1', access: 'read-write' },
    })),
  );
  assert.match(entries[0]?.actor ?? '', /^token /);
});

test('lists an empty group only on request', async () => {
  const { fingerprint } = await groupOfFailed();
  assert.equal((await harness.call('DELETE', '/v2/workflows/dlq?fromDate=0')).status, 200);
  assert.deepEqual((await list()).groups, []);
  const [empty] = (await list('withEmpty=true')).groups;
  assert.deepEqual([empty?.fingerprint, empty?.count, empty?.exampleDlqId], [fingerprint, 0, null]);
  assert.equal((await get(fingerprint)).count, 0);
});

test('pages through groups with a cursor that is bound to the listing', async () => {
  await harness.fail(1);
  await harness.trigger('fan', { 'svc-retries': '0' });
  await harness.runtime.idle();
  const all = (await list()).groups;
  assert.equal(all.length, 2);
  const first = await list('count=1');
  assert.equal(first.groups.length, 1);
  const second = await list(`count=1&cursor=${first.cursor}`);
  assert.deepEqual(
    [...first.groups, ...second.groups].map(({ fingerprint }) => fingerprint),
    all.map(({ fingerprint }) => fingerprint),
  );
  assert.equal(second.cursor, '');
  assert.ok(all.some(({ stepName, message }) => stepName === 'branch #' && message === 'branch # is not ready'));
  const elsewhere = await harness.call<ErrorResponse>('GET', `${GROUPS}?state=new&cursor=${first.cursor}`);
  assert.equal(elsewhere.headers['svc-error-code'], 'bad-cursor');
});

test('rejects invalid filters and says why', async () => {
  const cases: readonly (readonly [method: 'GET' | 'POST', path: string, code: string, words: RegExp])[] = [
    ['GET', `${GROUPS}/0123456789abcdef`, 'not-found', /group "0123456789abcdef" not found/],
    ['GET', `${GROUPS}/none`, 'bad-parameter', /fingerprint/],
    ['POST', `${GROUPS}/0123456789abcdef/acknowledge`, 'not-found', /group/],
    ['POST', `${GROUPS}/0123456789abcdef/resolve?why=x`, 'bad-parameter', /why/],
    ['GET', `${GROUPS}?state=old`, 'bad-parameter', /state/],
    ['GET', `${GROUPS}?count=101`, 'bad-parameter', /count/],
    ['GET', '/v2/workflows/dlq?fingerprint=x', 'bad-parameter', /fingerprint/],
  ];
  for (const [method, path, code, words] of cases) {
    const { headers, body } = await harness.call<ErrorResponse>(method, path);
    assert.equal(headers['svc-error-code'], code, path);
    assert.match(body.error, words);
  }
});
