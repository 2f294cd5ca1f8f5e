import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEFAULT_DIALECT, DIALECTS, dialectOf, unwrapToken } from './index.js';
import { carryToken } from './upstash/index.js';

test('a request without a prefixed header uses the native dialect', () => {
  assert.equal(dialectOf({ headers: { host: 'localhost', 'content-type': 'text/plain' } }), DIALECTS.native);
  assert.equal(dialectOf({ headers: {} }), DEFAULT_DIALECT);
});

test('the dialect of the published SDKs is recognized by a header, the token format, or the parameter of the token', () => {
  const token = carryToken({ instanceId: 'qi_1', token: 'a.b.c' });
  assert.equal(dialectOf({ headers: { 'upstash-retries': '3' } }), DIALECTS.upstash);
  assert.equal(dialectOf({ headers: { authorization: `Bearer ${token}` } }), DIALECTS.upstash);
  assert.equal(dialectOf({ headers: {}, query: 'x=1&qstash_token=a.b.c' }), DIALECTS.upstash);
  assert.equal(dialectOf({ headers: { authorization: 'Bearer a.b.c' }, query: 'svc_token=x' }), DIALECTS.native);
});

test('a native header takes precedence over the token format and over tokens in the query', () => {
  const headers = { authorization: `Bearer ${carryToken({ instanceId: 'qi_1', token: 'a.b.c' })}` };
  assert.equal(dialectOf({ headers: { ...headers, 'svc-retries': '3' } }), DIALECTS.native);
  assert.equal(dialectOf({ headers: { 'upstash-retries': '3', 'svc-retries': '3' } }), DIALECTS.native);
  assert.equal(dialectOf({ headers: { 'svc-retries': '3' }, query: 'qstash_token=a.b.c' }), DIALECTS.native);
});

test('a token in the query identifies the dialect only if it is the last one and there is no Authorization header', () => {
  const authorization = 'Bearer a.b.c';
  assert.equal(dialectOf({ headers: { authorization }, query: 'qstash_token=theirs' }), DIALECTS.native);
  assert.equal(dialectOf({ headers: {}, query: 'qstash_token=theirs&svc_token=a.b.c' }), DIALECTS.native);
  assert.equal(dialectOf({ headers: {}, query: 'svc_token=theirs&qstash_token=a.b.c&x=1' }), DIALECTS.upstash);
  assert.equal(dialectOf({ headers: {}, query: 'my_qstash_token=1&next=qstash_token=2' }), DIALECTS.native);
});

test('a token is extracted from the format of the published SDKs; any other text stays unchanged', () => {
  assert.equal(unwrapToken(carryToken({ instanceId: 'qi_1', token: 'a.b.c' })), 'a.b.c');
  for (const text of ['a.b.c', '', 'e30=', 'bm90IGpzb24=', Buffer.from('{"UserID":1,"Password":"x"}').toString('base64')])
    assert.equal(unwrapToken(text), text);
});

test('the native dialect adds its prefix to header names and reads them in lower case', () => {
  assert.equal(DIALECTS.native.spell('Retry-Delay'), 'Svc-Retry-Delay');
  assert.equal(DIALECTS.native.receivedPrefix, 'svc-');
  assert.equal(DIALECTS.native.tokenParameter, 'svc_token');
});

test('headers that the published SDKs always send are ignored; other unknown names are not', () => {
  const { ignores } = DIALECTS.upstash;
  for (const name of ['telemetry-sdk', 'feature-set', 'workflow-invoke-count', 'failure-callback-feature-set', 'signature'])
    assert.equal(ignores(name), true, name);
  for (const name of ['retry', 'labels', 'flowcontrol-key', 'callback', 'failurecallback'])
    assert.equal(ignores(name), false, name);
  assert.equal(DIALECTS.native.ignores('telemetry-sdk'), false);
});

test('every dialect is registered under its own name', () => {
  for (const [name, dialect] of Object.entries(DIALECTS)) assert.equal(dialect.name, name);
});
