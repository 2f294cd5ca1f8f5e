import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, mock, test } from 'node:test';
import { QueryClient } from '@tanstack/react-query';
import { request, setCsrfToken, setSessionRenewer } from './client.js';
import { type Session, sessionQuery, sessionRenewer } from './session.js';

interface Sent {
  readonly url: string;
  readonly method: string | undefined;
  readonly headers: Headers;
}

let sent: Sent[] = [];
let respond: (sent: Sent) => Response;
const refusal = () => new Response('{"error":"no"}', { status: 403, headers: { 'svc-error-code': 'csrf-refused' } });

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
  setCsrfToken(null);
  setSessionRenewer(async () => false);
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

describe('after a sign-in in another tab', () => {
  const session = (userId: string, token: string): Session => ({
    user: { id: userId, email: `${userId}@shop.example` },
    is_operator: false,
    csrf_token: token,
    expires_at: 0,
  });
  let client: QueryClient;
  let reloads: number;
  /** The session of the cookie, which all tabs share. */
  let current: Session;
  beforeEach(() => {
    client = new QueryClient();
    client.setQueryData(sessionQuery.queryKey, session('ann', 'old'));
    setCsrfToken('old');
    reloads = 0;
    setSessionRenewer(sessionRenewer(client, () => reloads++));
    respond = ({ url, headers }) => {
      if (url === '/v2/session') return new Response(JSON.stringify(current));
      return headers.get('x-everstep-csrf') === current.csrf_token ? new Response('{}') : refusal();
    };
  });
  afterEach(() => client.clear());
  const cancel = () => request('/v2/workflows/runs/wfr_1', { method: 'DELETE' });

  test('of the same user, a refused request is repeated with the new token', async () => {
    current = session('ann', 'new');
    assert.equal((await cancel()).ok, true);
    assert.equal(client.getQueryData(sessionQuery.queryKey)?.csrf_token, 'new');
    assert.equal((await cancel()).ok, true);
    assert.equal(sent.filter(({ url }) => url === '/v2/session').length, 1);
    assert.equal(reloads, 0);
  });

  test('requests that are refused at the same time are all repeated', async () => {
    current = session('ann', 'new');
    const outcomes = await Promise.all([cancel(), cancel(), cancel()]);
    assert.deepEqual(
      outcomes.map(({ ok }) => ok),
      [true, true, true],
    );
  });

  test('of another user, the data is discarded, the page is reloaded and the request is not repeated', async () => {
    current = session('bob', 'new');
    client.setQueryData(['instances'], ['of ann']);
    const outcome = await cancel();
    assert.equal(!outcome.ok && outcome.failure.code, 'csrf-refused');
    assert.equal(client.getQueryData(['instances']), undefined);
    assert.equal(reloads, 1);
    assert.equal(sent.filter(({ method }) => method === 'DELETE').length, 1);
  });

  test('a refusal for another reason is not repeated', async () => {
    current = session('ann', 'old');
    respond = ({ url }) => (url === '/v2/session' ? new Response(JSON.stringify(current)) : refusal());
    assert.equal((await cancel()).ok, false);
    assert.equal(sent.length, 2);
  });
});
