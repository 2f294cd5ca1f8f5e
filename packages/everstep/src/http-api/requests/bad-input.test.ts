import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { InjectOptions } from 'fastify';
import { LIMITS } from '../../config/limits.js';
import { ERROR_CODES, type ErrorCode } from '../../contract/error-codes.js';
import { StoreUnavailableError } from '../../ports/stores/store-unavailable.js';
import { openApiDocument } from '../openapi/openapi.js';
import { OPERATIONS } from '../operations/index.js';
import { pathsOf } from '../server/routing.js';
import { ApiHarness } from '../testing/api-harness.js';
import { type Case, json, parameter } from '../testing/bad-input-case.js';
import { CONTROL_CASES } from '../testing/bad-input-controls.js';

let harness: ApiHarness;
before(async () => {
  harness = await ApiHarness.open({
    destinationPolicy: {
      check: (url) =>
        new URL(url).hostname === '10.0.0.1' ? { ok: false, message: '10.0.0.1 is a private address' } : { ok: true },
    },
  });
});
after(() => harness.close());

const TRIGGER = 'POST /v2/trigger/http://w.test/ok';
const trigger = (name: string, value: string, expected: ErrorCode, words: RegExp): Case => [
  `${name}: ${value.slice(0, 40)}`,
  TRIGGER,
  expected,
  words,
  { headers: { [name]: value } },
];

const CASES: readonly Case[] = [
  // workflow URLs
  ...['ftp://w.test/', 'file:///etc/passwd', 'javascript:alert(1)', 'w.test/ok', 'data:,x', '%2F%2Fw.test'].map(
    (url): Case => [
      `workflow URL ${url}`,
      `POST /v2/trigger/${url}`,
      'bad-url',
      /the workflow URL must be an absolute http or https URL/,
    ],
  ),
  ['workflow URL without a host', 'POST /v2/trigger/http://', 'bad-url', /absolute http or https/],
  ['workflow URL that is badly encoded', 'POST /v2/trigger/http%3A%2F%2Fw.test%ZZ', 'bad-url', /percent-encoded/],
  ['workflow URL with blanks', 'POST /v2/trigger/http%3A%2F%2Fw.test%2Fa%20b', 'bad-url', /whitespace/],
  ['workflow URL with a password', 'POST /v2/trigger/http://u:p@w.test/', 'bad-url', /user name or password/],
  ['workflow URL that is too long', `POST /v2/trigger/http://w.test/${'x'.repeat(2_100)}`, 'bad-url', /2048 characters/],
  ['workflow URL that is not allowed', 'POST /v2/trigger/http://10.0.0.1/', 'blocked-address', /private address/],
  ['no workflow URL', 'POST /v2/trigger/', 'bad-url', /the workflow URL must be an absolute http or https URL, not ""/],
  // headers of a trigger
  trigger('svc-retries', '-1', 'bad-header', /Svc-Retries must be an integer from 0 to 100, not "-1"/),
  trigger('svc-retries', '1.5', 'bad-header', /Svc-Retries/),
  trigger('svc-retries', '101', 'bad-header', /Svc-Retries/),
  trigger('svc-retries', '1e1', 'bad-header', /Svc-Retries/),
  trigger('svc-retries', '', 'bad-header', /Svc-Retries must not be empty/),
  trigger('svc-delay', 'soon', 'bad-header', /Svc-Delay must be a duration such as 30s/),
  trigger('svc-delay', '367d', 'bad-header', /Svc-Delay must be from 0s to 366d/),
  trigger('svc-delay', '-5s', 'bad-header', /Svc-Delay/),
  trigger('svc-not-before', '2026-01-01', 'bad-header', /Svc-Not-Before must be an integer/),
  trigger('svc-not-before', '99999999999', 'bad-header', /Svc-Not-Before must be a time in Unix seconds/),
  trigger('svc-timeout', '0', 'bad-header', /Svc-Timeout must be from 1s to 12h/),
  trigger('svc-timeout', '13h', 'bad-header', /Svc-Timeout/),
  trigger('svc-retry-delay', 'retried +', 'bad-expression', /Svc-Retry-Delay/),
  trigger('svc-retry-delay', 'process.exit()', 'bad-expression', /Svc-Retry-Delay/),
  trigger('svc-retry-delay', 'attempt * 2', 'bad-expression', /unknown name "attempt"/),
  trigger('svc-retry-delay', '1/0', 'bad-expression', /finite/),
  trigger('svc-retry-delay', `1${'+1'.repeat(400)}`, 'bad-expression', /longer than 512/),
  trigger('svc-label', 'a,,b', 'bad-header', /Svc-Label/),
  trigger('svc-label', Array.from({ length: 21 }, (_, i) => i).join(), 'bad-header', /at most 20 labels, but contains 21/),
  trigger('svc-label', 'x'.repeat(257), 'bad-header', /longer than 256 characters/),
  trigger('svc-workflow-runid', 'x'.repeat(257), 'bad-header', /Svc-Workflow-RunId must be a string of 1 to 256 characters/),
  trigger('svc-deduplication-id', 'x'.repeat(257), 'bad-header', /Svc-Deduplication-Id/),
  trigger('svc-content-based-deduplication', 'yes', 'bad-header', /true or false/),
  trigger('svc-flow-control-value', 'parallelism=1', 'bad-header', /Svc-Flow-Control-Value requires Svc-Flow-Control-Key/),
  trigger('svc-flow-control-value', 'parallelism=0', 'bad-header', /parallelism/),
  trigger('svc-flow-control-value', 'nonsense', 'bad-header', /"nonsense" is not allowed/),
  trigger('svc-failure-callback', 'mailto:a@b', 'bad-url', /Svc-Failure-Callback must be an absolute http/),
  trigger('svc-failure-callback', 'http://10.0.0.1/', 'blocked-address', /Svc-Failure-Callback is not allowed/),
  trigger('svc-wait-for-result', 'maybe', 'bad-header', /Svc-Wait-For-Result must be a duration/),
  trigger('svc-wait-for-result', '1d', 'bad-header', /Svc-Wait-For-Result must be from 0s to 10m/),
  trigger(
    'svc-redact-fields',
    'a,,b',
    'bad-header',
    /Svc-Redact-Fields must be a comma-separated list of body, header, .*"" is none of these/,
  ),
  trigger('svc-redact-fields', 'headers', 'bad-header', /Svc-Redact-Fields must not contain "headers"/),
  trigger('svc-redact-fields', '', 'bad-header', /Svc-Redact-Fields must not be empty/),
  trigger('svc-retry', '3', 'bad-header', /unknown header "svc-retry"; this operation supports .*Svc-Retries/),
  trigger('svc-forward-', '3', 'bad-header', /unknown header/),
  [
    'too many headers',
    TRIGGER,
    'headers-too-large',
    /more than 200 headers/,
    { headers: Object.fromEntries(Array.from({ length: 201 }, (_, i) => [`x-${i}`, '1'])) },
  ],
  ['a URL that is too long', `GET /v2/workflows/logs?workflowRunId=${'x'.repeat(LIMITS.maxUrlLength)}`, 'url-too-long', /8192/],
  [
    'a body that is too large',
    TRIGGER,
    'body-too-large',
    /must not be larger than 10485760 bytes/,
    { body: Buffer.alloc(LIMITS.maxBodyBytes + 1) },
  ],
  [
    'an invalid Content-Type',
    TRIGGER,
    'unsupported-media-type',
    /must be a media type/,
    { headers: { 'content-type': 'nonsense' }, body: 'x' },
  ],
  // batches
  ['a batch without a body', 'POST /v2/batch/trigger', 'bad-body', /request body is missing/],
  [
    'a batch that is not valid JSON',
    'POST /v2/batch/trigger',
    'bad-body',
    /not valid JSON: syntax error/,
    { headers: json, body: '[{' },
  ],
  [
    'a batch that is not UTF-8',
    'POST /v2/batch/trigger',
    'bad-body',
    /not UTF-8/,
    { headers: json, body: Buffer.from([0x5b, 0xff]) },
  ],
  [
    'a batch that is not an array',
    'POST /v2/batch/trigger',
    'bad-body',
    /the body must be an array/,
    { headers: json, body: '{}' },
  ],
  [
    'a batch with another content type',
    'POST /v2/batch/trigger',
    'unsupported-media-type',
    /must be application\/json, not "text\/csv"/,
    { headers: { 'content-type': 'text/csv' }, body: '[]' },
  ],
  [
    'a batch with too many items',
    'POST /v2/batch/trigger',
    'bad-body',
    /more than 100/,
    { headers: json, body: JSON.stringify(Array.from({ length: 101 }, () => 1)) },
  ],
  ['a batch with a parameter', 'POST /v2/batch/trigger?x=1', 'bad-parameter', /it supports none/, { headers: json, body: '[]' }],
  // listings
  ...['0', '11', '-1', '1.5', '1e1', '', 'ten', '0x1'].map((count) =>
    parameter(`GET /v2/workflows/logs?count=${count}`, /^count must /),
  ),
  ...['0', '101', '-1', '1.5', ''].map((count) => parameter(`GET /v2/workflows/dlq?count=${count}`, /^count must /)),
  ...['fromDate', 'toDate', 'workflowCreatedAt'].flatMap((name) => [
    parameter(`GET /v2/workflows/logs?${name}=yesterday`, /must be an integer of at least 0, not "yesterday"/),
    parameter(`GET /v2/workflows/dlq?${name}=-1`, /must be an integer/),
    parameter(`POST /v2/workflows/dlq/resume?${name}=1.5`, /must be an integer/),
  ]),
  parameter(
    'GET /v2/workflows/logs?state=RUN_DONE',
    /^state must be one of RUN_STARTED, RUN_SUCCESS, RUN_FAILED, RUN_CANCELED, not "RUN_DONE"$/,
  ),
  parameter('GET /v2/workflows/logs?state=RUN_FAILED&state=RUN_SUCCESS', /one value/),
  parameter('GET /v2/workflows/logs?trimBody=1', /true or false/),
  parameter('GET /v2/workflows/logs?label=%E0%A4%A', /percent-encoded/),
  parameter(
    'GET /v2/workflows/dlq?failureFunctionState=CALLBACK_FAIL,DONE',
    /must be one of CALLBACK_INPROGRESS, .*, not "DONE"/,
  ),
  parameter('GET /v2/workflows/events?groupBy=messageId', /^groupBy must be one of workflowRunId/),
  parameter('GET /v2/workflows/events', /groupBy is missing/),
  ...['logs', 'dlq'].flatMap((path) =>
    ['nonsense', 'W10.AAAA', '17', '%00'].map((cursor) =>
      parameter(`GET /v2/workflows/${path}?cursor=${cursor}`, /cursor is invalid/, 'bad-cursor'),
    ),
  ),
  // bulk
  ...['resume', 'restart'].flatMap((kind): readonly Case[] => [
    parameter(`POST /v2/workflows/dlq/${kind}?dlqIds=`, /^dlqIds must not be empty/),
    parameter(`POST /v2/workflows/dlq/${kind}?dlqIds=a,,b`, /^dlqIds must not be empty/),
    parameter(
      `POST /v2/workflows/dlq/${kind}?dlqIds=${Array.from({ length: 51 }, (_, i) => `dlq_${i}`).join()}`,
      /more than 50 different ids/,
    ),
    parameter(`POST /v2/workflows/dlq/${kind}?dlqIds=dlq_none`, /dlq_none/, 'not-found'),
    parameter(`POST /v2/workflows/dlq/${kind}?dlqIds=dlq_1&cursor=x`, /cursor/, 'bad-cursor'),
    parameter(`POST /v2/workflows/dlq/${kind}?cursor=x`, /cursor/, 'bad-cursor'),
    parameter(`POST /v2/workflows/dlq/${kind}?count=0`, /^count must be an integer of at least 1/),
    parameter(`POST /v2/workflows/dlq/${kind}?lable=x`, /unknown query parameter "lable" for this operation; it supports dlqIds/),
    parameter(`POST /v2/workflows/dlq/${kind}?label=`, /^label must not be empty/),
    parameter(`POST /v2/workflows/dlq/${kind}/dlq_none`, /not found in the dead letter queue: "dlq_none"/, 'not-found'),
    parameter(`POST /v2/workflows/dlq/${kind}/dlq_none?label=x`, /unknown query parameter "label"/),
    parameter(`POST /v2/dlq/${kind}/${'x'.repeat(300)}`, /dlqId must be a string of 1 to 256/),
    ['an invalid override', `POST /v2/workflows/dlq/${kind}`, 'bad-header', /Svc-Retries/, { headers: { 'svc-retries': 'x' } }],
    [
      'an unknown override header',
      `POST /v2/workflows/dlq/${kind}`,
      'bad-header',
      /unknown header "svc-timeout"/,
      { headers: { 'svc-timeout': '1m' } },
    ],
    [
      'headers for a failure callback that is not given',
      `POST /v2/workflows/dlq/${kind}`,
      'bad-header',
      /Svc-Failure-Callback-Forward-\* requires Svc-Failure-Callback/,
      { headers: { 'svc-failure-callback-forward-x': '1' } },
    ],
    [
      'one id for several runs',
      `POST /v2/workflows/dlq/${kind}`,
      'bad-header',
      /unknown header "svc-workflow-runid"/,
      { headers: { 'svc-workflow-runid': 'a' } },
    ],
  ]),
  parameter('DELETE /v2/workflows/dlq', /the request contains no filter; give dlqIds or a filter/),
  parameter('GET /v2/workflows/dlq/dlq_none', /not found in the dead letter queue/, 'not-found'),
  // runs
  parameter('GET /v2/workflows/runs/none', /run "none" not found/, 'not-found'),
  parameter('GET /v2/workflows/runs/none/steps/1', /run "none" not found/, 'not-found'),
  parameter('GET /v2/workflows/runs/none/steps/0', /^stepId must be/),
  parameter('GET /v2/workflows/runs/none/steps/x', /^stepId must be/),
  parameter('GET /v2/workflows/runs/none/steps/1?x=1', /x/),
  parameter('GET /v2/workflows/runs/none/result', /run "none" not found/, 'not-found'),
  parameter('GET /v2/workflows/runs/none/result?timeout=11m', /^timeout must be from 0s to 10m/),
  parameter('GET /v2/workflows/runs/none/result?timeout=x', /^timeout must be a duration/),
  parameter('DELETE /v2/workflows/runs/none', /run "none" not found/, 'not-found'),
  [`an event id that is too long`, `POST /v2/notify/${'e'.repeat(600)}`, 'bad-parameter', /eventId must be a string of 1 to 512/],
  // ids that URLs cannot represent
  ...['.', '..'].flatMap((id): readonly Case[] => [
    trigger('svc-workflow-runid', id, 'bad-header', /Svc-Workflow-RunId must not be "\." or "\.\."/),
    trigger('svc-flow-control-key', id, 'bad-header', /Svc-Flow-Control-Key must not be "\." or "\.\."/),
    [
      `a schedule with the id ${id}`,
      'POST /v2/schedules/http://w.test/ok',
      'bad-header',
      /Svc-Schedule-Id must not be "\." or "\.\."/,
      { headers: { 'svc-cron': '* * * * *', 'svc-schedule-id': id } },
    ],
  ]),
  ...CONTROL_CASES,
  // routes
  parameter('GET /v2/nothing', /no operation has the path "\/v2\/nothing"; see \/openapi.json/, 'unknown-route'),
  parameter('GET /nothing', /no operation/, 'unknown-route'),
  parameter('GET /v2/workflows/runs/', /^workflowRunId is missing from the path$/),
  parameter('GET /v2/workflows/runs/%ZZ', /percent-encoded/, 'bad-request'),
  parameter('GET /v2/trigger/http://w.test/ok', /does not support GET; supported methods: POST/, 'method-not-allowed'),
  parameter('POST /v2/workflows/logs', /supported methods: GET, HEAD/, 'method-not-allowed'),
  parameter('POST /v2/workflows/logs/', /supported methods: GET, HEAD/, 'method-not-allowed'),
];

test('rejects bad input with a 4xx error that says what is wrong', async () => {
  for (const [what, request, code, words, options = {}] of CASES) {
    const [method = '', url = ''] = request.split(/ (.*)/s);
    const headers = { authorization: `Bearer ${harness.token}`, ...options.headers };
    const response = await harness.send({
      method: method as NonNullable<InjectOptions['method']>,
      url,
      headers,
      ...(options.body === undefined ? {} : { payload: options.body }),
    });
    assert.equal(response.headers['svc-error-code'], code, `${what}: ${JSON.stringify(response.body)}`);
    assert.equal(response.status, ERROR_CODES[code].status, what);
    assert.match(response.body.error, words, what);
    assert.deepEqual(Object.keys(response.body), ['error'], what);
    assert.equal(response.headers['content-type'], 'application/json; charset=utf-8', what);
  }
  assert.equal(harness.endpoints.calls.length, 0, 'nothing was started');
});

test('every operation with token access rejects missing, invalid and foreign tokens', async () => {
  const [header = '', payload = ''] = harness.token.split('.');
  const revoked = await harness.authority.issueToken({ instanceId: 'qi_1', access: 'read-write' });
  await harness.authority.revoke(JSON.parse(Buffer.from(revoked.split('.')[1] ?? '', 'base64url').toString()).jti);
  const american = await harness.authority.issueToken({ instanceId: 'qi_us', access: 'read-write' });
  const elsewhere = await ApiHarness.open();
  const table: readonly (readonly [what: string, headers: Record<string, string>, query: string, code: ErrorCode])[] = [
    ['no token', {}, '', 'missing-token'],
    ['an empty token', {}, 'svc_token=', 'missing-token'],
    ['another scheme', { authorization: 'Basic dTpw' }, '', 'bad-token'],
    ['no JWT', { authorization: 'Bearer nonsense' }, '', 'bad-token'],
    ['no signature', { authorization: `Bearer ${header}.${payload}.` }, '', 'bad-token'],
    ['a bad token in the query', {}, 'svc_token=nonsense', 'bad-token'],
    ['a revoked token', { authorization: `Bearer ${revoked}` }, '', 'bad-token'],
    ['a token of another installation', { authorization: `Bearer ${elsewhere.token}` }, '', 'bad-token'],
    ['a token of another region', { authorization: `Bearer ${american}` }, '', 'bad-token'],
    ['a host of another region', { authorization: `Bearer ${harness.token}`, host: 'us-east-1.everstep.test' }, '', 'bad-token'],
    ['a host of no region', { authorization: `Bearer ${harness.token}`, host: 'ap-south-1.everstep.test' }, '', 'unknown-region'],
  ];
  for (const { method, access, path } of OPERATIONS.filter((operation) => operation.access === 'token')) {
    assert.equal(access, 'token');
    const url = path.replace('{workflowUrl}', 'http://w.test/ok').replace(/\{\w+\}/g, 'x');
    for (const [what, headers, query, code] of table) {
      const received = await harness.send({ method, url: query === '' ? url : `${url}?${query}`, headers });
      assert.equal(received.headers['svc-error-code'], code, `${method} ${path}, ${what}`);
      assert.equal(received.status, ERROR_CODES[code].status);
      if (received.status === 401) assert.equal(received.headers['www-authenticate'], 'Bearer');
    }
  }
  await elsewhere.close();
});

test('a read-only token can only read', async () => {
  const headers = { authorization: `Bearer ${harness.readOnlyToken}` };
  for (const { method, path, needsReadWrite, streams } of OPERATIONS.filter(({ access }) => access === 'token')) {
    const url = path.replace('{workflowUrl}', 'http://w.test/ok').replace(/\{\w+\}/g, 'x');
    // The start of an endless response is sufficient.
    const result = await harness.send({ method, url, headers: streams ? { ...headers, accept: 'text/event-stream' } : headers });
    const refused = result.headers['svc-error-code'] === 'read-only-token';
    assert.equal(refused, method !== 'GET' || needsReadWrite === true, `${method} ${path}`);
    if (refused) assert.equal(result.status, 403);
  }
});

test('a read-only token cannot read the signing keys', async () => {
  const headers = { authorization: `Bearer ${harness.readOnlyToken}` };
  const response = await harness.send({ method: 'GET', url: '/v2/keys', headers });
  assert.deepEqual([response.status, response.headers['svc-error-code']], [403, 'read-only-token']);
  assert.equal((await harness.call('GET', '/v2/keys')).status, 200);
});

test('a token of another region works at the host of that region, in the header and in the query', async () => {
  const token = await harness.authority.issueToken({ instanceId: 'qi_us', access: 'read-write' });
  for (const host of ['us-east-1.everstep.test', 'queue-us-east-1.everstep.test:8080']) {
    const byHeader = await harness.send({ method: 'GET', url: '/v2/keys', headers: { authorization: `Bearer ${token}`, host } });
    const byQuery = await harness.send({ method: 'GET', url: `/v2/keys?svc_token=${token}`, headers: { host } });
    assert.deepEqual([byHeader.status, byQuery.status], [200, 200]);
  }
});

test('a wrong method gets 405 with the supported methods', async () => {
  const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;
  const document: { paths?: Record<string, Record<string, unknown>> } = openApiDocument('1.0.0');
  for (const operation of OPERATIONS) {
    for (const path of pathsOf(operation)) {
      const url = path.replace('{workflowUrl}', 'http://w.test/ok').replace(/\{\w+\}/g, 'x');
      const own = new Set(Object.keys(document.paths?.[path] ?? {}).map((method) => method.toUpperCase()));
      const hasHead = own.has('GET') && operation.head !== false;
      for (const method of methods.filter((each) => !own.has(each) && !(each === 'HEAD' && hasHead))) {
        const response = await harness.api.inject({ method, url });
        // A more general path may match: GET /v2/workflows/dlq/resume is an entry with the id "resume".
        if (response.statusCode === 401) continue;
        assert.equal(response.statusCode, 405, `${method} ${url}`);
        for (const allowed of own) assert.ok(String(response.headers.allow).split(', ').includes(allowed), `${method} ${url}`);
      }
    }
  }
});

test('tokens, payloads and URLs are not logged', async () => {
  const secret = 'a-payload-nobody-should-see';
  await harness.send({
    method: 'POST',
    url: `/v2/trigger/http://w.test/ok?key=url-secret&svc_token=${harness.token}`,
    payload: secret,
  });
  await harness.send({ method: 'GET', url: `/v2/workflows/logs?svc_token=${harness.token}` });
  await harness.send({ method: 'GET', url: '/v2/keys?svc_token=wrong-token-text' });
  const text = JSON.stringify(harness.logged);
  assert.match(text, /"route":"\/v2\/trigger\/\{workflowUrl\}"/, 'requests are logged at all');
  for (const word of [harness.token, secret, 'url-secret', 'wrong-token-text']) assert.ok(!text.includes(word), word);
  assert.ok(
    harness.logged.every(({ level }) => level === 'debug'),
    'at debug only',
  );
});

test('an internal error is a 500 without details; the log contains the cause', async () => {
  const broken = await ApiHarness.open();
  broken.store.findRun = async () => {
    throw new Error('SQLITE_CORRUPT: secret detail');
  };
  const response = await broken.call('GET', '/v2/workflows/runs/a');
  assert.deepEqual([response.status, response.headers['svc-error-code']], [500, 'internal-error']);
  assert.ok(!response.body.error.includes('SQLITE'));
  const line = broken.logged.find(({ level }) => level === 'error');
  assert.match(JSON.stringify(line), /secret detail.*/);
  await broken.close();
});

test('an unreachable store is a 503 that says whether a change may have been made', async () => {
  const away = await ApiHarness.open();
  const gone = async () => {
    throw new StoreUnavailableError('connect ECONNREFUSED 10.1.2.3:5432');
  };
  away.store.findRun = gone;
  away.store.commit = gone;
  const read = await away.call('GET', '/v2/workflows/runs/a');
  assert.deepEqual([read.status, read.headers['svc-error-code'], read.headers['retry-after']], [503, 'store-unavailable', '2']);
  assert.ok(!read.body.error.includes('taken') && !read.body.error.includes('10.1.2.3'), read.body.error);
  const triggered = await away.call('POST', '/v2/trigger/http://w.test/ok');
  assert.deepEqual([triggered.status, triggered.headers['svc-error-code']], [503, 'store-unavailable']);
  assert.match(triggered.body.error, /may have been processed/);
  const published = await away.call('POST', '/v2/publish/http://w.test/ok');
  assert.equal(published.status, 503);
  await away.close();
});

test('while the server stops, requests get 503 and only the health check gets 200', async () => {
  let stopping = false;
  const closing = await ApiHarness.open({ isStopping: () => stopping });
  const statuses = async () => {
    const paths = ['/health', '/ready', '/v2/flowControl/', '/v2/webhooks/whk_none.x'];
    return Promise.all(paths.map(async (url) => (await closing.call('GET', url)).status));
  };
  assert.deepEqual(await statuses(), [200, 200, 200, 404]);
  stopping = true;
  assert.deepEqual(await statuses(), [200, 503, 503, 503]);
  await closing.close();
});
