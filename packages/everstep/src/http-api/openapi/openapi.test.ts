import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ERROR_CODES } from '../../contract/error-codes.js';
import { OPERATIONS } from '../operations/index.js';
import { pathsOf } from '../server/routing.js';
import { ApiHarness } from '../testing/api-harness.js';
import { type CheckedRequest, checkResponse } from '../testing/openapi-check.js';

interface ParameterObject {
  readonly name: string;
  readonly in: string;
  readonly required: boolean;
  readonly description?: string;
  readonly schema: object;
}
interface OperationObject {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly security?: readonly unknown[];
  readonly parameters: readonly ParameterObject[];
  readonly requestBody?: { readonly content: Readonly<Record<string, unknown>> };
  readonly responses: Readonly<
    Record<string, { readonly description: string; readonly content: Record<string, { schema: object }> }>
  >;
}
interface OpenApi {
  readonly openapi: string;
  readonly info: { readonly version: string };
  readonly security: readonly unknown[];
  readonly tags: readonly { readonly name: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>>; readonly securitySchemes: object };
}

let harness: ApiHarness;
let document: OpenApi;
before(async () => {
  harness = await ApiHarness.open();
  const received = await harness.send<OpenApi>({ method: 'GET', url: '/openapi.json' });
  assert.equal(received.status, 200, 'it needs no token');
  document = received.body;
});
after(() => harness.close());

const operations = () =>
  Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );

test('the document is OpenAPI 3.1 with version 2.0.0 and contains every route once', () => {
  assert.match(document.openapi, /^3\.1\./);
  assert.equal(document.info.version, '2.0.0');
  const documented = operations().map(({ method, path }) => `${method} ${path}`);
  const declared = OPERATIONS.flatMap((operation) => pathsOf(operation).map((path) => `${operation.method} ${path}`));
  assert.deepEqual(documented.toSorted(), declared.toSorted());
  assert.equal(new Set(declared).size, declared.length);
});

test('every operation has a unique id, a summary, a description, a tag and response schemas', () => {
  const ids = new Set<string>();
  const tags = new Set(document.tags.map(({ name }) => name));
  for (const { path, method, operation } of operations()) {
    const name = `${method} ${path}`;
    assert.match(operation.operationId, /^[a-z][A-Za-z0-9]+$/, name);
    assert.ok(!ids.has(operation.operationId), name);
    ids.add(operation.operationId);
    assert.ok(operation.summary.length > 5 && operation.description.endsWith('.'), name);
    assert.ok(
      operation.tags.every((tag) => tags.has(tag)),
      name,
    );
    const statuses = Object.keys(operation.responses);
    assert.ok((statuses.includes('200') || statuses.includes('201')) && statuses.includes('500'), name);
    // The metrics have a token of the operator, which is not a security scheme of the API.
    if (path !== '/metrics') assert.equal(statuses.includes('401'), operation.security === undefined, name);
    for (const [status, response] of Object.entries(operation.responses)) {
      assert.ok(response.description !== '', `${name} ${status}`);
      const { schema } = Object.values(response.content)[0] ?? {};
      assert.ok(schema, `${name} ${status}`);
      if (Number(status) >= 400) assert.deepEqual(schema, { $ref: '#/components/schemas/Error' }, `${name} ${status}`);
    }
  }
});

test('every path parameter is declared, and every parameter has a schema and a description', () => {
  for (const { path, method, operation } of operations()) {
    const name = `${method} ${path}`;
    const inPath = operation.parameters.filter((parameter) => parameter.in === 'path');
    assert.deepEqual(
      inPath.map((parameter) => `{${parameter.name}}`),
      path.match(/\{\w+\}/g) ?? [],
      name,
    );
    assert.ok(inPath.every(({ required }) => required));
    for (const parameter of operation.parameters) {
      assert.ok(parameter.schema, `${name} ${parameter.name}`);
      assert.ok(parameter.name === 'state' || parameter.description, `${name} ${parameter.name}`);
    }
  }
});

test('every reference leads to a schema, and every named schema is in use', () => {
  const text = JSON.stringify(document);
  const references = new Set(text.match(/#\/components\/schemas\/\w+/g)?.map((reference) => reference.split('/').at(-1) ?? ''));
  assert.deepEqual([...references].toSorted(), Object.keys(document.components.schemas).toSorted());
});

test('the document contains the names of the specification', () => {
  const names = (path: string, method: string, where: string) =>
    document.paths[path]?.[method]?.parameters.filter((parameter) => parameter.in === where).map(({ name }) => name) ?? [];
  const filters = [
    'fromDate',
    'toDate',
    'workflowUrl',
    'workflowRunId',
    'workflowCreatedAt',
    'label',
    'failureFunctionState',
    'callerIp',
    'flowControlKey',
  ];
  const has = (given: readonly string[], wanted: readonly string[], what: string) => {
    for (const name of wanted) assert.ok(given.includes(name), `${what}: ${name}`);
  };
  has(names('/v2/workflows/dlq', 'get', 'query'), ['cursor', 'count', ...filters], 'DLQ listing');
  const logFilters = ['cursor', 'workflowRunId', 'workflowUrl', 'workflowCreatedAt', 'state', 'fromDate', 'toDate', 'count'];
  has(names('/v2/workflows/logs', 'get', 'query'), logFilters, 'logs');
  const overrides = ['Retries', 'Delay', 'Retry-Delay', 'Flow-Control-Key', 'Flow-Control-Value', 'Label', 'Failure-Callback'];
  for (const kind of ['resume', 'restart']) {
    has(names(`/v2/workflows/dlq/${kind}`, 'post', 'query'), ['dlqIds', 'cursor', 'count', ...filters], kind);
    has(
      names(`/v2/workflows/dlq/${kind}`, 'post', 'header'),
      overrides.map((name) => `Svc-${name}`),
      kind,
    );
    for (const path of [`/v2/workflows/dlq/${kind}/{dlqId}`, `/v2/dlq/${kind}/{dlqId}`])
      has(
        names(path, 'post', 'header'),
        ['Svc-Workflow-RunId', 'Svc-Flow-Control-Key', 'Svc-Flow-Control-Value', 'Svc-Retries'],
        path,
      );
  }
});

test('the check finds a response that does not match the document', () => {
  const page = { cursor: '', messages: [] };
  const list = (
    { status, body, code }: { status: number; body: unknown; code?: string },
    request: Partial<CheckedRequest> = {},
  ) =>
    checkResponse(
      { method: 'GET', url: '/v2/workflows/dlq?label=a', ...request },
      { status, body, headers: { 'svc-error-code': code } },
    );
  const notFound = { status: 404, body: { error: 'x' }, code: 'not-found' };
  list({ status: 200, body: page });
  list(notFound, { method: 'POST', url: '/v2/dlq/resume/dlq_1' });
  const wrong: readonly Parameters<typeof list>[] = [
    [{ status: 200, body: { messages: [] } }],
    [{ status: 200, body: { ...page, extra: 1 } }],
    [{ status: 200, body: { ...page, messages: [{}] } }],
    [{ status: 200, body: page, code: 'not-found' }],
    [{ status: 201, body: page }],
    [{ status: 400, body: { error: 1 }, code: 'bad-cursor' }],
    [{ status: 400, body: { error: 'x', code: 'y' }, code: 'bad-cursor' }],
    [{ status: 400, body: { error: 'x' } }],
    [{ status: 400, body: { error: 'x' }, code: 'not-found' }],
    [{ status: 400, body: { error: 'x' }, code: 'run-over' }],
    [{ status: 200, body: page }, { url: '/v2/nothing' }],
    [{ status: 200, body: page }, { method: 'PUT' }],
  ];
  for (const [response, request] of wrong) assert.throws(() => list(response, request), JSON.stringify({ response, request }));
});

test('every declared error code exists', () => {
  for (const { errors, operationId } of OPERATIONS)
    for (const code of errors) assert.ok(ERROR_CODES[code], `${operationId}: ${code}`);
});
