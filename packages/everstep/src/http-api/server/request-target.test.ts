import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEFAULT_REGION } from '../../config/regions.js';
import { ApiError } from '../../contract/error-codes.js';
import { DIALECTS } from '../../dialects/index.js';
import { credentialOf } from '../admission/authentication.js';
import { OPERATIONS } from '../operations/index.js';
import { regionOf } from './region.js';
import { PathTable, routedUrl } from './routing.js';
import { encodeIds, splitTarget, takeToken } from './target.js';

test('the first label of the host selects the region', () => {
  const table: Readonly<Record<string, string>> = {
    'us-east-1.example.com': 'us-east-1',
    'queue-us-east-1.example.com:8080': 'us-east-1',
    'US-East-1.localhost': 'us-east-1',
    'eu-central-1.localhost:1': 'eu-central-1',
    'us-east-1': 'us-east-1',
    localhost: DEFAULT_REGION,
    '127.0.0.1:8080': DEFAULT_REGION,
    '[::1]:8080': DEFAULT_REGION,
    'example.com': DEFAULT_REGION,
    'queue.example.com': DEFAULT_REGION,
    'myapp-1.example.com': DEFAULT_REGION,
    'us-east-1x.example.com': DEFAULT_REGION,
    'my-app-1.example.com': DEFAULT_REGION,
    'queue-my-app-1.example.com': DEFAULT_REGION,
    'ev-test-2.localhost': DEFAULT_REGION,
    '': DEFAULT_REGION,
  };
  for (const [host, region] of Object.entries(table)) assert.equal(regionOf(host), region, host);
  assert.equal(regionOf(undefined), DEFAULT_REGION);
  assert.equal(regionOf('localhost', 'us-east-1'), 'us-east-1');
});

test('rejects a host of an unknown region and lists the regions', () => {
  for (const host of ['ap-south-1.example.com', 'queue-eu-west-2.localhost', 'us-gov-west-1.localhost'])
    assert.throws(
      () => regionOf(host),
      (error) => error instanceof ApiError && error.code === 'unknown-region' && /us-east-1 or eu-central-1/.test(error.message),
      host,
    );
});

test('splits a target at its first question mark, with or without an origin', () => {
  assert.deepEqual(splitTarget('/a/b?c=d?e'), { path: '/a/b', query: 'c=d?e' });
  assert.deepEqual(splitTarget('/a'), { path: '/a', query: '' });
  assert.deepEqual(splitTarget('http://host:1/a?b'), { path: '/a', query: 'b' });
  assert.equal(routedUrl('POST', '/v2/trigger/http://w/%zz?a=1'), '/v2/trigger/-');
  assert.equal(routedUrl('GET', 'http://host/v2/keys?a=1'), '/v2/keys?a=1');
  assert.equal(routedUrl('GET', '/v2/keys'), '/v2/keys');
});

test('ignores a slash at the end unless a parameter is missing after it', () => {
  const table = new PathTable(OPERATIONS);
  const routed = (method: string, url: string) => routedUrl(method, url, (path) => table.resolve(path));
  assert.equal(routed('GET', '/v2/workflows/logs/?count=1'), '/v2/workflows/logs?count=1');
  assert.equal(routed('GET', 'http://host/v2/keys/'), '/v2/keys');
  assert.equal(routed('GET', '/v2/flowControl/'), '/v2/flowControl/');
  assert.equal(routed('DELETE', '/v2/workflows/runs/'), '/v2/workflows/runs/');
  assert.equal(routed('DELETE', '/v2/workflows/runs/wfr_1/'), '/v2/workflows/runs/wfr_1');
  assert.equal(routed('GET', '/v2/nothing/'), '/v2/nothing/');
  assert.equal(routed('GET', '/v2/keys//'), '/v2/keys//');
  assert.equal(routed('GET', '/'), '/');
});

test('a POST to a path of schedules contains a workflow URL, and other methods an id', () => {
  assert.equal(routedUrl('POST', '/v2/schedules/http://w/%zz?a=1'), '/v2/schedules/-');
  for (const method of ['GET', 'DELETE', 'PATCH'])
    assert.equal(routedUrl(method, '/v2/schedules/a/pause'), '/v2/schedules/a/pause');
  const table = new PathTable(OPERATIONS);
  assert.deepEqual(table.methodsAt('/v2/schedules/http://w.test/a'), ['POST']);
  assert.deepEqual(table.methodsAt('/v2/schedules/s'), ['DELETE', 'GET', 'HEAD', 'PATCH', 'POST']);
  assert.deepEqual(table.methodsAt('/v2/schedules/s/pause'), ['PATCH', 'POST']);
});

test('removes only the last token of a query', () => {
  const take = (query: string) => takeToken(query, 'svc_token');
  assert.deepEqual(take('svc_token=t'), { token: 't', remainingQuery: '' });
  assert.deepEqual(take('a=%2C&svc_token=t%2Bu&b'), { token: 't+u', remainingQuery: 'a=%2C&b' });
  assert.deepEqual(take('svc_token=a&svc_token=b'), { token: 'b', remainingQuery: 'svc_token=a' });
  assert.equal(take('a=svc_token'), null);
  assert.equal(take(''), null);
});

test('reads the credential from the header, otherwise from the query', () => {
  const target = { path: '/p', query: 'a=1&svc_token=q' };
  assert.deepEqual(credentialOf('Bearer h', target, DIALECTS.native, true), { token: 'h', target });
  assert.deepEqual(credentialOf('bearer   h ', target, DIALECTS.native, true), { token: 'h', target });
  assert.deepEqual(credentialOf(undefined, target, DIALECTS.native, true), { token: 'q', target: { path: '/p', query: 'a=1' } });
  const code = (authorization: string | undefined, query: string) => {
    try {
      credentialOf(authorization, { path: '/p', query }, DIALECTS.native, true);
    } catch (error) {
      if (error instanceof ApiError) return error.code;
    }
    return null;
  };
  assert.equal(code(undefined, ''), 'missing-token');
  assert.equal(code(undefined, 'svc_token='), 'missing-token');
  assert.equal(code('Basic dTpw', 'svc_token=q'), 'bad-token');
  assert.equal(code('Bearer', ''), 'bad-token');
  assert.equal(code('Bearer a b', ''), 'bad-token');
});

test('event ids and flow control keys can contain unencoded slashes', () => {
  const table: Readonly<Record<string, string>> = {
    '/v2/wait/a': '/v2/wait/a',
    '/v2/wait/a/b/c': '/v2/wait/a%2Fb%2Fc',
    '/v2/wait/a/b/': '/v2/wait/a%2Fb%2F',
    '/v2/waiters/a/b/': '/v2/waiters/a%2Fb/',
    '/v2/waiters': '/v2/waiters',
    '/v2/waiters/a/b%2Fc': '/v2/waiters/a%2Fb%2Fc',
    '/v2/notify/a': '/v2/notify/a',
    '/v2/notify/a/b': '/v2/notify/a/b',
    '/v2/notify/a/b/c': '/v2/notify/a/b%2Fc',
    '/v2/flowControl/': '/v2/flowControl/',
    '/v2/flowControl/a/b': '/v2/flowControl/a%2Fb',
    '/v2/flowControl/a/b/pin': '/v2/flowControl/a%2Fb/pin',
    '/v2/flowControl/pin': '/v2/flowControl/pin',
    '/v2/flowControl/a/pin/pin': '/v2/flowControl/a%2Fpin/pin',
    '/v2/flowControl/a/waiting': '/v2/flowControl/a/waiting',
    '/v2/trigger/http://w.test/a': '/v2/trigger/http://w.test/a',
  };
  for (const [path, whole] of Object.entries(table)) assert.equal(encodeIds(path), whole, path);
});

test('lists the methods of all operations that match a path', () => {
  const table = new PathTable(OPERATIONS);
  assert.deepEqual(table.methodsAt('/v2/workflows/dlq'), ['DELETE', 'GET', 'HEAD']);
  assert.deepEqual(table.methodsAt('/v2/trigger/http://w.test/a/b'), ['POST']);
  assert.deepEqual(table.methodsAt('/v2/dlq/resume/dlq_1'), ['POST']);
  assert.deepEqual(table.methodsAt('/v2/flowControl'), ['GET', 'HEAD']);
  assert.deepEqual(table.methodsAt('/v2/flowControl/'), ['GET', 'HEAD']);
  assert.deepEqual(
    table.methodsAt('/v2/webhooks/whk_1'),
    ['DELETE', 'GET', 'PATCH', 'POST', 'PUT'],
    'HEAD does not call a webhook',
  );
  assert.deepEqual(table.methodsAt('/v2/flowControl/a/b'), ['GET', 'HEAD']);
  assert.deepEqual(table.methodsAt('/v2/flowControl/a/b/pin'), ['POST']);
  assert.deepEqual(table.methodsAt('/v2/waiters/a/b'), ['GET', 'HEAD']);
  assert.deepEqual(table.methodsAt('/v2/nothing'), []);
  assert.deepEqual(table.methodsAt('/v2/workflows/runs/a/b/c'), []);
});
