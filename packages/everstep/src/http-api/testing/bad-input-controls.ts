/** Bad input for events, webhooks, flow control, schedules and settings. */
import { LIMITS } from '../../config/limits.js';
import { type Case, json, parameter } from './bad-input-case.js';

export const CONTROL_CASES: readonly Case[] = [
  ['an event id with U+0000', 'POST /v2/notify/a%00b', 'bad-parameter', /eventId must not contain the character U\+0000/],
  parameter('POST /v2/notify/none/e', /run "none" not found/, 'not-found'),
  [
    'an event that is too large',
    'POST /v2/notify/e',
    'body-too-large',
    /must not be larger than 1048576 bytes/,
    { body: Buffer.alloc(LIMITS.maxEventBytes + 1) },
  ],
  ...['0', '1001', 'x'].map((count) => parameter(`GET /v2/waiters/e?count=${count}`, /^count must be an integer from 1 to 1000/)),
  // webhooks
  parameter('POST /v2/webhooks/whk_none.x', /webhook not found/, 'not-found'),
  parameter('GET /v2/webhooks/nonsense', /webhook not found/, 'not-found'),
  [
    'a call to an unknown webhook that is too large',
    'PUT /v2/webhooks/whk_none.x',
    'not-found',
    /webhook not found/,
    { body: Buffer.alloc(LIMITS.maxEventBytes + 1) },
  ],
  // flow control
  parameter('GET /v2/flowControl/none', /flow control key "none" not found/, 'not-found'),
  ...['pause', 'resume', 'unpin', 'resetRate'].map((verb) =>
    parameter(`POST /v2/flowControl/none/${verb}`, /flow control key "none" not found/, 'not-found'),
  ),
  parameter(
    'POST /v2/flowControl/k/pause?parallelism=1',
    /unknown query parameter "parallelism" for this operation; it supports none/,
  ),
  parameter(`POST /v2/flowControl/${'k'.repeat(257)}/pin`, /flowControlKey must be a string of 1 to 256/),
  parameter('POST /v2/flowControl/a%00b/pin', /flowControlKey must not contain the character U\+0000/),
  ...['0', '-1', '1.5', '10001', ''].map((value) =>
    parameter(`POST /v2/flowControl/k/pin?parallelism=${value}`, /^parallelism must /),
  ),
  ...['0', '-1', '1000001', 'x'].map((value) => parameter(`POST /v2/flowControl/k/pin?rate=${value}`, /^rate must /)),
  ...['0', '-1', '8d', 'soon', ''].map((value) =>
    parameter(`POST /v2/flowControl/k/pin?rate=1&period=${value}`, /^period must /),
  ),
  parameter('POST /v2/flowControl/k/pin?period=1m', /^the query parameter "period" requires "rate"/),
  parameter(
    'POST /v2/flowControl/k/pin?speed=1',
    /unknown query parameter "speed" for this operation; it supports parallelism, rate, period/,
  ),
  // schedules
  ...(
    [
      ['no cron', {}, 'bad-header', /the header Svc-Cron is missing/],
      ['an empty cron', { 'svc-cron': '' }, 'bad-header', /Svc-Cron must not be empty/],
      ['nonsense for a cron', { 'svc-cron': 'every day' }, 'bad-header', /Svc-Cron is not a valid cron expression/],
      ['a cron that never fires', { 'svc-cron': '0 0 30 2 *' }, 'bad-header', /Svc-Cron is not a valid cron expression/],
      [
        'a cron that is too long',
        { 'svc-cron': `${'1,'.repeat(200)}1 * * * *` },
        'bad-header',
        /Svc-Cron must be a string of 1 to 256/,
      ],
      [
        'an unknown time zone',
        { 'svc-cron': '0 9 * * *', 'svc-cron-timezone': 'Mars/Base' },
        'bad-header',
        /^Svc-Cron-Timezone is invalid: .*Mars\/Base/,
      ],
      [
        'two time zones',
        { 'svc-cron': 'CRON_TZ=UTC 0 9 * * *', 'svc-cron-timezone': 'UTC' },
        'bad-header',
        /both contain a time zone/,
      ],
      ...['svc-workflow-runid', 'svc-not-before', 'svc-deduplication-id', 'svc-wait-for-result'].map(
        (name) =>
          [
            name,
            { 'svc-cron': '0 9 * * *', [name]: '1' },
            'bad-header',
            /unknown header "svc-.*"; this operation supports Svc-Cron/,
          ] as const,
      ),
      [
        'limits without a key',
        { 'svc-cron': '0 9 * * *', 'svc-flow-control-value': 'rate=1' },
        'bad-header',
        /requires Svc-Flow-Control-Key/,
      ],
    ] as const
  ).map(([title, headers, code, message]): Case => [title, 'POST /v2/schedules/http://w.test/ok', code, message, { headers }]),
  [
    'a schedule of a URL that is not allowed',
    'POST /v2/schedules/http://10.0.0.1/',
    'blocked-address',
    /private address/,
    { headers: { 'svc-cron': '0 9 * * *' } },
  ],
  [
    'a schedule without a URL',
    'POST /v2/schedules/sch_1',
    'bad-url',
    /absolute http or https/,
    { headers: { 'svc-cron': '0 9 * * *' } },
  ],
  parameter('GET /v2/schedules/none', /schedule "none" not found/, 'not-found'),
  parameter('DELETE /v2/schedules/none', /schedule "none" not found/, 'not-found'),
  parameter('PATCH /v2/schedules/none/pause', /schedule "none" not found/, 'not-found'),
  parameter('PATCH /v2/schedules/none/resume', /schedule "none" not found/, 'not-found'),
  parameter('PATCH /v2/schedules/none/stop', /does not support PATCH/, 'method-not-allowed'),
  // explanations, failure callbacks
  parameter('GET /v2/workflows/runs/none/explain', /run "none" not found/, 'not-found'),
  parameter('GET /v2/workflows/runs/none/explain?workflowCreatedAt=x', /workflowCreatedAt must be an integer/),
  ...['/v2/workflows/dlq/callback/dlq_none', '/v2/dlq/callback/dlq_none'].flatMap((path) => [
    parameter(`POST ${path}`, /not found in the dead letter queue: "dlq_none"/, 'not-found'),
    parameter(`DELETE ${path}`, /not found in the dead letter queue/, 'not-found'),
    parameter(`POST ${path}?x=1`, /it supports none/),
  ]),
  // destinations, settings
  ...(
    [
      ['POST /v2/destinations/hold', '', /request body is missing/],
      ['POST /v2/destinations/hold', '{}', /either "origin" or "url"/],
      ['POST /v2/destinations/hold', '{"origin":"http://a.test","url":"http://a.test"}', /either "origin" or "url"/],
      ['POST /v2/destinations/hold', '{"origin":"a.test"}', /^"origin" must be an absolute http or https URL, not "a.test"/],
      ['POST /v2/destinations/hold', '{"url":"ftp://a.test"}', /^"url" must be an absolute/],
      ['POST /v2/destinations/hold', '{"origin":"http://a.test","reason":"a\\u0000b"}', /^"reason" must not contain/],
      ['POST /v2/destinations/hold', '{"origin":"http://a.test","reason":"\\ud800"}', /^"reason" must not contain/],
      [
        'POST /v2/destinations/hold',
        `{"origin":"http://a.test","reason":"${'x'.repeat(513)}"}`,
        /reason must not have more than 512/,
      ],
      ['POST /v2/destinations/hold', '{"origin":"http://a.test","because":"x"}', /unknown field: "because"/],
      ['POST /v2/destinations/release', '{"origin":1}', /origin must be a string/],
      ['PUT /v2/settings', '', /request body is missing/],
      ['PUT /v2/settings', '{"brake":{}}', /unknown field: "brake"/],
      ['PUT /v2/settings', '{"breaker":{"failures":0}}', /breaker\.failures must be at least 1/],
      ['PUT /v2/settings', '{"breaker":{"probeEveryMs":999}}', /breaker\.probeEveryMs must be at least 1000/],
      ['PUT /v2/settings', '{"breaker":{"enabled":"yes"}}', /breaker\.enabled must be true or false/],
      ['PUT /v2/settings', '{"retention":{"lost":{}}}', /unknown field: "lost"/],
      ['PUT /v2/settings', '{"retention":{"failed":{"maxAgeMs":-1}}}', /retention\.failed\.maxAgeMs/],
      ['PUT /v2/settings', '{"retention":{"failed":{"maxCount":1.5}}}', /retention\.failed\.maxCount/],
    ] as const
  ).map(([request, body, message]): Case => [`${request} ${body}`, request, 'bad-body', message, { headers: json, body }]),
  [
    'a release of a destination that is not held',
    'POST /v2/destinations/release',
    'not-found',
    /"http:\/\/a.test" is not held/,
    { headers: json, body: '{"origin":"http://a.test/x"}' },
  ],
];
