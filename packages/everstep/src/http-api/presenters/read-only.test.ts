import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MASKED, readOnlyJson } from './read-only.js';

const shown = (body: unknown): unknown => JSON.parse(readOnlyJson(body));
const WEBHOOK_ID = 'whk_01M83BWQMKQHQFZ7ZJ1B519N4K.01M83BWS969Z0T5WZFW1J2RT6D';

test('masks ids and URLs of webhooks everywhere', () => {
  const url = `https://steps.test/v2/webhooks/${WEBHOOK_ID}`;
  const body = {
    waitEventId: WEBHOOK_ID,
    out: JSON.stringify({ eventId: WEBHOOK_ID, webhookUrl: url }),
    list: [[`see ${url}!`]],
  };
  const text = readOnlyJson(body);
  assert.ok(!text.includes('whk_'), text);
  assert.deepEqual(shown(body), {
    waitEventId: MASKED,
    out: JSON.stringify({ eventId: MASKED, webhookUrl: `https://steps.test/v2/webhooks/${MASKED}` }),
    list: [[`see https://steps.test/v2/webhooks/${MASKED}!`]],
  });
});

test('masks webhooks of the published SDK, including in Base64', () => {
  const eventId = 'evt_a1B2c3D4e5F6g7H';
  const path = `/v2/workflows/hooks/qi_1/wfr_1/${eventId}`;
  const out = Buffer.from(JSON.stringify({ method: 'POST', url: `${path}?a=1` })).toString('base64');
  const body = shown({ eventId, url: `http://h.test${path}`, out }) as {
    readonly eventId: string;
    readonly url: string;
    readonly out: string;
  };
  assert.deepEqual([body.eventId, body.url], [MASKED, `http://h.test/v2/workflows/hooks/${MASKED}`]);
  assert.deepEqual(JSON.parse(Buffer.from(body.out, 'base64').toString()), {
    method: 'POST',
    url: `/v2/workflows/hooks/${MASKED}?a=1`,
  });
});

test('does not mask events that users name', () => {
  const body = {
    eventId: 'order/42',
    waitEventIds: ['evt_paid', 'evt_of-an-order-with-a-long-name'],
    out: 'c29tZSBiYXNlNjQgdGhhdCBpcyBsb25nIGVub3VnaCB0byBsb29rIGF0IGl0',
  };
  assert.deepEqual(shown(body), body);
});

test('masks values of secret headers in every header map, including in JSON text', () => {
  const header = { Authorization: ['Bearer hush'], 'X-Api-Key': 'hush', 'X-Order': ['1'] };
  const out = JSON.stringify({ status: 200, headers: { 'Set-Cookie': ['a=hush'], Date: ['d'] } });
  const body = { header, nested: [{ responseHeaders: header }], sourceHeader: header, out };
  const text = readOnlyJson(body);
  assert.ok(!text.includes('hush'), text);
  assert.deepEqual(shown({ header }), { header: { Authorization: [MASKED], 'X-Api-Key': MASKED, 'X-Order': ['1'] } });
  assert.deepEqual(shown({ out }), { out: JSON.stringify({ status: 200, headers: { 'Set-Cookie': [MASKED], Date: ['d'] } }) });
});

test('masks values of secret query parameters in URLs', () => {
  assert.deepEqual(shown({ workflowUrl: 'https://app.test/w?apikey=hush&page=2#x', note: 'why?token=shown' }), {
    workflowUrl: `https://app.test/w?apikey=${MASKED}&page=2#x`,
    note: 'why?token=shown',
  });
});

test('finds secret query parameters next to question marks and names without a value', () => {
  const masked: Readonly<Record<string, string>> = {
    'https://app.test/w??token=hush': `https://app.test/w??token=${MASKED}`,
    'https://app.test/w?token?x=hush': `https://app.test/w?token?x=${MASKED}`,
    'https://app.test/w?page?token=hush': `https://app.test/w?page?token=${MASKED}`,
    'https://app.test/w?=1?token=hush': `https://app.test/w?=1?token=${MASKED}`,
    'https://app.test/w?token&apikey=hush': `https://app.test/w?token&apikey=${MASKED}`,
    'https://app.test/w?a=1?token=shown': 'https://app.test/w?a=1?token=shown',
    'https://app.test/w?token': 'https://app.test/w?token',
    'https://app.test/w?a b?token=hush#?token=hush': `https://app.test/w?a b?token=${MASKED}#?token=${MASKED}`,
  };
  assert.deepEqual(shown(Object.keys(masked)), Object.values(masked));
});

test('masks a hostile text in linear time', () => {
  const pieces = ['?', '&', '?&', '=', '?=', '?a', '#', ' ?', 'whk_', 'evt_', '/v2/workflows/hooks/', '{"headers', '\\\\', 'A'];
  const started = performance.now();
  for (const piece of pieces)
    for (const start of ['http:', '{']) {
      const text = start + piece.repeat(1_000_000 / piece.length);
      readOnlyJson({ text });
    }
  // Each text takes well below 100 ms. A quadratic pass would take minutes.
  assert.ok(performance.now() - started < 10_000);
});

test('does not mask fields that only sound secret, numbers and null', () => {
  const body = { token: 'shown', failureFunctionState: null, count: 3, sessionId: 's', header: 'text' };
  assert.deepEqual(shown(body), body);
});
