import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMITS } from '../../config/limits.js';
import { encodeBodyStart, SECRET_PLACEHOLDER, type SentRequest, toStoredExchange } from './exchanges.js';

const SENT: SentRequest = {
  startedAt: 1_000,
  durationMs: 250,
  method: 'POST',
  url: 'https://w.test/order',
  headers: ['Content-Type', 'application/json', 'X-Order', '17'],
  bodyBytes: 300,
  body: null,
  responseBytes: 5,
};
const RESPONSE = { status: 503, responseHeaders: { 'retry-after': ['2'] }, responseBody: Buffer.from('later') };

test('stores the times, the request without its body, and the response of a failed attempt', () => {
  assert.deepEqual(toStoredExchange(SENT, RESPONSE), {
    startedAt: 1_000,
    durationMs: 250,
    request: {
      method: 'POST',
      url: 'https://w.test/order',
      headers: { 'content-type': ['application/json'], 'x-order': ['17'] },
      bodyBytes: 300,
    },
    response: {
      status: 503,
      headers: { 'retry-after': ['2'] },
      body: { encoding: 'utf8', data: 'later' },
      bodyBytes: 5,
    },
  });
  const noResponse = { status: null, responseHeaders: {}, responseBody: new Uint8Array(0) };
  assert.equal(toStoredExchange({ ...SENT, responseBytes: null }, noResponse).response, null);
});

test('stores the start of a body that is not stored elsewhere', () => {
  const body = Buffer.from('é'.repeat(LIMITS.maxKeptAttemptRequestBytes));
  const kept = toStoredExchange({ ...SENT, body }, RESPONSE).request.body;
  assert.deepEqual(kept, { encoding: 'utf8', data: 'é'.repeat(LIMITS.maxKeptAttemptRequestBytes / 2) });
});

test('stores only the name of a header that may contain a secret', () => {
  const secret = [
    ...['Authorization', 'Proxy-Authorization', 'Cookie', 'X-Api-Key', 'apikey', 'Upstash-Signature', 'X-GitHub-Token'],
    ...['Client-Secret', 'X-Amz-Security-Token', 'x-session-id', 'X-CSRF', 'Password', 'X-Access-Key-Id', 'x-auth'],
  ];
  const { request } = toStoredExchange({ ...SENT, headers: secret.flatMap((name) => [name, 'hush']) }, RESPONSE);
  assert.deepEqual(
    Object.values(request.headers),
    secret.map(() => [SECRET_PLACEHOLDER]),
  );
  const response = toStoredExchange(SENT, {
    ...RESPONSE,
    responseHeaders: { 'set-cookie': ['a=1', 'b=2'], 'x-trace': ['1', '2'] },
  });
  assert.deepEqual(response.response?.headers, { 'set-cookie': [SECRET_PLACEHOLDER], 'x-trace': ['1', '2'] });
});

test('omits headers beyond the limit, and a header named __proto__ does not change the prototype', () => {
  const long = 'x'.repeat(LIMITS.maxKeptAttemptHeadersLength);
  const headers = ['a', '1', '__proto__', 'x', 'b', long, 'c', '2'];
  assert.deepEqual(toStoredExchange({ ...SENT, headers }, RESPONSE).request.headers, { a: ['1'] });
});

test('the start of a body is cut between two characters, and encoded as Base64 if it is not text', () => {
  assert.deepEqual(encodeBodyStart(Buffer.from('grün'), 3), { encoding: 'utf8', data: 'gr' });
  assert.deepEqual(encodeBodyStart(Buffer.from('grün'), 4), { encoding: 'utf8', data: 'grü' });
  assert.deepEqual(encodeBodyStart(Buffer.from('😀😀'), 7), { encoding: 'utf8', data: '😀' });
  assert.deepEqual(encodeBodyStart(Buffer.from('\uFEFFbom')), { encoding: 'utf8', data: '\uFEFFbom' });
  assert.deepEqual(encodeBodyStart(Uint8Array.of(0xff, 0, 1), 2), { encoding: 'base64', data: '/wA=' });
  assert.deepEqual(encodeBodyStart(new Uint8Array(0)), { encoding: 'utf8', data: '' });
  const body = Buffer.from('x'.repeat(100_000));
  assert.equal(encodeBodyStart(body).data.length, LIMITS.maxKeptAttemptBodyBytes);
  const kept = toStoredExchange({ ...SENT, responseBytes: 400_000 }, { ...RESPONSE, responseBody: body });
  assert.equal(kept.response?.bodyBytes, 400_000);
});
