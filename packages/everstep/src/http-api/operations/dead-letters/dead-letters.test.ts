import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { DeadLetterEntry } from '../../../contract/dead-letters.js';
import { ApiHarness } from '../../testing/api-harness.js';

interface Page {
  readonly cursor: string;
  readonly messages: readonly DeadLetterEntry[];
}

let harness: ApiHarness;
before(async () => {
  harness = await ApiHarness.open();
});
after(() => harness.close());

const list = async (query: string): Promise<Page> => (await harness.call<Page>('GET', `/v2/workflows/dlq?${query}`)).body;
const idsOf = ({ messages }: Page): string[] => messages.map(({ dlqId }) => dlqId);

test('an entry has all fields with their types and omits absent ones', async () => {
  const [dlqId = ''] = await harness.fail(1, {
    'svc-workflow-runid': 'full',
    'svc-label': 'full,second',
    'svc-retries': '2',
    'svc-flow-control-key': 'fk',
    'svc-failure-callback': 'http://c.test/hang',
    'svc-forward-x-user': 'u1',
    'content-type': 'application/json',
  });
  const { status, body } = await harness.call<DeadLetterEntry>('GET', `/v2/workflows/dlq/${dlqId}`);
  assert.equal(status, 200);
  const { createdAt, workflowCreatedAt, error, failureFunctionInfo: info, fingerprint, ...rest } = body;
  assert.match(fingerprint ?? '', /^[0-9a-f]{16}$/);
  assert.deepEqual([info?.state, info?.url, info?.retried, info?.errors], ['CALLBACK_INPROGRESS', rest.failureCallback, 0, []]);
  assert.ok(createdAt >= workflowCreatedAt && workflowCreatedAt > 1_700_000_000_000);
  assert.match(error, /returned 500/);
  assert.deepEqual(rest, {
    dlqId,
    workflowUrl: 'http://w.test/fail',
    workflowRunId: 'full',
    url: 'http://w.test/fail',
    method: 'POST',
    header: { 'X-User': ['u1'], 'Content-Type': ['application/json'] },
    body: '',
    maxRetries: 2,
    failureCallback: 'http://c.test/hang',
    callerIP: '127.0.0.1',
    label: 'full',
    labels: ['full', 'second'],
    flowControlKey: 'fk',
    failureFunctionState: 'CALLBACK_INPROGRESS',
    responseStatus: 500,
    responseHeader: { 'X-Reason': ['stock'], 'Set-Cookie': ['a=1', 'b=2'] },
    responseBody: 'out of stock',
    failedBy: { stepName: null, message: 'the endpoint returned 500' },
  });
  const { failureFunctionInfo: _aloneOnly, ...listed } = body;
  assert.deepEqual((await list('label=full')).messages, [listed]);
  const [plain = ''] = await harness.fail(1);
  const { body: bare } = await harness.call<DeadLetterEntry>('GET', `/v2/workflows/dlq/${plain}`);
  for (const name of ['label', 'flowControlKey', 'failureCallback', 'failureFunctionState', 'bodyBase64', 'responseBodyBase64'])
    assert.ok(!(name in bare), name);
});

test('returns a body that is not UTF-8 in Base64', async () => {
  const payload = Buffer.from([0xff, 0xfe, 0]);
  const headers = { 'svc-label': 'bytes', 'svc-wait-for-result': 'true' };
  await harness.call('POST', '/v2/trigger/http://w.test/fail', { headers, body: payload });
  const [entry] = (await list('label=bytes')).messages;
  assert.equal(entry?.bodyBase64, payload.toString('base64'));
  assert.equal(entry?.body, undefined);
});

test('pages newest first without gaps or duplicates while entries arrive', async () => {
  const ids = await harness.fail(7, { 'svc-label': 'paged' });
  const first = await list('label=paged&count=3');
  assert.deepEqual(idsOf(first), ids.slice(4).reverse());
  await harness.fail(2, { 'svc-label': 'paged' });
  const second = await list(`label=paged&count=2&cursor=${first.cursor}`);
  assert.deepEqual(idsOf(second), ids.slice(2, 4).reverse());
  const third = await list(`label=paged&cursor=${second.cursor}`);
  assert.deepEqual(idsOf(third), ids.slice(0, 2).reverse());
  assert.equal(third.cursor, '');
  assert.equal(idsOf(await list('label=paged&cursor=')).length, 9, 'an empty cursor starts at the first entry');
  const exact = await list('label=paged&count=9');
  assert.equal(exact.cursor, '', 'no cursor when the page ends with the last entry');
});

test('pages oldest first without gaps or duplicates, and a cursor is bound to the order', async () => {
  const ids = await harness.fail(5, { 'svc-label': 'ordered' });
  const query = 'label=ordered&order=oldest-first&count=3';
  const first = await list(query);
  assert.deepEqual(idsOf(first), ids.slice(0, 3));
  const [late = ''] = await harness.fail(1, { 'svc-label': 'ordered' });
  const second = await list(`${query}&cursor=${first.cursor}`);
  assert.deepEqual([idsOf(second), second.cursor], [[...ids.slice(3), late], '']);
  const { status, headers } = await harness.call('GET', `/v2/workflows/dlq?label=ordered&cursor=${first.cursor}`);
  assert.deepEqual([status, headers['svc-error-code']], [400, 'bad-cursor']);
  assert.equal((await harness.call('GET', '/v2/workflows/dlq?order=by-error')).status, 400);
});

test('combines filters with AND and their values with OR', async () => {
  const harness = await ApiHarness.open();
  const [a = ''] = await harness.fail(1, { 'svc-label': 'x', 'svc-flow-control-key': 'k1' });
  const [b = ''] = await harness.fail(1, { 'svc-label': 'y', 'svc-flow-control-key': 'k2' });
  const [c = ''] = await harness.fail(1, { 'svc-label': 'z' }, 'fail?c=1,2');
  const { workflowRunId, workflowCreatedAt, createdAt } = (await harness.call<DeadLetterEntry>('GET', `/v2/workflows/dlq/${b}`))
    .body;
  const table: readonly (readonly [query: string, expected: readonly string[]])[] = [
    ['', [c, b, a]],
    ['&label=x,y', [b, a]],
    ['&label=x&label=z', [c, a]],
    ['&label=nothing', []],
    ['&flowControlKey=k1,k2', [b, a]],
    ['&flowControlKey=k1&label=x', [a]],
    ['&flowControlKey=k1&label=y', []],
    ['&workflowUrl=http://w.test/fail', [b, a]],
    ['&workflowUrl=http://w.test/fail?c=1%2C2', [c]],
    ['&workflowUrl=http://w.test/fail?c=1,2', [c]],
    ['&callerIp=127.0.0.1', [c, b, a]],
    ['&callerIp=10.0.0.1,127.0.0.1', [c, b, a]],
    ['&callerIp=10.0.0.1', []],
    [`&workflowRunId=${workflowRunId}`, [b]],
    [`&workflowRunId=${workflowRunId.slice(0, -1)}`, []],
    [`&workflowCreatedAt=${workflowCreatedAt}&workflowRunId=${workflowRunId}`, [b]],
    [`&workflowCreatedAt=1&workflowRunId=${workflowRunId}`, []],
    [`&fromDate=${createdAt}&toDate=${createdAt}&flowControlKey=k2`, [b]],
    [`&fromDate=${createdAt + 60_000}`, []],
    [`&toDate=${createdAt - 60_000}`, []],
    ['&fromDate=2&toDate=1', []],
    ['&toDate=9223372036854775807', [c, b, a]],
    ['&failureFunctionState=CALLBACK_FAIL,CALLBACK_SUCCESS', []],
    ['&unknownParameter=1', [c, b, a]],
  ];
  for (const [query, expected] of table) {
    const { body } = await harness.call<Page>('GET', `/v2/workflows/dlq?${query.slice(1)}`);
    assert.deepEqual(idsOf(body), expected, query);
  }
  await harness.close();
});

test('does not show entries of other instances', async () => {
  const [dlqId = ''] = await harness.fail(1, { 'svc-label': 'mine' });
  const stranger = await harness.authority.issueToken({ instanceId: 'qi_2', access: 'read-write' });
  const headers = { authorization: `Bearer ${stranger}` };
  const page = await harness.call<Page>('GET', '/v2/workflows/dlq', { headers });
  assert.deepEqual(page.body, { cursor: '', messages: [] });
  for (const [method, path] of [
    ['GET', `/v2/workflows/dlq/${dlqId}`],
    ['DELETE', `/v2/workflows/dlq/${dlqId}`],
    ['POST', `/v2/dlq/resume/${dlqId}`],
    ['POST', `/v2/workflows/dlq/restart?dlqIds=${dlqId}`],
    ['DELETE', `/v2/workflows/dlq?dlqIds=${dlqId}`],
  ] as const)
    assert.equal((await harness.call(method, path, { headers })).status, 404, path);
  assert.equal(idsOf(await list('label=mine')).length, 1);
});
