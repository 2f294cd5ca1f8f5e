import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createEndpoint } from '@everstep/sdk';
import type { CheckRequest } from '@everstep/sdk/protocol';
import type { ReplayCheck, ReplayVerdict } from '../ports/step-caller.js';
import {
  caller,
  callerWith,
  endpoint,
  KEYS,
  NOW,
  PROTOCOL_HEADERS,
  type Respond,
  respondWith,
  useSharedEndpoint,
} from './endpoint.fixture.js';

useSharedEndpoint();

const REQUEST: CheckRequest = {
  protocol: 1,
  kind: 'check',
  run: { key: 'k', id: 'order-7', createdAt: NOW, workflowUrl: `${endpoint.origin}/w`, labels: [] },
  journal: [{ stepId: 1, name: 'a', type: 'Run', out: '1' }],
  open: [{ stepId: 2, name: 'b', type: 'Run' }],
  input: { body: { encoding: 'utf8', data: '' }, headers: {} },
  limitMs: 1_000,
};

async function ask(respond: Respond, changes: Partial<ReplayCheck> = {}, by = caller): Promise<ReplayVerdict> {
  endpoint.respond = respond;
  endpoint.received = [];
  assert.ok(by.check);
  return by.check(
    {
      instanceId: 'qi_1',
      dialect: 'native',
      workflowUrl: `${endpoint.origin}/w`,
      request: REQUEST,
      forwardHeaders: { 'x-tenant': 't1' },
      timeoutMs: 2_000,
      hidesData: false,
      ...changes,
    },
    new AbortController().signal,
  );
}

/** An app with the real SDK, which verifies signatures. */
const app =
  (...names: string[]): Respond =>
  (response) => {
    const workflow = createEndpoint<unknown, void>(
      async (context) => {
        for (const name of names) await context.run(name, () => assert.fail('a step was executed'));
      },
      { signingKeys: KEYS },
    );
    const [request] = endpoint.received;
    assert.ok(request);
    void workflow
      .handle({ ...request, url: `${endpoint.origin}/w` })
      .then(({ status, headers, body }) => response.writeHead(status, headers).end(body));
  };
const checked = (more: object) =>
  respondWith(200, PROTOCOL_HEADERS, JSON.stringify({ protocol: 1, kind: 'checked', message: 'm', ...more }));

test('an endpoint with the SDK reports whether its code matches; the request is signed and has the forwarded headers', async () => {
  assert.equal((await ask(app('a', 'b'))).outcome, 'fits');
  assert.equal(endpoint.received[0]?.headers['x-tenant'], 't1');
  const differs = await ask(app('a', 'c'));
  assert.ok(differs.outcome === 'differs');
  assert.equal(differs.stepId, 2);
  assert.match(differs.message, /planned as Run "b", but the workflow now requests Run "c"/);
});

test('a reported step id that was not part of the request is ignored', async () => {
  assert.equal((await ask(checked({ outcome: 'differs', stepId: 9 }))).outcome, 'cannot-tell');
  assert.equal((await ask(checked({ outcome: 'surprise' }))).outcome, 'cannot-tell');
});

for (const [what, respond, changes, message] of [
  [
    'an SDK without replay checks',
    respondWith(
      400,
      PROTOCOL_HEADERS,
      JSON.stringify({ protocol: 1, kind: 'refused', code: 'bad-request', message: '"messageId" is missing' }),
    ),
    {},
    /does not support replay checks: upgrade @everstep\/sdk/,
  ],
  [
    'an SDK with another version',
    respondWith(
      400,
      PROTOCOL_HEADERS,
      JSON.stringify({ protocol: 1, kind: 'refused', code: 'unsupported-protocol', message: 'version 2' }),
    ),
    {},
    /version 2/,
  ],
  [
    'a rejected signature',
    respondWith(
      401,
      PROTOCOL_HEADERS,
      JSON.stringify({ protocol: 1, kind: 'failed', error: { name: 'SignatureError', message: 'not good' } }),
    ),
    {},
    /rejected the replay check: not good/,
  ],
  [
    'an answer that is not from a workflow',
    respondWith(200, { 'content-type': 'text/html' }, '<p>'),
    {},
    /returned 200 with an unexpected body/,
  ],
  ['an error', respondWith(503, {}, 'secret words'), {}, /returned 503.*secret words/],
  ['a redirect', respondWith(307, { location: 'http://other/' }), {}, /redirects are not followed/],
  ['no answer', () => {}, { timeoutMs: 50 }, /did not respond within 50 ms/],
  ['an unreachable endpoint', app('a'), { workflowUrl: 'http://127.0.0.1:1/w' }, /127\.0\.0\.1:1/],
  ['an endpoint of the other SDK', app('a'), { dialect: 'upstash' }, /do not support replay checks/],
] as const) {
  test(`${what} is cannot-tell, with the reason`, async () => {
    const verdict = await ask(respond, changes);
    assert.equal(verdict.outcome, 'cannot-tell');
    assert.match(verdict.message, message);
  });
}

test('errors of a run with redaction do not quote the response', async () => {
  assert.ok(!(await ask(respondWith(503, {}, 'secret words'), { hidesData: true })).message.includes('secret'));
});

test('a blocked address is not called', async () => {
  const { createAddressPolicy } = await import('./addresses/address-policy.js');
  const guarded = callerWith({ addressPolicyOf: () => createAddressPolicy({ allowLoopback: false, allow: [] }) });
  const verdict = await ask(app('a'), {}, guarded);
  await guarded.close();
  assert.equal(verdict.outcome, 'cannot-tell');
  assert.deepEqual(endpoint.received, []);
});
