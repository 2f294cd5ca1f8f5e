/**
 * Sends bodies with one invalid field to every operation of all APIs. The bodies are generated from the OpenAPI documents.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { MAX_JSON_DEPTH } from '@everstep/sdk/protocol';
import { basicOf } from '../../accounts/people.fixture.js';
import { BUILT_IN_PLANS, DEFAULT_PLAN_NAME, setPlanForNewInstances } from '../../accounts/plans/plans.js';
import { ERROR_CODES } from '../../contract/error-codes.js';
import { patternRequirement } from '../../contract/patterns.js';
import { MANAGEMENT_OPERATIONS } from '../management/index.js';
import { managementOpenApiDocument } from '../management/openapi.js';
import { openApiDocument } from '../openapi/openapi.js';
import { maxBodyBytesOf, type Operation } from '../operation.js';
import { OPERATIONS } from '../operations/index.js';
import { SEARCH_OPERATIONS, searchOpenApiDocument } from '../search/index.js';
import type { ApiResponse, ErrorResponse } from '../testing/api-harness.js';
import { BadBodies, type BodySchema } from '../testing/bad-bodies.js';
import { TestObjects } from '../testing/isolation-objects.js';
import { ISOLATION } from '../testing/isolation-table.js';

interface Documented {
  readonly paths?: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>;
  readonly components?: { readonly schemas?: Readonly<Record<string, BodySchema>> };
}
interface DocumentedOperation {
  readonly requestBody?: {
    readonly required?: boolean;
    readonly content: Readonly<Record<string, { readonly schema: BodySchema }>>;
  };
}

/** Operation with a JSON body: a valid body, and a function that sends another one. */
interface Taker {
  readonly operation: Operation;
  readonly schema: BodySchema;
  readonly isRequired: boolean;
  readonly bodies: BadBodies;
  readonly right: unknown;
  send(payload: string | Buffer | undefined, contentType?: string, query?: string): Promise<ApiResponse<ErrorResponse>>;
}

let objects: TestObjects;
let takers: readonly Taker[];

const documents: readonly (readonly [Documented, readonly Operation[]])[] = [
  [openApiDocument('0.0.0'), OPERATIONS],
  [searchOpenApiDocument('0.0.0'), SEARCH_OPERATIONS],
  [managementOpenApiDocument('0.0.0'), MANAGEMENT_OPERATIONS],
];

/** Sends as the owner of all resources, as an operator, or with a read-write token. */
async function takerOf(document: Documented, operation: Operation): Promise<Taker | null> {
  const { method, path, operationId, access } = operation;
  const described = document.paths?.[path]?.[method.toLowerCase()]?.requestBody;
  const schema = described?.content['application/json']?.schema;
  const row = ISOLATION[operationId];
  if (!described || !schema || !row) return null;
  const index = await objects.index();
  const asked = await row.prepare(objects);
  const params: Readonly<Record<string, string>> =
    access === 'index' ? { indexId: index.index.indexId, namespace: 'n' } : (asked.params ?? {});
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => params[name] ?? 'none');
  const person = ['setInstancePlan', 'setAllowedDestinations'].includes(operationId) ? 'operator' : 'owner';
  const authorization = {
    account: basicOf(person),
    index: `Bearer ${index.token}`,
    token: `Bearer ${objects.harness.token}`,
    open: '',
    session: '',
  };
  const bodies = new BadBodies(document.components?.schemas ?? {});
  return {
    operation,
    schema,
    isRequired: described.required === true,
    bodies,
    right: asked.body ?? bodies.sample(schema),
    send(payload, contentType, query = '') {
      const headers = {
        authorization: authorization[access],
        ...(contentType === undefined ? {} : { 'content-type': contentType }),
      };
      return objects.harness.send({ method, url: `${filled}${query}`, headers, ...(payload === undefined ? {} : { payload }) });
    },
  };
}

before(async () => {
  // The rate limit is not part of this test.
  objects = await TestObjects.open({ plans: setPlanForNewInstances(BUILT_IN_PLANS, DEFAULT_PLAN_NAME) ?? BUILT_IN_PLANS });
  const found: Taker[] = [];
  for (const [document, operations] of documents) {
    for (const operation of operations) {
      const taker = await takerOf(document, operation);
      if (taker) found.push(taker);
    }
  }
  takers = found;
});
after(() => objects.harness.close());

/** Names of all fields in a schema. */
function patternsOf(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  return Object.entries(schema).flatMap(([name, value]) =>
    name === 'pattern' && typeof value === 'string' ? [value] : patternsOf(value),
  );
}

test('each pattern of a body has an error message that says what to send', () => {
  const patterns = new Set(takers.flatMap(({ operation: { body } }) => (body?.kind === 'json' ? patternsOf(body.schema) : [])));
  assert.ok(patterns.size > 1);
  for (const pattern of patterns) assert.ok(patternRequirement(pattern), pattern);
});

test('the test covers every operation with a JSON body', () => {
  const taking = documents.flatMap(([, operations]) => operations.filter(({ body }) => body?.kind === 'json'));
  assert.deepEqual(
    takers.map(({ operation }) => operation.operationId),
    taking.map(({ operationId }) => operationId),
  );
  assert.ok(takers.length >= 25, String(takers.length));
});

test('rejects every invalid field of every body with 400 and names the field', async (t) => {
  for (const { operation, schema, bodies, right, send } of takers) {
    await t.test(`${operation.method} ${operation.path}`, async () => {
      let tried = 0;
      for (const { text, errorText } of bodies.invalidBodies(schema, right)) {
        tried += 1;
        const { status, headers, body } = await send(text, 'application/json');
        assert.deepEqual(
          [status, headers['svc-error-code']],
          [400, 'bad-body'],
          `${text.slice(0, 300)}: ${JSON.stringify(body)}`,
        );
        assert.ok(body.error.includes(errorText), `${text.slice(0, 300)}: "${body.error}" does not contain ${errorText}`);
        assert.ok(body.error.length < 300, `${text.slice(0, 300)}: ${body.error}`);
      }
      assert.ok(tried >= 10, `${tried} bodies were tried`);
    });
  }
});

test('rejects a missing body, invalid JSON and other content types', async () => {
  for (const { operation, isRequired, right, send } of takers) {
    const text = JSON.stringify(right);
    const expect = async (
      code: 'bad-body' | 'unsupported-media-type',
      payload: string | Buffer | undefined,
      contentType?: string,
    ) => {
      const { status, headers, body } = await send(payload, contentType);
      const what = `${operation.operationId} ${contentType} ${payload}: ${JSON.stringify(body)}`;
      assert.deepEqual([status, headers['svc-error-code']], [ERROR_CODES[code].status, code], what);
    };
    if (isRequired) {
      await expect('bad-body', undefined);
      await expect('bad-body', '', 'application/json');
    }
    for (const broken of [
      '{"name":',
      '{',
      ']',
      `${text}${text}`,
      `${text},`,
      '{"a":1,}',
      "{'a':1}",
      '{a:1}',
      '// {}',
      '"\n"',
      '\u0000',
    ])
      await expect('bad-body', broken, 'application/json');
    await expect('bad-body', Buffer.from([0x7b, 0xff]), 'application/json');
    await expect('bad-body', Buffer.from(`\ufeff${text}`, 'utf16le'), 'application/json');
    for (const contentType of [
      'text/plain',
      'text/json',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'application/xml',
      'application/octet-stream',
      'application/jsonx',
      'application/json; charset=iso-8859-1',
      'application/json, text/plain',
      'nonsense',
      '*/*',
    ])
      await expect('unsupported-media-type', text, contentType);
  }
});

test('rejects deeply nested JSON before parsing it, in every operation', async () => {
  const limits = new Set<number>();
  for (const { operation, schema, send } of takers) {
    // One operation of each limit receives the longest bodies, which take most of the time.
    const limit = maxBodyBytesOf(operation);
    const maxBytes = limits.has(limit) ? Math.min(limit, 16 * MAX_JSON_DEPTH) : limit;
    limits.add(limit);
    for (const bracket of ['{', '[', '{"a":', '[{"":']) {
      // The longer bodies are not that deep.
      if (maxBytes / bracket.length <= 2 * MAX_JSON_DEPTH) continue;
      const { status, headers, body } = await send(
        bracket.repeat(Math.floor((maxBytes - 1) / bracket.length)),
        'application/json',
      );
      assert.deepEqual([status, headers['svc-error-code']], [400, 'bad-body'], operation.operationId);
      assert.equal(body.error, 'the JSON body exceeds a limit: nested deeper than 256 levels', JSON.stringify(schema));
    }
  }
});

test('rejects a JSON body over the limit of the operation', async () => {
  for (const { operation, send } of takers) {
    const maxBytes = maxBodyBytesOf(operation);
    const { status, headers, body } = await send(`"${'x'.repeat(maxBytes - 1)}"`, 'application/json');
    assert.deepEqual([status, headers['svc-error-code']], [413, 'body-too-large'], operation.operationId);
    assert.equal(body.error, `the request body must not be larger than ${maxBytes} bytes`);
  }
  const smallest = takers.filter(({ operation }) => operation.access === 'account');
  assert.ok(smallest.length > 5);
  for (const { operation } of smallest) assert.ok(maxBodyBytesOf(operation) <= 64 * 1024, operation.operationId);
});

test('rejects a query parameter next to a body if the operation does not have it', async () => {
  const refusing = takers.filter(({ operation }) => operation.unknownQuery === 'refuse');
  assert.ok(refusing.length >= 18, String(refusing.length));
  for (const { operation, right, send } of refusing) {
    const { status, headers } = await send(JSON.stringify(right), 'application/json', '?surprise=1');
    assert.deepEqual([status, headers['svc-error-code']], [400, 'bad-parameter'], operation.operationId);
  }
});

test('accepts JSON with each of its media types', async () => {
  const { send } = takers.find(({ operation }) => operation.operationId === 'createTeam') ?? assert.fail();
  for (const contentType of [
    undefined,
    'application/json',
    'APPLICATION/JSON',
    'application/json;charset=utf-8',
    'application/json; charset="UTF-8"',
    'application/json ; charset=utf8',
    'application/merge-patch+json',
  ])
    assert.equal((await send('{"team_name":"n"}', contentType)).status, 200, contentType);
});

/** Constraints that schemas do not express, by operation. */
const BEYOND: readonly (readonly [operationId: string, field: string, values: readonly unknown[]])[] = [
  ['updateInstanceBudget', 'budget', [1, 2, 19, -1, -20, 10_001, 20.5, 0.5, '20', '', null, true, [20], {}, 1e308]],
  [
    'setInstanceBudgetAlert',
    'url',
    ['mailto:a@b', 'ftp://w.test/', 'nonsense', '//w.test', 'http://', 'http://u:p@w.test/', 'http://w.test:99999/'],
  ],
  ['setOutboundRules', 'deny', [['a b'], ['ok.example', 'http://x/'], ['10.0.0.0/33'], ['x:0'], ['']]],
  ['setOutboundRules', 'only', [['*'], ['127.1']]],
  ['setAllowedDestinations', 'allow', [['10.0.0/8'], ['x.example:port']]],
  ['setInstancePlan', 'plan_name', ['huge', 'Default', 'default ']],
  ['createInstance', 'region', ['mars-1', 'EU-CENTRAL-1', 'eu-central-1,us-east-1']],
  ['createSearchIndex', 'type', ['gold', 'Free']],
  [
    'setTeamMember',
    'member_email',
    ['a', 'a@', '@w.test', 'a b@w.test', 'a:b@w.test', 'a@b@w.test', `${'x'.repeat(300)}@w.test`, 'a@w.test\n'],
  ],
  ['setTeamMember', 'member_role', ['owner', 'Dev', 'king', 'dev,admin']],
  ['removeTeamMember', 'member_email', ['a', 'a@', '@w.test', 'a b@w.test']],
  ['searchDocuments', 'filter', ['a =', '(', 'a = 1 AND', "a = 'x", 'a ? 1', '()', 'HAS a', 'a IN ()']],
  ['deleteDocuments', 'filter', ['a =', '(', ' ']],
  ['listDocuments', 'cursor', ['*', 'AA=', '/', '1']],
];

test('rejects violations of constraints that schemas do not express, and names the field', async (t) => {
  for (const [operationId, field, values] of BEYOND) {
    await t.test(`${field} of ${operationId}`, async () => {
      const { right, send } = takers.find(({ operation }) => operation.operationId === operationId) ?? assert.fail();
      const base = operationId === 'deleteDocuments' ? {} : right;
      for (const value of values) {
        const { status, body } = await send(JSON.stringify({ ...Object(base), [field]: value }), 'application/json');
        assert.equal(status, 400, `${JSON.stringify(value)}: ${JSON.stringify(body)}`);
        assert.match(body.error, new RegExp(`body\\.${field}`), JSON.stringify(value));
      }
    });
  }
});

test('accepts a budget of 0 or 20 to 10000', async () => {
  const { send } = takers.find(({ operation }) => operation.operationId === 'updateInstanceBudget') ?? assert.fail();
  for (const budget of ['0', '20', '21', '9999', '10000', '-0', '20.0', '2e1'])
    assert.equal((await send(`{"budget":${budget}}`, 'application/json')).status, 200, budget);
});
