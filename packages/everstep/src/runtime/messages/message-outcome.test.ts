import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMITS } from '../../config/limits.js';
import type { DeliveryFailure } from '../../engine/runs/run.js';
import type { MessageOutcome } from '../../ports/message-sender.js';
import { messageFailureOf } from './message-outcome.js';

const NOW = Date.UTC(2026, 0, 5, 12, 0, 0);

function answered(status: number, headers: Record<string, readonly string[]> = {}, body = ''): MessageOutcome {
  return { kind: 'response', status, headers, body: Buffer.from(body) };
}

test('a rejected message key results in an error that says what to do', () => {
  const refusal = { ...answered(401, {}, 'no'), expectsSigningKeys: true } as MessageOutcome;
  const message = messageFailureOf(refusal, NOW)?.message ?? '';
  assert.match(message, /returned 401 \(.*signed with the message key.*everstep keys origins/);
  assert.doesNotMatch(messageFailureOf(answered(401), NOW)?.message ?? '', /message key/);
});

test('any 2xx is a success', () => {
  for (const status of [200, 201, 202, 204, 299]) assert.equal(messageFailureOf(answered(status), NOW), null);
});

test('every other status is a failed attempt, which says whether and when to retry', async (t) => {
  const backoff = { kind: 'backoff' } as const;
  const never = { kind: 'never' } as const;
  const after = (delayMs: number) => ({ kind: 'after', delayMs }) as const;
  const seconds = (value: string) => ({ 'retry-after': [value] });
  const table: readonly (readonly [MessageOutcome, DeliveryFailure['retry']])[] = [
    [answered(400), backoff],
    [answered(404), backoff],
    [answered(500), backoff],
    [answered(599), backoff],
    [answered(500, seconds('7')), backoff],
    [answered(429), backoff],
    [answered(429, seconds('7')), after(7_000)],
    [answered(503, seconds('0')), after(0)],
    [answered(503, seconds(new Date(NOW + 90_000).toUTCString())), after(90_000)],
    [answered(503, seconds(new Date(NOW - 90_000).toUTCString())), after(0)],
    [answered(429, seconds('99999999999')), after(LIMITS.maxRetryDelayMs)],
    [answered(429, seconds('soon')), backoff],
    [answered(429, seconds('-1')), backoff],
    [answered(429, seconds('')), backoff],
    [answered(489), backoff],
    [answered(489, { 'nonretryable-error': ['true'] }), never],
    [answered(489, { 'nonretryable-error': ['True'] }), never],
    [answered(489, { 'svc-nonretryable-error': ['true'] }), never],
    [answered(489, { 'nonretryable-error': ['false'] }), backoff],
    [answered(489, { 'other-nonretryable-error': ['true'] }), never],
    [answered(489, { 'x-no-nonretryable-error': ['true'] }), backoff],
    [answered(500, { 'nonretryable-error': ['true'] }), backoff],
    [answered(301, { location: ['https://example.org/'] }), never],
    [answered(304), never],
  ];
  for (const [outcome, retry] of table) {
    await t.test(JSON.stringify(outcome), () => {
      const failure = messageFailureOf(outcome, NOW);
      assert.equal(failure?.cause, 'http');
      assert.deepEqual(failure.retry, retry);
    });
  }
});

test('a failed attempt contains the response and a short error text', () => {
  const headers = { 'set-cookie': ['a=1', 'b=2'] };
  const failure = messageFailureOf(answered(502, headers, `<h1>\n Bad\tGateway ${'x'.repeat(200)}`), NOW);
  assert.equal(failure?.message, `the endpoint returned 502 (a body that begins with "<h1> Bad Gateway ${'x'.repeat(83)}")`);
  assert.equal(failure.status, 502);
  assert.deepEqual(failure.responseHeaders, headers);
  assert.equal(Buffer.from(failure.responseBody).toString('latin1', 0, 4), '<h1>');
  assert.equal(messageFailureOf(answered(500), NOW)?.message, 'the endpoint returned 500 (an empty body)');
});

test('the error of a redirect names its target, or that it has none', () => {
  const to = messageFailureOf(answered(307, { location: ['https://example.org/new'] }), NOW);
  assert.match(to?.message ?? '', /redirect \(307\) to https:\/\/example\.org\/new; redirects are not followed/);
  assert.match(messageFailureOf(answered(302), NOW)?.message ?? '', /redirect \(302\) without a Location/);
});

test('the error of a run that redacts data quotes nothing of the response', () => {
  const words = (result: MessageOutcome) => messageFailureOf(result, NOW, true)?.message ?? '';
  assert.equal(words(answered(500, {}, 'a secret')), 'the endpoint returned 500 (a redacted body)');
  assert.equal(words(answered(500)), 'the endpoint returned 500 (an empty body)');
  assert.doesNotMatch(words(answered(307, { location: ['https://example.org/secret'] })), /secret/);
});

test('a failed attempt keeps only the start of a long response, and releases its memory', () => {
  const failure = messageFailureOf(answered(500, {}, 'y'.repeat(LIMITS.maxKeptResponseBytes + 10)), NOW);
  assert.equal(failure?.responseBody.byteLength, LIMITS.maxKeptResponseBytes);
  assert.equal(failure.responseBody.buffer.byteLength, LIMITS.maxKeptResponseBytes);
});

test('a failure in transit is returned unchanged', () => {
  const failure: DeliveryFailure = {
    cause: 'timeout',
    message: 'the endpoint did not respond within 5 ms',
    status: null,
    responseHeaders: {},
    responseBody: new Uint8Array(),
    retry: { kind: 'backoff' },
  };
  assert.equal(messageFailureOf({ kind: 'failure', failure }, NOW), failure);
});
