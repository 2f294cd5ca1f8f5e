import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, mock, test } from 'node:test';
import { request } from './client.js';

interface Sent {
  readonly url: string;
  readonly method: string | undefined;
  readonly headers: Headers;
}

let sent: Sent[] = [];
let respond: (sent: Sent) => Response;

beforeEach(() => {
  sent = [];
  respond = () => new Response('{}');
  mock.method(globalThis, 'fetch', async (url: string, init: RequestInit) => {
    const request = { url, method: init.method, headers: new Headers(init.headers) };
    sent.push(request);
    return respond(request);
  });
});
afterEach(() => {
  mock.restoreAll();
});

describe('headers of requests', () => {
  test('are UTF-8, which the server decodes', async () => {
    const outcome = await request('/v2/trigger/x', { method: 'POST', headers: { 'svc-label': 'Größe, 東京' } });
    assert.equal(outcome.ok, true);
    const bytes = Buffer.from(sent[0]?.headers.get('svc-label') ?? '', 'latin1');
    assert.equal(bytes.toString('utf8'), 'Größe, 東京');
  });

  test('with a line break are a failure of the request', async () => {
    const outcome = await request('/v2/trigger/x', { method: 'POST', headers: { 'svc-label': 'a\nb' } });
    assert.equal(!outcome.ok && outcome.failure.code, 'invalid-value');
    assert.deepEqual(sent, []);
  });
});
