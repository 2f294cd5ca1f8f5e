import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Redaction } from '../../engine/runs/run.js';
import { REDACTED, redactBody, redactHeaders, redactJson, redactStepResult, redactUrl } from './redaction.js';

const redaction = (part: Partial<Redaction>): Redaction => ({ body: false, headers: [], fields: [], ...part });
const body = (text: string, redact: Redaction | undefined) => Buffer.from(redactBody(Buffer.from(text), redact)).toString();
const R = JSON.stringify(REDACTED);

test('returns everything unchanged without a redaction', () => {
  const bytes = Buffer.from([0, 255]);
  assert.equal(redactBody(bytes, undefined), bytes);
  assert.equal(redactJson('{"a": 1}', undefined), '{"a": 1}');
  assert.equal(redactStepResult('Run', '{"a": 1}', undefined), '{"a": 1}');
  assert.deepEqual(redactHeaders({ A: ['1', '2'] }, undefined), { A: ['1', '2'] });
  assert.equal(redactUrl('http://a.test/', undefined), 'http://a.test/');
});

test('hides a redacted body, the results derived from it and the URLs of calls', () => {
  const redact = redaction({ body: true });
  assert.equal(body('{"a":1}', redact), REDACTED);
  assert.equal(body('', redact), '', 'an empty body is shown as empty');
  assert.equal(redactJson('{"a":1}', redact), R);
  assert.equal(redactStepResult('Run', '"x"', redact), R);
  assert.equal(redactUrl('http://a.test/secret', redact), REDACTED);
  assert.deepEqual(redactHeaders({ A: ['1'] }, redact), { A: ['1'] });
});

test('shows the app of a worker URL that may depend on a redacted field', () => {
  const redact = redaction({ fields: ['pin'] });
  assert.equal(redactUrl('worker://shop/order-1234', redact), `worker://shop/${REDACTED}`);
  assert.equal(redactUrl('http://me:pw@a.test:81/x', redact), `http://a.test:81/${REDACTED}`);
});

test('hides data that is nested too deeply to search for fields', () => {
  const redact = redaction({ fields: ['pin'] });
  const deep = `${'['.repeat(300)}{"pin":1}${']'.repeat(300)}`;
  assert.equal(body(deep, redact), REDACTED);
  assert.equal(redactJson(deep, redact), R);
  assert.equal(redactJson(JSON.stringify({ text: deep }), redact), JSON.stringify({ text: REDACTED }));
});

test('hides fields at every depth, including in JSON text in JSON', () => {
  const redact = redaction({ fields: ['iban', 'pin'] });
  const value = { iban: 'DE1', to: [{ pin: { deep: 1 }, name: 'x' }], inner: '{"iban":"DE2","n":1}', Iban: 'shown' };
  const expected = { iban: REDACTED, to: [{ pin: REDACTED, name: 'x' }], inner: `{"iban":${R},"n":1}`, Iban: 'shown' };
  assert.equal(redactJson(JSON.stringify(value), redact), JSON.stringify(expected));
  assert.equal(body(JSON.stringify(value), redact), JSON.stringify(expected));
  assert.equal(redactJson('{ "other" : 1.0 }', redact), '{ "other" : 1.0 }', 'text without hidden values does not change');
  assert.equal(body('{ "other" : 1.0 }', redact), '{ "other" : 1.0 }');
  assert.equal(redactJson('{"__proto__":{"pin":1}}', redact), `{"__proto__":{"pin":${R}}}`);
});

test('shows only the host of a call whose URL may depend on a redacted field', () => {
  const redact = redaction({ fields: ['iban'] });
  assert.equal(redactUrl('https://bank.test/DE1?iban=DE1#DE1', redact), `https://bank.test/${REDACTED}`);
  assert.equal(redactUrl('https://bank.test/?DE1', redact), `https://bank.test/${REDACTED}`);
  assert.equal(redactUrl('https://bank.test#DE1', redact), 'https://bank.test/');
  assert.equal(redactUrl('no URL', redact), REDACTED);
  assert.equal(redactUrl('https://bank.test/a', redaction({ headers: true })), 'https://bank.test/a');
});

test('hides a whole body in which fields cannot be found', () => {
  const redact = redaction({ fields: ['iban'] });
  assert.equal(body('iban=DE1', redact), REDACTED);
  assert.equal(Buffer.from(redactBody(Buffer.from([0xff, 0xfe]), redact)).toString(), REDACTED);
  const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
  assert.equal(redactJson(deep, redact), R);
});

test('shows headers with canonical names', () => {
  assert.deepEqual(redactHeaders({ 'content-length': ['2'], ETag: ['"1"'] }, undefined), {
    'Content-Length': ['2'],
    Etag: ['"1"'],
  });
});

test('hides headers by name or all headers, case-insensitively', () => {
  const headers = { Authorization: ['a'], 'X-Key': ['1', '2'], Accept: ['*/*'] };
  assert.deepEqual(redactHeaders(headers, redaction({ headers: ['authorization', 'x-key'] })), {
    Authorization: [REDACTED],
    'X-Key': [REDACTED],
    Accept: ['*/*'],
  });
  assert.deepEqual(Object.values(redactHeaders(headers, redaction({ headers: true }))).flat(), [REDACTED, REDACTED, REDACTED]);
});

test('hides headers and body fields of HTTP messages in results', () => {
  const redact = redaction({ headers: ['authorization'], fields: ['iban'] });
  const message = (data: string, encoding = 'utf8') => ({
    headers: { authorization: ['Bearer x'], accept: ['*/*'] },
    body: { encoding, data },
  });
  const hidden = (data: string) => ({
    headers: { authorization: [REDACTED], accept: ['*/*'] },
    body: { encoding: 'utf8', data },
  });
  const out = (type: 'Call' | 'Wait' | 'WaitForWebhook' | 'Run', value: unknown) =>
    JSON.parse(redactStepResult(type, JSON.stringify(value), redact));
  assert.deepEqual(out('Call', { status: 200, ...message('{"iban":"DE1"}') }), { status: 200, ...hidden(`{"iban":${R}}`) });
  assert.deepEqual(out('Call', { status: 200, ...message('iban=DE1') }), { status: 200, ...hidden(REDACTED) });
  assert.deepEqual(out('Call', { status: 200, ...message('/w==', 'base64') }), { status: 200, ...hidden(REDACTED) });
  const request = { kind: 'request', method: 'POST', query: '?iban=DE1', ...message('') };
  assert.deepEqual(out('WaitForWebhook', { timeout: false, eventId: 'e', content: request }), {
    timeout: false,
    eventId: 'e',
    content: { ...request, query: REDACTED, ...hidden('') },
  });
  assert.deepEqual(out('Wait', { timeout: true }), { timeout: true });
  const returned = { paid: true, answer: { headers: { Authorization: ['x'], accept: ['*/*'] } }, authorization: 'no header' };
  assert.deepEqual(
    out('Run', returned),
    { ...returned, answer: { headers: { Authorization: [REDACTED], accept: ['*/*'] } } },
    'the headers of a message that code returns are hidden',
  );
  assert.equal(body('plain text', redaction({ headers: true })), 'plain text', 'invalid JSON is not searched for headers');
});
