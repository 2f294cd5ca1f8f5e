import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { MANAGEMENT_OPERATIONS } from '../management/index.js';
import { OPERATIONS } from '../operations/index.js';
import { SEARCH_OPERATIONS } from '../search/index.js';
import { pathsOf } from '../server/routing.js';
import { ApiHarness } from '../testing/api-harness.js';
import { UPSTASH_MANAGEMENT_OPERATIONS, UPSTASH_OPERATIONS } from './index.js';

interface OperationObject {
  readonly operationId: string;
  readonly summary: string;
  readonly security?: readonly object[];
  readonly parameters: readonly { readonly name: string; readonly in: string; readonly description?: string }[];
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content?: object }>>;
}
interface OpenApi {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
}

const ALL = [...UPSTASH_OPERATIONS, ...UPSTASH_MANAGEMENT_OPERATIONS];
let harness: ApiHarness;
let document: OpenApi;
before(async () => {
  harness = await ApiHarness.open();
  const response = await harness.send<OpenApi>({ method: 'GET', url: '/openapi-upstash.json' });
  assert.equal(response.status, 200, 'the document requires no token');
  document = response.body;
});
after(() => harness.close());

const operations = () =>
  Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ name: `${method.toUpperCase()} ${path}`, path, operation })),
  );

test('the document lists every route of the dialect once, with unique operation ids', () => {
  assert.match(document.openapi, /^3\.1\./);
  const declared = ALL.flatMap((operation) => pathsOf(operation).map((path) => `${operation.method} ${path}`));
  assert.deepEqual(
    operations()
      .map(({ name }) => name)
      .toSorted(),
    declared.toSorted(),
  );
  const ids = [...ALL, ...OPERATIONS, ...MANAGEMENT_OPERATIONS, ...SEARCH_OPERATIONS].map(({ operationId }) => operationId);
  assert.equal(new Set(ids).size, ids.length);
});

test('every operation except the document itself belongs to this dialect', () => {
  const others = ALL.filter(({ dialect }) => dialect !== 'upstash').map(({ operationId }) => operationId);
  assert.deepEqual(others, ['getUpstashOpenApi']);
});

test('header names have the prefix of the dialect, and path parameters are described', () => {
  for (const { name, path, operation } of operations()) {
    for (const header of operation.parameters.filter((parameter) => parameter.in === 'header'))
      assert.match(header.name, /^Upstash-/, name);
    const inPath = operation.parameters.filter((parameter) => parameter.in === 'path');
    assert.deepEqual(
      inPath.map((parameter) => `{${parameter.name}}`),
      path.match(/\{\w+\}/g) ?? [],
      name,
    );
    assert.ok(operation.summary.length > 5, name);
  }
  const published = document.paths['/v2/publish/{destination}']?.post?.parameters.map((parameter) => parameter.name) ?? [];
  for (const name of ['Upstash-Method', 'Upstash-Callback', 'Upstash-Forward-*', 'Upstash-Deduplication-Id'])
    assert.ok(published.includes(name), name);
});

test('a response without a body has no content, and management operations require HTTP Basic', () => {
  assert.equal(document.paths['/v2/queues']?.post?.responses['200']?.content, undefined);
  assert.ok(document.paths['/v2/queues']?.get?.responses['200']?.content);
  assert.deepEqual(document.paths['/v2/qstash/users']?.get?.security, [{ basic: [] }]);
});

test('every reference resolves, and every named schema is used', () => {
  const text = JSON.stringify(document);
  const references = new Set(text.match(/#\/components\/schemas\/\w+/g)?.map((reference) => reference.split('/').at(-1) ?? ''));
  assert.deepEqual([...references].toSorted(), Object.keys(document.components.schemas).toSorted());
});
