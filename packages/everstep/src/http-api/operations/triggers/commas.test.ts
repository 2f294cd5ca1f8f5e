import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import Type, { type TSchema } from 'typebox';
import { LIMITS } from '../../../config/limits.js';
import type { Method, Operation } from '../../operation.js';
import { readQuery, splitQuery } from '../../parameters/query.js';
import { ApiHarness } from '../../testing/api-harness.js';
import { UPSTASH_OPERATIONS } from '../../upstash/index.js';
import { OPERATIONS } from '../index.js';

/** Notations that clients use for a parameter with one text. */
const SPELLINGS: Readonly<Record<string, (name: string, text: string) => string>> = {
  'a raw comma': (name, text) => `${name}=${text.split(',').map(encodeURIComponent).join(',')}`,
  URLSearchParams: (name, text) => new URLSearchParams({ [name]: text }).toString(),
  'curl --data-urlencode': (name, text) => `${name}=${encodeURIComponent(text).replaceAll('%20', '+')}`,
  'lower-case escapes': (name, text) => `${name}=${encodeURIComponent(text).replaceAll('%2C', '%2c')}`,
  // The client decodes some escapes, including that of the comma.
  axios: (name, text) =>
    `${name}=${encodeURIComponent(text).replaceAll('%3A', ':').replaceAll('%24', '$').replaceAll('%2C', ',').replaceAll('%20', '+')}`,
};
const repeated = (name: string, values: readonly string[]) =>
  values.map((value) => `${name}=${encodeURIComponent(value)}`).join('&');

interface ListParameter {
  readonly operation: Operation;
  readonly name: string;
  readonly item: TSchema;
}
const LISTED: readonly ListParameter[] = [...OPERATIONS, ...UPSTASH_OPERATIONS].flatMap((operation) =>
  Object.entries(operation.query?.properties ?? {}).flatMap(([name, schema]) =>
    Type.IsArray(schema) ? [{ operation, name, item: schema.items }] : [],
  ),
);

/** Parameters whose values can contain a comma: URLs, and values that clients choose. */
const WITH_COMMAS: ReadonlySet<string> = new Set([
  'workflowUrl',
  'url',
  'host',
  'path',
  'flowControlKey',
  'scheduleId',
  'workflowRunIds',
  'run',
]);

const hasPattern = (item: TSchema): boolean => Reflect.get(item, 'pattern') !== undefined;

function twoValuesOf(item: TSchema, name: string): readonly [string, string] {
  if (name === 'run') return ['1.a', '2.b'];
  if (Type.IsEnum(item)) return [String(item.enum[0]), String(item.enum[1])];
  if (Type.IsInteger(item)) return ['404', '500'];
  if (hasPattern(item)) return ['0'.repeat(16), 'f'.repeat(16)];
  return ['http://a b.test/?x', 'http://c.test/'];
}

test('every multi-value parameter accepts any notation of commas and repetition', () => {
  assert.ok(LISTED.length > 60, String(LISTED.length));
  for (const { operation, name, item } of LISTED) {
    const schema = Type.Object({ [name]: operation.query?.properties[name] ?? Type.Never() });
    const read = (text: string) =>
      new Set([readQuery(schema, splitQuery(text), { unknown: 'refuse', otherNames: [] })[name]].flat().map(String));
    const values = twoValuesOf(item, name);
    const whole = values.join(',');
    const expected = new Set([...values, ...(WITH_COMMAS.has(name) ? [whole] : [])]);
    for (const [spelling, write] of Object.entries(SPELLINGS))
      assert.deepEqual(read(write(name, whole)), expected, `${operation.operationId} ${name}, ${spelling}`);
    assert.deepEqual(read(repeated(name, values)), new Set(values), `${operation.operationId} ${name}, repeated`);
    assert.deepEqual(
      read(repeated(name, [whole, whole])),
      new Set(WITH_COMMAS.has(name) ? [whole] : values),
      `${operation.operationId} ${name}, repeated`,
    );
  }
});

test('every multi-value parameter describes the meaning of a comma', async () => {
  const harness = await ApiHarness.open();
  for (const path of ['/openapi.json', '/openapi-upstash.json']) {
    const { body } = await harness.send<{
      paths: Record<string, Record<string, { parameters: readonly DocumentedParameter[] }>>;
    }>({
      method: 'GET',
      url: path,
    });
    const shown = Object.values(body.paths).flatMap((item) => Object.values(item).flatMap(({ parameters }) => parameters));
    for (const { name, description, style, explode, schema } of shown) {
      if (schema.type !== 'array') continue;
      assert.deepEqual({ style, explode }, { style: 'form', explode: true }, name);
      assert.match(description ?? '', /comma/, name);
      assert.equal(/can contain a comma|separates values only if/.test(description ?? ''), WITH_COMMAS.has(name), name);
    }
  }
  await harness.close();
});
interface DocumentedParameter {
  readonly name: string;
  readonly description?: string;
  readonly style?: string;
  readonly explode?: boolean;
  readonly schema: { readonly type?: string };
}

let harness: ApiHarness;
before(async () => {
  harness = await ApiHarness.open();
});
after(() => harness.close());

const UPSTASH = { 'upstash-workflow-sdk-version': '1' };
const HEADERS = { native: {}, upstash: UPSTASH } as const;
const DIALECTS = ['native', 'upstash'] as const;
type Dialect = (typeof DIALECTS)[number];

interface Page {
  readonly messages: readonly { readonly dlqId: string }[];
}
const found = async (dialect: Dialect, path: string, query: string) => {
  const { status, body } = await harness.call<Page>('GET', `${path}?${query}`, { headers: HEADERS[dialect] });
  assert.equal(status, 200, `${path}?${query}`);
  return body.messages.map(({ dlqId }) => dlqId).toSorted();
};

const LISTINGS: readonly (readonly [Dialect, string])[] = [
  ['native', '/v2/workflows/dlq'],
  ['upstash', '/v2/workflows/dlq'],
  ['upstash', '/v2/dlq'],
];

test('a listing finds all values of a list, however its commas are written', async () => {
  const [a = ''] = await harness.fail(1, { 'svc-label': 'list-a', 'svc-flow-control-key': 'key' });
  const [b = ''] = await harness.fail(1, { 'svc-label': 'list-b', 'svc-flow-control-key': 'key,2' }, 'fail?at=1,2');
  const [c = ''] = await harness.fail(1, { 'svc-label': 'list-c', 'svc-flow-control-key': '2' }, 'fail?at=1');
  const table: readonly (readonly [name: string, text: string, expected: readonly string[]])[] = [
    ['label', 'list-a,list-b', [a, b]],
    ['flowControlKey', 'key,2', [a, b, c]],
    ['workflowUrl', 'http://w.test/fail?at=1,2', [b, c]],
    ['workflowUrl', 'http://w.test/fail?at=1,2,http://w.test/fail?at=1', [c]],
    ['callerIp', '10.0.0.1,127.0.0.1', [a, b, c]],
  ];
  for (const [dialect, path] of LISTINGS) {
    for (const [name, text, expected] of table) {
      const only = name === 'callerIp' ? '&label=list-a&label=list-b&label=list-c' : '';
      for (const [spelling, write] of Object.entries(SPELLINGS))
        assert.deepEqual(
          await found(dialect, path, write(name, text) + only),
          expected.toSorted(),
          `${path} ${name}=${text}, ${spelling}`,
        );
    }
    const literal: readonly (readonly [name: string, value: string, expected: readonly string[]])[] = [
      ['flowControlKey', 'key,2', [b]],
      ['workflowUrl', 'http://w.test/fail?at=1,2', [b]],
    ];
    for (const [name, value, expected] of literal)
      assert.deepEqual(await found(dialect, path, repeated(name, [value, value])), expected, `${path} ${name} repeated`);
  }
});

const BULKS: readonly (readonly [Dialect, Method, string])[] = DIALECTS.flatMap((dialect) => [
  [dialect, 'POST', '/v2/workflows/dlq/resume'] as const,
  [dialect, 'POST', '/v2/workflows/dlq/restart'] as const,
  [dialect, 'DELETE', '/v2/workflows/dlq'] as const,
  ...(dialect === 'upstash'
    ? ([
        [dialect, 'DELETE', '/v2/dlq'],
        [dialect, 'POST', '/v2/dlq/retry'],
      ] as const)
    : []),
]);

test('every bulk operation accepts dlqIds and filters with any notation of commas', async () => {
  for (const [dialect, method, path] of BULKS) {
    for (const [spelling, write] of Object.entries(SPELLINGS)) {
      const name = `${dialect} ${method} ${path}, ${spelling}`;
      const label = `bulk-${name.replaceAll(/\W/g, '-')}`;
      const [a = '', b = ''] = await harness.fail(2, { 'svc-label': label, 'svc-flow-control-key': `${label},1` });
      const call = (query: string) =>
        harness.call(method, `${path}?${query}`, { headers: { ...HEADERS[dialect], ...otherLabelHeaders(method) } });
      const byIds = await call(write('dlqIds', `${a},${b},${a}`));
      assert.ok(byIds.status < 300, `${name}: ${JSON.stringify(byIds.body)}`);
      assert.deepEqual(await found(dialect, '/v2/workflows/dlq', `label=${label}`), [], name);

      const [c = '', d = ''] = await harness.fail(2, { 'svc-label': label, 'svc-flow-control-key': `${label},1` });
      const literal = await call(repeated('flowControlKey', [`${label}`, '1']));
      assert.ok(literal.status < 300, name);
      assert.deepEqual(await found(dialect, '/v2/workflows/dlq', `label=${label}`), [c, d].toSorted(), name);
      assert.ok((await call(write('flowControlKey', `${label},1`))).status < 300, name);
      assert.deepEqual(await found(dialect, '/v2/workflows/dlq', `label=${label}`), [], name);

      const [e = ''] = await harness.fail(1, { 'svc-label': label });
      assert.ok((await call(write('label', `no-such-label,${label}`))).status < 300, name);
      assert.ok(!(await found(dialect, '/v2/workflows/dlq', `label=${label}`)).includes(e), name);
    }
  }
});
/** Returns headers that give the new runs of a bulk operation another label, because they fail again. */
const otherLabelHeaders = (method: Method): Readonly<Record<string, string>> =>
  method === 'POST' ? { 'svc-label': 'again', 'upstash-label': 'again' } : {};

test('limits of a bulk operation apply to the values after splitting', async () => {
  const ids = (count: number) => Array.from({ length: count }, (_, i) => `dlq_${i}`).join(',');
  for (const [dialect, method, path] of BULKS) {
    const max = dialect === 'native' || path.startsWith('/v2/dlq') ? LIMITS.bulkMax : LIMITS.deadLettersPageMax;
    for (const write of Object.values(SPELLINGS)) {
      const call = (query: string) => harness.call(method, `${path}?${query}`, { headers: HEADERS[dialect] });
      assert.equal((await call(write('dlqIds', ids(max + 1)))).status, 400, `${dialect} ${method} ${path}`);
      assert.equal((await call(write('dlqIds', 'dlq_1,,dlq_2'))).status, 400);
      assert.equal((await call(write('dlqIds', ','))).status, 400);
      if (method === 'POST') assert.equal((await call(write('dlqIds', ids(max)))).status, 404);
    }
    const empty = await harness.call(method, `${path}?dlqIds=`, { headers: HEADERS[dialect] });
    assert.equal(empty.status, 400);
    assert.match(empty.body.error, /dlqIds must not be empty/);
  }
});

test('a cursor is valid for the same values in another notation only', async () => {
  for (const dialect of DIALECTS) {
    await harness.fail(3, { 'svc-label': `cursor-${dialect}` });
    const label = `cursor-${dialect}`;
    const headers = HEADERS[dialect];
    const first = await harness.call<{ cursor: string }>('GET', `/v2/workflows/dlq?count=1&label=x,${label}`, { headers });
    const next = (query: string) =>
      harness.call('GET', `/v2/workflows/dlq?count=1&cursor=${encodeURIComponent(first.body.cursor)}&${query}`, { headers });
    assert.equal((await next(`label=${label}%2Cx`)).status, 200);
    assert.equal((await next(`label=${label}&label=x`)).status, 200);
    assert.equal((await next(`label=x%2C${label}&label=y`)).status, 400);
    assert.equal((await next(`label=${label}`)).status, 400);
  }
});

test('logs, search and cancel accept filters with any notation of commas', async () => {
  const labels = [];
  for (const label of ['log-a', 'log-b']) {
    await harness.trigger('hang', {
      'svc-label': label,
      'svc-flow-control-key': `${label},x`,
      'svc-workflow-runid': `${label},1`,
    });
    labels.push(label);
  }
  const text = labels.join(',');
  for (const write of Object.values(SPELLINGS)) {
    for (const [dialect, path] of [
      ['native', '/v2/workflows/logs'],
      ['native', '/v2/workflows/search'],
      ['upstash', '/v2/workflows/logs'],
    ] as const) {
      const count = async (query: string) =>
        (await harness.call<{ runs: readonly object[] }>('GET', `${path}?${query}`, { headers: HEADERS[dialect] })).body.runs
          .length;
      assert.equal(await count(write('label', text)), 2, path);
      assert.equal(await count(write('flowControlKey', 'log-a,x')), 1, path);
      assert.equal(await count(repeated('flowControlKey', ['log-a', 'x'])), 0, path);
    }
  }
  const cancel = async (query: string) =>
    (await harness.call<{ cancelled: number }>('DELETE', `/v2/workflows/runs?${query}`, { headers: UPSTASH })).body.cancelled;
  assert.equal(await cancel('workflowUrl=http%3A%2F%2Fw.test%2Fhang%2Cx&label=log-a'), 0, 'a part of a URL is not a URL prefix');
  assert.equal(await cancel('workflowRunIds=log-a%2C1'), 1, 'an id with a comma');
  assert.equal(await cancel('label=log-x%2Clog-b&workflowUrl=http%3A%2F%2Fn%2F%2Chttp%3A%2F%2Fw.test%2F'), 1);
});

test('events and cancel of messages accept filters with any notation of commas, including in a body', async () => {
  const send = async (label: string, key = label) => {
    const { body } = await harness.call<{ messageId: string }>('POST', '/v2/publish/http://w.test/hang', {
      headers: { 'upstash-label': label, 'upstash-flow-control-key': key, 'upstash-flow-control-value': 'parallelism=1' },
    });
    return body.messageId;
  };
  const headers = { ...UPSTASH, 'content-type': 'application/json' };
  const cancel = async (query: string, body?: object) =>
    (
      await harness.call<{ cancelled: number }>('DELETE', `/v2/messages${query}`, {
        headers,
        ...(body ? { body: JSON.stringify(body) } : {}),
      })
    ).body.cancelled;
  for (const write of Object.values(SPELLINGS)) {
    const ids = [await send('event-a'), await send('event-b')];
    const events = await harness.call<{ events: readonly { messageId: string }[] }>(
      'GET',
      `/v2/events?${write('messageIds', ids.join(','))}`,
      { headers },
    );
    assert.deepEqual(new Set(events.body.events.map(({ messageId }) => messageId)), new Set(ids));
    assert.equal(await cancel(`?${write('label', 'event-a,event-b')}`), 2);
  }
  await send('event-a', 'key,1');
  assert.equal(await cancel('', { flowControlKey: ['key'] }), 0);
  assert.equal(await cancel('', { flowControlKey: ['1,key,1'] }), 0);
  assert.equal(await cancel('', { flowControlKey: ['key,1'] }), 1, 'an array contains literal values');
  await send('event-a', 'key');
  assert.equal(await cancel('', { flowControlKey: ['key,1'] }), 0);
  assert.equal(await cancel('', { flowControlKey: 'key,1', label: 'event-a,event-b' }), 1, 'a string is read as one parameter');
});
