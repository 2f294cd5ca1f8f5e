/** Tests repairs through the API. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMITS } from '../../../config/limits.js';
import type { RepairEntry, RepairItem } from '../../../contract/repairs.js';
import type { RepairStore } from '../../../ports/stores/repair-store.js';
import { ApiHarness, type ErrorResponse } from '../../testing/api-harness.js';

const PATH = '/v2/workflows/repairs';
const JSON_TYPE = { 'content-type': 'application/json' };

const post = <Body = RepairEntry>(harness: ApiHarness, path: string, body?: unknown) =>
  harness.call<Body>('POST', `${PATH}${path}`, body === undefined ? {} : { headers: JSON_TYPE, body: JSON.stringify(body) });

async function withHarness(work: (harness: ApiHarness) => Promise<void>): Promise<void> {
  const harness = await ApiHarness.open();
  try {
    await work(harness);
  } finally {
    await harness.close();
  }
}

async function until(harness: ApiHarness, repairId: string, state: RepairEntry['state']): Promise<RepairEntry> {
  for (let turn = 0; ; turn++) {
    const { body } = await harness.call<RepairEntry>('GET', `${PATH}/${repairId}`);
    if (body.state === state) return body;
    assert.ok(turn < 5_000, `the repair is ${body.state}, not ${state}: ${JSON.stringify(body)}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

test('plans and starts a repair and reports the result of each entry', () =>
  withHarness(async (harness) => {
    const dlqIds = await harness.fail(3, { 'svc-label': 'night' });
    await harness.fail(1);
    const planned = await post(harness, '', { action: 'resume', filter: { label: ['night'] }, overrides: { retries: 0 } });
    assert.equal(planned.status, 201);
    const { repairId, ...rest } = planned.body;
    assert.deepEqual(
      [rest.state, rest.filter, rest.overrides, rest.counts.total, rest.plan.messagesAtLeast, rest.plan.expectedDurationMs],
      ['planned', { label: ['night'] }, { retries: 0 }, 3, 3, 3_000],
    );
    assert.match(rest.createdBy ?? '', /^token /);
    const started = await post(harness, `/${repairId}/start`, { ratePerSecond: 100 });
    assert.deepEqual([started.status, started.body.ratePerSecond], [200, 100]);
    const done = await until(harness, repairId, 'done');
    assert.deepEqual([done.counts.failed, done.counts.pending, done.stopReason], [3, 0, null]);
    const first = await harness.call<{ cursor: string; items: RepairItem[] }>(
      'GET',
      `${PATH}/${repairId}/items?count=2&state=failed`,
    );
    const more = await harness.call<{ cursor: string; items: RepairItem[] }>(
      'GET',
      `${PATH}/${repairId}/items?count=2&state=failed&cursor=${first.body.cursor}`,
    );
    const items = [...first.body.items, ...more.body.items];
    assert.deepEqual([items.map(({ dlqId }) => dlqId), more.body.cursor], [dlqIds, '']);
    for (const { newDlqId } of items) {
      const { status } = await harness.call('GET', `/v2/workflows/dlq/${newDlqId}`);
      assert.equal(status, 200);
    }
    const list = await harness.call<{ repairs: RepairEntry[] }>('GET', `${PATH}?state=done`);
    assert.deepEqual(list.body.repairs, [done]);
    assert.deepEqual((await harness.call<{ repairs: RepairEntry[] }>('GET', `${PATH}?state=paused`)).body.repairs, []);
  }));

test('a wrong state is 409 repair-state and changes nothing', () =>
  withHarness(async (harness) => {
    await harness.fail(2);
    const { body } = await post(harness, '', { action: 'restart' });
    const early = await post<ErrorResponse>(harness, `/${body.repairId}/pause`);
    assert.deepEqual([early.status, early.headers['svc-error-code']], [409, 'repair-state']);
    assert.match(early.body.error, /is planned but not started; pause requires/);
    assert.equal((await post(harness, `/${body.repairId}/start`, { ratePerSecond: 0.001 })).status, 200);
    assert.equal((await post(harness, `/${body.repairId}/start`, { ratePerSecond: 1 })).status, 409);
    assert.equal((await post(harness, `/${body.repairId}/pause`)).body.state, 'paused');
    assert.equal((await post(harness, `/${body.repairId}/continue`, { ratePerSecond: 0.002 })).body.ratePerSecond, 0.002);
    assert.equal((await post(harness, `/${body.repairId}/abort`)).body.stopReason, 'aborted-by-hand');
    assert.equal((await post(harness, `/${body.repairId}/continue`)).status, 409);
    assert.equal((await post(harness, '/rep_none/pause')).status, 404);
  }));

test('rejects an invalid body and names the field', () =>
  withHarness(async (harness) => {
    const refused = async (path: string, body: unknown, words: RegExp, code = 'bad-body') => {
      const result = await post<ErrorResponse>(harness, path, body);
      assert.deepEqual([result.status, result.headers['svc-error-code']], [400, code], JSON.stringify(result.body));
      assert.match(result.body.error, words);
    };
    await refused('', { action: 'delete' }, /a delete requires a filter/);
    await refused('', { action: 'delete', filter: { fromDate: 0 }, overrides: { retries: 1 } }, /"overrides" apply to new runs/);
    await refused(
      '',
      { action: 'resume', filter: { fromDate: 2, toDate: 1 } },
      /"filter.fromDate" must not be after "filter.toDate"/,
    );
    await refused('', { action: 'resume', overrides: { flowControl: {} } }, /"overrides.flowControl" must have/);
    await refused(
      '',
      { action: 'resume', overrides: { flowControl: { periodMs: 1_000 } } },
      /requires "overrides.flowControl.rate"/,
    );
    await refused(
      '',
      { action: 'resume', overrides: { retryDelay: 'x+' } },
      /"overrides.retryDelay" is not a valid expression/,
      'bad-expression',
    );
    const { body: resume } = await post(harness, '', { action: 'resume' });
    await refused(`/${resume.repairId}/start`, {}, /"ratePerSecond" is missing/);
    await refused(`/${resume.repairId}/start`, { ratePerSecond: 1, undoMs: 1 }, /"undoMs" is only for a delete/);
    const { body: removal } = await post(harness, '', { action: 'delete', filter: { fromDate: 0 } });
    const canary = { count: 1, maxFailurePercent: 0, thenContinue: true };
    await refused(`/${removal.repairId}/start`, { canary }, /"canary" applies to new runs/);
  }));

test('a delete can be undone during its undo window', () =>
  withHarness(async (harness) => {
    await harness.fail(2);
    const plan = async () => (await post(harness, '', { action: 'delete', filter: { fromDate: 0 } })).body.repairId;
    const undone = await plan();
    const waiting = (await post(harness, `/${undone}/start`)).body;
    assert.equal(waiting.state, 'undo-window');
    assert.equal((waiting.undoUntil ?? 0) - (waiting.startedAt ?? 0), 600_000);
    assert.equal((await post(harness, `/${undone}/abort`)).body.stopReason, 'undone');
    const kept = await plan();
    await post(harness, `/${kept}/start`, { undoMs: 0 });
    assert.equal((await until(harness, kept, 'done')).counts.succeeded, 2);
    assert.deepEqual((await harness.call<{ messages: unknown[] }>('GET', '/v2/workflows/dlq')).body.messages, []);
  }));

test('the audit log records who started, paused and aborted a repair', () =>
  withHarness(async (harness) => {
    await harness.fail(1);
    const noted: (readonly [string, string, string])[] = [];
    // The audit log entry is written together with the change.
    const { repairs } = harness.store;
    const put = repairs.put.bind(repairs);
    const watched: RepairStore['put'] = async (query) => {
      const isWritten = await put(query);
      const { audit } = query;
      if (audit && isWritten) noted.push([audit.action, audit.actor, audit.subject]);
      return isWritten;
    };
    Object.assign(repairs, { put: watched });
    const { repairId, createdBy } = (await post(harness, '', { action: 'resume' })).body;
    await post(harness, `/${repairId}/start`, { ratePerSecond: 0.001 });
    await post(harness, `/${repairId}/pause`);
    await post(harness, `/${repairId}/abort`);
    await post(harness, `/${repairId}/abort`);
    assert.deepEqual(
      noted,
      ['start', 'pause', 'abort'].map((verb) => [`repair.${verb}`, createdBy, repairId]),
    );
  }));

test('an instance can have a limited number of repairs that have not ended', () =>
  withHarness(async (harness) => {
    await harness.fail(1);
    const planned: string[] = [];
    for (let n = 0; n < LIMITS.maxOpenRepairs; n++) planned.push((await post(harness, '', { action: 'resume' })).body.repairId);
    const refused = await post<ErrorResponse>(harness, '', { action: 'resume' });
    assert.deepEqual([refused.status, refused.headers['svc-error-code']], [409, 'too-many-repairs']);
    assert.match(refused.body.error, /already has 50 repairs that have not ended.*abort plans/);
    assert.equal((await post(harness, `/${planned[0]}/abort`)).status, 200);
    assert.equal((await post(harness, '', { action: 'resume' })).status, 201);
    const items = await harness.call<{ items: RepairItem[] }>('GET', `${PATH}/${planned[0]}/items`);
    assert.equal(items.status, 200);
  }));
