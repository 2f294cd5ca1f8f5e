import assert from 'node:assert/strict';
import { test } from 'node:test';
import { responseOf } from './endpoint.mjs';
import { bytesOf, damagedRequest } from './raw-http.mjs';
import { operationsOf, requestOf } from './requests.mjs';

const DOCUMENT = {
  paths: {
    '/v2/things/{thingId}': {
      put: {
        operationId: 'putThing',
        parameters: [
          { in: 'path', name: 'thingId', required: true, schema: { type: 'string' } },
          { in: 'query', name: 'count', schema: { type: 'integer', minimum: 1, maximum: 10 } },
          { $ref: '#/components/parameters/Label' },
        ],
        requestBody: { content: { 'application/json': { schema: { $ref: '#/components/schemas/Thing' } } } },
      },
    },
    '/v2/trigger/{workflowUrl}': { post: { operationId: 'triggerRun' } },
  },
  components: {
    parameters: { Label: { in: 'header', name: 'Svc-Label', schema: { type: 'string', maxLength: 5 } } },
    schemas: {
      Thing: {
        type: 'object',
        required: ['name'],
        properties: { name: { type: 'string' }, inner: { $ref: '#/components/schemas/Thing' } },
      },
    },
  },
};
const operations = operationsOf({ runtime: DOCUMENT });
const harness = {
  credentialOf: () => [['authorization', 'Bearer t']],
  nameOf: (name) => (name === 'thingId' ? 'known' : undefined),
};
const make = (seed, n) => requestOf(operations, seed, n, harness);
const wire = (request) => {
  const bytes = bytesOf(request, 'h');
  return (request.damage === null ? bytes : damagedRequest(bytes, request.damage)).toString('base64');
};

test('a request depends only on the seed and its number', () => {
  const numbers = Array.from({ length: 400 }, (_, n) => n);
  const first = numbers.map((n) => wire(make(7, n)));
  assert.deepEqual(
    numbers.toReversed().map((n) => wire(make(7, n))),
    first.toReversed(),
  );
  assert.notDeepEqual(
    numbers.map((n) => wire(make(8, n))),
    first,
  );
});

test('every operation and every kind of damage occurs, with existing and unknown names', () => {
  const made = Array.from({ length: 2_000 }, (_, n) => make(1, n));
  assert.deepEqual([...new Set(made.map(({ operationId }) => operationId))].sort(), ['putThing', 'triggerRun']);
  assert.deepEqual([...new Set(made.map(({ kind }) => kind))].sort(), ['body', 'credential', 'input', 'method', 'none', 'raw']);
  const things = made.filter(({ operationId }) => operationId === 'putThing');
  assert.ok(things.some(({ target }) => target.startsWith('/v2/things/known')));
  assert.ok(things.some(({ target }) => !target.startsWith('/v2/things/known')));
  const bodies = things.map(({ body }) => body?.toString() ?? '');
  assert.ok(bodies.some((body) => body.length > 20_000) && bodies.some((body) => body === '{"name":"a"}'));
  // A line break would end the request target and start another request.
  assert.ok(made.every(({ target }) => !/\s/.test(target)));
});

test('a response of the endpoint depends only on the seed and its number', () => {
  const responses = (seed) => Array.from({ length: 200 }, (_, n) => responseOf(seed, n).bytes.toString('base64'));
  assert.deepEqual(responses(3), responses(3));
  assert.notDeepEqual(responses(3), responses(4));
});
