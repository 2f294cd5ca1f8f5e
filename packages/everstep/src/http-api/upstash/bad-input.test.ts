import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { InjectOptions } from 'fastify';
import { LIMITS } from '../../config/limits.js';
import { ERROR_CODES } from '../../contract/error-codes.js';
import { ApiHarness, type ErrorResponse } from '../testing/api-harness.js';
import { type Case, json, parameter } from '../testing/bad-input-case.js';

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

const URL_TO = 'http://w.test/ok';
const LONG_ID = 'e'.repeat(LIMITS.maxEventIdLength + 3);
const header = (name: string, value: string, words: RegExp, code: Case[2] = 'bad-header'): Case => [
  `${name}: ${value.slice(0, 40)}`,
  `POST /v2/publish/${URL_TO}`,
  code,
  words,
  { headers: { [name]: value } },
];
const body = (request: string, value: unknown, words: RegExp, code: Case[2] = 'bad-body'): Case => [
  `${request} ${JSON.stringify(value).slice(0, 60)}`,
  request,
  code,
  words,
  { headers: json, body: JSON.stringify(value) },
];
const schedule = (headers: Readonly<Record<string, string>>, words: RegExp, code: Case[2] = 'bad-header'): Case => [
  `schedule with ${JSON.stringify(headers)}`,
  `POST /v2/schedules/${URL_TO}`,
  code,
  words,
  { headers },
];

/** Items of a batch that cannot be read, and the errors if they are not submitted for a run. */
const UNREADABLE_ITEMS: readonly (readonly [{ destination?: string; headers?: object }, RegExp, Case[2]])[] = [
  [{ destination: '' }, /destination must have at least 1 character/, 'bad-body'],
  [{ headers: { 'Upstash-Forward-N': 1 } }, /Upstash-Forward-N must be a string/, 'bad-body'],
  [{ headers: { 'Upstash-Forward-N': { toString: 1 } } }, /Upstash-Forward-N must be a string/, 'bad-body'],
  [{ headers: { 'Upstash-Forward-N': '\n' } }, /characters that a header cannot contain/, 'bad-header'],
  [
    { headers: Object.fromEntries(Array.from({ length: LIMITS.maxHeaderCount + 1 }, (_, n) => [`Upstash-Forward-${n}`, ''])) },
    /at most 200 entries/,
    'bad-body',
  ],
];
/** Headers of items that an endpoint submits for its run. */
const CALL = { 'Upstash-Workflow-CallType': 'toCallback', 'Upstash-Callback-Workflow-RunId': 'r' };
const STEP = { 'Upstash-Workflow-Init': 'false', 'Upstash-Workflow-RunId': 'r' };
const INTRODUCTION = { 'Upstash-Workflow-Init': 'true', 'Upstash-Workflow-Trigger-By-Sdk': 'true' };

const CASES: readonly Case[] = [
  // destinations
  [
    'an unsupported scheme',
    'POST /v2/publish/ftp://w.test/',
    'bad-url',
    /http or https URL, or the name of a URL group, not "ftp/,
  ],
  ['neither a URL nor a group name', 'POST /v2/publish/api/llm', 'bad-url', /or the name of a URL group, not "api\/llm"/],
  ['a URL that is not allowed', 'POST /v2/publish/http://10.0.0.1/', 'blocked-address', /private address/],
  ['a group that does not exist', 'POST /v2/publish/missing', 'not-found', /URL group "missing" does not exist/],
  ['no destination in a queue', 'POST /v2/enqueue/q/', 'bad-url', /the destination must be an absolute http or https URL/],
  ['an invalid queue name', `POST /v2/enqueue/a%20b/${URL_TO}`, 'bad-parameter', /letters, digits, hyphens/],
  // run ids that endpoints could not use
  ...['a/b', 'a?b', 'a%20b', 'a#b', Buffer.from('日本').toString('latin1')].map(
    (id): Case => [
      `a run with the id ${id}`,
      `POST /v2/trigger/${URL_TO}`,
      'bad-header',
      /Upstash-Workflow-RunId must not contain .*Latin-1/,
      { headers: { 'upstash-workflow-sdk-version': '1', 'upstash-workflow-runid': id } },
    ],
  ),
  ...['.', '..'].flatMap((id): readonly Case[] => [
    [
      'a run with an id that no URL can contain',
      `POST /v2/trigger/${URL_TO}`,
      'bad-header',
      /RunId must not be/,
      { headers: { 'upstash-workflow-runid': id } },
    ],
    body(
      'POST /v2/queues',
      { queueName: id },
      /the name of a queue must consist of letters.* and not be "\." or "\.\."/,
      'bad-parameter',
    ),
  ]),
  // event ids that the SDK would encode differently in different requests
  ...['a/', '/a', 'a?b', 'a/b?c'].map(
    (id): Case => [
      `a wait for the event ${id}`,
      `POST /v2/wait/${id}`,
      'steps-refused',
      /the event id .* contains a \?, or starts or ends with a \/.*encodeURIComponent/,
      { headers: { 'upstash-workflow-sdk-version': '1', 'upstash-workflow-runid': 'r' }, body: '{}' },
    ],
  ),
  ...[`wait/${LONG_ID}`, `notify/${LONG_ID}`, `notify/wfr_1/${LONG_ID}`, `notify/no-run/${LONG_ID.slice(9)}`].map(
    (path): Case => [
      `an event id that is too long: ${path.slice(0, 20)}`,
      `POST /v2/${path}`,
      'steps-refused',
      /eventId must be a string of 1 to 512 characters/,
      { headers: { 'upstash-workflow-sdk-version': '1', 'upstash-workflow-runid': 'r' }, body: '{}' },
    ],
  ),
  // batches with items that cannot be read
  ...UNREADABLE_ITEMS.flatMap(([item, words, code]): readonly Case[] => {
    const batchOf = (headers: object) => [{ destination: URL_TO, ...item, headers: { ...headers, ...item.headers } }];
    return [
      ...[CALL, STEP, INTRODUCTION].map((headers) => body('POST /v2/batch', batchOf(headers), words, 'steps-refused')),
      body('POST /v2/batch', batchOf({}), words, code),
    ];
  }),
  // headers
  header('upstash-method', 'HEAD', /Upstash-Method must be one of GET, POST, PUT, PATCH, DELETE/),
  header('upstash-retries', '-1', /Upstash-Retries must be an integer from 0 to 100, not "-1"/),
  header('upstash-delay', 'soon', /Upstash-Delay must be a duration such as 30s/),
  header('upstash-timeout', '13h', /Upstash-Timeout must be from 1s to 12h/),
  header('upstash-not-before', '99999999999', /Upstash-Not-Before must be a time in Unix seconds/),
  header('upstash-retry-delay', 'process.exit()', /Upstash-Retry-Delay is not a valid expression/, 'bad-expression'),
  header('upstash-flow-control-value', 'rate=1', /Upstash-Flow-Control-Value requires Upstash-Flow-Control-Key/),
  header('upstash-callback', 'nowhere', /Upstash-Callback must be an absolute http or https URL/, 'bad-url'),
  header('upstash-callback', 'http://10.0.0.1/', /Upstash-Callback is not allowed/, 'blocked-address'),
  header('upstash-failure-callback', 'http://10.0.0.1/', /Upstash-Failure-Callback is not allowed/, 'blocked-address'),
  header('upstash-callback-retries', 'many', /Upstash-Callback-Retries must be an integer/),
  header('upstash-failure-callback-timeout', '0s', /Upstash-Failure-Callback-Timeout must be from 1s/),
  header('upstash-label', 'a,,b', /Upstash-Label must be non-empty labels separated by commas/),
  header('upstash-redact-fields', 'body header', /Upstash-Redact-Fields/),
  header('upstash-reties', '1', /unknown header "upstash-reties"; this operation supports Upstash-Method, Upstash-Retries/),
  header('upstash-deduplication-id', 'x'.repeat(257), /Upstash-Deduplication-Id must be a string of 1 to 256 characters/),
  [
    'a body that is too long',
    `POST /v2/publish/${URL_TO}`,
    'body-too-large',
    /bytes/,
    { body: Buffer.alloc(LIMITS.maxBodyBytes + 1) },
  ],
  // queues and groups
  body('POST /v2/queues', { queueName: 'a/b' }, /name of a queue/, 'bad-parameter'),
  body('POST /v2/queues', { queueName: 'a', parallelism: 0 }, /parallelism/),
  body('POST /v2/queues', { queueName: 'a', parallelsim: 1 }, /unknown field: "parallelsim"/),
  body('POST /v2/queues', { parallelism: 1 }, /queueName/),
  body('POST /v2/topics/g/endpoints', { endpoints: [] }, /endpoints/),
  body('POST /v2/topics/g/endpoints', { endpoints: [{ url: 'nowhere' }] }, /the url of endpoint 0/, 'bad-url'),
  body('POST /v2/topics/g/endpoints', { endpoints: [{ url: URL_TO, name: 'a\ud800' }] }, /name must not .* unpaired surrogate/),
  body('POST /v2/topics/g/endpoints', { endpoints: [{ url: `${URL_TO}/\ud800` }] }, /unpaired surrogate/, 'bad-url'),
  body('POST /v2/topics/g/endpoints', { endpoints: [{ url: 'http://10.0.0.1/' }] }, /private address/, 'blocked-address'),
  body('POST /v2/topics/a%20b/endpoints', { endpoints: [{ url: URL_TO }] }, /name of a URL group/, 'bad-parameter'),
  body('DELETE /v2/topics/g/endpoints', { endpoints: [{}] }, /endpoint 0 requires a name or a url/),
  body('DELETE /v2/topics/g/endpoints', { endpoints: [{ name: 'x' }] }, /URL group "g" does not exist/, 'not-found'),
  ['a queue that does not exist', 'POST /v2/queues/none/pause', 'not-found', /queue "none" does not exist/],
  ['a group to delete that does not exist', 'DELETE /v2/topics/none', 'not-found', /URL group "none" does not exist/],
  // schedules
  schedule({ 'upstash-retries': '1' }, /the header Upstash-Cron is missing/),
  schedule({ 'upstash-cron': 'soon' }, /Upstash-Cron is not a valid cron expression/),
  schedule({ 'upstash-cron': 'CRON_TZ=Nowhere/Land * * * * *' }, /Upstash-Cron/),
  schedule({ 'upstash-cron': '* * * * *', 'upstash-queue-name': 'a b' }, /name of a queue/, 'bad-parameter'),
  // filters
  parameter('DELETE /v2/messages?lable=a', /unknown query parameter "lable"/),
  parameter('DELETE /v2/messages?async=true', /omit async=true/),
  parameter('DELETE /v2/dlq?lable=a', /unknown query parameter "lable"/),
  parameter('POST /v2/dlq/retry?source=nowhere', /source must be one of workflow, message/),
  parameter('GET /v2/dlq?responseStatus=ok', /responseStatus must be an integer from 100 to 999/),
  parameter('GET /v2/dlq?cursor=x', /the cursor is invalid/, 'bad-cursor'),
  parameter('GET /v2/events?state=LOST', /state must be one of CREATED/),
  parameter('GET /v2/events?cursor=x', /the cursor is invalid/, 'bad-cursor'),
  parameter(`GET /v2/logs?count=${LIMITS.messageEventsPageMax + 1}`, /count must be an integer from 1 to 1000/),
  ['a schedule to pause that does not exist', 'POST /v2/schedules/none/pause', 'not-found', /schedule "none" not found/],
  ['a dead letter that does not exist', 'POST /v2/dlq/retry/dlq_none', 'not-found', /not found in the dead letter queue/],
  ['dead letters that do not exist', 'POST /v2/dlq/retry?dlqIds=dlq_none', 'not-found', /not found in the dead letter queue/],
];

test('errors name the invalid part, in the error format of the SDKs', async (t) => {
  for (const [what, request, expected, words, options = {}] of CASES) {
    await t.test(what, async () => {
      const [method = '', url = ''] = request.split(/ (.*)/s);
      const headers: InjectOptions['headers'] = { authorization: `Bearer ${harness.token}`, ...options.headers };
      const asked = { method: method as 'POST', url, headers };
      const payload = options.body === undefined ? {} : { payload: options.body };
      const response = await harness.send<ErrorResponse>({ ...asked, ...payload });
      assert.equal(response.status, ERROR_CODES[expected].status, JSON.stringify(response.body));
      assert.equal(response.headers['upstash-error-code'], expected);
      assert.match(response.body.error, words);
      assert.deepEqual(Object.keys(response.body), ['error']);
    });
  }
});

test('an invalid item of a batch gets its own error, and the other items are published', async () => {
  const items = [
    { destination: URL_TO, headers: { 'Upstash-Method': 'GET' } },
    { destination: 'nowhere:' },
    { destination: URL_TO, headers: { 'Upstash-Retries': 'x' } },
    { destination: URL_TO, queue: 'no spaces' },
  ];
  const received = await harness.call<{ messageId?: string; error?: string }[]>('POST', '/v2/batch', {
    headers: json,
    body: JSON.stringify(items),
  });
  assert.equal(received.status, 200);
  const [good, ...bad] = received.body;
  assert.match(good?.messageId ?? '', /^msg_/);
  assert.deepEqual(
    bad.map(({ error }, index) => [/destination/, /Upstash-Retries/, /name of a queue/][index]?.test(error ?? '')),
    [true, true, true],
  );
});

test('a run and a message can have the same deduplication id', async () => {
  const asRun = await harness.trigger('ok', { 'svc-deduplication-id': 'shared' });
  const headers = { 'upstash-deduplication-id': 'shared' };
  const first = await harness.call<{ messageId: string; deduplicated?: boolean }>('POST', `/v2/publish/${URL_TO}`, { headers });
  const second = await harness.call<{ messageId: string; deduplicated?: boolean }>('POST', `/v2/publish/${URL_TO}`, { headers });
  assert.notEqual(first.body.messageId, asRun.workflowRunId);
  assert.deepEqual([first.body.deduplicated, second.body], [undefined, { ...first.body, deduplicated: true }]);
});
